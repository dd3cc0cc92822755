"""The due steps of a day, computed from the key schedule and the ledger.

Steps are computed from the current state, never from an earlier plan: after a crash the remaining ones are still due.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum

from clusterwright.keys.ledger import Ledger, Version
from clusterwright.spec.encryption import DATA, MACSEC, WRAPPING, KeySchedule


class Action(Enum):
    """One kind of step."""

    CREATE = "create"  # the first version of a wrapping key
    ROTATE = "rotate"  # a further one
    NEW = "new"  # a version of a data or MACsec key
    REWRAP = "rewrap"  # the same data key under the newest wrapping version
    DESTROY = "destroy"  # forget a data key version
    FORGET = "forget"  # destroy wrapping versions below this one


@dataclass(frozen=True, slots=True)
class RotationStep:
    """A step for one version of a key, with its reason in words."""

    action: Action
    key: str
    version: int
    reason: str


def steps(keys: Iterable[KeySchedule], ledger: Ledger, on: date) -> Iterator[RotationStep]:
    """The steps due on ``on``, in the order of their execution.

    Data keys past their last day go first, then the wrapping key gets a new version, the remaining keys are wrapped
    under it, and only then older wrapping versions are destroyed: a wanted key can be unwrapped at any moment.
    """
    schedule = tuple(keys)
    for wrapping in schedule:
        if wrapping.kind == WRAPPING:
            wrapped = [key for key in schedule if key.kind in (DATA, MACSEC) and key.wrapped_by == wrapping.name]
            yield from _steps_under(wrapping, wrapped, ledger, on)


def overdue(keys: Iterable[KeySchedule], ledger: Ledger, on: date) -> Iterator[str]:
    """Versions past their deletion date on ``on``, one sentence each."""
    for key in keys:
        for version in ledger.live(key.name):
            if key.delete_days is not None and version.born + timedelta(days=key.delete_days) < on:
                last = version.born + timedelta(days=key.delete_days)
                yield f"{key.name} version {version.number} should have been destroyed on {last} ({key.owner})"


def _steps_under(wrapping: KeySchedule, wrapped: list[KeySchedule], ledger: Ledger, on: date) -> Iterator[RotationStep]:
    live = ledger.live(wrapping.name)
    latest = live[-1].number if live else 1
    if not live:
        yield RotationStep(
            action=Action.CREATE, key=wrapping.name, version=1, reason="the schedule names it and it does not exist"
        )
    expired = []
    for key in wrapped:
        expired += [(key, version) for version in ledger.live(key.name) if _is_over(key, version, on)]
    for key, version in expired:
        yield RotationStep(
            action=Action.DESTROY,
            key=key.name,
            version=version.number,
            reason=f"its last day is past ({key.delete_days} days)",
        )
    tainted = {version.under for _, version in expired} | _versions_of_destroyed(wrapped, ledger)
    aged = bool(live) and on >= live[-1].born + timedelta(days=wrapping.rotate_days)
    if live and (aged or latest in tainted):
        reason = f"{wrapping.rotate_days} days are over"
        if not aged:
            reason = "a destroyed data key was wrapped under the newest"
        latest += 1
        yield RotationStep(action=Action.ROTATE, key=wrapping.name, version=latest, reason=reason)
    for key in wrapped:
        kept = [version for version in ledger.live(key.name) if not _is_over(key, version, on)]
        for version in kept:
            if version.under != latest:
                yield RotationStep(
                    action=Action.REWRAP,
                    key=key.name,
                    version=version.number,
                    reason=f"{wrapping.name} is at version {latest}",
                )
        yield from _new_version(key, ledger, kept, on)
    older = [version for version in live if version.number < latest]
    is_expired = any(_is_over(wrapping, version, on) for version in older)
    if is_expired or any(version.number in tainted for version in older):
        cause = "are past their last day" if is_expired else "wrapped data keys that are destroyed"
        reason = f"versions below it {cause}"
        yield RotationStep(action=Action.FORGET, key=wrapping.name, version=latest, reason=reason)


def _versions_of_destroyed(wrapped: list[KeySchedule], ledger: Ledger) -> set[int | None]:
    """Wrapping versions used for destroyed data keys."""
    versions: set[int | None] = set()
    for key in wrapped:
        versions.update(version.under for version in ledger.of(key.name) if version.destroyed is not None)
    return versions


def _new_version(key: KeySchedule, ledger: Ledger, kept: list[Version], on: date) -> Iterator[RotationStep]:
    versions = ledger.of(key.name)
    number = versions[-1].number + 1 if versions else 1
    if not kept:
        yield RotationStep(
            action=Action.NEW, key=key.name, version=number, reason="there is no version that may be used"
        )
    elif on >= kept[-1].born + timedelta(days=key.rotate_days):
        yield RotationStep(action=Action.NEW, key=key.name, version=number, reason=f"{key.rotate_days} days are over")


def _is_over(key: KeySchedule, version: Version, on: date) -> bool:
    return key.delete_days is not None and on >= version.born + timedelta(days=key.delete_days)
