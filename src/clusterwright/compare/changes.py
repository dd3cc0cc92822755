"""Differences between two plans, as data: formats and work orders only print them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.plan.model import Cable, Device


@dataclass(frozen=True, slots=True)
class AccessChange:
    """A cell of the zone matrix: traffic that ``source`` may newly (``opened``) or no longer send to ``target``.

    ``traffic`` is a protocol with its destination ports (``tcp 22``), ``flows`` the names of the flows that say so.
    """

    source: str
    target: str
    opened: bool
    traffic: str
    flows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MembershipChange:
    """Something that belongs to a zone or an InfiniBand partition in one plan only: ``what`` names both in words."""

    owner: str
    what: str
    added: bool


@dataclass(frozen=True, slots=True)
class TermsChange:
    """A changed term of a flow of both plans: ``term`` is ``owner`` or ``expires``; "" stands for nothing agreed.

    ``longer`` says that the flow stays open for longer than before.
    """

    flow: str
    term: str
    before: str
    after: str
    longer: bool


@dataclass(frozen=True, slots=True)
class IsolationChanges:
    """All that decides who may talk to whom, for how long, and who answers for it."""

    access: tuple[AccessChange, ...]
    terms: tuple[TermsChange, ...]
    membership: tuple[MembershipChange, ...]

    def __bool__(self) -> bool:
        return bool(self.access or self.terms or self.membership)


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One property of a device that is in both plans; ``device`` is its name in the second. Values as text."""

    device: str
    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class DeviceChanges:
    """Devices of one plan only, and the changes of the others.

    ``renamed`` maps names of the first plan to names of the second: the same machine, which growth gave a longer name.
    """

    added: tuple[Device, ...]
    removed: tuple[Device, ...]
    renamed: Mapping[str, str]
    changed: tuple[FieldChange, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.renamed or self.changed)


@dataclass(frozen=True, slots=True)
class CableMove:
    """A cable that stays in use: ``ends`` says which end is plugged elsewhere, ``lower``, ``upper`` or ``both``."""

    before: Cable
    after: Cable
    ends: str


@dataclass(frozen=True, slots=True)
class CableChanges:
    """The cables of one fabric.

    ``kept`` counts those that nobody touches; ``replaced`` keep both ports and get another cable (medium, speed or
    length); ``stopped`` and ``started`` are kept ones that carry no traffic from now on (out of service, or an end is
    drained and its links stay up), or do again.
    """

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
    """The address of a port that is in both plans; "" where a plan gives it none."""

    fabric: str
    device: str
    port: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A file whose bytes differ: unified diff lines without the two headers; ``status`` is changed, added, removed."""

    path: str
    status: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConfigGroup:
    """Devices whose configuration changes by the same lines; ``files`` are shown as the first device has them."""

    devices: tuple[str, ...]
    role: str
    files: tuple[FileDiff, ...]


@dataclass(frozen=True, slots=True)
class PlanChanges:
    """Everything that differs between the plans ``before`` and ``after``, isolation first."""

    before: str
    after: str
    isolation: IsolationChanges
    devices: DeviceChanges
    cables: tuple[CableChanges, ...]
    addresses: tuple[AddressChange, ...]

    def __bool__(self) -> bool:
        return bool(self.isolation or self.devices or any(self.cables) or self.addresses)
