"""Steps before the load on InfiniBand: cabling, firmware, state of the ports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from clusterwright.extras.bringup.rates import NEVER, OF_BIT_ERRORS, SIDE_EFFECTS, by_speed
from clusterwright.extras.bringup.steps import AcceptanceLimits, Command, Step, Threshold
from clusterwright.extras.bringup.unit import BringupUnit
from clusterwright.hosts.opensm.writer.configuration import FOLDER_OF_UFM as UFM_FOLDER
from clusterwright.hosts.opensm.writer.configuration import managers_by_priority, place_of
from clusterwright.plan.chips import chips_of
from clusterwright.plan.model import IbSubnet, Plan
from clusterwright.spec.infiniband import UFM

# Data rates of a four-lane port in the output of ibnetdiscover and iblinkinfo (infiniband-diags, IBTA speed names).
SPEED_NAMES = {40: "QDR", 56: "FDR", 100: "EDR", 200: "HDR", 400: "NDR", 800: "XDR"}


def first_steps(plan: Plan, unit: BringupUnit, limits: AcceptanceLimits) -> Iterator[Step]:
    """Cabling, firmware, ports at rest."""
    scanners = _scanners(plan, unit)
    yield _cabling(plan, unit, scanners)
    yield _firmware(plan, unit, scanners)
    yield counters_step(unit, limits, scanners, "ports", "Ports and error counters at rest")


def last_step(plan: Plan, unit: BringupUnit, limits: AcceptanceLimits) -> Step:
    """Counters once more, after the load."""
    return counters_step(unit, limits, _scanners(plan, unit), "ports-after-load", "Error counters after the load")


@dataclass(frozen=True, slots=True)
class Scanner:
    """The vantage point of diagnostics on one subnet of a unit's fabric: an adapter of the subnet manager's host."""

    host: str
    adapter: str
    """Options to select the adapter and to name switches."""
    port: str
    """Options to select the adapter."""
    file: str
    """The name of files of the subnet, without their suffix."""


def _scanners(plan: Plan, unit: BringupUnit) -> list[Scanner]:
    """A scanner for each subnet of a unit's fabric."""
    subnets = [subnet for subnet in plan.ib_subnets.values() if subnet.fabric.name == unit.fabric.name]
    scanners = []
    for subnet in subnets:
        host = (*managers_by_priority(plan, subnet.name), "the subnet manager's host")[0]
        manager = unit.fabric.subnet_manager
        folder = UFM_FOLDER if manager is not None and manager.kind == UFM else place_of(plan, subnet).folder
        names = f"--node-name-map /{folder}/ib-node-name-map"
        if subnet.plane is None:
            scanners.append(Scanner(host, names, "", unit.group))
            continue
        port = f"--Ca {_adapter(plan, host, subnet)} "
        scanners.append(Scanner(host, f"{port}{names}", port, f"{unit.group}.{subnet.plane}"))
    return scanners


def _adapter(plan: Plan, host: str, subnet: IbSubnet) -> str:
    """The RDMA device of a host on a subnet."""
    model = plan.spec.catalogue[plan.by_name[host].model]
    nics = chain.from_iterable(group.nics for group in model.nic_groups)
    devices = {nic.interface: nic.rdma_device for nic in nics}
    ports = [cable.a.port for cable in plan.cables_of[host] if cable.b.device in subnet.switches]
    if not ports:
        return "its adapter there"
    return devices.get(ports[0]) or ports[0]


def _cabling(plan: Plan, unit: BringupUnit, scanners: Sequence[Scanner]) -> Step:
    chips = sum(len(chips_of(plan, switch)) for switch in unit.switches)
    nics = sum(len(nics) for nics in unit.nics.values())
    files = " ".join(f"--ibnetdiscover {scan.file}.ibnetdiscover" for scan in scanners)
    links = [f"{count:,} links 4x {SPEED_NAMES.get(speed, f'at {speed} Gb/s')}" for speed, count in unit.speeds.items()]
    return Step(
        key="cabling",
        title="Cabling",
        commands=(
            *(Command(scan.host, f"ibnetdiscover {scan.adapter} > {scan.file}.ibnetdiscover") for scan in scanners),
            Command("where the spec is", f"clusterwright observe SPEC {files}"),
            *(Command(scan.host, f"iblinkinfo -l {scan.adapter}") for scan in scanners),
        ),
        must_hold=(
            f"{len(unit.nodes):,} nodes with {nics:,} NICs, {len(unit.switches):,} switches ({chips:,} chips)",
            *links,
            "observe names no cable of these devices; iblinkinfo says Active/LinkUp and no `Could be` for any",
        ),
        otherwise="Move the cables that observe names, in its order, and begin this step again.",
    )


def _firmware(plan: Plan, unit: BringupUnit, scanners: Sequence[Scanner]) -> Step:
    models = Counter(switch.model for switch in unit.switches)
    parts = [f"{count:,} × {plan.spec.catalogue[model].part}" for model, count in models.items()]
    devices = " ".join(str(nic.rdma_device) for nic in unit.nics[unit.nodes[0].name])
    return Step(
        key="firmware",
        title="Models and firmware",
        commands=(
            Command(
                "every node",
                f"for d in {devices}; do ibv_devinfo -d $d | grep -E 'hca_id|fw_ver|board_id'; done",
            ),
            *(Command(scan.host, _firmware_of_switches(scan)) for scan in scanners),
        ),
        must_hold=(
            f"switches: {', '.join(parts)}",
            f"every node lists {unit.rails} adapters",
            "one fw_ver for each board_id, and one firmware version for each switch model, throughout the unit",
        ),
        otherwise="Flash what differs (mlxfwmanager on nodes, flint over the fabric for switches), reset, repeat.",
    )


def _firmware_of_switches(scan: Scanner) -> str:
    lids = f"ibswitches {scan.port}| grep -o 'lid [0-9]*' | cut -d' ' -f2"
    return f"for lid in $({lids}); do vendstat {scan.port}-N $lid; done"


def counters_step(
    unit: BringupUnit, limits: AcceptanceLimits, scanners: Sequence[Scanner], key: str, title: str
) -> Step:
    """Clear the error counters, wait or load the fabric, read and check them."""
    check = f"clusterwright bringup SPEC --group {unit.group} --minutes {limits.minutes} --judge"
    files = " --judge ".join(f"ibqueryerrors={scan.file}.ibqueryerrors" for scan in scanners)
    commands: list[Command] = []
    is_at_rest = key == "ports"
    if is_at_rest:
        clear = "ibqueryerrors --clear-errors --clear-counts"
        commands += [Command(scan.host, f"{clear} {scan.adapter}") for scan in scanners]
        commands.append(Command(scanners[0].host, f"sleep {limits.minutes * 60}"))
    for scan in scanners:
        line = f"ibqueryerrors --details {scan.adapter} > {scan.file}.ibqueryerrors"
        commands.append(Command(scan.host, line))
    commands.append(Command("where the spec is", f"{check} {files}"))
    return Step(
        key=key,
        title=title,
        commands=tuple(commands),
        must_hold=(
            "no port beyond these limits",
            f"{', '.join(SIDE_EFFECTS)} are shown without a verdict: they mark what happened elsewhere",
        ),
        otherwise=(
            "Clean and reseat both ends of the cable that is named, clear the counters, repeat; then swap the cable,"
            " then the transceivers, then the port."
        ),
        thresholds=tuple(counter_thresholds(unit.speeds, limits)),
    )


def counter_thresholds(speeds_gbps: Iterable[int], limits: AcceptanceLimits) -> Iterator[Threshold]:
    """The limits of each counter; those of bit errors for each link speed."""
    thresholds_by_speed = by_speed(speeds_gbps, limits.minutes)
    for speed, of_speed in thresholds_by_speed.items():
        place = f" at {speed} Gb/s" if len(thresholds_by_speed) > 1 else ""
        for name in OF_BIT_ERRORS:
            yield Threshold(
                name=f"{name}{place}", relation="≤", value=of_speed[name].most, unit="", formula=of_speed[name].formula
            )
    of_any_speed = next(iter(thresholds_by_speed.values()))
    for name in NEVER:
        yield Threshold(name=name, relation="≤", value=0, unit="", formula=of_any_speed[name].formula)
