"""Which machines run Ansible for the cluster's hosts."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.spec.text.document import Path

WORK_TYPE = "clusterwright"
"""What receptor calls the one kind of work that an execution node takes: ``ansible-runner worker``."""

MESH_TLS = "mesh"
"""The name that the rendered configurations of receptor give their certificates."""


@dataclass(frozen=True, slots=True)
class ExecutionNode:
    """A machine that runs Ansible for ``pods``, or for all remaining pods when it names none."""

    device: str
    pods: tuple[str, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class ExecutionMesh:
    """The execution nodes, the ``controller`` that gives them work, and the fabric and TCP port they speak over.

    A node counts as lost when the mesh had no route to it for ``lost_after_s`` seconds, or when its worker said nothing
    for ``silent_after_s``: without a word some seconds more than receptor takes to find another route, and a dozen of a
    worker's signs of life. ``port`` is where receptor listens by convention: what Ansible Automation Platform opens.
    """

    controller: str
    nodes: tuple[ExecutionNode, ...]
    fabric: str
    port: int
    lost_after_s: int
    silent_after_s: int
    path: Path

    @property
    def devices(self) -> tuple[str, ...]:
        """Every machine on the mesh."""
        return (self.controller, *(node.device for node in self.nodes))
