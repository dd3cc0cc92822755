"""Bringing a program onto changed files: validated before they lie in place, activated, verified, and taken back.

A program that takes a patch of what runs is told what differs alone, where all of it may be patched.

What that means for a program is data (see the role's defaults), the same five steps for all of them. Each is one kind
of running state beside sysctls and packet filters, with the same four methods.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
import tempfile
import time
from typing import Any, Mapping, Sequence

from ansible.module_utils.clusterwright_files import Refused, Tree, WantedFiles
from ansible.module_utils.clusterwright_patch import patch_of
from ansible.module_utils.clusterwright_running import Changes, Exempt, RunningChange, run_program

POLL_S = 0.5


def restarting_changes(restart: Mapping[str, Any], path: str, before: bytes | None, after: bytes) -> list[str]:
    """What of a changed file the program takes when it starts alone: the file, or words that begin lines of it.

    ``read_again`` maps patterns of files that it reads while it runs to the words that count then; None stands for all
    of them.
    """
    read_again: Mapping[str, Sequence[str] | None] = restart["read_again"]
    patterns = [pattern for pattern in read_again if fnmatch.fnmatchcase(path, pattern)]
    if not patterns or before is None:
        return [path]
    words = read_again[patterns[0]]
    if words is None:
        return []
    changed = _lines(before) ^ _lines(after)
    return sorted({re.split(r"[\s=]", line, maxsplit=1)[0] for line in changed} - set(words))


def _lines(text: bytes) -> set[str]:
    """The lines of a file of options, without comments and empty ones."""
    lines = (line.partition("#")[0].strip() for line in text.decode(errors="replace").splitlines())
    return {line for line in lines if line}


class SwitchOver:
    """One program. What it was last brought onto is kept beside the manifest, as a digest of its files."""

    def __init__(self, step: Mapping[str, Any], wanted: WantedFiles, exempt: Exempt, tree: Tree) -> None:
        self.step, self.tree = step, tree
        self.name = str(step["name"])
        files = [path for path in sorted(wanted) if self._reads(path)]
        self.exempted = [self.name] if files and exempt("service:" + self.name) else []
        self.files = [] if self.exempted else [wanted[path] for path in files]
        self.marker = os.path.join(tree.state, "service-" + re.sub(r"[^\w-]", "_", self.name) + ".json")
        text = "".join(f"{file.path}\0{file.sha256}\n" for file in self.files)
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        self.before: bytes | None = None  # of the one file of a step that patches, when the program runs it
        self.patched = False
        self._is_running: bool | None = None
        self.replaced = False  # whether a file differs from the one that lay there
        self.touched: list[str] = []  # what only a restart brings about, of the files as they are to be

    def _reads(self, path: str) -> bool:
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in self.step["files"])

    def check(self) -> None:
        """Have the program itself judge the files that are new, before anything is touched. Raises Refused."""
        for file in self.files:
            found = self.tree.find(file.path)
            if found is not None and found.content == file.content:
                continue
            self.replaced = True
            if "restart" in self.step:
                self.touched += restarting_changes(
                    self.step["restart"], file.path, found.content if found is not None else None, file.content
                )
            if found is not None and self.step.get("patch") and self._runs_on(file.path, found.content):
                self.before = found.content
            if self.step.get("format") == "json":
                try:
                    json.loads(file.content)
                except ValueError as error:
                    raise Refused(f"/{file.path} is not JSON: {error}") from error
            for judge in self.step.get("validate") or ():
                if fnmatch.fnmatchcase(file.path, judge.get("files", "*")):
                    self._judge(judge, file.path, file.content)

        if "restart" in self.step:
            wanted = {file.path for file in self.files}
            self.touched += [path for path in sorted(self.tree.managed()) if self._reads(path) and path not in wanted]

    def _judge(self, judge: Mapping[str, Any], path: str, content: bytes) -> None:
        with tempfile.TemporaryDirectory(prefix="clusterwright-") as folder:
            aside = os.path.join(folder, os.path.basename(path))
            with open(aside, "wb") as stream:
                stream.write(content)
            command = [part.replace("{file}", aside) for part in judge["command"]]
            try:
                ended = run_program(command)
            except Refused:
                return  # an image without the validator: what it would have said, verification says later
            said = (ended.stdout + ended.stderr).replace(aside, "/" + path)
            rejected = [line for line in said.splitlines() if "rejects" in judge and re.search(judge["rejects"], line)]
            if ended.returncode != 0 or rejected:
                told = "; ".join(line.strip() for line in rejected or said.splitlines()[-5:])
                raise Refused(f"{command[0]} refuses /{path}: {told}")

    def compare(self) -> list[RunningChange]:
        """A change when the program runs and was last brought onto other files."""
        if not self.files or self._marked() or not self._runs():
            return []
        return [RunningChange("service:" + self.name, "other files", "as read")]

    def converge(self, changes: Changes) -> None:
        """Activate and verify. Raises Refused when the program does not take its files well."""
        if changes and not self._patch():
            self._activate()
        if self.files and not self._marked():
            # Also for a program that does not run: it reads these files when it starts.
            self.tree.write(self.marker, json.dumps({"sha256": self.digest}).encode(), 0o600)

    def restore(self, changes: Changes) -> None:
        """The files are back: have the program read them. Raises Refused when it is not well with these either."""
        if self.patched:
            self._run(self.step["patch"]["undo"])
            self._verify()
        elif changes:
            self._activate()

    def _marked(self, digest: str | None = None) -> bool:
        try:
            with open(self.marker) as stream:
                marked: bool = json.load(stream).get("sha256") == (digest or self.digest)
                return marked
        except (FileNotFoundError, ValueError):
            return False

    def _runs(self) -> bool:
        if not self.step.get("running"):
            return True
        if self._is_running is None:
            try:
                self._is_running = run_program(list(self.step["running"])).returncode == 0
            except Refused:
                self._is_running = False
        return self._is_running

    def _runs_on(self, path: str, content: bytes) -> bool:
        """Whether the program was last brought onto this content of its only file: what differs is then known."""
        digest = hashlib.sha256(f"{path}\0{hashlib.sha256(content).hexdigest()}\n".encode()).hexdigest()
        return len(self.files) == 1 and self._marked(digest)

    def _patch(self) -> bool:
        """Change what runs where it differs alone; false where that is not known, or not all of it can be patched."""
        if self.before is None:
            return False
        step = self.step["patch"]
        operations, places = patch_of(self.before, self.files[0].content, step)
        if not operations:
            return False
        self._run(step["begin"])
        self.patched = True
        with tempfile.TemporaryDirectory(prefix="clusterwright-") as folder:
            aside = os.path.join(folder, "patch.json")
            with open(aside, "w") as stream:
                json.dump(operations, stream)
            self._run([[part.replace("{patch}", aside) for part in command] for command in step["apply"]])
        for follow in step.get("afterwards") or ():
            if any(re.fullmatch(follow["places"], place) for place in places):
                self._run([follow["command"]])
        self._verify()
        return True

    def _run(self, commands: Sequence[Sequence[str]]) -> None:
        for command in commands:
            run_program(list(command), refused=f"{self.name}: {' '.join(command)}")

    def _activate(self) -> None:
        starts = {log: self._log_bytes(log) for log in self._logs()}
        if self._restarts():
            self._run(self.step["restart"]["commands"])
            self._verify(starts)
        else:
            self._run(self.step["activate"])
            standby = {log for log in starts if self._is_standby(log)}
            self._verify({log: start for log, start in starts.items() if log not in standby})

    def _logs(self) -> list[str]:
        """The logs of the program: those that its files name, one for each instance on a host."""
        if "log" not in self.step:
            return []
        logs = []
        for file in self.files:
            if fnmatch.fnmatchcase(file.path, self.step["log"]["files"]):
                for line in file.content.decode(errors="replace").splitlines():
                    words = line.split()
                    if len(words) == 2 and words[0] == self.step["log"]["option"]:
                        logs.append(words[1])
        return logs

    def _restarts(self) -> bool:
        """Whether the program has to start anew: for what it reads then alone, or when nobody knows what differs.

        A run that ended between files and activation leaves files that are equal, and a program that is not theirs.
        """
        return "restart" in self.step and (bool(self.touched) or not self.replaced)

    def _verify(self, starts: Mapping[str, int] | None = None) -> None:
        """Ask the program whether it is well; ``starts`` has the bytes of each log before it was activated."""
        deadline = time.monotonic() + self.step.get("deadline_s", 60)
        for command in self.step.get("verify") or ():
            while True:
                ended = run_program(list(command))
                if ended.returncode == 0:
                    break
                if time.monotonic() > deadline:
                    said = (ended.stdout + ended.stderr).strip()
                    raise Refused(f"{self.name} is not well with its new files: {' '.join(command)}: {said}")
                time.sleep(POLL_S)
        for log in self._logs() if starts is None else starts:
            self._follow_log(log, starts[log] if starts is not None else 0, deadline)

    def _is_standby(self, log: str) -> bool:
        """Whether the program said last that another one acts: it reads its files again, and reports nothing of it."""
        if "standby" not in self.step:
            return False
        try:
            with open(log, errors="replace") as stream:
                states = [line for line in stream if re.search(self.step["standby"]["states"], line)]
        except OSError:
            return False
        return bool(states) and re.search(self.step["standby"]["quiet"], states[-1]) is not None

    def _log_bytes(self, log: str) -> int:
        try:
            return os.path.getsize(log)
        except OSError:
            return 0

    def _follow_log(self, log: str, start: int, deadline: float) -> None:
        done, failed = self.step["done"], self.step.get("failed")
        while True:
            lines: list[str] = []
            if os.path.exists(log):  # an instance that starts for the first time has none yet
                with open(log, errors="replace") as stream:
                    stream.seek(start if self._log_bytes(log) >= start else 0)  # a log that was rotated begins anew
                    lines = stream.read().splitlines()
            wrong = [line for line in lines if failed and re.search(failed, line)]
            if wrong:
                raise Refused(f"{self.name} is not well with its new files: {'; '.join(wrong[:3])}")
            if any(re.search(done, line) for line in lines):
                return
            if time.monotonic() > deadline:
                raise Refused(f"{self.name} did not come to {done!r} in {log}")
            time.sleep(POLL_S)
