"""Load tests of the fabric: bandwidth of pairs, a ring on each rail, rings over the whole unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from clusterwright.extras.bringup.matrix import Test, across, tests_of, together
from clusterwright.extras.bringup.paths import CabledPaths, Share, SwitchPath, share_of
from clusterwright.extras.bringup.rates import Payload, payload_rate, ring_bus_gb_per_s
from clusterwright.extras.bringup.steps import AcceptanceLimits, Command, Step, Threshold
from clusterwright.extras.bringup.unit import BringupUnit
from clusterwright.intent.node_nics import HostNic
from clusterwright.intent.traffic_classes import data_class_of, traffic_class_byte
from clusterwright.plan.model import Plan

FIRST_PORT = 18515  # perftest's own default; each rail of a pair negotiates on a port of its own
MESSAGE_BYTES = 8 * 1024 * 1024
MESSAGES = 20_000
COLLECTIVE_BYTES = "8G"
_ONE_TEST = (
    "within a round each NIC, and so each switch port towards a node, carries one test; no test leaves its switch, so "
    "rails run side by side"
)
_NO_CABLE_SHARED = (
    "whatever path each takes, no two tests of a round share a cable: neither the planned oversubscription nor a hash "
    "or forwarding table that puts two flows on one cable can slow a test; do not merge rounds"
)


def unit_payload(unit: BringupUnit) -> Payload:
    """The best payload rate of a pair of the unit's NICs."""
    nic = unit.nics[unit.nodes[0].name][0]
    return payload_rate(unit.fabric, unit.nic_speed_gbps, nic.version)


def pair_threshold(payload: Payload, limits: AcceptanceLimits) -> Threshold:
    """The threshold of a pair of NICs with this payload rate."""
    value = round(payload.gbps * limits.bandwidth, 1)
    return Threshold(
        name="bandwidth of a pair",
        relation="≥",
        value=value,
        unit="Gb/s",
        formula=f"{limits.bandwidth:.0%} of {payload.formula}",
    )


def bandwidth_steps(plan: Plan, unit: BringupUnit, limits: AcceptanceLimits) -> Iterator[Step]:
    """Pairs under the same switches, then pairs between switches; nothing for a single node."""
    paths = CabledPaths(plan, unit.fabric.name)
    rounds = together(unit)
    if rounds:
        server, client = rounds[0][0]
        threshold = pair_threshold(unit_payload(unit), limits)
        yield Step(
            key="bandwidth",
            title=f"Bandwidth of every pair under the same switches, {unit.rails} rails at once: {_count(rounds)}",
            commands=tuple(
                chain.from_iterable(_commands(plan, unit, test) for test in tests_of(unit, paths, server, client))
            ),
            must_hold=(
                f"every pair of every round: {threshold}",
                _ONE_TEST,
                _agrees(unit),
            ),
            otherwise=(
                "A NIC that is slow with every partner: look at its cable and PCIe link (width, generation, ACS)."
                " One slow pair: look at the path between the two."
                " One slow node on all rails: look at its CPU and BIOS."
            ),
            thresholds=(threshold,),
            rounds=rounds,
        )
    waves = across(unit, paths)
    if waves:
        speeds = {_slowest(unit, test) for test in chain.from_iterable(waves)}
        version = unit.nics[unit.nodes[0].name][0].version
        limits_of = tuple(pair_threshold(payload_rate(unit.fabric, speed, version), limits) for speed in sorted(speeds))
        yield Step(
            key="bandwidth-across",
            title=f"Bandwidth between switches, a pair of NICs for every two on each rail: {_count(waves)}",
            commands=tuple(_commands(plan, unit, waves[0][0])),
            must_hold=(
                *(f"every pair of every round: {threshold}" for threshold in limits_of),
                _NO_CABLE_SHARED,
                _agrees(unit),
            ),
            otherwise=(
                "Slow although both NICs were fast under their switches: a cable between the switches is slow. Repeat"
                " with another partner to take another path, and compare the error counters of the cables on the way."
            ),
            thresholds=limits_of,
            rounds=tuple(tuple(map(_nic_pair, wave)) for wave in waves),
        )


def _count(rounds: Sequence[object]) -> str:
    return "1 round" if len(rounds) == 1 else f"{len(rounds):,} rounds"


def _nic_pair(test: Test) -> tuple[str, str]:
    """The two NICs of a test, as shown to users."""
    return f"{test.server} {test.near.rdma_device}", f"{test.client} {test.far.rdma_device}"


def _slowest(unit: BringupUnit, test: Test) -> int:
    """The slowest cable of a test, in Gb/s."""
    return min(unit.nic_speed_gbps, test.path.slowest_gbps or unit.nic_speed_gbps)


def _agrees(unit: BringupUnit) -> str:
    return f"`clusterwright bringup SPEC --group {unit.group} --judge perftest=FILE` agrees, on all clients' output"


def _commands(plan: Plan, unit: BringupUnit, test: Test) -> tuple[Command, Command]:
    """Commands of the server and the client of a test."""
    report = f"echo '# pair {test.server} {test.near.rdma_device} {test.client} {test.far.rdma_device}'; "
    return (
        Command(test.server, _perftest(plan, unit, test.near)),
        Command(test.client, report + _perftest(plan, unit, test.far) + f" {test.server}"),
    )


def _perftest(plan: Plan, unit: BringupUnit, nic: HostNic) -> str:
    """The command ib_write_bw of one end; on the client, the server's host name follows."""
    mtu = unit_payload(unit).mtu_bytes
    line = f"ib_write_bw -d {nic.rdma_device} -m {mtu} -s {MESSAGE_BYTES} -n {MESSAGES} -F --report_gbits"
    line += f" -p {FIRST_PORT + (nic.rail or 0)}"
    if unit.fabric.technology == "roce":
        data = data_class_of(plan, unit.fabric, unit.nodes[0].node_group)
        line += " --ipv6" if nic.version == 6 else ""
        line += f" --tclass={traffic_class_byte(data.dscp[0])}" if data is not None and data.dscp else ""
    elif (nccl := plan.spec.nccl(unit.nodes[0].node_group)) is not None and nccl.service_level is not None:
        line += f" -S {nccl.service_level}"
    return line


def ring_steps(plan: Plan, unit: BringupUnit, limits: AcceptanceLimits) -> Iterator[Step]:
    """A ring on each rail, one GPU of each node; then all GPUs. Nothing for a single node."""
    if len(unit.nodes) < 2:
        return
    first = unit.nodes[0]
    all_rails = range(len(unit.nics[first.name]))
    alone = min((ring_share(plan, unit, [rail]) for rail in all_rails), key=lambda share: share.part)
    at_once = ring_share(plan, unit, all_rails)
    hosts = f"-H {','.join(node.name for node in unit.nodes)}"
    slots = f"-H {','.join(f'{node.name}:{unit.rails}' for node in unit.nodes)}"
    gpus = {nic.interface: nic.gpu for nic in plan.spec.catalogue[first.model].nics}
    rings = [
        Command(
            first.name,
            f"mpirun {hosts} -N 1 -x NCCL_ALGO=Ring -x CUDA_VISIBLE_DEVICES={gpus[nic.interface]}"
            f" -x NCCL_IB_HCA=={nic.rdma_device}:1"
            f" all_reduce_perf -b {COLLECTIVE_BYTES} -e {COLLECTIVE_BYTES} -g 1",
        )
        for nic in unit.nics[first.name]
        if gpus[nic.interface] is not None
    ]
    yield Step(
        key="rail-rings",
        title=f"A ring of {len(unit.nodes)} nodes on each of {unit.rails} rails, one after the other",
        commands=tuple(rings),
        must_hold=(f"every rail: {_ring(unit, limits, 1, alone)}", "the column `#wrong` is 0 on every line"),
        otherwise="A slow ring whose pairs were fast: look for a NIC that NCCL did not use (NCCL_DEBUG=INFO, NET/IB).",
        thresholds=(_ring(unit, limits, 1, alone),),
    )
    perf = [f"{name}_perf -b {COLLECTIVE_BYTES} -e {COLLECTIVE_BYTES} -g 1" for name in ("all_reduce", "all_gather")]
    yield Step(
        key="unit-rings",
        title=f"All-reduce and all-gather over all GPUs of {len(unit.nodes)} nodes",
        commands=tuple(
            Command(first.name, f"mpirun {slots} -N {unit.rails} -x NCCL_ALGO=Ring {line}") for line in perf
        ),
        must_hold=(f"both: {_ring(unit, limits, unit.rails, at_once)}", "the column `#wrong` is 0 on every line"),
        otherwise=(
            "Every rail's ring was fast alone: look at GPU and NIC affinity (`nvidia-smi topo -m`), PCIe ACS,"
            " and at congestion between rails."
        ),
        thresholds=(_ring(unit, limits, unit.rails, at_once),),
    )


def _ring(unit: BringupUnit, limits: AcceptanceLimits, rings: int, share: Share) -> Threshold:
    payload = unit_payload(unit)
    value = round(ring_bus_gb_per_s(payload, rings) * share.part * limits.collective, 1)
    reduction = f" × {share.part:.3g}: {share.why};" if share.why else ""
    formula = f"{limits.collective:.0%} of {rings} × {payload.gbps:.1f} Gb/s / 8{reduction} ({payload.formula})"
    return Threshold(name="bus bandwidth", relation="≥", value=value, unit="GB/s", formula=formula)


def ring_share(plan: Plan, unit: BringupUnit, rails: Sequence[int]) -> Share:
    """The share of bandwidth of a ring over the unit's nodes, in their order, on each of these rails run at once."""
    paths = CabledPaths(plan, unit.fabric.name)
    names = [node.name for node in unit.nodes]
    chosen = {unit.nics[names[0]][rail].interface for rail in rails}
    flows: list[SwitchPath] = []
    for name, next_name in zip(names, [*names[1:], names[0]], strict=True):
        tests = tests_of(unit, paths, name, next_name)
        flows += [test.path for test in tests if test.near.interface in chosen]
    is_hashed = unit.fabric.technology == "roce"
    manager = unit.fabric.subnet_manager
    nccl = plan.spec.nccl(unit.nodes[0].node_group)
    connections = nccl.qps_per_connection if is_hashed and nccl is not None else None
    evenly = unit.fabric.is_adaptive or (manager is not None and manager.adaptive_routing)
    return share_of(paths, flows, unit.nic_speed_gbps, connections or 1, evenly=evenly)
