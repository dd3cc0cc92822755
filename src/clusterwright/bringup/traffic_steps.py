"""Steps that load the fabric: bandwidth between all pairs, a ring on each rail, rings over the whole unit."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.bringup.rates import Payload, payload_rate, ring_bus_gb_per_s
from clusterwright.bringup.schedule import tournament
from clusterwright.bringup.steps import Command, Limits, Step, Threshold
from clusterwright.bringup.unit import Unit
from clusterwright.intent.traffic_classes import data_class_of, traffic_class_byte
from clusterwright.plan.model import Plan
from clusterwright.render.node_nics import HostNic

FIRST_PORT = 18515  # perftest's own default; each rail of a pair negotiates on a port of its own
MESSAGE_BYTES = 8 * 1024 * 1024
MESSAGES = 20_000
COLLECTIVE_BYTES = "8G"


def unit_payload(unit: Unit) -> Payload:
    """The best payload rate of a pair of the unit's NICs."""
    nic = unit.nics[unit.nodes[0].name][0]
    return payload_rate(unit.fabric, unit.nic_speed_gbps, nic.version)


def pair_threshold(payload: Payload, limits: Limits) -> Threshold:
    """What a pair of NICs with this payload rate must reach."""
    value = round(payload.gbps * limits.bandwidth, 1)
    return Threshold("bandwidth of a pair", "≥", value, "Gb/s", f"{limits.bandwidth:.0%} of {payload.formula}")


def bandwidth_step(plan: Plan, unit: Unit, limits: Limits) -> Iterator[Step]:
    """The bandwidth matrix; nothing for a single node."""
    asked = pair_threshold(unit_payload(unit), limits)
    rounds = tournament([node.name for node in unit.nodes])
    if not rounds:
        return
    server, client = rounds[0][0]
    commands = []
    for near, far in zip(unit.nics[server], unit.nics[client], strict=True):
        commands.append(Command(server, _perftest(plan, unit, near)))
        report = f"echo '# pair {server} {near.rdma_device} {client} {far.rdma_device}'; "
        commands.append(Command(client, report + _perftest(plan, unit, far) + f" {server}"))
    yield Step(
        key="bandwidth",
        title=f"Bandwidth of every pair on each of {unit.rails} rails: {len(rounds)} rounds",
        commands=tuple(commands),
        must_hold=(
            f"every pair of every round: {asked}",
            "within a round each NIC, and so each switch port towards a node, carries one test; rails run side by side",
            f"`clusterwright bringup SPEC --group {unit.group} --judge perftest=FILE` agrees, on all clients' output",
        ),
        otherwise=(
            "A NIC that is slow with every partner: look at its cable and PCIe link (width, generation, ACS)."
            " One slow pair: look at the path between the two. One slow node on all rails: look at its CPU and BIOS."
        ),
        thresholds=(asked,),
        rounds=rounds,
    )


def _perftest(plan: Plan, unit: Unit, nic: HostNic) -> str:
    """ib_write_bw as one end runs it; the other end's host name follows on the client."""
    mtu = unit_payload(unit).mtu_bytes
    line = f"ib_write_bw -d {nic.rdma_device} -m {mtu} -s {MESSAGE_BYTES} -n {MESSAGES} -F --report_gbits"
    line += f" -p {FIRST_PORT + (nic.rail or 0)}"
    if unit.fabric.technology == "roce":
        data = data_class_of(plan, unit.fabric)
        line += " --ipv6" if nic.version == 6 else ""
        line += f" --tclass={traffic_class_byte(data.dscp[0])}" if data is not None and data.dscp else ""
    elif plan.spec.nccl is not None and plan.spec.nccl.service_level is not None:
        line += f" -S {plan.spec.nccl.service_level}"
    return line


def ring_steps(plan: Plan, unit: Unit, limits: Limits) -> Iterator[Step]:
    """A ring on each rail, one GPU of each node; then all GPUs. Nothing for a single node."""
    if len(unit.nodes) < 2:
        return
    first = unit.nodes[0]
    hosts = f"-H {','.join(node.name for node in unit.nodes)}"
    slots = f"-H {','.join(f'{node.name}:{unit.rails}' for node in unit.nodes)}"
    gpus = {nic.interface: nic.gpu for group in plan.spec.catalogue[first.model].nic_groups for nic in group.nics}
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
        must_hold=(f"every rail: {_ring(unit, limits, 1)}", "the column `#wrong` is 0 on every line"),
        otherwise="A slow ring whose pairs were fast: look for a NIC that NCCL did not use (NCCL_DEBUG=INFO, NET/IB).",
        thresholds=(_ring(unit, limits, 1),),
    )
    perf = [f"{name}_perf -b {COLLECTIVE_BYTES} -e {COLLECTIVE_BYTES} -g 1" for name in ("all_reduce", "all_gather")]
    yield Step(
        key="unit-rings",
        title=f"All-reduce and all-gather over all GPUs of {len(unit.nodes)} nodes",
        commands=tuple(
            Command(first.name, f"mpirun {slots} -N {unit.rails} -x NCCL_ALGO=Ring {line}") for line in perf
        ),
        must_hold=(f"both: {_ring(unit, limits, unit.rails)}", "the column `#wrong` is 0 on every line"),
        otherwise=(
            "Every rail's ring was fast alone: look at GPU and NIC affinity (`nvidia-smi topo -m`), PCIe ACS,"
            " and at congestion between rails."
        ),
        thresholds=(_ring(unit, limits, unit.rails),),
    )


def _ring(unit: Unit, limits: Limits, rings: int) -> Threshold:
    payload = unit_payload(unit)
    value = round(ring_bus_gb_per_s(payload, rings) * limits.collective, 1)
    formula = f"{limits.collective:.0%} of {rings} × {payload.gbps:.1f} Gb/s / 8 ({payload.formula})"
    return Threshold("bus bandwidth", "≥", value, "GB/s", formula)
