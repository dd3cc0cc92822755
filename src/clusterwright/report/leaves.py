"""The pages below the report's first: a cable sheet for each rack, and a page for each device."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from clusterwright.extras.crew.pulls import bundles
from clusterwright.extras.crew.route import CableEnd, LaidRoute, in_floor_order
from clusterwright.lists.as_csv import natural_key
from clusterwright.plan.service import ACTIVE
from clusterwright.report.device_tables import DeviceTables, port_anchor
from clusterwright.report.page import Cell, Leaf, PageTable, code, number, plural, power

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from clusterwright.extras.crew.pulls import CableBundle
    from clusterwright.lists.interfaces import ListedInterface
    from clusterwright.lists.materials import Material
    from clusterwright.lists.records import Inventory, Record
    from clusterwright.report.device_tables import Jobs

FOLDERS = ("racks", "devices", "pods", "search")
_DEVICES_ON_ONE_PAGE = 500  # with more, a page for each pod
_MOST_PULLS = 3000  # more bundles are only listed in pulls.csv
_FACTS = (
    ("Role", "role"), ("Model", "model"), ("Maker", "manufacturer"), ("Part", "part"), ("Unit", "unit"),
    ("Pod", "pod"), ("State", "state"), ("System", "network_os"), ("Image", "image"), ("AS number", "asn"),
    ("Loopback", "loopback"), ("Management address", "management"), ("GUID", "guid"), ("GPUs", "gpus"),
    ("Rank of its first GPU", "rank"), ("Power, W", "power_w"), ("Weight, kg", "weight_kg"),
    ("Serial number", "serial"), ("Asset tag", "asset_tag"), ("Name by its place", "planned_name"),
)  # fmt: skip


def leaves(inventory: Inventory, routes: Iterable[LaidRoute], jobs: Jobs | None) -> Mapping[str, Callable[[], Leaf]]:
    """File name to the function that makes the page on request.

    ``floor.html`` and ``devices.html`` link to ``racks/NAME.html`` and ``devices/NAME.html``, these by way of
    ``pods/NAME.html`` in a cluster with many devices. Alerts and people's notes link to them: their names stay.
    """
    pages = _Leaves(inventory, routes, jobs)
    return {
        "floor.html": pages.floor,
        "devices.html": pages.index,
        **{f"pods/{name}.html": partial(pages.pod, name) for name in pages.pods},
        **{f"racks/{name}.html": partial(pages.rack, name) for name in pages.racks},
        **{f"devices/{name}.html": partial(pages.device, name) for name in pages.devices},
    }


class _Leaves:
    def __init__(self, inventory: Inventory, routes: Iterable[LaidRoute], jobs: Jobs | None) -> None:
        self.inventory = inventory
        self.tables = DeviceTables(inventory, jobs)
        self.cluster = inventory.plan.name
        self.devices: Mapping[str, Record] = {record["name"]: record for record in inventory.devices()}
        self.racks: Mapping[str, Record] = {record["name"]: record for record in inventory.racks()}
        self.routes = in_floor_order(list(routes))
        self.routes_of_rack: dict[str, list[LaidRoute]] = defaultdict(list)
        self.devices_of_rack: dict[str, list[Record]] = defaultdict(list)
        self.far: dict[tuple[str, str], tuple[CableEnd, LaidRoute]] = {}
        self.ports: dict[str, list[ListedInterface]] = defaultdict(list)
        self.addresses: dict[tuple[str, str], list[str]] = defaultdict(list)
        for route in self.routes:
            for near, far in ((route.lower, route.upper), (route.upper, route.lower)):
                self.far[near.device, near.port] = far, route
                if near is route.lower or near.rack != far.rack:
                    self.routes_of_rack[near.rack].append(route)
        self.pods: dict[str, list[Record]] = defaultdict(list)
        self.outside_pods: list[Record] = []
        for record in self.devices.values():
            self.devices_of_rack[record["rack"] or ""].append(record)
            if record["pod"] is not None and len(self.devices) > _DEVICES_ON_ONE_PAGE:
                self.pods[record["pod"]].append(record)
            else:
                self.outside_pods.append(record)
        for port in inventory.interfaces():
            self.ports[port.device].append(port)
        for record in inventory.addresses():
            self.addresses[record["device"], record["port"]].append(f"{record['address']}/{record['prefix_length']}")

    def floor(self) -> Leaf:
        """Every rack, the cables between them, and the bill of materials."""
        racks = PageTable(
            name="racks",
            caption="Racks, each with its cable sheet",
            columns=("Rack", "Pod", "Devices", "Units taken", "Power", "Weight, kg", "Cable ends"),
            rows=tuple(self.rack_row(record) for record in self.racks.values()),
        )
        return Leaf(
            title="For technicians",
            cluster=self.cluster,
            up="",
            text="A sheet for each rack to print and tick off. pulls.csv, labels.csv and the"
            " point-to-point lists beside "
            "this page are for spreadsheets and label printers.",
            facts=(),
            tables=(racks, self.pulls(), self.materials()),
        )

    def rack_row(self, record: Record) -> tuple[Cell, ...]:
        """The row of a rack, with a link to its cable sheet."""
        name = record["name"]
        return (
            Cell(name, "code", f"racks/{name}.html"),
            Cell(record["pod"] or "–"),
            number(record["devices"]),
            Cell(f"{record['used_units']:g} of {record['height_units']}", "number"),
            Cell(power(record["power_w"]), "number"),
            number(record["weight_kg"]),
            number(len(self.routes_of_rack[name])),
        )

    def pulls(self) -> PageTable:
        """Bundles in walking order; only their number if they are too many to read."""
        pulled = bundles(self.routes)
        rows: tuple[tuple[Cell, ...], ...] = ()
        note = f"{plural(len(pulled), 'bundle')}: pulls.csv has each, in the order in which they are pulled."
        if pulled and len(pulled) <= _MOST_PULLS:
            rows, note = tuple(map(_pull_row, pulled)), ""
        return PageTable(
            name="pulls",
            caption="Pull order",
            columns=("Done", "From", "To", "Trays", "Cables", "Fabric", "Colour", "Medium", "Speed", "Length"),
            rows=rows,
            note=note,
        )

    def materials(self) -> PageTable:
        """The bill of materials: devices, cables, optics."""
        return PageTable(
            name="materials",
            caption="To order",
            columns=("What", "Model", "Maker", "Part", "Medium", "Connector", "Speed", "Length", "Quantity"),
            rows=tuple(_material_row(item) for item in self.inventory.materials()),
            note="An optic is counted once for each cage with fibre in it; copper and active cables bring their own.",
        )

    def index(self) -> Leaf:
        """Every pod with a link to its page, and the devices outside of pods; all devices in a small cluster."""
        roles = sorted({record["role"] for record in chain.from_iterable(self.pods.values())})
        pods = PageTable(
            name="pods",
            caption="Pods, each with its devices",
            columns=("Pod", "Devices", "Racks", *roles),
            rows=tuple(_pod_row(name, records, roles) for name, records in self.pods.items()),
        )
        outside = _device_table("Devices outside of pods" if self.pods else "Devices", self.outside_pods, "")
        return Leaf(
            title="Devices",
            cluster=self.cluster,
            up="",
            text=f"{plural(len(self.devices), 'device')}.",
            facts=(),
            tables=tuple(table for table in (pods, outside) if table.rows),
        )

    def pod(self, name: str) -> Leaf:
        """The devices of a pod."""
        records = self.pods[name]
        return Leaf(
            title=f"Pod {name}",
            cluster=self.cluster,
            up="../",
            text=f"{plural(len(records), 'device')}.",
            facts=(),
            tables=(_device_table("Devices", records, "../"),),
        )

    def rack(self, name: str) -> Leaf:
        """The devices of the rack, and every cable with an end in it."""
        record = self.racks[name]
        mounted = sorted(self.devices_of_rack[name], key=lambda device: -(device["unit"] or 0))
        devices = PageTable(
            name="devices",
            caption="Devices, from the top",
            columns=("Unit", "Device", "Role", "Model"),
            rows=tuple(
                (_unit(device["unit"]), _device(device["name"]), Cell(device["role"]), code(device["model"]))
                for device in mounted
            ),
        )
        rows = [_sheet_row(*_near_first(route, name)) for route in self.routes_of_rack[name]]
        cables = PageTable(
            name="cables",
            caption="Cable sheet",
            columns=(
                "Done",
                "Unit",
                "Device",
                "Port",
                "To rack",
                "To unit",
                "To device",
                "To port",
                "Cable",
                "Colour",
                "Label",
            ),
            rows=tuple(rows),
            is_worked_through=True,
        )
        facts = (
            ("Pod", Cell(record["pod"] or "–")),
            ("Power", Cell(power(record["power_w"]))),
            ("Weight", Cell(f"{record['weight_kg']:,g} kg")),
            ("Units taken", Cell(f"{record['used_units']:g} of {record['height_units']}")),
        )
        return Leaf(
            title=f"Rack {name}", cluster=self.cluster, up="../", text="", facts=facts, tables=(devices, cables)
        )

    def device(self, name: str) -> Leaf:
        """The properties of the device, and each of its ports with the other end."""
        record = self.devices[name]
        facts = [("Rack", _rack(record, "../"))]
        for title, key in _FACTS:
            is_absent = record[key] in (None, "", 0)
            if key == "rank":  # rank 0 is a rank
                is_absent = record[key] is None
            elif key == "planned_name" and record[key] == name:
                is_absent = True
            if not is_absent:
                facts.append((title, Cell(str(record[key]))))
        if record["zones"]:
            facts.append(("Zones", Cell(", ".join(record["zones"]))))
        listed = sorted(self.ports[name], key=lambda port: natural_key(port.name))
        ports = PageTable(
            name="ports",
            caption="Ports and interfaces",
            columns=("Port", "Role", "Fabric", "Speed", "Address", "To device", "To port", "Cable", "In service"),
            rows=tuple(self.port_row(port) for port in listed),
        )
        text = f"Its files: `clusterwright render SPEC --only {name} --out DIR`."
        tables = (*self.tables.of(record), ports)
        return Leaf(title=name, cluster=self.cluster, up="../", text=text, facts=tuple(facts), tables=tables)

    def port_row(self, port: ListedInterface) -> tuple[Cell, ...]:
        """The row of a port on a device's page."""
        far, route = self.far.get((port.device, port.name), (None, None))
        properties = port.properties
        is_expected = properties.in_service or properties.role == "unused"
        return (
            Cell(port.name, "code", anchor=port_anchor(port.name)),
            Cell(properties.role),
            Cell(properties.fabric or "–"),
            Cell("–" if properties.speed_gbps is None else f"{properties.speed_gbps}G", "number"),
            Cell(", ".join(self.addresses[port.device, port.name]) or "–", "code long"),
            Cell("–") if far is None else Cell(far.device, "code", f"{far.device}.html#{port_anchor(far.port)}"),
            code("–" if far is None else far.port),
            Cell("–" if route is None else _cable(route), "line"),
            Cell("yes" if properties.in_service else "no", "" if is_expected else "warning"),
        )


def _pull_row(pull: CableBundle) -> tuple[Cell, ...]:
    basis = "" if pull.length_from == "positions" else ", as the tier says"
    return (
        Cell("", "tick"),
        code(pull.from_rack or "–"),
        code(pull.to_rack or "–"),
        Cell(pull.pathway or "–"),
        number(pull.cables),
        Cell(pull.fabric),
        Cell(pull.colour),
        Cell(pull.medium),
        Cell(f"{pull.speed_gbps}G", "number"),
        Cell(f"{pull.length_m:g} m{basis}", "number"),
    )


def _material_row(item: Material) -> tuple[Cell, ...]:
    return (
        Cell(item.item),
        code(item.model or "–"),
        Cell(item.manufacturer or "–"),
        Cell(item.part or "–"),
        Cell(item.medium or "–"),
        Cell(item.connector or "–"),
        Cell("–" if item.speed_gbps is None else f"{item.speed_gbps}G", "number"),
        Cell("–" if item.length_m is None else f"{item.length_m:g} m", "number"),
        number(item.quantity),
    )


def _pod_row(name: str, records: list[Record], roles: list[str]) -> tuple[Cell, ...]:
    count_by_role = Counter(record["role"] for record in records)
    racks = {record["rack"] for record in records if record["rack"]}
    return (
        Cell(name, "code", f"pods/{name}.html"),
        number(len(records)),
        number(len(racks)),
        *(number(count_by_role[role]) for role in roles),
    )


def _device_table(caption: str, records: Iterable[Record], up: str) -> PageTable:
    """Devices with links to their pages; ``up`` is the path from the table's page to the report's folder."""
    return PageTable(
        name="devices",
        caption=caption,
        columns=("Device", "Role", "Model", "Rack", "Unit", "State"),
        rows=tuple(_device_row(record, up) for record in records),
    )


def _device_row(record: Record, up: str) -> tuple[Cell, ...]:
    return (
        Cell(record["name"], "code", f"{up}devices/{record['name']}.html"),
        Cell(record["role"]),
        code(record["model"]),
        _rack(record, up),
        _unit(record["unit"]),
        Cell(record["state"], "" if record["state"] == ACTIVE else "warning"),
    )


def _near_first(route: LaidRoute, rack: str) -> tuple[LaidRoute, CableEnd, CableEnd]:
    near, far = (route.lower, route.upper) if route.lower.rack == rack else (route.upper, route.lower)
    return route, near, far


def _sheet_row(route: LaidRoute, near: CableEnd, far: CableEnd) -> tuple[Cell, ...]:
    return (
        Cell("", "tick"),
        _unit(near.unit),
        _device(near.device),
        code(near.port),
        Cell(far.rack or "–", "code", f"{far.rack}.html" if far.rack else ""),
        _unit(far.unit),
        _device(far.device),
        code(far.port),
        Cell(_cable(route), "line"),
        Cell(route.colour),
        Cell(f"{near.identifier} / {far.identifier}", "code long"),
    )


def _cable(route: LaidRoute) -> str:
    service = "" if route.in_service else ", out of service"
    return f"{route.medium} {route.speed_gbps}G {route.length_m:g} m{service}"


def _device(name: str) -> Cell:
    return Cell(name, "code", f"../devices/{name}.html")


def _rack(record: Record, up: str) -> Cell:
    name = record["rack"]
    return Cell("–") if name is None else Cell(name, "code", f"{up}racks/{name}.html")


def _unit(unit: float | None) -> Cell:
    return Cell(f"{unit:g}" if unit else "–", "number")
