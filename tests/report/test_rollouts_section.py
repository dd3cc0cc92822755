"""The report's chapter on rollouts, from entries as the audit log holds them."""

from __future__ import annotations

from typing import Any

from tests.report.handmade import handmade_plan

from clusterwright.report.html import report_files
from clusterwright.report.rollout_history import rollouts

NAME = "20260301T021109-4bfb52aa"


def entry(event: str, **body: Any) -> dict[str, Any]:
    return {"at": "2026-03-01T02:11:09.000+00:00", "rollout": NAME, "event": event, **body}


STARTED = entry(
    "started",
    who="ines",
    host="control",
    reason="deeper <queues>",
    manifest="4bfb52aa" * 8,
    revision={"commit": "0123456789abcdef"},
    waves=[{}, {}],
    answers=[{"what": "policy: r1 keeps 50%", "reason": "night of maintenance", "who": "ines"}],
)


def test_a_rollout_is_put_together_from_its_entries() -> None:
    first = entry("wave", wave=1, devices={"a": "ok", "b": "full disk"}, duration_s=2.0, stopped="1 devices")
    again = entry("wave", wave=1, devices={"a": "ok", "b": "ok"}, duration_s=3.0, stopped="")

    (found,) = rollouts([STARTED, first, again])

    assert (found.end, found.waves, found.waves_done, found.failed, found.duration_s) == ("open", 2, 1, {}, 5.0)


def test_the_report_shows_rollouts_and_what_somebody_answered_for() -> None:
    ended = entry("ended", end="stopped", stacks=[])

    page = report_files(handmade_plan(), (), rollouts([STARTED, ended]))["index.html"]

    assert "deeper &lt;queues&gt;" in page
    assert "night of maintenance" in page
    assert 'id="rollouts"' in page
    assert 'id="rollouts"' not in report_files(handmade_plan(), ())["index.html"]
