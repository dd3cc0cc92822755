"""Answers of the plan alone: switches above a node, NVLink domains and failure domains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.and_more import and_more
from clusterwright.evidence.answer import AnswerKind, Basis, Evidence, passed
from clusterwright.evidence.suite import NET01, NET02, STG05
from clusterwright.finding import ClusterwrightError
from clusterwright.plan.model import Device, Plan
from clusterwright.proofs.check import Cases

_SHOWN = 3
_LAYERS = ("leaf_switch_ids", "spine_switch_ids", "core_switch_ids")
Layers = tuple[list[str], list[str], list[str]]
_AS_PLANNED = "that the fabric is cabled as planned: `clusterwright observe` compares it with a scan"


def topology_evidence(plan: Plan, node_name: str | None) -> Iterator[Evidence]:
    """Answers about topology; those about one node are of ``node_name``, or of the first node with GPUs.

    Raises ClusterwrightError for an unknown node.
    """
    nodes = [device for device in plan.devices if device.kind == "node" and device.rank is not None]
    if node_name is not None and node_name not in {node.name for node in nodes}:
        raise ClusterwrightError(f'{plan.name} has no node "{node_name}" with GPUs. `inventory` lists them.')
    if nodes:
        sample = nodes[0] if node_name is None else plan.by_name[node_name]
        yield _switches_above_nodes(plan, nodes, sample)
        yield _nvlink_domains(plan, nodes, sample)
    yield _failure_domains(plan)


def _switches_above_nodes(plan: Plan, nodes: Sequence[Device], sample: Device) -> Evidence:
    fabrics = _backend_fabrics(plan)
    problems = [] if fabrics else ["no fabric joins NICs of GPUs"]
    layers_of_sample: list[Layers] = []
    for fabric in fabrics:
        switches = _SwitchLayers(plan, fabric)
        layers_of_sample.append(switches.above(sample.name))
        problems.extend(_incomplete_layers(switches, fabric, nodes))
    layers = layers_of_sample[0] if fabrics else ([], [], [])
    tests = {"node_resolved": passed(True, "")}
    for key, names in zip(_LAYERS, layers, strict=True):
        tests[f"{key}_present"] = passed(bool(names), f"no switch above {sample.name} is of this layer")
    return Evidence(
        test=NET01,
        answer=AnswerKind.FAILS if problems else AnswerKind.HOLDS,
        basis=Basis.PLAN,
        claim="Every node with GPUs has leaf, spine and core switches on each fabric between GPUs.",
        cases=Cases("nodes with GPUs", len(nodes)),
        output={
            "test_name": NET01.step,
            "node_id": sample.name,
            "fabric_name": fabrics[0] if fabrics else "",
            "fabric": dict(zip(_LAYERS, layers, strict=True)),
            "tests": tests,
        },
        problems=tuple(problems),
        not_checked=(_AS_PLANNED,),
    )


def _incomplete_layers(switches: _SwitchLayers, fabric: str, nodes: Sequence[Device]) -> Iterator[str]:
    for index, key in enumerate(_LAYERS):
        lacking = [node.name for node in nodes if not switches.above(node.name)[index]]
        if lacking:
            yield f"{fabric}: {len(lacking):,} nodes have no {key.partition('_')[0]} switch, as {lacking[0]}"


def _backend_fabrics(plan: Plan) -> list[str]:
    """Fabrics with NICs of GPUs, in the spec's order."""
    gpu_ports: set[tuple[str | None, str]] = set()
    for group in plan.spec.node_groups:
        for nics in group.model.nic_groups:
            gpu_ports |= {(group.name, nic.interface) for nic in nics.nics if nic.gpu is not None}
    names: set[str] = set()
    for cable in plan.cables:
        if (plan.by_name[cable.a.device].node_group, cable.a.port) in gpu_ports:
            names.add(cable.fabric)
    return [fabric.name for fabric in plan.spec.fabrics if fabric.name in names]


class _SwitchLayers:
    """Switches above nodes of one fabric, over cables in service."""

    def __init__(self, plan: Plan, fabric: str) -> None:
        self._plan = plan
        self._fabric = fabric
        self._top = max(plan.tier_orders[fabric].levels)
        self._by_leaves: dict[tuple[str, ...], Layers] = {}

    def above(self, node: str) -> Layers:
        """Names of leaf, spine and core switches above a node."""
        leaves = tuple(sorted(self._uppers(node)))
        if leaves not in self._by_leaves:
            self._by_leaves[leaves] = self._climb(leaves)
        return self._by_leaves[leaves]

    def _climb(self, leaves: tuple[str, ...]) -> Layers:
        layers: Layers = ([], [], [])
        reached = set(leaves)
        waiting = list(leaves)
        while waiting:
            switch = waiting.pop()
            layers[self._layer(switch)].append(switch)
            for upper in self._uppers(switch) - reached:
                reached.add(upper)
                waiting.append(upper)
        for names in layers:
            names.sort()
        return layers

    def _layer(self, switch: str) -> int:
        """Layer of a switch: 0 for the lowest tier, 2 for the top one of three or more, 1 for those between."""
        level = self._plan.level(self._plan.by_name[switch])
        if level == 0:
            return 0
        return 2 if level == self._top and self._top > 1 else 1

    def _uppers(self, device: str) -> set[str]:
        uppers = set()
        for cable in self._plan.cables_of[device]:
            is_uplink = cable.fabric == self._fabric and cable.a.device == device
            if is_uplink and cable.in_service:
                uppers.add(cable.b.device)
        return uppers


def _nvlink_domains(plan: Plan, nodes: Sequence[Device], sample: Device) -> Evidence:
    with_nvlink = [node for node in nodes if _nvlink_switches(plan, node)]
    unknown = [node.name for node in with_nvlink if _nvlink_domain(plan, node) is None]
    problems = []
    if unknown:
        problems.append(f"the spec does not say which nodes share switch trays (`nvlink_domain`), as {unknown[0]}")
    support = _nvlink_switches(plan, sample)
    domain = _nvlink_domain(plan, sample)
    output = {
        "test_name": NET02.step,
        "node_id": sample.name,
        "nvlink_supported": support != "",
        "tests": {
            "node_resolved": passed(True, ""),
            "nvlink_support_detected": passed(True, ""),
            "nvlink_domain_id_present": passed(domain is not None, "the plan names no domain of this node"),
        },
    }
    if domain is not None:
        output["nvlink_domain_id"] = domain
    return Evidence(
        test=NET02,
        answer=AnswerKind.NOT_CHECKED if problems else AnswerKind.HOLDS,
        basis=Basis.PLAN,
        claim="Every node with NVLink has its domain: the group that shares switch trays, or the node by itself.",
        cases=Cases("nodes with GPUs", len(nodes)),
        output=output,
        problems=tuple(problems),
        not_checked=("the cluster's UUID that `nvidia-smi -q` reports, and the links' state",),
    )


def _nvlink_domain(plan: Plan, node: Device) -> str | None:
    """Group sharing NVLink switch trays, or the node's own name; None if neither is known."""
    group = plan.spec.node_group(node.node_group)
    if group is not None and group.nvlink_domain is not None:
        for name in node.groups:
            if plan.group_by_name[name].level == group.nvlink_domain:
                return name
        return None
    return node.name if _nvlink_switches(plan, node) == "node" else None


def _nvlink_switches(plan: Plan, node: Device) -> str:
    """Place of a node's NVLink switches, ``node`` or ``domain``; "" without NVLink."""
    model = plan.spec.catalogue[node.model]
    if model.gpus is not None and model.gpus.nvlink is not None:
        return model.gpus.nvlink.switches
    return "node" if model.nvlinks else ""


def _failure_domains(plan: Plan) -> Evidence:
    hosts = [device for device in plan.devices if device.kind == "node"]
    unplaced = [host.name for host in hosts if not host.rack]
    problems = [f"no rack is planned for {and_more(unplaced, _SHOWN)}"] if unplaced else []
    return Evidence(
        test=STG05,
        answer=AnswerKind.FAILS if problems or not hosts else AnswerKind.HOLDS,
        basis=Basis.PLAN,
        claim="Every host has its rack, the failure domain that it stands in.",
        cases=Cases("hosts", len(hosts)),
        output={
            "site_id": plan.name,
            "hosts_checked": len(hosts),
            "hosts": [{"host_id": host.name, "failure_domain": host.rack} for host in hosts],
        },
        problems=tuple(problems),
        not_checked=("that hosts stand in their planned racks", "which racks share a power feed"),
    )
