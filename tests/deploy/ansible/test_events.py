"""What is made of Ansible's events: success only from a device's own answer in a run that ended."""

from __future__ import annotations

from typing import Any

import pytest

from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.ssh import bundle
from clusterwright.deploy.ansible.transcript import MODULE, Transcript, holding_of, outcome_of
from clusterwright.deploy.target import Holding, Status, Unreachable, tree_digest

TREE = (Artifact("n0", "etc/motd", b"hello\n", "test"),)
HELD = {artifact.path: artifact.sha256 for artifact in TREE}
DONE = {"event": "playbook_on_stats"}
UNSENT = "Data could not be sent to remote host '10.0.0.1'. Make sure this host can be reached"


def event(kind: str, **result: Any) -> dict[str, Any]:
    return {"event": f"runner_on_{kind}", "event_data": {"host": "n0", "task_action": MODULE, "res": result}}


def heard(*events: dict[str, Any]) -> Transcript:
    transcript = Transcript()
    for one in events:
        assert transcript.hear(one) is False
    return transcript


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([event("ok", held=HELD, changes=["etc/motd"]), DONE], Status.APPLIED),
        ([event("ok", held=HELD, changes=[]), DONE], Status.UNCHANGED),
        ([event("ok", held=HELD, changes=[])], Status.UNKNOWN),
        ([event("ok", held={"etc/motd": "0" * 64}, changes=[]), DONE], Status.UNKNOWN),
        ([event("ok", held={}, changes=[]), DONE], Status.UNKNOWN),
        ([event("ok", changed=False), DONE], Status.UNKNOWN),
        ([event("failed", msg="refused", restored=True, held={}), DONE], Status.FAILED),
        ([event("failed", msg="half undone", restored=False, held={}), DONE], Status.UNKNOWN),
        ([event("failed", msg="MODULE FAILURE", module_stderr="Killed"), DONE], Status.UNKNOWN),
        ([event("unreachable", msg="ssh: connect to host: No route to host"), DONE], Status.UNREACHABLE),
        ([event("unreachable", msg="Shared connection to n0 closed."), DONE], Status.UNKNOWN),
        ([event("unreachable", msg=f"{UNSENT} over SSH: [Errno 32] Broken pipe"), DONE], Status.UNREACHABLE),
        ([event("unreachable", msg=f"{UNSENT} over ssh: client_loop: send disconnect"), DONE], Status.UNKNOWN),
        ([DONE], Status.UNKNOWN),
        ([], Status.UNKNOWN),
    ],
)
def test_only_an_answer_that_lists_what_was_sent_is_success(events: list[dict[str, Any]], status: Status) -> None:
    assert outcome_of(heard(*events), "n0", tree_digest(TREE), check=False).status is status


def test_the_reason_why_a_run_did_not_start_is_told() -> None:
    transcript = heard({"event": "error", "stdout": "[ERROR]: the playbook could not be found\n"})
    outcome = outcome_of(transcript, "n0", tree_digest(TREE), check=False)
    assert outcome.message == "Ansible did not come to its end: [ERROR]: the playbook could not be found"


def test_running_state_that_a_device_cannot_hold_is_told_with_success() -> None:
    transcript = heard(event("ok", held=HELD, changes=[], exempted=["sysctl:vm.swappiness"]), DONE)
    outcome = outcome_of(transcript, "n0", tree_digest(TREE), check=False)
    assert outcome.message == "not held by this device, as declared: sysctl:vm.swappiness"


def test_a_device_that_gives_no_digests_could_not_be_read() -> None:
    assert holding_of(heard(event("ok", held=HELD), DONE), "n0") == Holding(HELD)
    assert holding_of(heard(event("ok"), DONE), "n0") == Unreachable("Ansible ended without a result for this device")
    assert holding_of(heard(event("failed", msg="no python")), "n0") == Unreachable("no python")
    assert holding_of(heard(event("unreachable", msg="timed out")), "n0") == Unreachable("timed out")


def test_the_same_tree_gives_the_same_bundle_whatever_its_order() -> None:
    files = [Artifact("n0", f"etc/{number}", b"x" * number, "test", 0o600) for number in range(5)]
    assert bundle(tuple(files)) == bundle(tuple(reversed(files)))
