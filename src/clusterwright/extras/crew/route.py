"""Cable routes: both ends by rack and unit with their labels, and the trays between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clusterwright.lists.as_csv import natural_key
from clusterwright.lists.panel_names import PanelNames
from clusterwright.lists.records import short_number
from clusterwright.plan.racks.lengths import rack_places, runs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterwright.lists.records import Inventory
    from clusterwright.plan.model import Device, Interface
    from clusterwright.plan.racks.lengths import RackPlace

# Okabe and Ito's colours without black, distinct also with colour blindness; assigned to fabrics in the spec's order.
_COLOURS = (
    ("blue", "#0072b2"), ("orange", "#e69f00"), ("green", "#009e73"), ("purple", "#cc79a7"),
    ("vermilion", "#d55e00"), ("sky", "#56b4e9"), ("yellow", "#f0e442"),
)  # fmt: skip


class CableEnd(NamedTuple):
    """One end of a cable.

    ``panel`` is the name of the port on its device, ``identifier`` that of cabinet, unit and port after ANSI/TIA-606,
    ``A03-12:Ethernet1/1``.
    """

    rack: str
    unit: float
    device: str
    kind: str
    role: str
    port: str
    panel: str
    identifier: str


class LaidRoute(NamedTuple):
    """The route of a cable. ``lower`` is the end at the node or the lower switch; ``colour`` is its fabric's.

    ``trays`` are in order from the lower end, () within a rack and where the spec has none; ``is_measured`` is
    true for a length computed from the ends' places, false for the tier's.
    """

    lower: CableEnd
    upper: CableEnd
    fabric: str
    technology: str
    colour: str
    medium: str
    speed_gbps: int
    length_m: float
    trays: tuple[str, ...]
    is_measured: bool
    in_service: bool

    @property
    def identifier(self) -> str:
        """The link's identifier on the label of its lower end: the near port, then the far one."""
        return f"{self.lower.identifier} / {self.upper.identifier}"


def laid_routes(inventory: Inventory) -> Iterator[LaidRoute]:
    """Every cable of the inventory in the plan's order."""
    plan = inventory.plan
    runs, places = runs_of(plan), rack_places(plan.spec.site.floor)
    cabinets = {device.rack: _cabinet(device.rack, places.get(device.rack)) for device in plan.devices}
    technologies: dict[str, str] = {}
    for fabric in plan.spec.fabrics:
        technologies[fabric.name] = "infiniband" if fabric.technology == "infiniband" else "ethernet"
    colours = {fabric.name: _COLOURS[index % len(_COLOURS)][0] for index, fabric in enumerate(plan.spec.fabrics)}
    names = PanelNames(plan)
    for cable in inventory.cable_list:
        lower, upper = (_end(plan.by_name[end.device], end, cabinets, names.of(end)) for end in (cable.a, cable.b))
        run = runs.between(cable.a.device, cable.b.device, cable.length_m)
        yield LaidRoute(
            lower=lower,
            upper=upper,
            fabric=cable.fabric,
            technology=technologies[cable.fabric],
            colour=colours[cable.fabric],
            medium=cable.medium,
            speed_gbps=cable.speed_gbps,
            length_m=short_number(cable.length_m),
            trays=run.trays,
            is_measured=run.is_measured,
            in_service=cable.in_service,
        )


def colour_code(name: str) -> str:
    """The SVG code of a colour."""
    return dict(_COLOURS)[name]


def in_floor_order(routes: list[LaidRoute]) -> list[LaidRoute]:
    """Routes by the lower end's rack, unit and port, in walking order."""
    texts: set[str] = set()
    for route in routes:
        texts |= {route.lower.rack, route.lower.port}
    natural_keys = {text: natural_key(text) for text in texts}

    def place(route: LaidRoute) -> tuple[object, ...]:
        return natural_keys[route.lower.rack], route.lower.unit, natural_keys[route.lower.port]

    return sorted(routes, key=place)


def _end(device: Device, end: Interface, cabinets: Mapping[str, str], panel: str) -> CableEnd:
    unit = short_number(device.unit)
    return CableEnd(
        rack=device.rack,
        unit=unit,
        device=device.name,
        kind=device.kind,
        role=device.role,
        port=end.port,
        panel=panel,
        identifier=f"{cabinets[device.rack]}-{unit:02}:{panel}",
    )


def _cabinet(rack: str, place: RackPlace | None) -> str:
    """The cabinet by row and place in the data hall; the rack's name for an unknown place."""
    return rack.upper() if place is None else f"{place.row_name}{place.position:02d}"
