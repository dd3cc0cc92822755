"""Progress of commands on stacks: a live view on a terminal, plain lines elsewhere, and JSON lines."""

from __future__ import annotations

import json
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import IO

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from clusterwright.cli.terminal import styled_console, visible, visible_text
from clusterwright.deploy.pulumi.events import Event, EventKind, Listener

_MARKS = {"create": "+", "update": "~", "delete": "-", "refresh": "~"}
_DONE = {"create": "created", "update": "updated", "delete": "deleted", "same": "unchanged", "refresh": "read"}
_PLANNED = {"create": "to create", "update": "to update", "delete": "to delete", "same": "unchanged"}
_REFRESHED = {**_DONE, "update": "different", "delete": "gone"}  # results of a refresh
_FAILURES = frozenset({EventKind.STACK_FAILED, EventKind.WAVE_FAILED, EventKind.ROLLOUT_STOPPED})
_STYLES = {"+": "green", "~": "yellow", "-": "red", "!": "bold red"}


def counted(action: str, counts: Mapping[str, int]) -> str:
    """Counts of resources by their change, done or planned: ``1 updated, 7 unchanged``."""
    words = {"preview": _PLANNED, "refresh": _REFRESHED}.get(action, _DONE)
    return ", ".join(f"{count} {words.get(kind, kind)}" for kind, count in sorted(counts.items(), key=_same_last))


def _same_last(entry: tuple[str, int]) -> tuple[bool, str]:
    return entry[0] == "same", entry[0]


class Lines:
    """Turn events into blocks of lines: the messages of a unit stand together, below the unit's line.

    Blocks of several stacks may follow each other, so each begins with its stack's name.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._messages_by_unit: defaultdict[tuple[str, str], list[Event]] = defaultdict(list)
        self._actions: dict[str, str] = {}

    def __call__(self, event: Event) -> None:
        """Write the blocks completed by ``event``."""
        key = event.stack, event.unit
        match event.kind:
            case EventKind.MESSAGE if event.unit:
                self._messages_by_unit[key].append(event)
            case EventKind.UNIT_FINISHED | EventKind.UNIT_FAILED:
                messages = self._messages_by_unit.pop(key, [])
                failed = event.kind is EventKind.UNIT_FAILED
                if failed or messages or event.operation in _MARKS:
                    mark = "!" if failed else _MARKS.get(event.operation, " ")
                    self._block(
                        f"{event.stack}: {mark} {self._operation(event)} {event.unit_kind} {event.unit}", messages
                    )
            case EventKind.STACK_FINISHED | EventKind.STACK_FAILED:
                for stack, unit in tuple(self._messages_by_unit):
                    if stack == event.stack:
                        self._block(f"{stack}: {unit}", self._messages_by_unit.pop((stack, unit)))
                self._write(f"{event.stack}: {_ending(event)}")
            case EventKind.STACK_STARTED:
                self._actions[event.stack] = event.operation
            case EventKind.UNIT_STARTED:
                pass
            case _ if event.text:
                self._block("", [event])

    def _operation(self, event: Event) -> str:
        if self._actions.get(event.stack) == "refresh" and event.kind is EventKind.UNIT_FINISHED:
            return _REFRESHED.get(event.operation, event.operation)
        return event.operation

    def _block(self, title: str, messages: list[Event]) -> None:
        lines = list(chain.from_iterable(event.text.splitlines() for event in messages))
        if title:
            self._write("\n".join([title, *(f"    {line}" for line in lines)]))
        else:
            prefix = f"{messages[0].stack}: " if messages[0].stack else ""
            self._write("\n".join(f"{prefix}{line}" for line in lines))


def _ending(event: Event) -> str:
    counts = counted(event.operation, event.counts)
    took = f" ({event.duration_s:.1f} s)" if event.duration_s is not None else ""
    if event.kind is EventKind.STACK_FAILED:
        text = f": {event.text}" if event.text else ""
        return f"{event.operation} failed{text}; {counts or 'nothing was done'}{took}"
    return f"{counts or 'nothing to do'}{took}"


class Failures:
    """Pass failures and warnings to ``lines``, with the messages of their units: the output of ``--quiet``."""

    def __init__(self, lines: Listener) -> None:
        self._lines = lines
        self._messages: defaultdict[tuple[str, str], list[Event]] = defaultdict(list)

    def __call__(self, event: Event) -> None:
        """Pass ``event`` on, keep it until the end of its unit, or drop it."""
        if event.kind is EventKind.MESSAGE and event.unit:
            self._messages[event.stack, event.unit].append(event)
        elif event.kind in (EventKind.UNIT_FINISHED, EventKind.UNIT_FAILED):
            messages = self._messages.pop((event.stack, event.unit), [])
            if event.kind is EventKind.UNIT_FAILED or any(_is_warning(message) for message in messages):
                for message in (*messages, event):
                    self._lines(message)
        elif event.kind in _FAILURES or _is_warning(event):
            self._lines(event)


def _is_warning(event: Event) -> bool:
    return event.severity in {"warning", "error"}


class PlainLines:
    """Lines on a stream other than a terminal."""

    def __init__(self, *, to_stderr: bool) -> None:
        self._lines = Lines(lambda text: click.echo(text, err=to_stderr))

    def __call__(self, event: Event) -> None:
        """Show ``event``."""
        self._lines(event)


class StackElapsed(TimeElapsedColumn):
    """The time since the start of a stack, until its end event: later than the end of its last unit."""

    def render(self, task: Task) -> Text:
        """The time in the format ``0:01:05``."""
        return Text(str(timedelta(seconds=int(task.elapsed or 0))), style="progress.elapsed")


class LiveView:
    """A bar for each stack on a terminal, one for the waves of a rollout, and the lines scrolling above them."""

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            StackElapsed(),
            TextColumn("{task.fields[now]}", markup=False),
        )
        self._progress = Progress(*columns, console=console)
        self._bars: dict[str, TaskID] = {}
        self._waves: TaskID | None = None
        self._lines = Lines(self._print)

    def __enter__(self) -> LiveView:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Show ``event``."""
        bar = self._bars.get(event.stack)
        if event.kind is EventKind.STACK_STARTED:
            if bar is not None:
                self._progress.remove_task(bar)
            total = event.details.get("units")
            title = f"{event.operation} {event.stack}"
            self._bars[event.stack] = self._progress.add_task(title, total=total, now="")
        elif bar is not None and event.kind is EventKind.UNIT_STARTED:
            self._progress.update(bar, now=visible(event.unit))
        elif bar is not None and event.kind in (EventKind.UNIT_FINISHED, EventKind.UNIT_FAILED):
            self._progress.update(bar, advance=1, now=visible(event.unit))
        elif bar is not None and event.kind in (EventKind.STACK_FINISHED, EventKind.STACK_FAILED):
            end = "failed" if event.kind is EventKind.STACK_FAILED else "done"
            self._progress.update(bar, now=end)
            self._progress.stop_task(bar)
        self._show_wave(event)
        self._lines(event)

    def _show_wave(self, event: Event) -> None:
        wave = event.details.get("wave", 0)
        match event.kind:
            case EventKind.ROLLOUT_STARTED if event.details.get("waves"):
                self._waves = self._progress.add_task("waves", total=event.details["waves"], now="")
            case EventKind.WAVE_STARTED if self._waves is not None:
                total = event.details["waves"]  # grows by waves for a second attempt
                self._progress.update(self._waves, total=total, completed=wave - 1, now=f"wave {wave}, {event.stack}")
            case EventKind.WAVE_FINISHED if self._waves is not None:
                self._progress.update(self._waves, completed=wave, now=f"wave {wave} is well")
            case EventKind.WAVE_FAILED if self._waves is not None:
                self._progress.update(self._waves, now=f"stopped in wave {wave}")
            case EventKind.ROLLOUT_FINISHED | EventKind.ROLLOUT_STOPPED if self._waves is not None:
                self._progress.stop_task(self._waves)

    def _print(self, text: str) -> None:
        first, _, rest = visible_text(text).partition("\n")
        mark = first.partition(": ")[2][:1]
        shown = Text(first, style=_STYLES.get(mark, ""))
        for line in rest.splitlines():
            shown.append(f"\n{line}", style={"+": "green", "-": "red"}.get(line.strip()[:1], ""))
        self._progress.console.print(shown, soft_wrap=True)


class EventStream:
    """One JSON object a line, each with the time of writing; see ``rollout-events.schema.json``."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def __call__(self, event: Event) -> None:
        """Write and flush ``event``."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._file.write(json.dumps({"time": time, **event.document()}, ensure_ascii=False) + "\n")
        self._file.flush()


@contextmanager
def shown(events: Path | None, *, failures_only: bool = False) -> Iterator[Listener]:
    """The listeners of events: one for standard output, and the stream into ``events`` (``-``: standard output).

    With ``failures_only`` (``--quiet``), only failures and warnings are printed. Raises ClickException for a stream
    that cannot be opened.
    """
    console = styled_console()
    with ExitStack() as opened:
        listeners: list[Listener] = []
        if events == Path("-"):
            listeners.append(EventStream(sys.stdout))
        elif events:
            try:
                listeners.append(EventStream(opened.enter_context(events.open("a", encoding="utf-8"))))
            except OSError as error:
                raise click.ClickException(f"--events {events}: {error.strerror}") from None
        if failures_only:
            listeners.append(Failures(PlainLines(to_stderr=True)))
        elif console.is_terminal and events != Path("-"):
            listeners.append(opened.enter_context(LiveView(console)))
        else:
            listeners.append(PlainLines(to_stderr=events == Path("-")))
        lock = threading.Lock()

        def tell(event: Event) -> None:
            with lock:
                for listener in listeners:
                    listener(event)

        yield tell
