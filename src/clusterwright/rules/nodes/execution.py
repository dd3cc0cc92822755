"""CW620 and CW621: execution nodes that can be given work, and be reached by who gives it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import unknown
from clusterwright.spec.execution import ExecutionMesh
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path
from clusterwright.spec.zone_reach import covers, zones_of


@rule(
    code="CW620",
    severity=Severity.ERROR,
    title="execution node that cannot be given work",
    why="A share of the hosts would have nobody who brings them their files, or two who do.",
    mend="Name machines of the plan that are attached to the fabric, each once, and every pod at most once.",
    docs="`execution` names one machine that gives work, the controller, and the ones that do it. All of them speak"
    " over `fabric`, an Ethernet fabric with addresses. `pods` are names of pods as `inventory` shows them.",
)
def execution_nodes(subject: Subject) -> Iterator[Problem]:
    """Names of the section ``execution`` that mean nothing, or the same thing twice."""
    spec, mesh = subject.spec, subject.spec.execution
    if mesh is None:
        return
    fabric = spec.fabric(mesh.fabric)
    if fabric is None or fabric.technology != "ethernet" or fabric.addressing is None:
        known = [each.name for each in spec.fabrics if each.technology == "ethernet" and each.addressing is not None]
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


@rule(
    code="CW621",
    severity=Severity.ERROR,
    title="execution node that the controller may not reach",
    why="Packet filters let in what a flow names; without one the mesh never comes up.",
    mend="Add a flow over TCP from the controller's zone to that of its execution nodes, to the port of the mesh.",
    docs="Only the controller dials, to `execution.port` (27199 when absent). Between machines of one zone a flow from"
    " the zone to itself is needed, as for everything else. Execution nodes reach their hosts by the flow over port 22"
    " that the controller would need in their place.",
)
def execution_flow(subject: Subject) -> Iterator[Problem]:
    """Execution nodes to which no flow leads from the controller."""
    spec, mesh = subject.spec, subject.spec.execution
    if mesh is None or not spec.zones:
        return
    fabric = spec.fabric(mesh.fabric)
    group_of = {node.name: spec.node_groups[node.node_group].name for node in subject.skeleton.layout.nodes}
    sources = _zones(spec, group_of.get(mesh.controller), fabric)
    told: set[str] = set()
    for node in mesh.nodes:
        group = group_of.get(node.device)
        targets = _zones(spec, group, fabric)
        if group is None or group in told or fabric is None or mesh.controller not in group_of:
            continue  # CW620 says so
        if not any(covers(spec, zone, fabric) for zone in spec.zones):
            continue  # a fabric in no zone is filtered nowhere, which CW539 says
        if not sources or not targets:
            told.add(group)
            name = node.device if sources else mesh.controller
            path = (*node.path, "device") if sources else (*mesh.path, "controller")
            message = f"{name} is in no zone on {fabric.name}, so that no flow can allow TCP port {mesh.port} there."
            yield Problem(path, message, "Give its node group a zone on that fabric, and the mesh a flow.")
        elif not any(
            flow.source in sources and flow.target in targets and flow.opens("tcp", mesh.port) for flow in spec.flows
        ):
            told.add(group)
            source, target = sources[0], targets[0]
            message = f"No flow leads from {source} to {target} over TCP port {mesh.port}, on which it waits for work."
            hint = f"Add the flow {{from: {source}, to: {target}, protocol: tcp, ports: [{mesh.port}]}}."
            yield Problem((*node.path, "device"), message, hint)


def _devices(mesh: ExecutionMesh) -> Iterator[tuple[str, Path]]:
    yield mesh.controller, (*mesh.path, "controller")
    for node in mesh.nodes:
        yield node.device, (*node.path, "device")


def _zones(spec: ClusterSpec, group: str | None, fabric: Fabric | None) -> tuple[str, ...]:
    """The zones of a group that have addresses on the mesh's fabric; none where one of them is unknown."""
    if group is None or fabric is None:
        return ()
    return tuple(
        name for name in zones_of(spec, group) if (zone := spec.zone(name)) is not None and covers(spec, zone, fabric)
    )
