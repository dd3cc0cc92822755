"""CW620: execution nodes that can be given work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import unknown
from clusterwright.spec.execution import ExecutionMesh
from clusterwright.spec.text.document import Path


@rule("CW620", Severity.ERROR)
def execution_nodes(subject: Subject) -> Iterator[Problem]:
    """Names of the section ``execution`` that mean nothing, or the same thing twice."""
    spec, mesh = subject.spec, subject.spec.execution
    if mesh is None:
        return
    fabric = spec.fabric(mesh.fabric)
    if fabric is None or spec.plain_network(mesh.fabric) is None:
        known = [each.name for each in spec.fabrics if spec.plain_network(each.name) is not None]
        yield unknown("Ethernet fabric with addresses", mesh.fabric, known, (*mesh.path, "fabric"))
        return
    layout = subject.skeleton.layout
    attached = {attach.nodes for attach in fabric.attach}
    machines = {node.name for node in layout.nodes if spec.node_groups[node.node_group].name in attached}
    counts = Counter(mesh.devices)
    for device, path in _devices(mesh):
        if device not in machines:
            yield unknown(f"machine on {fabric.name}", device, machines, path)
        elif counts[device] > 1:
            yield Problem(path, f"{device} stands here {counts[device]} times.", "Name every machine once.")
    pods = {layout.groups[node.groups[-1]].name for node in layout.nodes if node.groups}
    wanted = Counter(pod for node in mesh.nodes for pod in node.pods)
    for node in mesh.nodes:
        for at, pod in enumerate(node.pods):
            if pod not in pods:
                yield unknown("pod", pod, pods, (*node.path, "pods", at))
            elif wanted[pod] > 1:
                message = f"{wanted[pod]} execution nodes name pod {pod}."
                yield Problem(
                    (*node.path, "pods", at), message, "Leave it to one; another does its share if that dies."
                )


def _devices(mesh: ExecutionMesh) -> Iterator[tuple[str, Path]]:
    yield mesh.controller, (*mesh.path, "controller")
    for node in mesh.nodes:
        yield node.device, (*node.path, "device")
