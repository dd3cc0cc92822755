"""slurm.conf on login nodes: Slurm's commands there read the same text as the controllers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from clusterwright.hosts.slurm.reader import SLURM_CONF, read_lines
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.operation.declared_slurm import DeclaredSlurm
from clusterwright.proofs.tree import RenderedTree


def login_copies(tree: RenderedTree, slurms: Collection[DeclaredSlurm]) -> Mapping[str, tuple[str, ...]]:
    """Controllers with the slurm.conf required on each login node, the acting one first.

    Without a spec, a login node is a machine with a slurm.conf that names other machines as its controllers.
    """
    controllers_by_node: dict[str, tuple[str, ...]] = {}
    if tree.declaration is not None:
        for slurm in slurms:
            controllers_by_node.update(dict.fromkeys(slurm.login_nodes, tuple(slurm.controllers)))
        return controllers_by_node
    machines = tree.devices_with(SLURM_CONF)
    for name in machines:
        controllers = _controllers_in(tree.text(name, SLURM_CONF) or "")
        if name not in controllers and controllers and set(controllers) <= set(machines):
            controllers_by_node[name] = controllers
    return controllers_by_node


def copy_faults(tree: RenderedTree, copies: Mapping[str, tuple[str, ...]]) -> Iterator[Counterexample]:
    """Login nodes with a slurm.conf that is missing, or different from that of their controllers."""
    for name, controllers in sorted(copies.items()):
        text = tree.text(name, SLURM_CONF)
        if text is None:
            message = "the file is missing: no command of Slurm finds its controller"
            yield Counterexample(device=name, file=SLURM_CONF, line=0, message=message)
            continue
        for controller in controllers:
            number = _first_difference(text, tree.text(controller, SLURM_CONF) or "")
            if number is not None:
                message = f"commands read something else here than slurmctld does on {controller}"
                yield Counterexample(device=name, file=SLURM_CONF, line=number, message=message)


def _controllers_in(text: str) -> tuple[str, ...]:
    hosts = (line.value("slurmctldhost") for line in read_lines(text))
    return tuple(host.partition("(")[0] for host in hosts if host)


def _first_difference(text: str, controller_text: str) -> int | None:
    """Number of the first different line; None for equal texts."""
    if text == controller_text:
        return None
    lines, controller_lines = text.split("\n"), controller_text.split("\n")
    for number, (line, controller_line) in enumerate(zip(lines, controller_lines, strict=False), 1):
        if line != controller_line:
            return number
    return min(len(lines), len(controller_lines))
