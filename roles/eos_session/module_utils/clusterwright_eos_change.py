"""Replacing a switch's configuration: staged, compared, committed with a timer, confirmed only when the switch is well.

Nothing here has to survive for the switch to be safe: whoever dies between commit and confirmation leaves the timer,
and the switch takes its previous configuration back by itself.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from typing import NamedTuple

from ansible.module_utils.clusterwright_eapi import Rejected, Unanswered
from ansible.module_utils.clusterwright_eos_switch import ARMED, FACTORY_NAME, PENDING, Identity, Switch
from ansible.module_utils.clusterwright_eos_text import commands_of, host_name

PREFIX = "clusterwright-"
POLL_S = 1
MARGIN_S = 15


class Limits(NamedTuple):
    """Times in seconds; ``timer_s`` is the longest."""

    timer_s: int
    settle_s: int


class NotChanged(Exception):
    """The switch runs what it ran before; the text says why."""


class InDoubt(Exception):
    """What the switch runs is not known, or not what it ran before; the text says why."""


def open_session(switch: Switch, device: str, text: str, limits: Limits) -> tuple[str, str, Identity]:
    """A staged session: its name, its diff ("" for none) and who the switch is. Raises NotChanged."""
    try:
        found = switch.identity()
        if found.hostname not in (device, FACTORY_NAME):
            raise NotChanged(f"what answers at {switch.eapi.address} calls itself {found.hostname}, not {device}")
        if host_name(text) != device:
            raise NotChanged(f"the configuration is for {host_name(text) or 'no host name'}, not {device}")
        _clear_the_way(switch, limits)
        session = PREFIX + secrets.token_hex(4)
        try:
            return session, switch.stage(session, commands_of(text)), found
        except Rejected:
            switch.drop(session)
            raise
    except (Rejected, Unanswered) as error:
        raise NotChanged(str(error)) from error


def _clear_the_way(switch: Switch, limits: Limits) -> None:
    """Wait for a commit that awaits its confirmation, ours or another's; forget what killed runs left unfinished."""
    end = time.monotonic() + limits.timer_s + MARGIN_S
    while True:
        sessions = switch.sessions()
        armed = sorted(name for name, state in sessions.items() if state == ARMED)
        if not armed:
            break
        if time.monotonic() > end:
            raise NotChanged(f"session {armed[0]} still waits for its confirmation; confirm or abort it on the switch")
        time.sleep(POLL_S)
    for name, state in sessions.items():
        if name.startswith(PREFIX) and state == PENDING:
            switch.drop(name)


class Commit:
    """A session on its way into effect."""

    def __init__(self, switch: Switch, session: str, expected: Identity, limits: Limits) -> None:
        self.switch, self.session, self.expected, self.limits = switch, session, expected, limits
        try:
            self.before = switch.running()
            self.up = {name for name, up in switch.neighbours().items() if up}
        except (Rejected, Unanswered) as error:
            raise NotChanged(str(error)) from error

    def carry_out(self) -> None:
        """Commit, wait until the switch is well, confirm and save. Raises NotChanged and InDoubt."""
        self.end = time.monotonic() + self.limits.timer_s
        try:
            self.switch.commit(self.session, self.limits.timer_s)
        except Rejected as error:
            self._drop()
            raise NotChanged(f"the switch refuses to commit: {error}") from error
        except Unanswered as error:
            # Perhaps it took effect and only the answer was lost: the switch tells.
            trouble = self._wait_until_well(str(error))
        else:
            trouble = self._wait_until_well("")
        if trouble:
            self._take_back(trouble)
        self._confirm()

    def _wait_until_well(self, trouble: str) -> str:
        """What is not well after ``settle_s``; "" once all is. Raises NotChanged when nothing was committed."""
        deadline = time.monotonic() + self.limits.settle_s
        while True:
            try:
                state = self.switch.sessions().get(self.session)
                if state == PENDING:
                    self._drop()
                    raise NotChanged(f"the commit was not carried out: {trouble}")
                trouble = self._ailment() if state == ARMED else "the switch took the configuration back by itself"
                if not trouble or state != ARMED:
                    return trouble
            except (Rejected, Unanswered) as error:
                trouble = f"after the commit {error}"
            if time.monotonic() > deadline:
                return trouble
            time.sleep(POLL_S)

    def _ailment(self) -> str:
        """What is wrong with the switch now, "" for nothing."""
        found = self.switch.identity()
        if found != self.expected:
            return f"after the commit {found.hostname} ({found.serial}) answers at its address"
        now = self.switch.neighbours()
        missing = sorted(name for name in self.up if now.get(name) is False)
        if missing:
            return f"{len(missing)} of {len(self.up)} BGP neighbours did not come back: {', '.join(missing[:5])}"
        return ""

    def _confirm(self) -> None:
        while True:
            try:
                self.switch.confirm(self.session)
                break
            except Unanswered as error:
                if time.monotonic() > self.end:
                    raise InDoubt(f"whether the switch took the confirmation is not known: {error}") from error
            except Rejected as error:
                # Over: an earlier confirmation arrived and its answer was lost, or the timer ran out.
                self._require_changed(str(error))
                break
            time.sleep(POLL_S)
        try:
            self.switch.save()
        except (Rejected, Unanswered) as error:
            raise InDoubt(f"the confirmed configuration was not saved: {error}") from error

    def _require_changed(self, trouble: str) -> None:
        try:
            unchanged = self.switch.running() == self.before
        except (Rejected, Unanswered) as error:
            raise InDoubt(f"{trouble}; {error}") from error
        if unchanged:
            raise NotChanged(f"the commit timer ran out before the confirmation came: {trouble}")

    def _take_back(self, trouble: str) -> None:
        """Have the previous configuration back, at once or when the timer runs out. Raises NotChanged or InDoubt."""
        try:
            self.switch.roll_back(self.session)
        except (Rejected, Unanswered) as error:
            trouble = f"{trouble} (left to the commit timer: {error})"
        unread = ""
        while time.monotonic() < self.end + MARGIN_S:
            try:
                if self.switch.running() == self.before:
                    raise NotChanged(f"{trouble}; the previous configuration is back")
                unread = "it still runs another configuration than before"
            except (Rejected, Unanswered) as error:
                unread = str(error)
            time.sleep(POLL_S)
        raise InDoubt(f"{trouble}; and when its commit timer had run out, {unread}")

    def _drop(self) -> None:
        with contextlib.suppress(Rejected, Unanswered):  # then the next run forgets it
            self.switch.drop(self.session)
