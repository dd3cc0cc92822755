"""InfiniBand's view of a switch: the chips seen by a subnet manager, their GUIDs and port numbers.

A fixed switch is one chip. A director is a two-level Clos of chips (``HardwareModel.chips``): its front ports belong to
leaf chips, and every leaf chip has one link to every spine chip.

GUIDs of unscanned labels lie below a locally administered prefix, by kind and number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count

from clusterwright.plan.model import Device, Plan, fabric_of
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.models import Chips, HardwareModel
from clusterwright.spec.schema.check import default_at

# Planned GUIDs below the 24-bit prefix: 8 bits of kind, then 32 bits of number (switches keep 8 of them for chips).
# The kind tells switches, by tier, from adapters, and fabrics that share a prefix from each other.
_SWITCH_KINDS = 0x10
_HCA_KIND = 0x80
CHIP_BITS = 8
MOST_FABRICS = _HCA_KIND // _SWITCH_KINDS - 1
"""How many fabrics may share a prefix: the kinds of switches end where those of adapters begin."""


def switch_guid(prefix: int, number: int, tier: int, index: int) -> int:
    """Planned node GUID of a fabric's switch with this ``number``; a director's chips take the following ones."""
    kind = _SWITCH_KINDS * (number + 1) + tier
    return (prefix << 40) | (kind << 32) | (index << CHIP_BITS)


def hca_guid(prefix: int, number: int, node: int, nic: int) -> int:
    """Planned port GUID (and node GUID) of a NIC on the fabric with this ``number``."""
    return (prefix << 40) | ((_HCA_KIND + number) << 32) | (node << CHIP_BITS) | nic


def fabric_number(fabrics: Iterable[Fabric], fabric: Fabric) -> int:
    """Index of a fabric among the fabrics with its prefix of planned GUIDs."""
    prefix = _guid_prefix(fabric)
    if prefix is None:
        return 0
    sharing = [other.name for other in fabrics if _guid_prefix(other) == prefix]
    return sharing.index(fabric.name)


def _guid_prefix(fabric: Fabric) -> int | None:
    return fabric.subnet_manager.guid_prefix if fabric.subnet_manager else None


_GUID_PREFIX = ("fabrics", "subnet_manager", "guid_prefix")  # what planned GUIDs begin with


@dataclass(frozen=True, slots=True)
class Chip:
    """A switch as the subnet manager counts them: ``kind`` is ``switch`` (the whole device), ``leaf`` or ``spine``."""

    name: str
    guid: int
    kind: str
    ports: int


@dataclass(frozen=True, slots=True)
class InternalLink:
    """A trace between two chips of a director: indexes into ``chips_of``, ports counted from 1."""

    leaf: int
    leaf_port: int
    spine: int
    spine_port: int


def chips_of(plan: Plan, device: Device) -> tuple[Chip, ...]:
    """The chips of an InfiniBand switch, leaf chips first.

    A director's chips take the GUIDs that were scanned for them by their names, or those planned for
    them. Raises ValueError for a device without a GUID.
    """
    if device.guid is None:
        raise ValueError(f"{device.name} has no GUID: it is no InfiniBand switch")
    model = plan.spec.catalogue[device.model]
    inside = model.chips
    if inside is None:
        front = len(chip_ports(model, split=model.name in plan.split_models))
        return (Chip(name=device.name, guid=device.guid, kind="switch", ports=front),)
    fabric = fabric_of(plan, device.fabric)
    scanned = fabric.guids.by_end if fabric.guids else {}
    prefix = fabric.subnet_manager.guid_prefix if fabric.subnet_manager else default_at("cluster", _GUID_PREFIX)
    planned = switch_guid(prefix, fabric_number(plan.spec.fabrics, fabric), device.tier, device.index)
    kinds = ["leaf"] * inside.leaves + ["spine"] * inside.spines
    ports = {"leaf": inside.external + inside.spines, "spine": inside.leaves}
    chips: list[Chip] = []
    for guid, kind, name in zip(count(planned + 1), kinds, chip_names(device.name, inside), strict=False):
        chips.append(Chip(name=name, guid=scanned.get((name, ""), guid), kind=kind, ports=ports[kind]))
    return tuple(chips)


def chip_names(device: str, inside: Chips) -> tuple[str, ...]:
    """The names of a director's chips, in the order of ``chips_of``; how a scanned label names them."""
    return (
        *(f"{device} leaf {number}" for number in range(inside.leaves)),
        *(f"{device} spine {number}" for number in range(inside.spines)),
    )


def chip_places(inside: Chips) -> tuple[str, ...]:
    """The chips by board and place on it, in the order of ``chips_of``: ``L15/U2`` is leaf module 15's second chip.

    MLNX-OS ends a chip's node description with it: ``MF0;core-05:MCS8500/S02/U1``.
    """
    on_board = inside.leaves // inside.modules
    return (
        *(f"L{number // on_board + 1:02}/U{number % on_board + 1}" for number in range(inside.leaves)),
        *(f"S{number + 1:02}/U1" for number in range(inside.spines)),
    )


def internal_links(model: HardwareModel) -> Iterator[InternalLink]:
    """The traces inside a director; nothing for a fixed switch.

    Spine ports count the first chip of every leaf module, then the second: port 15 of a CS8500's second spine goes to
    L15/U1 and port 35 to L15/U2, and to both from their port 22 (ports that ibdiagnet lists for such directors).
    """
    inside = model.chips
    if inside is None:
        return
    on_board = inside.leaves // inside.modules
    for leaf in range(inside.leaves):
        module, place = divmod(leaf, on_board)
        for spine in range(inside.spines):
            yield InternalLink(
                leaf=leaf,
                leaf_port=inside.external + 1 + spine,
                spine=inside.leaves + spine,
                spine_port=place * inside.modules + module + 1,
            )


def chip_ports(model: HardwareModel, *, split: bool) -> dict[str, tuple[int, int]]:
    """Place of each front port: port name to (index into ``chips_of``, port number of that chip, from 1).

    Ports are numbered in the order of the cages. A switch in its split profile numbers every subport of every cage,
    split or not; any other numbers its cages and has no subports (``Plan.split_models`` has the models in it).
    """
    ports: dict[str, tuple[int, int]] = {}
    number = 0
    for block in model.blocks:
        modes = block.modes if split else [mode for mode in block.modes if len(mode.subports) == 1]
        width = max(len(mode.subports) for mode in modes)
        for cage in block.cages:
            for mode in modes:
                for subport, port in enumerate(mode.ports(cage)):
                    ports.setdefault(port, _place(model, number + subport))
            number += width
    return ports


def _place(model: HardwareModel, number: int) -> tuple[int, int]:
    if model.chips is None:
        return 0, number + 1
    return number // model.chips.external, number % model.chips.external + 1
