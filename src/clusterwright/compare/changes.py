"""Differences between two plans, as data for formats and work orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.plan.model import Cable, Device


@dataclass(frozen=True, slots=True)
class AccessChange:
    """A cell of the zone matrix: traffic from ``source`` to ``target`` that is newly permitted (``opened``), or no
    longer.

    ``traffic`` is a protocol with its destination ports (``tcp 22``), ``flows`` the names of the permitting flows.
    """

    source: str
    target: str
    opened: bool
    traffic: str
    flows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MembershipChange:
    """A member of a zone or an InfiniBand partition in one plan only; ``what`` is the predicate of a sentence on
    ``owner``."""

    owner: str
    what: str
    added: bool


@dataclass(frozen=True, slots=True)
class TermsChange:
    """A changed term of a flow of both plans: ``term`` is ``owner`` or ``expires``; "" stands for an absent term.

    ``longer`` is true if the flow stays open for longer than before.
    """

    flow: str
    term: str
    before: str
    after: str
    longer: bool


@dataclass(frozen=True, slots=True)
class IsolationChanges:
    """Changes of permitted traffic, its duration and its owners."""

    access: tuple[AccessChange, ...]
    terms: tuple[TermsChange, ...]
    membership: tuple[MembershipChange, ...]

    def __bool__(self) -> bool:
        return bool(self.access or self.terms or self.membership)


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One changed property of a device of both plans; ``device`` is its name in the second. Values as text."""

    device: str
    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class DeviceChanges:
    """Devices of one plan only, and the changes of the others.

    ``renamed`` maps names of the first plan to names of the second: the same machine, for example with one more digit.
    """

    added: tuple[Device, ...]
    removed: tuple[Device, ...]
    renamed: Mapping[str, str]
    changed: tuple[FieldChange, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.renamed or self.changed)


@dataclass(frozen=True, slots=True)
class CableMove:
    """A cable that stays in use: ``ends`` is the end plugged elsewhere, ``lower``, ``upper`` or ``both``."""

    before: Cable
    after: Cable
    ends: str


@dataclass(frozen=True, slots=True)
class CableChanges:
    """The cables of one fabric.

    ``kept`` counts untouched cables; ``replaced`` keep both ports and get another cable (medium, speed or length);
    ``stopped`` and ``started`` are kept cables that stop carrying traffic (out of service, or drained at one end with
    links up), or carry it again."""

    fabric: str
    kept: int
    moved: tuple[CableMove, ...]
    replaced: tuple[CableMove, ...]
    removed: tuple[Cable, ...]
    added: tuple[Cable, ...]
    stopped: tuple[Cable, ...]
    started: tuple[Cable, ...]

    def __bool__(self) -> bool:
        return bool(self.moved or self.replaced or self.removed or self.added or self.stopped or self.started)


@dataclass(frozen=True, slots=True)
class AddressChange:
    """The address of a port of both plans; "" without an address."""

    fabric: str
    device: str
    port: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A file with changed bytes: unified diff lines without the two headers; ``status`` is changed, added, removed."""

    path: str
    status: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConfigGroup:
    """Devices with the same changed lines; ``files`` are those of the first device."""

    devices: tuple[str, ...]
    role: str
    files: tuple[FileDiff, ...]


@dataclass(frozen=True, slots=True)
class PlanChanges:
    """All differences between the plans ``before`` and ``after``, isolation first."""

    before: str
    after: str
    isolation: IsolationChanges
    devices: DeviceChanges
    cables: tuple[CableChanges, ...]
    addresses: tuple[AddressChange, ...]

    def __bool__(self) -> bool:
        return bool(self.isolation or self.devices or any(self.cables) or self.addresses)
