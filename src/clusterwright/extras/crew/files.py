"""Tables for technicians: point-to-point lists, pulls, trays, and labels."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterwright.extras.crew.pulls import CableBundle, TrayLoad, bundles, tray_loads
from clusterwright.extras.crew.route import in_floor_order, laid_routes
from clusterwright.lists.table import csv_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from clusterwright.extras.crew.route import LaidRoute
    from clusterwright.lists.records import Inventory

# NVIDIA UFM Cable Validation Tool 1.4 to 1.6, "P2P File", the columns of its Ethernet example.
_P2P_COLUMNS = (
    "A-Rack", "A-U", "A-Node Name", "A-Type", "A-Port", "Z-Rack", "Z-RU", "Z-Node Name", "Z-Type", "Z-Port",
    "Protocol", "Label", "Medium", "Length-m",
)  # fmt: skip
# The same, 1.7.1: the required columns of its sheet "Links"; Protocol is ib, ethernet or nvlink. Its sheet "Nodes" is
# not documented there.
_LINKS = "cable-validation/links.csv"
_LINKS_COLUMNS = ("A-Node", "A-Port", "Z-Node", "Z-Port", "Protocol")
# NVIDIA Mission Control, "DGX SuperPOD Ethernet North-South Network Configuration Guide" 2.0.0, appendix "Standard
# Point-to-Point (P2P) Column Header": the input p2p_ethernet.csv of bcm-netautogen.
_MISSION_CONTROL = "mission-control/p2p_ethernet.csv"
_MISSION_CONTROL_COLUMNS = (
    "#", "BUNDLE_ID", "SEQ", "SRC_RACKROLE", "SRC_RACK", "SRC_U", "SRC_NAME", "SRC_HCA_PORT", "SRC_TRANSCEIVER",
    "DST_RACKROLE", "DST_RACK", "DST_U", "DST_NAME", "DST_PORT", "DST_TRANSCEIVER",
)  # fmt: skip
_PROTOCOLS = {"infiniband": "ib", "ethernet": "ethernet"}
_LABEL_COLUMNS = ("rack", "unit", "device", "port", "panel", "label", "fabric", "colour", "medium", "length_m")


def crew_files(inventory: Inventory) -> Mapping[str, Iterator[str]]:
    """File name to lines.

    ``p2p_TECHNOLOGY.csv``, ``pulls.csv``, ``trays.csv``, ``labels.csv``, and the files of two newer tools in folders.
    """
    routes = in_floor_order(list(laid_routes(inventory)))
    pulled = bundles(routes)
    files: dict[str, Iterator[str]] = {}
    for technology in _PROTOCOLS:
        of_technology = [route for route in routes if route.technology == technology]
        if of_technology:
            files[f"p2p_{technology}.csv"] = csv_table(_P2P_COLUMNS, map(_point_to_point, of_technology))
    ethernet = [route for route in routes if route.technology == "ethernet"]
    if ethernet:
        files[_MISSION_CONTROL] = csv_table(_MISSION_CONTROL_COLUMNS, _mission_control(ethernet))
    return files | {
        _LINKS: csv_table(_LINKS_COLUMNS, map(_link, routes)),
        "pulls.csv": csv_table(CableBundle._fields, pulled),
        "trays.csv": csv_table(TrayLoad._fields, tray_loads(pulled)),
        "labels.csv": csv_table(_LABEL_COLUMNS, _labels(routes)),
    }


def _point_to_point(route: LaidRoute) -> Sequence[Any]:
    a, z = route.lower, route.upper
    return (
        a.rack, a.unit, a.device, _type(a.kind), a.port, z.rack, z.unit, z.device, _type(z.kind), z.port,
        _PROTOCOLS[route.technology], route.identifier, route.medium, route.length_m,
    )  # fmt: skip


def _link(route: LaidRoute) -> Sequence[Any]:
    a, z = route.lower, route.upper
    return (a.device, a.port, z.device, z.port, _PROTOCOLS[route.technology])


def _mission_control(routes: Iterable[LaidRoute]) -> Iterator[Sequence[Any]]:
    """Rows with running numbers; a bundle is all cables between two racks, and SEQ counts its cables."""
    numbers: dict[tuple[str, str], int] = {}
    counted: Counter[tuple[str, str]] = Counter()
    for number, route in enumerate(routes, 1):
        a, z = route.lower, route.upper
        pair = (a.rack, z.rack)
        counted[pair] += 1
        yield (
            number, numbers.setdefault(pair, len(numbers) + 1), counted[pair],
            a.role, a.rack, a.unit, a.device, a.port, route.medium,
            z.role, z.rack, z.unit, z.device, z.port, route.medium,
        )  # fmt: skip


def _type(kind: str) -> str:
    return "Switch" if kind == "switch" else "Host"


def _labels(routes: Iterable[LaidRoute]) -> Iterator[Sequence[Any]]:
    """Two labels for each cable: the near end first on each of them."""
    for route in routes:
        for near, far in ((route.lower, route.upper), (route.upper, route.lower)):
            yield (
                near.rack, near.unit, near.device, near.port, near.panel, f"{near.identifier} / {far.identifier}",
                route.fabric, route.colour, route.medium, route.length_m,
            )  # fmt: skip
