"""The record of every rollout: operator, reason, approved preview, waves, and the answer of each device.

Lines of JSON that only grow, each chained to the one before (``clusterwright.chain``), in ``audit/rollouts.jsonl``
under the root. A rollout's first line is written before anything is touched: one that was killed left its mark too.
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
from clusterwright.finding import ClusterwrightError
from clusterwright.rollout.approval import Signature
from clusterwright.rollout.execution import Result, WaveResult
from clusterwright.rollout.gates.selection import Asked, LeftOut
from clusterwright.rollout.stack_change import StackChange
from clusterwright.rollout.waves import Wave

FOLDER, FILE = "audit", "rollouts.jsonl"


@dataclass(frozen=True, slots=True)
class RecordedOverride:
    """An override of a refusal by the policy or a proof, which its first field names."""

    what: str
    reason: str
    who: str


@dataclass(frozen=True, slots=True)
class Revision:
    """Where a spec comes from: the commit of its repository, "" outside of one, and whether its files differ."""

    commit: str
    is_modified: bool
    sha256: str


@dataclass(frozen=True, slots=True)
class Approval:
    """An approved update and its signers. ``text`` is the preview as it was shown, ``manifest`` the trees to be sent.

    ``gates`` are asked between waves, those in ``left_out`` are not. ``only`` are the devices that it was about alone;
    empty: all of the stacks. ``kept`` is the digest of the kept spec (``keep_spec``), ``manifests`` are the digests by
    stack, ``to`` names the rollout whose spec it brings back. ``signatures`` are those of the people who approved it.
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
    gates: tuple[Asked, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    only: tuple[str, ...] = ()
    kept: str = ""
    manifests: Mapping[str, str] = field(default_factory=dict)
    to: str = ""
    signatures: tuple[Signature, ...] = ()


class Trail:
    """The audit log of a root, for one rollout. Raises ClusterwrightError when the log was tampered with."""

    def __init__(self, root: Path, rollout: str) -> None:
        self._path = path_of(root)
        self._rollout = rollout
        self._head = chain.head_of(chain.read(self._path))

    def approved(self, approval: Approval, *, resumes: bool) -> None:
        """Before anything is touched."""
        body = asdict(approval)
        body["preview"] = {"text": approval.text, "sha256": hashlib.sha256(approval.text.encode()).hexdigest()}
        del body["text"]
        body["waves"] = [{**asdict(wave), "effect": wave.effect.name.lower()} for wave in approval.waves]
        self._append("resumed" if resumes else "started", body)

    def wave(self, result: WaveResult) -> None:
        """After a wave."""
        devices = dict.fromkeys(result.wave.devices, "ok") | dict(result.failed)
        body: dict[str, Any] = {"wave": result.number, "layer": result.wave.layer, "is_canary": result.wave.is_canary}
        body |= {"devices": devices, "duration_s": round(result.duration_s, 3)}
        gates = [
            {
                "gate": gate_result.gate,
                "asked": gate_result.answer.asked,
                "wrong": dict(gate_result.answer.wrong),
                "told": list(gate_result.answer.notes),
                "duration_s": round(gate_result.duration_s, 3),
            }
            for gate_result in result.checked
        ]
        self._append("wave", {**body, "gates": gates, "stopped": result.reason, **_warnings(result.warned)})

    def stack(self, change: StackChange) -> None:
        """After a stack was refreshed or destroyed."""
        body = asdict(change)
        self._append("stack", {**body, "duration_s": round(change.duration_s, 3)})

    def ended(self, result: Result) -> None:
        """At the end, also of a rollout that failed."""
        stacks = [
            {"stack": ran.stack, "ok": ran.ok, "counts": dict(ran.counts), "duration_s": round(ran.duration_s, 3)}
            | ({"reason": ran.reason} if ran.reason else {})
            | _warnings(result.warned.get(ran.stack, {}))
            for ran in result.stacks
        ]
        self._append("ended", {"end": result.end.value, "text": result.text, "stacks": stacks})

    def _append(self, event: str, body: Mapping[str, Any]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        header = {"at": now, "rollout": self._rollout, "event": event, "program": __version__}
        self._head = chain.append(self._path, self._head, {**header, **body})


def path_of(root: Path) -> Path:
    """Where the log of a root lies."""
    return root / FOLDER / FILE


def who() -> tuple[str, str]:
    """The user who runs this, with who that was before ``sudo``, and the host."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user id without an entry in the user database
        user = str(os.getuid())
    before = os.environ.get("SUDO_USER", "")
    return f"{user} (sudo by {before})" if before and before != user else user, socket.gethostname()


def revision_of(spec: Path, files: Iterable[Path]) -> Revision:
    """The commit of the spec's folder, whether one of ``files`` differs from it, and a digest over their bytes."""
    named = sorted({file.resolve() for file in (spec, *files)})
    try:
        digest = hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in named)).hexdigest()
    except OSError as error:
        raise ClusterwrightError(f"{error.filename}: {error.strerror}") from None
    commit = _git(spec.resolve().parent, "rev-parse", "HEAD")
    differs = bool(commit and _git(spec.resolve().parent, "status", "--porcelain", "--", *map(str, named)))
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


def _warnings(warned: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    return {"warnings": {unit: list(lines) for unit, lines in warned.items()}} if warned else {}
