"""Bringing a program onto changed files: validated before they lie in place, activated, verified, and taken back.

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
from typing import Any, Mapping

from ansible.module_utils.clusterwright_files import Refused, Tree, WantedFiles
from ansible.module_utils.clusterwright_running import Changes, Exempt, RunningChange, run_program

POLL_S = 0.5


class SwitchOver:
    """One program. What it was last brought onto is kept beside the manifest, as a digest of its files."""

    def __init__(self, step: Mapping[str, Any], wanted: WantedFiles, exempt: Exempt, tree: Tree) -> None:
        self.step, self.tree = step, tree
        self.name = str(step["name"])
        files = [path for path in sorted(wanted) if any(fnmatch.fnmatchcase(path, want) for want in step["files"])]
        self.exempted = [self.name] if files and exempt("service:" + self.name) else []
        self.files = [] if self.exempted else [wanted[path] for path in files]
        self.marker = os.path.join(tree.state, "service-" + re.sub(r"[^\w-]", "_", self.name) + ".json")
        text = "".join(f"{file.path}\0{file.sha256}\n" for file in self.files)
        self.digest = hashlib.sha256(text.encode()).hexdigest()

    def check(self) -> None:
        """Have the program itself judge the files that are new, before anything is touched. Raises Refused."""
        for file in self.files:
            found = self.tree.find(file.path)
            if found is not None and found.content == file.content:
                continue
            if self.step.get("format") == "json":
                try:
                    json.loads(file.content)
                except ValueError as error:
                    raise Refused(f"/{file.path} is not JSON: {error}") from error
            for judge in self.step.get("validate") or ():
                if fnmatch.fnmatchcase(file.path, judge.get("files", "*")):
                    self._judge(judge, file.path, file.content)

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
        if changes:
            self._bring_over()
        if self.files and not self._marked():
            # Also for a program that does not run: it reads these files when it starts.
            self.tree.write(self.marker, json.dumps({"sha256": self.digest}).encode(), 0o600)

    def restore(self, changes: Changes) -> None:
        """The files are back: have the program read them. Raises Refused when it is not well with these either."""
        if changes:
            self._bring_over()

    def _marked(self) -> bool:
        try:
            with open(self.marker) as stream:
                marked: bool = json.load(stream).get("sha256") == self.digest
                return marked
        except (FileNotFoundError, ValueError):
            return False

    def _runs(self) -> bool:
        if not self.step.get("running"):
            return True
        try:
            runs: bool = run_program(list(self.step["running"])).returncode == 0
        except Refused:
            return False
        return runs

    def _bring_over(self) -> None:
        start = self._log_bytes()
        for command in self.step["activate"]:
            run_program(list(command), refused=f"{self.name}: {' '.join(command)}")
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
        if self.step.get("log"):
            self._follow_log(start, deadline)

    def _log_bytes(self) -> int:
        try:
            return os.path.getsize(self.step.get("log") or "")
        except OSError:
            return 0

    def _follow_log(self, start: int, deadline: float) -> None:
        log, done, failed = self.step["log"], self.step["done"], self.step.get("failed")
        while True:
            with open(log, errors="replace") as stream:
                stream.seek(start if self._log_bytes() >= start else 0)  # a log that was rotated begins anew
                lines = stream.read().splitlines()
            wrong = [line for line in lines if failed and re.search(failed, line)]
            if wrong:
                raise Refused(f"{self.name} is not well with its new files: {'; '.join(wrong[:3])}")
            if any(re.search(done, line) for line in lines):
                return
            if time.monotonic() > deadline:
                raise Refused(f"{self.name} did not come to {done!r} in {log}")
            time.sleep(POLL_S)
