"""Tables and rows in common to NetBox and Nautobot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.extras.source_of_truth.rows import KeptRow, KeptTable, Ref, cable_key, single_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from clusterwright.extras.source_of_truth.listing import Listing
    from clusterwright.extras.source_of_truth.rows import Key, Lookup, PatternRow

INTERFACE = "dcim.interface"
"""The content type of interfaces."""
BELONGINGS = (
    "dcim/console-ports", "dcim/power-ports", "dcim/front-ports", "dcim/rear-ports", "dcim/modules",
    "dcim/inventory-items", "ipam/services",
)  # fmt: skip
"""Lists of both servers with further parts of a device, all entered by people."""

TAGS = KeptTable("tags", "extras/tags", shared=True)
MANUFACTURERS = KeptTable("manufacturers", "dcim/manufacturers", shared=True)
DEVICE_TYPES = KeptTable(
    name="device-types",
    endpoint="dcim/device-types",
    key=(("manufacturer", "manufacturers"), ("model", None)),
    within=("model", None),
    shared=True,
)
PLATFORMS = KeptTable("platforms", "dcim/platforms", shared=True)
LAG_MEMBERS = KeptTable("lag-members", "dcim/interfaces", amends="interfaces")
REACHABLE_AT = KeptTable("reachable-at", "dcim/devices", amends="devices")


def interfaces_within(place: tuple[str, str]) -> KeptTable:
    """The table of interfaces, limited to the devices of a place."""
    return KeptTable(
        name="interfaces",
        endpoint="dcim/interfaces",
        key=(("device", "devices"), ("name", None)),
        within=place,
        owner=("device", "devices"),
    )


def cable_between(interface_ids: Sequence[Any], lookup: Lookup) -> Key | None:
    """The key of a cable by the ids of its two interfaces; None for an interface outside of the plan."""
    first, second = (lookup("interfaces", identity) for identity in interface_ids)
    if first is None or second is None:
        return None
    return cable_key(first, second)


def cluster_tags(listing: Listing) -> dict[str, Any]:
    """The field ``tags`` of an object of the cluster."""
    return {"tags": (Ref("tags", (listing.tag,)),)}


def lag_members(listing: Listing) -> Iterator[PatternRow]:
    """Ports with the interface of their bond."""
    for port, bond in listing.bonded():
        yield single_row(KeptRow("lag-members", port, {"lag": Ref("interfaces", bond)}))
