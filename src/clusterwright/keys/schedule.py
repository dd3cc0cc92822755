"""The due steps of a day: a pure function of the key schedule and the ledger.

Computed anew from what there is, never from what was planned before: after a crash the rest is simply still due.
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
    """One thing to do with one version of a key, and why, in words for people."""

    action: Action
    key: str
    version: int
    reason: str


def steps(keys: Iterable[KeySchedule], ledger: Ledger, on: date) -> Iterator[RotationStep]:
    """The steps that are due on ``on``, in the order in which they have to be done.

    Data keys past their last day go first, then the wrapping key gets a new version, what is left is wrapped under it,
    and only then older wrapping versions are destroyed: at no moment is a key that is wanted without a version that
    unwraps it.
    """
    schedule = tuple(keys)
    for wrapping in schedule:
        if wrapping.kind == WRAPPING:
            wrapped = [key for key in schedule if key.kind in (DATA, MACSEC) and key.wrapped_by == wrapping.name]
            yield from _steps_under(wrapping, wrapped, ledger, on)


def overdue(keys: Iterable[KeySchedule], ledger: Ledger, on: date) -> Iterator[str]:
    """Versions that should not exist any more on ``on``, one sentence each."""
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
    tainted = {version.under for _, version in expired}
    for key in wrapped:
        tainted |= {version.under for version in ledger.of(key.name) if version.destroyed is not None}
    aged = bool(live) and on >= live[-1].born + timedelta(days=wrapping.rotate_days)
    if live and (aged or latest in tainted):
        why = f"{wrapping.rotate_days} days are over" if aged else "a destroyed data key was wrapped under the newest"
        latest += 1
        yield RotationStep(action=Action.ROTATE, key=wrapping.name, version=latest, reason=why)
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
    over = [version for version in live if version.number < latest and (_is_over(wrapping, version, on))]
    if over or any(version.number in tainted for version in live if version.number < latest):
        ends = "are past their last day" if over else "wrapped data keys that are destroyed"
        why = f"versions below it {ends}"
        yield RotationStep(action=Action.FORGET, key=wrapping.name, version=latest, reason=why)


def _new_version(key: KeySchedule, ledger: Ledger, kept: list[Version], on: date) -> Iterator[RotationStep]:
    known = ledger.of(key.name)
    number = known[-1].number + 1 if known else 1
    if not kept:
        yield RotationStep(
            action=Action.NEW, key=key.name, version=number, reason="there is no version that may be used"
        )
    elif on >= kept[-1].born + timedelta(days=key.rotate_days):
        yield RotationStep(action=Action.NEW, key=key.name, version=number, reason=f"{key.rotate_days} days are over")


def _is_over(key: KeySchedule, version: Version, on: date) -> bool:
    return key.delete_days is not None and on >= version.born + timedelta(days=key.delete_days)
