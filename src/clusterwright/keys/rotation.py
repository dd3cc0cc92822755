"""Carrying out due steps: one step, one line in the audit log, one new ledger, then the next.

The service acts first, the log is written second, the ledger last. A crash in between leaves the service one step
ahead: the next run adopts a new wrapping version of the service, and repeats every other step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from clusterwright.finding import ClusterwrightError
from clusterwright.keys.kms import Kms, version_of
from clusterwright.keys.ledger import AuditLog, Ledger, Version, read_ledger, write_ledger
from clusterwright.keys.schedule import Action, RotationStep, steps
from clusterwright.spec.encryption import WRAPPING, KeySchedule

LEDGER = "ledger.json"
AUDIT = "audit.jsonl"


@dataclass(frozen=True, slots=True)
class Keeper:
    """A folder with ledger and audit log, and the service with the wrapping keys."""

    folder: Path
    kms: Kms
    keys: tuple[KeySchedule, ...]

    @property
    def log(self) -> AuditLog:
        """The audit log."""
        return AuditLog(self.folder / AUDIT)

    def ledger(self) -> Ledger:
        """The ledger, after a check of the audit log; an event recorded just before a crash is adopted."""
        ledger = read_ledger(self.folder / LEDGER)
        return replace(ledger, head=self.log.check(ledger.head))

    def rotate(self, on: date, listener: Callable[[RotationStep], None]) -> int:
        """Do every step due on ``on``; ``listener`` gets each finished step. Returns their number.

        Raises ClusterwrightError, KmsError and ChainError; finished steps stay done and recorded.
        """
        ledger = self._adopt(self.ledger(), on)
        done = 0
        while (step := next(steps(self.keys, ledger, on), None)) is not None:
            ledger = self._carry_out(step, ledger, on)
            listener(step)
            done += 1
        return done

    def _adopt(self, ledger: Ledger, on: date) -> Ledger:
        """Add versions made by a run that crashed before recording them; they count from today."""
        for key in self.keys:
            state = self.kms.state(key.name) if key.kind == WRAPPING else None
            if state is None:
                if key.kind == WRAPPING and ledger.live(key.name):
                    raise ClusterwrightError(
                        f"the service has no key {key.name}, but the ledger does: what it wrapped is lost, or this is "
                        "another service. Nothing was changed."
                    )
                continue
            recorded = {version.number for version in ledger.of(key.name)}
            for number in range(state.oldest, state.latest + 1):
                if number not in recorded:
                    ledger = ledger.with_version(key.name, Version(number, on))
                    ledger = self._record(ledger, on, "adopt", key.name, number)
            for version in ledger.live(key.name):
                if version.number < state.oldest:
                    ledger = ledger.with_version(key.name, replace(version, destroyed=on))
                    ledger = self._record(ledger, on, Action.FORGET.value, key.name, version.number)
        return ledger

    def _carry_out(self, step: RotationStep, ledger: Ledger, on: date) -> Ledger:
        key = next(key for key in self.keys if key.name == step.key)
        wrapping_key = key.wrapped_by or ""
        if step.action is Action.CREATE:
            self.kms.create(key.name)
            ledger = ledger.with_version(key.name, Version(1, on))
        elif step.action is Action.ROTATE:
            self.kms.rotate(key.name)
            ledger = ledger.with_version(key.name, Version(step.version, on))
        elif step.action is Action.NEW:
            wrapped = self.kms.data_key(wrapping_key)
            ledger = ledger.with_version(
                key.name, Version(number=step.version, born=on, wrapped=wrapped, under=version_of(wrapped))
            )
        elif step.action is Action.REWRAP:
            version = _version(ledger, step)
            wrapped = self.kms.rewrap(wrapping_key, version.wrapped or "")
            ledger = ledger.with_version(key.name, replace(version, wrapped=wrapped, under=version_of(wrapped)))
        elif step.action is Action.DESTROY:
            version = _version(ledger, step)
            ledger = ledger.with_version(key.name, replace(version, wrapped=None, destroyed=on))
        else:
            ledger = self._forget(step, ledger, on)
        return self._record(ledger, on, step.action.value, step.key, step.version)

    def _forget(self, step: RotationStep, ledger: Ledger, on: date) -> Ledger:
        """Destroy old wrapping versions, after a check that no live key is wrapped under them."""
        for key in self.keys:
            if key.wrapped_by != step.key:
                continue
            for version in ledger.live(key.name):
                if version.under is None or version.under < step.version:
                    raise ClusterwrightError(
                        f"{key.name} version {version.number} is still wrapped under an old version of "
                        f"{step.key}; nothing was destroyed"
                    )
        self.kms.forget_before(step.key, step.version)
        for version in ledger.live(step.key):
            if version.number < step.version:
                ledger = ledger.with_version(step.key, replace(version, destroyed=on))
        return ledger

    def _record(self, ledger: Ledger, on: date, event: str, key: str, version: int) -> Ledger:
        head = self.log.append(ledger.head, on, {"event": event, "key": key, "version": version})
        ledger = replace(ledger, head=head)
        write_ledger(self.folder / LEDGER, ledger)
        return ledger


def newest(ledger: Ledger, key: str) -> Version:
    """The current version of a data or MACsec key. Raises ClusterwrightError if there is none."""
    live: Iterable[Version] = ledger.live(key)
    newest_version = max(live, key=lambda version: version.number, default=None)
    if newest_version is None or newest_version.wrapped is None:
        raise ClusterwrightError(f"there is no usable version of {key}; run `clusterwright keys rotate`")
    return newest_version


def _version(ledger: Ledger, step: RotationStep) -> Version:
    return next(version for version in ledger.live(step.key) if version.number == step.version)
