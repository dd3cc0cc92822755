"""What differs between the plan and a fabric: typed statements, in the order in which somebody walks the racks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class DifferenceKind(StrEnum):
    """What is wrong."""

    SWAPPED = "swapped"
    RAIL_CROSSED = "rail-crossed"
    WRONG_PORT = "wrong-port"
    MISSING_LINK = "missing-link"
    UNEXPECTED_LINK = "unexpected-link"
    SLOW_LINK = "slow-link"
    MISSING_DEVICE = "missing-device"
    UNEXPECTED_DEVICE = "unexpected-device"
    EXCHANGED_DEVICES = "exchanged-devices"
    DISPLACED_DEVICE = "displaced-device"
    OTHER_GUID = "other-guid"
    DUPLICATE_GUID = "duplicate-guid"
    AMBIGUOUS = "ambiguous"
    WRONG_MODEL = "wrong-model"
    INTERNAL_LINK = "internal-link"


@dataclass(frozen=True, slots=True)
class Place:
    """A port, or a whole device where ``port`` is "". ``rack`` is "" and ``unit`` 0 for what the plan does not know."""

    device: str
    port: str = ""
    rack: str = ""
    unit: float = 0

    def __str__(self) -> str:
        return f"{self.device} {self.port}".rstrip()


@dataclass(frozen=True, slots=True)
class ObservedDifference:
    """One statement. ``place`` is where to go: the port to unplug, or the device.

    Where a cable is to be moved, ``cable`` is its end that stays, ``place`` the port that its other end leaves and
    ``target`` the one that it goes to; they are None otherwise. ``message`` says it all in a sentence.
    """

    kind: DifferenceKind
    place: Place
    message: str
    cable: Place | None = None
    target: Place | None = None

    @property
    def stop(self) -> Place:
        """Where the walk stops for it: ``place``, or the cable's other end where nobody knows the rack of that."""
        return self.cable if self.cable is not None and not self.place.rack else self.place

    @property
    def rack_order(self) -> tuple[object, ...]:
        """The sort key of the walk: rack, unit, device, port; what stands nowhere comes last."""
        where = self.stop
        return (
            not where.rack, natural_key(where.rack), where.unit, natural_key(where.device), natural_key(where.port),
            self.kind, self.message,
        )  # fmt: skip


def cable_to_move(
    kind: DifferenceKind, keep: Place, source: Place, target: Place, *, reasons: Iterable[str] = ()
) -> ObservedDifference:
    """The cable that ends at ``keep`` leaves ``source`` and goes to ``target``."""
    advice = f"move {keep} from {source} to {target}" + "".join(f" ({reason})" for reason in reasons)
    return ObservedDifference(kind=kind, place=source, message=advice, cable=keep, target=target)


def missing_link(lower: Place, upper: Place, *, causes: str) -> ObservedDifference:
    """No link between two ports that a cable is planned for."""
    message = f"no link between {lower} and {upper}: {causes}"
    return ObservedDifference(kind=DifferenceKind.MISSING_LINK, place=upper, message=message, cable=lower)


def unexpected_link(lower: Place, upper: Place) -> ObservedDifference:
    """A link between two planned ports that no cable is planned for."""
    message = f"take out the cable between {lower} and {upper}: none is planned there"
    return ObservedDifference(kind=DifferenceKind.UNEXPECTED_LINK, place=upper, message=message, cable=lower)


def natural_key(text: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key by which port 1/2 comes before port 1/10."""
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"([0-9]+)", text) if part)


def in_rack_order(differences: Iterable[ObservedDifference]) -> tuple[ObservedDifference, ...]:
    """Sorted by rack, unit, device and port; statements that are equal word for word come once."""
    return tuple(sorted(dict.fromkeys(differences), key=lambda item: item.rack_order))
