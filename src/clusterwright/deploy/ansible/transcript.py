"""Derive outcomes of devices from Ansible's events.

An exit code is never taken for success: a device counts as done if its own answer has the digests of the sent files, in
a completed run. Every other device is ``unknown``.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterwright.deploy.target import Holding, Outcome, Status, Unreachable, holding_digest

MODULE = "clusterwright_tree"
MODULES = frozenset({MODULE, "clusterwright_eos"})

# OpenSSH's messages before a program ran on the device (ssh.c, sshconnect.c, sshconnect2.c of 9.x). Any other error of
# a connection may have occurred in the middle of the work.
_NEVER_CONNECTED = (
    "connection refused",
    "connection timed out",
    "could not resolve hostname",
    "host key verification failed",
    "kex_exchange_identification",
    "network is unreachable",
    "no route to host",
    "operation timed out",
    "permission denied",
    "remote host identification has changed",
    # Ansible's own message (ansible-core 2.19) if ssh ended before the whole program was written to it, and was not
    # seen to end within a millisecond: ssh's message is lost then. Half a program never runs.
    "can be reached over ssh: [errno 32] broken pipe",
)

_CUT_OFF = "out of reach since its change, which it takes back by itself: "


@dataclass(slots=True)
class Transcript:
    """Events of one run, added by ``hear`` one by one."""

    answers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    failures: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    unreachable: dict[str, str] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)
    ended: bool = False
    untried: str = ""  # the reason for not starting a run
    note: str = ""  # a further notice about the run

    def hear(self, event: Mapping[str, Any]) -> bool:
        """Add one event. Returns False: ansible-runner need not keep it in a file."""
        name, data = event.get("event"), event.get("event_data") or {}
        host, result = str(data.get("host", "")), data.get("res") or {}
        if name == "runner_on_unreachable":
            self.unreachable[host] = str(result.get("msg", "no reason given")).strip()
        elif name == "runner_on_failed":
            self.unreachable.pop(host, None)
            self.failures[host] = result
        elif name == "runner_on_ok" and data.get("task_action") in MODULES:
            self.unreachable.pop(host, None)
            self.answers[host] = result
        elif name == "playbook_on_stats":
            self.ended = True
        elif name in ("error", "verbose") and event.get("stdout"):
            self.complaints.append(str(event["stdout"]).strip())
        return False

    def close(self, exit_code: int | None) -> None:
        """Mark the end of the run: 0 without failures, 2 and 4 with failed or unreachable devices, else aborted."""
        self.ended = self.ended and exit_code in (0, 2, 4)

    def follow(self, lost: Transcript) -> None:
        """Merge the changes of the ``lost`` run repeated by this one: they count as well."""
        for host, before in lost.answers.items():
            answer = self.answers.get(host)
            if answer is None or "trial" in before or not isinstance(before.get("changes"), list):
                continue
            changes = {str(item) for item in (*before["changes"], *(answer.get("changes") or ()))}
            diff = [*(before.get("diff") or ()), *(answer.get("diff") or ())]
            self.answers[host] = {**answer, "changes": sorted(changes), "diff": diff}


def outcome_of(transcript: Transcript, device: str, wanted: str, *, check: bool) -> Outcome:
    """The outcome of applying a tree with the digest ``wanted`` to ``device``."""
    if transcript.untried:
        return Outcome(Status.UNREACHABLE, message=transcript.untried)
    if device in transcript.unreachable:
        if "trial" in transcript.answers.get(device, {}):
            return Outcome(Status.UNKNOWN, message=_CUT_OFF + transcript.unreachable[device])
        return _connection_lost(transcript.unreachable[device])
    if device in transcript.failures:
        return _failure(transcript.failures[device])
    answer = transcript.answers.get(device)
    if answer is None:
        return Outcome(Status.UNKNOWN, message=_silence(transcript))
    held = answer.get("held")
    changed = answer.get("changes")
    if not isinstance(held, Mapping) or not isinstance(changed, list):
        return Outcome(Status.UNKNOWN, message="the answer lacks what the device holds")
    outcome = Outcome(
        status=Status.APPLIED if changed else Status.UNCHANGED,
        changed=tuple(sorted(str(item) for item in changed)),
        message=_remarks(answer),
        digest=holding_digest({str(path): str(sha256) for path, sha256 in held.items()}),
        diff=_diff_text(answer.get("diff") or ()),
        notice=transcript.note,
    )
    if check:
        return outcome
    if not transcript.ended:
        return Outcome(Status.UNKNOWN, outcome.changed, f"{_silence(transcript)}, though the device had answered")
    if outcome.digest != wanted:
        return Outcome(
            status=Status.UNKNOWN,
            changed=outcome.changed,
            message="the device holds other files than it was sent",
            digest=outcome.digest,
        )
    return outcome


def holding_of(transcript: Transcript, device: str) -> Holding | Unreachable:
    """The files of ``device`` in a run that reads them."""
    if transcript.untried:
        return Unreachable(transcript.untried)
    if device in transcript.unreachable:
        return Unreachable(transcript.unreachable[device])
    if device in transcript.failures:
        return Unreachable(_complaint(transcript.failures[device]))
    held = transcript.answers.get(device, {}).get("held")
    if not isinstance(held, Mapping):
        return Unreachable(_silence(transcript))
    return Holding({str(path): str(sha256) for path, sha256 in held.items()})


def _connection_lost(message: str) -> Outcome:
    if any(phrase in message.lower() for phrase in _NEVER_CONNECTED):
        return Outcome(Status.UNREACHABLE, message=message)
    return Outcome(Status.UNKNOWN, message=f"the connection was lost, perhaps in the middle of the work: {message}")


def _failure(result: Mapping[str, Any]) -> Outcome:
    held = result.get("held")
    if result.get("restored") is True and isinstance(held, Mapping):
        return Outcome(Status.FAILED, message=_complaint(result))
    return Outcome(Status.UNKNOWN, message=_complaint(result))


def _complaint(result: Mapping[str, Any]) -> str:
    parts = [str(result.get(key, "")).strip() for key in ("msg", "module_stderr", "module_stdout")]
    return "; ".join(dict.fromkeys(part for part in parts if part)) or "Ansible gave no reason"


def _silence(transcript: Transcript) -> str:
    complaints = "; ".join(transcript.complaints[-3:])
    ended = "Ansible ended without a result for this device" if transcript.ended else "Ansible did not come to its end"
    return f"{ended}: {complaints}" if complaints else ended


def _remarks(answer: Mapping[str, Any]) -> str:
    """Settings refused by the device, and its connections without a permitting flow; "" for neither."""
    exempted, connections = answer.get("exempted") or (), answer.get("open_without_flow") or ()
    remarks = []
    if exempted:
        remarks.append(f"not held by this device, as declared: {', '.join(sorted(exempted))}")
    if connections:
        remarks.append(f"open until they are closed, though no flow allows them: {', '.join(connections)}")
    return "; ".join(remarks)


def _diff_text(parts: Collection[Mapping[str, Any]]) -> str:
    lines: list[str] = []
    for part in parts:
        lines += str(part.get("prepared", "")).splitlines()  # the device's own comparison
        if "before_header" not in part:
            continue
        before, after = str(part.get("before", "")), str(part.get("after", ""))
        headers = str(part.get("before_header", "")), str(part.get("after_header", ""))
        diff = list(difflib.unified_diff(before.splitlines(), after.splitlines(), *headers, lineterm=""))
        # A change of mode alone has the same text on both sides.
        lines += diff or [f"--- {headers[0]}", f"+++ {headers[1]}"]
    return "".join(f"{line}\n" for line in lines)
