"""What people and programs are shown while stacks are driven."""

from __future__ import annotations

import io
import json
from dataclasses import replace

from rich.console import Console

from clusterwright.cli.stacks.progress import EventStream, Failures, Lines, LiveView, counted
from clusterwright.deploy.pulumi.events import Event, EventKind

STACK = "c-pod0"
SCENE = (
    Event(EventKind.STACK_STARTED, STACK, operation="up", details={"units": 2}),
    Event(EventKind.MESSAGE, STACK, "r0", "rack", severity="info", text="n0:\n  ~ etc/hosts"),
    Event(EventKind.UNIT_STARTED, STACK, "r0", "rack", operation="update"),
    Event(EventKind.UNIT_FINISHED, STACK, "r1", "rack", operation="same"),
    Event(EventKind.UNIT_FINISHED, STACK, "r0", "rack", operation="update"),
    Event(EventKind.STACK_FINISHED, STACK, operation="up", counts={"same": 7, "update": 1}, duration_s=2.04),
)
TOLD = ["c-pod0: ~ update rack r0\n    n0:\n      ~ etc/hosts", "c-pod0: 1 updated, 7 unchanged (2.0 s)"]


def test_what_is_said_of_a_unit_stands_below_it_and_units_that_stay_are_silent() -> None:
    told: list[str] = []
    lines = Lines(told.append)
    for event in SCENE:
        lines(event)
    assert told == TOLD


def test_a_refresh_says_what_it_found_and_not_what_it_did() -> None:
    told: list[str] = []
    lines = Lines(told.append)
    for event in SCENE:
        lines(replace(event, operation="refresh") if event.operation == "up" else event)
    assert told == [TOLD[0].replace("~ update", "~ different"), "c-pod0: 1 different, 7 unchanged (2.0 s)"]


def test_a_failure_says_what_was_not_said_before() -> None:
    told: list[str] = []
    lines = Lines(told.append)
    lines(Event(EventKind.STACK_FAILED, STACK, operation="up", text="it is locked", duration_s=1.0))
    assert told == ["c-pod0: up failed: it is locked; nothing was done (1.0 s)"]


def test_quiet_tells_of_failures_and_of_units_that_warn_alone() -> None:
    told: list[str] = []
    quiet = Failures(Lines(told.append))
    for event in SCENE:
        quiet(event)
    assert told == []
    for event in SCENE:
        quiet(replace(event, severity="warning") if event.kind is EventKind.MESSAGE else event)
    assert told == TOLD[:1]
    quiet(Event(EventKind.MESSAGE, STACK, "r2", "rack", severity="info", text="n9: no answer"))
    quiet(Event(EventKind.UNIT_FAILED, STACK, "r2", "rack", operation="update"))
    quiet(Event(EventKind.STACK_FAILED, STACK, operation="up", text="it is locked", duration_s=1.0))
    assert told[1:] == [
        "c-pod0: ! update rack r2\n    n9: no answer",
        "c-pod0: up failed: it is locked; nothing was done (1.0 s)",
    ]


def test_a_terminal_gets_a_bar_for_each_stack_below_the_lines() -> None:
    written = io.StringIO()
    with LiveView(Console(file=written, force_terminal=True, width=100)) as view:
        for event in SCENE:
            view(event)
    shown = written.getvalue()
    assert "update rack r0" in shown
    assert "up c-pod0" in shown
    assert "2/2" in shown
    assert "done" in shown


def test_a_terminal_shows_the_waves_of_a_rollout_above_its_stacks() -> None:
    written = io.StringIO()
    about = {"wave": 2, "waves": 3}
    with LiveView(Console(file=written, force_terminal=True, width=100)) as view:
        view(Event(EventKind.ROLLOUT_STARTED, details={"rollout": "x", "waves": 3}))
        view(Event(EventKind.WAVE_STARTED, STACK, text="wave 2 of 3", details=about))
        for event in SCENE:
            view(event)
        view(Event(EventKind.WAVE_FAILED, STACK, text="wave 2: 0 of 1 devices are well", details=about))
    last = written.getvalue().rpartition("waves")[2]
    assert "1/3" in last
    assert "stopped in wave 2" in last


def test_the_stream_carries_a_time_and_nothing_empty() -> None:
    written = io.StringIO()
    EventStream(written)(SCENE[-1])
    line = json.loads(written.getvalue())
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "event": "stack-finished",
        "stack": "c-pod0",
        "operation": "up",
        "counts": {"same": 7, "update": 1},
        "duration_s": 2.04,
    }


def test_counts_are_words_and_what_stays_comes_last() -> None:
    assert counted("preview", {"same": 3, "create": 2, "delete": 1}) == "2 to create, 1 to delete, 3 unchanged"
