"""A switch's configuration on trial: brought about, and taken back by the switch itself unless it is reached anew.

A program that reports itself well may have cut the switch off all the same. So a process of its own waits until the
control node came back over a new connection. If nobody does, it puts the files back and has programs read them.
"""

from __future__ import annotations

import glob
import json
import os
import secrets
import shlex
import shutil
import time
from typing import Any, Dict, Sequence

from ansible.module_utils.clusterwright_files import FileChange, Found, Refused, Tree
from ansible.module_utils.clusterwright_trial import start_apart

PENDING, REVERTED, CONFIRMED = "pending", "reverted", "confirmed"
_OURS = "reach"  # how tokens of this kind of trial begin
TAKE_BACK_S = 300  # longer than programs take to read their files again
# It begins to count once the module has answered, or is gone with its connection. Renaming decides who was first.
_WATCH = """
until [ -e "$1/answer.json" ] || [ ! -d "$1" ] || ! kill -0 "$4" 2>/dev/null; do sleep 1; done
[ -d "$1" ] || exit 0
sleep "$3"
mv -T "$1" "$2" 2>/dev/null && exec /bin/sh "$2/take-back.sh"
"""

Answer = Dict[str, Any]


class ReachTrial:
    """The trial of a device; there is at most one. Its folder bears its token."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def begin(
        self, changes: Sequence[FileChange], markers: Sequence[str], commands: Sequence[Sequence[str]], trial_s: int
    ) -> str:
        """Have what lies there now come back unless confirmed: files, what is recorded of them, then ``commands``."""
        token = _OURS + secrets.token_hex(8)
        pending, reverted = self._folder(PENDING, token), self._folder(REVERTED, token)
        os.makedirs(pending, mode=0o700)
        versions = [(self.tree.full(change.path), change.before) for change in changes]
        recorded = [os.path.relpath(path, self.tree.root) for path in (self.tree.manifest_path, *markers)]
        versions += [(self.tree.full(path), self.tree.find(path)) for path in recorded]
        lines = [line for number, version in enumerate(versions) for line in self._restoring(pending, number, *version)]
        lines += [shlex.join(command) for command in commands]
        script = "\n".join(["cd " + shlex.quote(reverted), *lines, "rm -rf " + shlex.quote(reverted)]) + "\n"
        self.tree.write(os.path.join(pending, "take-back.sh"), script.encode(), 0o600)
        watch = ["/bin/sh", "-c", _WATCH, "reach", pending, reverted, str(trial_s), str(os.getpid())]
        start_apart(watch, "clusterwright-reach-" + token, "the new configuration cannot be tried: systemd-run")
        return token

    def _restoring(self, pending: str, number: int, path: str, before: Found | None) -> list[str]:
        """The lines that bring one file back; its content is kept beside them."""
        place = shlex.quote(path)
        if before is None:
            return ["rm -f " + place]
        if before.kind == "link":
            return ["ln -sfn " + shlex.quote(os.fsdecode(before.content)) + " " + place]
        kept = os.path.join(pending, str(number))
        self.tree.write(kept, before.content, before.mode, before.uid, before.gid)
        aside = shlex.quote(os.path.join(os.path.dirname(path), ".clusterwright-back"))
        return [f"cp -p {number} {aside} && mv -f {aside} {place}"]

    def keep(self, token: str, answer: Answer) -> None:
        """All went well: the time begins in which somebody has to come back, who gets this answer."""
        self.tree.write(os.path.join(self._folder(PENDING, token), "answer.json"), json.dumps(answer).encode(), 0o600)

    def cancel(self, token: str) -> None:
        """The run puts everything back by itself."""
        if os.path.isdir(self._folder(PENDING, token)):
            self._end(token)

    def confirm(self, token: str) -> Answer | None:
        """The answer that was kept; None where a trial of another kind bears the token.

        Raises Refused when the configuration was taken back.
        """
        if not token.startswith(_OURS):
            return None
        try:
            confirmed = self._end(token, keeps=True)
        except OSError as error:
            raise Refused(
                "nobody reached this switch anew under its new configuration; it took the previous one back by itself"
            ) from error
        with open(os.path.join(confirmed, "answer.json")) as stream:
            answer: Answer = json.load(stream)
        self._forget(token)
        return answer

    def settle(self) -> None:
        """End a trial that a run left behind: whoever calls this has reached the switch. Call it under the lock."""
        for pending in self._folders(PENDING):
            self.cancel(pending.rpartition("-")[2])
        deadline = time.monotonic() + TAKE_BACK_S
        while self._folders(REVERTED):
            if time.monotonic() > deadline:
                raise Refused("this switch has been taking its previous configuration back for too long: look after it")
            time.sleep(0.5)

    def _end(self, token: str, *, keeps: bool = False) -> str:
        confirmed = self._folder(CONFIRMED, token)
        os.rename(self._folder(PENDING, token), confirmed)
        if not keeps:
            self._forget(token)
        return confirmed

    def _forget(self, token: str) -> None:
        shutil.rmtree(self._folder(CONFIRMED, token), ignore_errors=True)

    def _folder(self, state: str, token: str) -> str:
        return os.path.join(self.tree.state, f"reach-{state}-{token}")

    def _folders(self, state: str) -> list[str]:
        return sorted(glob.glob(self._folder(state, "*")))
