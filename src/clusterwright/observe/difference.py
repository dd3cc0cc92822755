"""Differences between the plan and a fabric, typed and ordered for a walk along the racks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class DifferenceKind(StrEnum):
    """Kind of a difference; the value is the word shown."""

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
    """A port, or a whole device if ``port`` is "". Unplanned devices have the rack "" and the unit 0."""

    device: str
    port: str = ""
    rack: str = ""
    unit: float = 0

    def __str__(self) -> str:
        return f"{self.device} {self.port}".rstrip()


@dataclass(frozen=True, slots=True)
class ObservedDifference:
    """A difference. ``place`` is the port to unplug, or the device.

    For a cable to move, ``cable`` is the end that stays, ``place`` the port that the other end leaves and ``target``
    the port that it goes to. A missing, unexpected or slow link has its lower end in ``cable``; otherwise both are
    None. ``message`` is the whole in a sentence.
    """

    kind: DifferenceKind
    place: Place
    message: str
    cable: Place | None = None
    target: Place | None = None

    @property
    def stop(self) -> Place:
        """Stop of the walk: ``place``, or the cable's other end if the rack of ``place`` is unknown."""
        if self.cable is not None and not self.place.rack:
            return self.cable
        return self.place

    @property
    def rack_order(self) -> tuple[object, ...]:
        """Sort key of the walk: rack, unit, device, port; places without a rack come last."""
        place = self.stop
        return (
            not place.rack,
            natural_key(place.rack),
            place.unit,
            natural_key(place.device),
            natural_key(place.port),
            self.kind,
            self.message,
        )


def cable_to_move(
    kind: DifferenceKind, keep: Place, source: Place, target: Place, *, reasons: Iterable[str] = ()
) -> ObservedDifference:
    """A cable to move: it stays at ``keep``, leaves ``source`` and goes to ``target``."""
    advice = f"move {keep} from {source} to {target}" + "".join(f" ({reason})" for reason in reasons)
    return ObservedDifference(kind=kind, place=source, message=advice, cable=keep, target=target)


def missing_link(lower: Place, upper: Place, *, causes: str) -> ObservedDifference:
    """A planned cable without a link between its ports."""
    message = f"no link between {lower} and {upper}: {causes}"
    return ObservedDifference(kind=DifferenceKind.MISSING_LINK, place=upper, message=message, cable=lower)


def unexpected_link(lower: Place, upper: Place) -> ObservedDifference:
    """A link between two planned ports without a planned cable."""
    message = f"take out the cable between {lower} and {upper}: none is planned there"
    return ObservedDifference(kind=DifferenceKind.UNEXPECTED_LINK, place=upper, message=message, cable=lower)


def natural_key(text: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key with numbers in numeric order: port 1/2 comes before port 1/10."""
    parts: list[tuple[int, int | str]] = []
    for part in re.split(r"([0-9]+)", text):
        if part.isdecimal():
            parts.append((0, int(part)))
        elif part:
            parts.append((1, part))
    return tuple(parts)


def in_rack_order(differences: Iterable[ObservedDifference]) -> tuple[ObservedDifference, ...]:
    """Differences sorted by rack, unit, device and port, without duplicates."""
    return tuple(sorted(dict.fromkeys(differences), key=lambda item: item.rack_order))
