"""The machines running Ansible for the cluster's hosts."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.spec.text.document import Path

WORK_TYPE = "clusterwright"
"""Receptor's name of the only kind of work of an execution node: ``ansible-runner worker``."""

MESH_TLS = "mesh"
"""The name of the certificates in receptor's rendered configurations."""


@dataclass(frozen=True, slots=True)
class ExecutionNode:
    """A machine running Ansible for ``pods``, or for all remaining pods if it names none."""

    device: str
    pods: tuple[str, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class ExecutionMesh:
    """The execution nodes, their ``controller``, and the fabric and TCP port of their connections.

    A node counts as lost after ``lost_after_s`` seconds without a route in the mesh, or after ``silent_after_s``
    without a message of its worker. Defaults: some seconds more than receptor takes to find another route, and a dozen
    of a worker's keepalives. The default ``port`` is the one of Ansible Automation Platform.
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
