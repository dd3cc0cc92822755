"""Steps before the load on InfiniBand: what is cabled, which firmware runs, how the ports are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from clusterwright.extras.bringup.rates import NEVER, OF_BIT_ERRORS, SIDE_EFFECTS, by_speed
from clusterwright.extras.bringup.steps import AcceptanceLimits, Command, Step, Threshold
from clusterwright.extras.bringup.unit import BringupUnit
from clusterwright.hosts.opensm.writer.configuration import FOLDER as OPENSM_FOLDER
from clusterwright.hosts.opensm.writer.configuration import FOLDER_OF_UFM as UFM_FOLDER
from clusterwright.hosts.opensm.writer.configuration import manager_hosts
from clusterwright.plan.chips import chips_of
from clusterwright.plan.model import Plan
from clusterwright.spec.infiniband import UFM

# What ibnetdiscover and iblinkinfo call the data rate of a four-lane port (infiniband-diags, IBTA speed names).
SPEED_NAMES = {40: "QDR", 56: "FDR", 100: "EDR", 200: "HDR", 400: "NDR", 800: "XDR"}


def first_steps(plan: Plan, unit: BringupUnit, limits: AcceptanceLimits) -> Iterator[Step]:
    """Cabling, firmware, ports at rest."""
    manager = (*manager_hosts(plan, unit.fabric.name), "the subnet manager's host")[0]
    yield _cabling(plan, unit, manager)
    yield _firmware(plan, unit, manager)
    yield counters_step(unit, limits, manager, "ports", "Ports and error counters at rest")


def last_step(plan: Plan, unit: BringupUnit, limits: AcceptanceLimits) -> Step:
    """Counters once more, after the load."""
    manager = (*manager_hosts(plan, unit.fabric.name), "the subnet manager's host")[0]
    return counters_step(unit, limits, manager, "ports-after-load", "Error counters after the load")


def _names(unit: BringupUnit) -> str:
    """Where the subnet manager's host has the names of switches: UFM keeps what it reads in folders of its own."""
    manager = unit.fabric.subnet_manager
    folder = UFM_FOLDER if manager is not None and manager.kind == UFM else OPENSM_FOLDER
    return f"--node-name-map /{folder}/ib-node-name-map"


def _cabling(plan: Plan, unit: BringupUnit, manager: str) -> Step:
    chips = sum(len(chips_of(plan, switch)) for switch in unit.switches)
    nics = sum(len(nics) for nics in unit.nics.values())
    links = [f"{count:,} links 4x {SPEED_NAMES.get(speed, f'at {speed} Gb/s')}" for speed, count in unit.speeds.items()]
    return Step(
        key="cabling",
        title="Cabling",
        commands=(
            Command(manager, f"ibnetdiscover {_names(unit)} > {unit.group}.ibnetdiscover"),
            Command("where the spec is", f"clusterwright observe SPEC --ibnetdiscover {unit.group}.ibnetdiscover"),
            Command(manager, f"iblinkinfo -l {_names(unit)}"),
        ),
        must_hold=(
            f"{len(unit.nodes):,} nodes with {nics:,} NICs, {len(unit.switches):,} switches ({chips:,} chips)",
            *links,
            "observe names no cable of these devices; iblinkinfo says Active/LinkUp and no `Could be` for any",
        ),
        otherwise="Move the cables that observe names, in its order, and begin this step again.",
    )


def _firmware(plan: Plan, unit: BringupUnit, manager: str) -> Step:
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
            Command(
                manager, "for lid in $(ibswitches | grep -o 'lid [0-9]*' | cut -d' ' -f2); do vendstat -N $lid; done"
            ),
        ),
        must_hold=(
            f"switches: {', '.join(parts)}",
            f"every node lists {unit.rails} adapters",
            "one fw_ver for each board_id, and one firmware version for each switch model, throughout the unit",
        ),
        otherwise="Flash what differs (mlxfwmanager on nodes, flint over the fabric for switches), reset, repeat.",
    )


def counters_step(unit: BringupUnit, limits: AcceptanceLimits, manager: str, key: str, title: str) -> Step:
    """Clear, wait or load, read and judge the error counters."""
    judge = f"clusterwright bringup SPEC --group {unit.group} --minutes {limits.minutes} --judge"
    file = f"{unit.group}.ibqueryerrors"
    at_rest = key == "ports"
    before = (
        (
            Command(manager, f"ibqueryerrors --clear-errors --clear-counts {_names(unit)}"),
            Command(manager, f"sleep {limits.minutes * 60}"),
        )
        if at_rest
        else ()
    )
    return Step(
        key=key,
        title=title,
        commands=(
            *before,
            Command(manager, f"ibqueryerrors --details {_names(unit)} > {file}"),
            Command(
                "where the spec is",
                f"{judge} ibqueryerrors={file}",
            ),
        ),
        must_hold=(
            "no port beyond these limits",
            f"{', '.join(SIDE_EFFECTS)} are told without a verdict: they mark what happened elsewhere",
        ),
        otherwise=(
            "Clean and reseat both ends of the cable that is named, clear the counters, repeat; then swap the cable,"
            " then the transceivers, then the port."
        ),
        thresholds=tuple(counter_thresholds(unit.speeds, limits)),
    )


def counter_thresholds(speeds_gbps: Iterable[int], limits: AcceptanceLimits) -> Iterator[Threshold]:
    """The limits of each counter, for each speed where they depend on it."""
    found = by_speed(speeds_gbps, limits.minutes)
    for speed, of_speed in found.items():
        place = f" at {speed} Gb/s" if len(found) > 1 else ""
        for name in OF_BIT_ERRORS:
            yield Threshold(
                name=f"{name}{place}", relation="≤", value=of_speed[name].most, unit="", formula=of_speed[name].formula
            )
    for name in NEVER:
        yield Threshold(name=name, relation="≤", value=0, unit="", formula=next(iter(found.values()))[name].formula)
