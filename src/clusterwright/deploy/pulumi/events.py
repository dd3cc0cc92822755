"""Events of operations over stacks, as one kind of record for every display.

A record is shown to an operator or sent to a program; its time is added when it leaves the process. The form is
``rollout-events.schema.json``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from clusterwright.deploy.pulumi.units import KINDS

if TYPE_CHECKING:
    from pulumi.automation import DiagnosticEvent, EngineEvent, StepEventMetadata

_UNIT_TYPES = {f"clusterwright:index:{name}": kind for kind, name in KINDS.items()}
_COLOUR = re.compile(r"<\{%.*?%\}>")
_NO_ROOM_FOR_STATE = re.compile(r"\.pulumi/.*(no space left on device|disk quota exceeded)", re.IGNORECASE | re.DOTALL)
_SEALED = re.compile(r"incorrect passphrase")


class EventKind(StrEnum):
    """The kind of an event."""

    ROLLOUT_STARTED = "rollout-started"
    WAVE_STARTED = "wave-started"
    WAVE_FINISHED = "wave-finished"
    WAVE_FAILED = "wave-failed"
    STACK_STARTED = "stack-started"
    UNIT_STARTED = "unit-started"
    UNIT_FINISHED = "unit-finished"
    UNIT_FAILED = "unit-failed"
    MESSAGE = "message"
    STACK_FINISHED = "stack-finished"
    STACK_FAILED = "stack-failed"
    ROLLOUT_FINISHED = "rollout-finished"
    ROLLOUT_STOPPED = "rollout-stopped"


@dataclass(frozen=True, slots=True)
class Event:
    """One event; fields without a meaning for its kind are empty.

    ``unit`` and ``unit_kind`` name a resource of the stack, ``operation`` is Pulumi's operation on it (``same``,
    ``create``, ``update``, ``delete``, ``refresh``), ``severity`` is ``info``, ``warning`` or ``error``. ``counts``
    are resources of a stack by operation; ``details`` are further fields of the kind.
    """

    kind: EventKind
    stack: str = ""
    unit: str = ""
    unit_kind: str = ""
    operation: str = ""
    severity: str = ""
    text: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    duration_s: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The event as JSON, without empty fields."""
        values = {
            "event": str(self.kind),
            "stack": self.stack,
            "unit": self.unit,
            "unit_kind": self.unit_kind,
            "operation": self.operation,
            "severity": self.severity,
            "text": self.text,
            "counts": dict(self.counts),
            "duration_s": None if self.duration_s is None else round(self.duration_s, 3),
            **self.details,
        }
        return {name: value for name, value in values.items() if value not in ("", None, {})}


Listener = Callable[[Event], None]
"""A receiver of events; called from several threads, one at a time for each stack."""


def translate(stack: str, event: EngineEvent) -> Iterator[Event]:
    """Events about a stack's units from an event of Pulumi's engine; none about other resources."""
    if event.resource_pre_event:
        yield from _step(stack, EventKind.UNIT_STARTED, event.resource_pre_event.metadata)
    elif event.res_outputs_event:
        yield from _step(stack, EventKind.UNIT_FINISHED, event.res_outputs_event.metadata)
    elif event.res_op_failed_event:
        yield from _step(stack, EventKind.UNIT_FAILED, event.res_op_failed_event.metadata)
    elif event.diagnostic_event:
        yield from _message(stack, event.diagnostic_event)


def for_people(text: str) -> str:
    """The engine's message, preceded by its meaning and the remedy if these need knowledge of the engine."""
    if _NO_ROOM_FOR_STATE.search(text):
        return (
            "the disk of the state is full. Every device has its previous configuration or the new one; "
            f"make room, and the same command finds out which and goes on. The engine says: {text}"
        )
    if _SEALED.search(text):
        return (
            "the stack was made with another passphrase than PULUMI_CONFIG_PASSPHRASE, or the file that "
            f"PULUMI_CONFIG_PASSPHRASE_FILE names, gives. Nothing was touched. The engine says: {text}"
        )
    return text


def _step(stack: str, kind: EventKind, step: StepEventMetadata) -> Iterator[Event]:
    if step.type in _UNIT_TYPES:
        unit = step.urn.rpartition("::")[2]
        yield Event(kind=kind, stack=stack, unit=unit, unit_kind=_UNIT_TYPES[step.type], operation=step.op.value)


def _message(stack: str, diagnostic: DiagnosticEvent) -> Iterator[Event]:
    text = for_people(_COLOUR.sub("", diagnostic.message).rstrip())
    if not text or diagnostic.ephemeral or diagnostic.severity == "debug":
        return
    kind, _, unit = (diagnostic.urn or "").rpartition("::")
    unit_kind = _UNIT_TYPES.get(kind.rpartition("::")[2].rpartition("$")[2], "")
    severity = "info" if diagnostic.severity == "info#err" else diagnostic.severity
    yield Event(
        kind=EventKind.MESSAGE,
        stack=stack,
        unit=unit if unit_kind else "",
        unit_kind=unit_kind,
        severity=severity,
        text=text,
    )
