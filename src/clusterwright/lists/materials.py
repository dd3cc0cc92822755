"""The bill of materials: devices by model, cables by medium, speed and length, optics by connector."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from clusterwright.lists.interfaces import PortLayout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterwright.plan.model import Cable, Device, Plan

# Fibre with separate optics at its ends; on all other media they are part of the cable.
_FIBRE = frozenset({"mmf", "smf"})
# Connectors for bare fibre: the optics are part of the switch.
_CO_PACKAGED = frozenset({"mpo"})


class Material(NamedTuple):
    """A quantity of equal things to order. ``item`` is ``device``, ``cable`` or ``optic``; fields of other items are
    None.

    A cable is counted for each link, including the legs of a breakout cable; an optic once for each cage, so a
    twin-port transceiver once for both of its ports. Optics that are part of the switch are not counted.
    """

    item: str
    model: str | None
    manufacturer: str | None
    part: str | None
    medium: str | None
    connector: str | None
    speed_gbps: int | None
    length_m: float | None
    quantity: int


def materials(plan: Plan, devices: Iterable[Device], cables: Iterable[Cable]) -> Iterator[Material]:
    """The order for ``devices`` and ``cables``, with the optics at both ends of each cable."""
    for name, count in sorted(Counter(device.model for device in devices).items()):
        model = plan.spec.catalogue[name]
        yield Material(
            item="device",
            model=name,
            manufacturer=model.manufacturer,
            part=model.part,
            medium=None,
            connector=None,
            speed_gbps=None,
            length_m=None,
            quantity=count,
        )
    layout, by_name = PortLayout(plan), plan.by_name
    lines: Counter[tuple[str, int, float]] = Counter()
    optics: Counter[tuple[str, str, int]] = Counter()
    cages: set[tuple[str, str]] = set()
    for cable in cables:
        lines[cable.medium, cable.speed_gbps, cable.length_m] += 1
        if cable.medium not in _FIBRE:
            continue
        for end in (cable.a, cable.b):
            device = by_name[end.device]
            connector, breakout = layout.place(device, end.port, end.side, end.speed_gbps)
            if connector in _CO_PACKAGED:
                continue
            cage = (end.device, layout.optic_cage(device, end.port, breakout))
            if cage not in cages:
                cages.add(cage)
                optics[cable.medium, connector or "", end.speed_gbps] += 1
    for (medium, speed_gbps, length_m), count in sorted(lines.items()):
        yield Material(
            item="cable",
            model=None,
            manufacturer=None,
            part=None,
            medium=medium,
            connector=None,
            speed_gbps=speed_gbps,
            length_m=length_m,
            quantity=count,
        )
    for (medium, connector, speed_gbps), count in sorted(optics.items()):
        yield Material(
            item="optic",
            model=None,
            manufacturer=None,
            part=None,
            medium=medium,
            connector=connector or None,
            speed_gbps=speed_gbps,
            length_m=None,
            quantity=count,
        )
