"""The record of every rollout: operator, reason, approved preview, waves, and the result of each device.

Appended lines of JSON, each chained to the one before (``clusterwright.chain``), in ``audit/rollouts.jsonl`` under the
root. A rollout's first line is written before anything is touched, so that a killed rollout is recorded too.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import socket
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clusterwright import __version__, chain
from clusterwright.child_environment import child_environment
from clusterwright.deploy.pulumi.automation import Ran
from clusterwright.finding import ClusterwrightError
from clusterwright.rollout.approval import Signature
from clusterwright.rollout.execution import Result, WaveResult
from clusterwright.rollout.gates.health import Checked
from clusterwright.rollout.gates.selection import GateSummary, LeftOut
from clusterwright.rollout.stack_change import StackChange
from clusterwright.rollout.waves import Wave

FOLDER, FILE = "audit", "rollouts.jsonl"


@dataclass(frozen=True, slots=True)
class RecordedOverride:
    """An override of a refusal by the policy or a proof, named in the first field."""

    what: str
    reason: str
    who: str


@dataclass(frozen=True, slots=True)
class Revision:
    """Origin of a spec: the commit of its repository, "" outside of one, and whether its files differ from it."""

    commit: str
    is_modified: bool
    sha256: str


@dataclass(frozen=True, slots=True)
class Approval:
    """An approved update and its signers. ``text`` is the preview shown, ``manifest`` the digest of the trees to send.

    ``gates`` run between waves, the gates in ``left_out`` do not. ``only`` are the devices of a partial update; empty
    for all of the stacks. ``kept`` is the digest of the kept spec (``keep_spec``), ``manifests`` are the digests by
    stack, ``to`` names the former rollout of a rollback. ``signatures`` are those of the approvers.
    """

    action: str
    cluster: str
    stacks: tuple[str, ...]
    who: str
    host: str
    reason: str
    spec: str
    revision: Revision
    manifest: str
    base: str
    text: str
    waves: tuple[Wave, ...]
    answers: tuple[RecordedOverride, ...]
    gates: tuple[GateSummary, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    only: tuple[str, ...] = ()
    kept: str = ""
    manifests: Mapping[str, str] = field(default_factory=dict)
    to: str = ""
    signatures: tuple[Signature, ...] = ()


class Trail:
    """The audit log of a root, for one rollout. Raises ClusterwrightError if the log was tampered with."""

    def __init__(self, root: Path, rollout: str) -> None:
        self._path = path_of(root)
        self._rollout = rollout
        self._head = chain.head_of(chain.read(self._path))

    def approved(self, approval: Approval, *, resumes: bool) -> None:
        """Record the approval, before anything is touched."""
        body = asdict(approval)
        body["preview"] = {"text": approval.text, "sha256": hashlib.sha256(approval.text.encode()).hexdigest()}
        del body["text"]
        body["waves"] = [{**asdict(wave), "effect": wave.effect.name.lower()} for wave in approval.waves]
        self._append("resumed" if resumes else "started", body)

    def wave(self, result: WaveResult) -> None:
        """Record the result of a wave."""
        devices = dict.fromkeys(result.wave.devices, "ok") | dict(result.failed)
        body: dict[str, Any] = {"wave": result.number, "layer": result.wave.layer, "is_canary": result.wave.is_canary}
        body |= {"devices": devices, "duration_s": round(result.duration_s, 3)}
        body["gates"] = [_gate_result(checked) for checked in result.checked]
        self._append("wave", {**body, "stopped": result.reason, **_warnings(result.warned)})

    def stack(self, change: StackChange) -> None:
        """Record the refresh or destruction of a stack."""
        body = asdict(change)
        self._append("stack", {**body, "duration_s": round(change.duration_s, 3)})

    def ended(self, result: Result) -> None:
        """Record the end of the rollout, also of a failed one."""
        stacks = [_stack_result(ran, result.warned.get(ran.stack, {})) for ran in result.stacks]
        self._append("ended", {"end": result.end.value, "text": result.text, "stacks": stacks})

    def _append(self, event: str, body: Mapping[str, Any]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        header = {"at": now, "rollout": self._rollout, "event": event, "program": __version__}
        self._head = chain.append(self._path, self._head, {**header, **body})


def path_of(root: Path) -> Path:
    """Path of the log of a root."""
    return root / FOLDER / FILE


def who() -> tuple[str, str]:
    """The current user, with the user before ``sudo``, and the host."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user id without an entry in the user database
        user = str(os.getuid())
    sudo_user = os.environ.get("SUDO_USER", "")
    if sudo_user and sudo_user != user:
        user = f"{user} (sudo by {sudo_user})"
    return user, socket.gethostname()


def revision_of(spec: Path, files: Iterable[Path]) -> Revision:
    """The commit of the spec's folder, whether one of ``files`` differs from it, and a digest over their bytes."""
    paths = sorted({file.resolve() for file in (spec, *files)})
    try:
        file_digests = [hashlib.sha256(path.read_bytes()).digest() for path in paths]
    except OSError as error:
        raise ClusterwrightError(f"{error.filename}: {error.strerror}") from None
    digest = hashlib.sha256(b"".join(file_digests)).hexdigest()
    commit = _git(spec.resolve().parent, "rev-parse", "HEAD")
    differs = bool(commit and _git(spec.resolve().parent, "status", "--porcelain", "--", *map(str, paths)))
    return Revision(commit, differs, digest)


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ("git", "-C", str(folder), *arguments),
            capture_output=True,
            text=True,
            check=False,
            env=child_environment(prefixes=["GIT_"]),
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _gate_result(checked: Checked) -> dict[str, Any]:
    return {
        "gate": checked.gate,
        "asked": checked.answer.asked,
        "wrong": dict(checked.answer.wrong),
        "told": list(checked.answer.notes),
        "duration_s": round(checked.duration_s, 3),
    }


def _stack_result(ran: Ran, warned: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    body: dict[str, Any] = {"stack": ran.stack, "ok": ran.ok, "counts": dict(ran.counts)}
    body["duration_s"] = round(ran.duration_s, 3)
    if ran.reason:
        body["reason"] = ran.reason
    return {**body, **_warnings(warned)}


def _warnings(warned: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    return {"warnings": {unit: list(lines) for unit, lines in warned.items()}} if warned else {}
