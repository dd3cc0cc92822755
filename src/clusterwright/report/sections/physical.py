"""The chapters for the floor: racks, their power, devices by model, and the bill of cabling."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from clusterwright.report.page import Block, Cell, PageTable, Section, code, distance, number, plural, power
from clusterwright.report.rack_svg import rack_drawing
from clusterwright.report.totals import CableTotals, RackKind, cable_totals

if TYPE_CHECKING:
    from clusterwright.plan.model import Plan
    from clusterwright.spec.hardware.models import HardwareModel

_MOST_ELEVATIONS = 6
_MOST_RACK_ROWS = 400  # more racks are summed up pod by pod; devices.csv has each


def racks_section(plan: Plan, kinds: tuple[RackKind, ...]) -> Section:
    """Elevations of the most frequent kinds, a table of all kinds, and the racks or pods themselves."""
    standing = [kind for kind in kinds if any(occupant.unit for occupant in kind.occupants)]
    drawings = tuple(
        rack_drawing(kind, plan.spec.site.rack_units, f"rack-{index}")
        for index, kind in enumerate(standing[:_MOST_ELEVATIONS])
    )
    more = len(standing) - len(drawings)
    text = "The most frequent kinds of rack, from the front."
    if more:
        verb = "is" if more == 1 else "are"
        text += f" {plural(more, 'further kind')} of rack {verb} in the table."
    kind_table = PageTable(
        name="rack-kinds",
        caption="Kinds of rack",
        columns=("First one", "Racks", "Contents", "Power of one", "Weight of one", "Power together", "Basis"),
        rows=tuple(_kind_row(kind) for kind in kinds),
        note="Power is the catalogue's rating of every device, not a measurement; weight is that of the equipment"
        " without the rack. “assumed” marks kinds with a model whose catalogue entry rests on an assumption.",
    )
    return Section(
        "racks",
        "Racks and power",
        (
            Block("", text, drawings),
            Block(heading="", text="", drawings=(), tables=(kind_table,)),
            Block(heading="", text="", drawings=(), tables=(_places_table(plan),)),
            Block(heading="", text="", drawings=(), tables=(_models_table(plan),)),
        ),
    )


def cabling_section(plan: Plan) -> Section:
    """The bill of cabling."""
    bill = cable_totals(plan)
    rows = [_cable_row(cables) for cables in bill]
    out_of_service = sum(not cable.in_service for cable in plan.cables)
    table = PageTable(
        name="cable-list",
        caption="Bill of cabling",
        columns=("Fabric", "Medium", "Speed", "Length", "Cables", "Length together"),
        rows=tuple(rows),
        note=f"{plural(sum(cables.count for cables in bill), 'cable')} in all, {out_of_service:,} of them out of"
        " service. cables.csv lists every one in the order of laying: rack, unit, port.",
    )
    return Section("cabling", "Cabling", (Block(heading="", text="", drawings=(), tables=(table,)),))


def _kind_row(kind: RackKind) -> tuple[Cell, ...]:
    counts = Counter((occupant.role, occupant.model) for occupant in kind.occupants)
    contents = ", ".join(f"{count} × {role} {model}" for (role, model), count in counts.items())
    return (
        code(kind.example),
        number(kind.count),
        Cell(contents),
        Cell(power(kind.power_w), "number"),
        Cell(f"{kind.weight_kg:,.0f} kg", "number"),
        Cell(power(kind.power_w * kind.count), "number"),
        Cell("assumed", "warning") if kind.assumed else Cell("sourced", "good"),
    )


def _cable_row(cables: CableTotals) -> tuple[Cell, ...]:
    return (
        Cell(cables.fabric),
        Cell(cables.medium),
        Cell(f"{cables.speed_gbps}G", "number"),
        Cell(f"{cables.length_m:g} m", "number"),
        number(cables.count),
        Cell(distance(cables.length_m * cables.count), "number"),
    )


def _places_table(plan: Plan) -> PageTable:
    """Racks, or pods if there are too many racks to read."""
    racks = {device.rack for device in plan.devices if device.rack}
    by_rack = len(racks) <= _MOST_RACK_ROWS
    catalogue = plan.spec.catalogue
    devices: dict[str, Counter[str]] = defaultdict(Counter)
    power_w: Counter[str] = Counter()
    inside: dict[str, set[str]] = defaultdict(set)
    for device in plan.devices:
        place = device.rack if by_rack else device.pod
        devices[place][device.role] += 1
        power_w[place] += catalogue[device.model].power_w
        inside[place].add(device.rack)
    rows = []
    for place, counts in devices.items():
        rows.append(
            (
                code(place) if place else Cell("outside the pods"),
                number(len(inside[place] - {""})),
                Cell(", ".join(f"{count:,} {role}" for role, count in counts.items())),
                Cell(power(power_w[place]), "number"),
            )
        )
    all_racks = f"{plural(len(racks), 'rack')} in all; devices.csv has the rack and unit of each device."
    return PageTable(
        name="places",
        caption="Racks" if by_rack else "Pods and other outermost groups",
        columns=("Rack" if by_rack else "Group", "Racks", "Devices", "Power"),
        rows=tuple(rows),
        note="" if by_rack else all_racks,
    )


def _models_table(plan: Plan) -> PageTable:
    counts = Counter((device.role, device.model) for device in plan.devices)
    rows = []
    for (role, name), count in counts.items():
        model = plan.spec.catalogue[name]
        rows.append(
            (
                Cell(role),
                Cell(name),
                Cell(model.manufacturer),
                number(count),
                Cell(power(model.power_w), "number"),
                Cell(f"{model.units:g} U" if model.units else "own cabinet", "number"),
                Cell(power(model.power_w * count), "number"),
                Cell("; ".join(_cages(model)) or "–"),
            )
        )
    return PageTable(
        name="models",
        caption="Devices by role and model",
        columns=(
            "Role",
            "Model",
            "Manufacturer",
            "Devices",
            "Power of one",
            "Height",
            "Power together",
            "Cages and their modes",
        ),
        rows=tuple(rows),
    )


def _cages(model: HardwareModel) -> tuple[str, ...]:
    """The cages of a switch: equal ones together, each mode with its logical ports and their speed."""
    counts: Counter[str] = Counter()
    for block in model.blocks:
        modes = ", ".join(f"{mode.name} ({len(mode.subports)} at {mode.speed_gbps} Gb/s)" for mode in block.modes)
        counts[f"{block.connector}: {modes}"] += len(block.cages)
    return tuple(f"{count:,} {cages}" for cages, count in counts.items())
