"""Steps before the load on RoCE: neighbours, firmware, Ethernet counters, priority flow control."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from clusterwright.extras.bringup.rates import bit_errors
from clusterwright.extras.bringup.steps import AcceptanceLimits, Command, Step, Threshold
from clusterwright.extras.bringup.unit import BringupUnit
from clusterwright.facts.reader import Unsupported
from clusterwright.plan.model import Plan
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.registry import SYSTEMS
from clusterwright.switches.switch_system import SwitchSystem


def first_steps(plan: Plan, unit: BringupUnit, limits: AcceptanceLimits) -> Iterator[Step]:
    """Cabling, firmware, ports at rest."""
    yield _cabling(plan, unit)
    yield _firmware(plan, unit)
    yield _counters(plan, unit, limits, "ports", f"Ports and error counters after {limits.minutes} minutes at rest")


def last_step(plan: Plan, unit: BringupUnit, limits: AcceptanceLimits) -> Step:
    """Counters once more, after the load."""
    return _counters(plan, unit, limits, "ports-after-load", "Error counters and flow control after the load")


def _platforms(plan: Plan, unit: BringupUnit) -> list[SwitchSystem]:
    """The platforms of the unit's switches, by name."""
    system_names = {plan.spec.catalogue[switch.model].network_os or "" for switch in unit.switches}
    return [SYSTEMS[system] for system in sorted(system_names & SYSTEMS.keys())]


def _switch_commands(platform: SwitchSystem, commands: Iterable[str] | Unsupported) -> Iterator[Command]:
    """The commands for every switch of a platform, or a comment with the reason for none."""
    where = f"every {systems()[platform.system].title} switch"
    if isinstance(commands, Unsupported):
        yield Command(where, f"# {commands.reason}")
        return
    for line in commands:
        yield Command(where, line)


def _interfaces(unit: BringupUnit) -> str:
    return " ".join(nic.interface for nic in unit.nics[unit.nodes[0].name])


def _cabling(plan: Plan, unit: BringupUnit) -> Step:
    nics = sum(len(nics) for nics in unit.nics.values())
    on_switches: list[Command] = []
    for platform in _platforms(plan, unit):
        on_switches += _switch_commands(platform, platform.probes.neighbours)
    return Step(
        key="cabling",
        title="Cabling",
        commands=(
            Command("every node", "lldpcli -f json show neighbors"),
            *on_switches,
            Command("where the spec is", "clusterwright observe SPEC --lldp FILE"),
        ),
        must_hold=(
            f"{len(unit.nodes):,} nodes with {nics:,} NICs, {len(unit.switches):,} switches",
            *(f"{count:,} links at {speed} Gb/s" for speed, count in unit.speeds.items()),
            "observe names no cable of these devices",
        ),
        otherwise="Move the cables that observe names, in its order, and begin this step again.",
    )


def _firmware(plan: Plan, unit: BringupUnit) -> Step:
    models = Counter(switch.model for switch in unit.switches)
    parts = [f"{count:,} × {plan.spec.catalogue[model].part}" for model, count in models.items()]
    return Step(
        key="firmware",
        title="Models and firmware",
        commands=(
            Command(
                "every node",
                f"for i in {_interfaces(unit)}; do ethtool -i $i | grep -E 'driver|firmware-version'; done",
            ),
        ),
        must_hold=(
            f"switches: {', '.join(parts)}",
            f"every node lists {unit.rails} interfaces",
            "one driver and one firmware-version throughout the unit, one software image for each switch model",
        ),
        otherwise="Flash what differs (mlxfwmanager), reset, repeat: congestion control depends on the firmware.",
    )


def _counters(plan: Plan, unit: BringupUnit, limits: AcceptanceLimits, key: str, title: str) -> Step:
    speed = unit.nic_speed_gbps
    most, formula = bit_errors(speed, limits.minutes)
    lossless = [item.priority for item in unit.fabric.classes if item.priority is not None]
    never = ["rx_discards_phy", "tx_errors_phy", *(f"rx_prio{priority}_discards" for priority in lossless)]
    pauses = ", ".join(f"rx_prio{priority}_pause, tx_prio{priority}_pause" for priority in lossless)
    pattern = "|".join(["rx_crc_errors_phy", "rx_symbol_err_phy", *never, "prio[0-7]_pause"])
    on_switches: list[Command] = []
    for platform in _platforms(plan, unit):
        on_switches += _switch_commands(platform, platform.probes.counters)
    must_hold = [
        f"every Speed is {speed * 1000}Mb/s",
        "no counter beyond these limits between two readings",
    ]
    if pauses:
        must_hold.append(f"{pauses} are compared before and after: at rest they stand still, under load they may count")
    thresholds = [
        Threshold(name=name, relation="≤", value=most, unit="", formula=formula)
        for name in ("rx_crc_errors_phy", "rx_symbol_err_phy")
    ]
    for name in never:
        formula_of_never = "a lossless class drops nothing"
        thresholds.append(Threshold(name=name, relation="≤", value=0, unit="", formula=formula_of_never))
    return Step(
        key=key,
        title=title,
        commands=(
            Command("every node", f"for i in {_interfaces(unit)}; do ethtool $i | grep Speed; done"),
            Command("every node", f"for i in {_interfaces(unit)}; do ethtool -S $i | grep -E '{pattern}'; done"),
            Command(
                "every node", "rdma statistic show | tr ' ' '\\n' | grep -A1 -E 'out_of_sequence|np_cnp_sent|rp_cnp'"
            ),
            *on_switches,
        ),
        must_hold=tuple(must_hold),
        otherwise=(
            "Errors of one link: clean and reseat both ends, then swap the cable. Discards in the lossless priority:"
            " compare the buffer and PFC lines of both ends with what was rendered."
        ),
        thresholds=tuple(thresholds),
    )
