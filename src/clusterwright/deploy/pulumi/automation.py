"""Operations over the stacks of one deployment, by Pulumi's Automation API.

The engine runs in process groups of its own, so that a Ctrl-C reaches this program alone: a running operation is
finished or cancelled in order, never killed.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pulumi import automation

from clusterwright.deploy.locks import Busy, StackLocks, clear_way, owners_in
from clusterwright.deploy.pulumi.command import OwnGroup
from clusterwright.deploy.pulumi.events import Event, EventKind, Listener, for_people, translate
from clusterwright.deploy.pulumi.manifest import Manifest
from clusterwright.deploy.pulumi.program import program_of
from clusterwright.deploy.pulumi.project import (
    ADOPTS,
    IN_ORDER,
    Deployment,
    pulumi_environment,
    write_configuration,
    write_project,
)
from clusterwright.deploy.pulumi.recorded_stack import RecordedStack, read_given
from clusterwright.deploy.pulumi.state_files import mend_states
from clusterwright.deploy.pulumi.units import UPPER, Stack
from clusterwright.deploy.pulumi.upper_layer import Downlinks
from clusterwright.deploy.pulumi.urns import parent_urns, unit_urn
from clusterwright.finding import ClusterwrightError

ADOPT = "adopt"
ACTIONS = ("preview", "up", ADOPT, "refresh", "destroy")

_KILLED = re.compile(r"\s*code: -(\d+)")
"""The beginning of a CommandError about a command ended by a signal."""

RESOURCES_AT_ONCE = 64
"""This many racks have about as many hosts as the best number for one run of Ansible (128 to 256)."""

STATES_AT_ONCE = 4
"""Each is read by a Pulumi command of its own, which spends half of its time waiting for the backend."""


@dataclass(frozen=True, slots=True)
class Ran:
    """Result of an operation over one stack: ``counts`` are its resources by operation, ``reason`` its failure."""

    stack: str
    ok: bool
    counts: Mapping[str, int]
    duration_s: float
    reason: str = ""


class _SelectedWorkspace(automation.LocalWorkspace):
    """Opens an existing stack without another Pulumi command: every command names its stack."""

    def select_stack(self, stack_name: str) -> None:
        """Select nothing."""


class _WatchedStack(automation.Stack):
    """An opened stack with its results taken from events.

    The base class reads the stack's outputs twice and its history once, by a Pulumi command each. A public function
    opens the stack, and its fields are copied: the constructor's third argument is of a private type.
    """

    def __init__(self, opened: automation.Stack) -> None:
        vars(self).update(vars(opened))

    def outputs(self) -> automation.OutputMap:
        """No outputs: they are read from the exported state instead."""
        return {}

    def info(self, show_secrets: bool = True) -> automation.UpdateSummary:
        """No summary: the engine's last event was the summary."""
        return automation.UpdateSummary("", datetime.min.replace(tzinfo=UTC), "", {}, {}, "")


@dataclass(slots=True)
class _Watch:
    """Receives the events of one run: passes them on, and keeps counts and errors."""

    stack: str
    listen: Listener
    counts: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    reported: set[tuple[str, str]] = field(default_factory=set)

    def __call__(self, event: automation.EngineEvent) -> None:
        if event.summary_event:
            resource_changes = event.summary_event.resource_changes
            counts = Counter({str(getattr(kind, "value", kind)): count for kind, count in resource_changes.items()})
            self.counts = Counter({kind: count for kind, count in counts.items() if kind != "read"})  # references
        for translated in translate(self.stack, event):
            if translated.kind is EventKind.MESSAGE:
                if (translated.unit, translated.text) in self.reported:  # the engine compares a unit more than once
                    continue
                self.reported.add((translated.unit, translated.text))
            if translated.kind is EventKind.MESSAGE and translated.severity == "error":
                self.errors.append(translated.text)
            self.listen(translated)


class Engine:
    """Runs operations over the stacks of one deployment. Raises ClusterwrightError without Pulumi."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        variables = deployment.target.secret_variables()
        self._environment = {**pulumi_environment(deployment.target.root, variables), IN_ORDER: "1"}
        self._project = write_project(deployment.target.root)
        self._command = OwnGroup(self._environment)
        self._mend_states(thoroughly=False)
        self._opening = threading.Lock()
        self._locks = StackLocks(deployment.target.root / "locks")
        self._upper_downlinks: Downlinks | None = None  # the upper layer's offers at the first reading of its state
        self._is_there: dict[str, bool] = {}  # by stack already looked up in the backend

    def _mend_states(self, *, thoroughly: bool) -> bool:
        """Restore truncated states of a file backend. True if there was one."""
        url = urlsplit(self._environment["PULUMI_BACKEND_URL"])
        if url.scheme != "file":
            return False
        mended = list(mend_states(Path(url.path), self._deployment.target.root / "locks", thoroughly=thoroughly))
        sys.stderr.writelines(f"{line}\n" for line in mended)
        return bool(mended)

    def interrupt(self) -> None:
        """Have every running engine stop after its current steps."""
        self._command.send(signal.SIGINT)

    def close(self) -> None:
        """Release the locks of all stacks, like the end of the process."""
        self._locks.close()

    def known(self) -> frozenset[str]:
        """Names of the stacks in the state backend with at least one resource."""
        try:
            summaries = self._workspace().list_stacks()
        except automation.CommandError as error:
            raise ClusterwrightError(f"Pulumi could not list its stacks: {_reason(error)}") from None
        self._is_there.update((stack.name, True) for stack in summaries)
        return frozenset(stack.name for stack in summaries if stack.resource_count)

    def given(self, stack: Stack) -> RecordedStack:
        """Devices' last trees by the state of ``stack``; empty without the stack. Raises ClusterwrightError.

        Offers of the upper layer at the first reading of its state stay sufficient for a later ``run`` of pods: both
        change in one rollout then, in its own order.
        """
        return self._read(stack) or RecordedStack({}, {})

    def all_given(self, stacks: Iterable[Stack]) -> dict[str, RecordedStack]:
        """Devices' last trees for each of ``stacks`` with at least one resource in its state, by its name."""
        all_stacks = tuple(stacks)
        if sum(stack.name not in self._is_there for stack in all_stacks) > 1:  # one list finds the missing ones
            self.known()
            self._is_there = {stack.name: False for stack in all_stacks} | self._is_there
        present = [stack for stack in all_stacks if self._is_there.get(stack.name, True)]
        missing = [stack for stack in all_stacks if stack not in present]
        if self._upper_downlinks is None and any(stack.layer == UPPER for stack in missing):
            self._upper_downlinks = {}
        with ThreadPoolExecutor(STATES_AT_ONCE, "state") as pool:
            states = zip(present, pool.map(self._read, present), strict=True)
            return {stack.name: given for stack, given in states if given is not None}

    def _read(self, stack: Stack) -> RecordedStack | None:
        """Devices' last trees by the state of ``stack``; None without the stack, or without a resource in it."""
        try:
            # Not by the workspace, which would decrypt secrets: there are none, and making their key costs more than
            # all the rest.
            exported = self._command.run(
                ["stack", "export", "--stack", stack.name], str(self._project), self._environment
            )
        except automation.StackNotFoundError:
            self._is_there[stack.name] = False
            if stack.layer == UPPER and self._upper_downlinks is None:
                self._upper_downlinks = {}
            return None
        except automation.CommandError as error:
            if is_damage(str(error)) and self._mend_states(thoroughly=True):
                return self._read(stack)
            raise ClusterwrightError(f"the state of {stack.name} could not be read: {_reason(error)}") from None
        self._is_there[stack.name] = True
        deployment = json.loads(exported.stdout).get("deployment") or {}
        recorded = read_given(deployment)
        if stack.layer == UPPER and self._upper_downlinks is None:
            self._upper_downlinks = recorded.downlinks
        return recorded if deployment.get("resources") else None

    def run(
        self,
        action: str,
        stack: Stack,
        listen: Listener,
        units: Collection[str] = (),
        manifest: Manifest | None = None,
        *,
        tries_all: bool = False,
    ) -> Ran:
        """Run one of ``ACTIONS`` over a stack, or over the named ``units`` of it.

        With a ``manifest`` the stack's program uses that instead of the spec, and runs in this process with all modules
        imported: a process of its own is a sixth of the cost of an update without changes. Named units are all tried,
        in spite of failures; a whole stack stops at its first failure, unless ``tries_all``. A failure in a stack
        raises nothing: it is in the result.
        """
        watch = _Watch(stack.name, listen)
        listen(
            Event(EventKind.STACK_STARTED, stack.name, operation=action, details={"units": len(units or stack.units)})
        )
        started, reason = time.monotonic(), ""
        try:
            program = program_of(manifest, self._project, self._accepted(stack)) if manifest else None
            opened = self._open(stack, program, adopts=action == ADOPT)
            urns = [unit_urn(stack, unit) for unit in stack.units if unit.name in units]
            urns += parent_urns(stack, manifest) if urns and manifest else []
            drive = partial(self._drive, action, watch=watch, target=urns, tries_all=tries_all or bool(urns))
            self._drive_alone(action, stack.name, opened, watch, drive)
        except automation.CommandError as error:
            reason = "\n".join(watch.errors) or _reason(error)
        except Busy as error:
            reason = str(error)
        ran = Ran(
            stack=stack.name,
            ok=not reason,
            counts=dict(watch.counts),
            duration_s=time.monotonic() - started,
            reason=reason,
        )
        kind, severity = (EventKind.STACK_FAILED, "error") if reason else (EventKind.STACK_FINISHED, "")
        text = "" if watch.errors else reason  # errors already reported are not repeated
        listen(
            Event(
                kind,
                stack.name,
                operation=action,
                severity=severity,
                text=text,
                counts=ran.counts,
                duration_s=ran.duration_s,
            )
        )
        return ran

    def _accepted(self, stack: Stack) -> Downlinks | None:
        """The upper layer's first offers to ``stack``; None without any."""
        if self._upper_downlinks is None or stack.layer == UPPER:
            return None
        pod = stack.pod
        return {name: {pod: offers[pod]} for name, offers in self._upper_downlinks.items() if pod in offers}

    def _drive_alone(
        self,
        action: str,
        name: str,
        stack: automation.Stack,
        watch: _Watch,
        drive: Callable[[automation.Stack], None],
    ) -> None:
        """Call ``drive`` under the stack's lock; a killed engine's lock is removed. Raises Busy."""
        if action == "preview":
            drive(stack)
            return
        is_torn = self._locks.take(name, action)
        try:
            if is_torn:
                _forget_pending(stack)
            drive(stack)
        except automation.CommandError as error:
            owners = owners_in(str(error))
            if not owners:
                if not _KILLED.match(str(error)):
                    self._locks.settle(name)
                raise
            clear_way(name, owners, self._project)
            stack.cancel()
            watch.errors.clear()
            watch.reported.clear()
            _forget_pending(stack)
            drive(stack)
        self._locks.settle(name)

    def _drive(
        self, action: str, stack: automation.Stack, watch: _Watch, target: list[str], *, tries_all: bool
    ) -> None:
        options: dict[str, Any] = {"on_event": watch, "color": "never", "parallel": RESOURCES_AT_ONCE}
        if target:
            options["target"] = target
        match action:
            case "preview":
                stack.preview(**options)
            case "up" | "adopt":
                stack.up(**options, continue_on_error=tries_all)
            case "refresh":
                stack.refresh(**options)
            case _:
                stack.destroy(**options)

    def _open(self, stack: Stack, program: Callable[[], None] | None, *, adopts: bool = False) -> automation.Stack:
        """Open or create a stack; for a stack not looked up before, by trying the one and then the other.

        Raises Busy while another process creates it: Pulumi locks it for that as well.
        """
        is_there = self._is_there.get(stack.name)
        open_stack = automation.Stack.create if is_there is False else automation.Stack.create_or_select
        with self._opening:  # opening writes the project's files and Pulumi's note of the selected stack
            write_configuration(self._project, self._deployment, stack, self._environment)
            kind = _SelectedWorkspace if is_there else automation.LocalWorkspace
            try:
                opened = _WatchedStack(open_stack(stack.name, self._workspace(kind, program, adopts=adopts)))
            except automation.CommandError as error:
                clear_way(stack.name, owners_in(str(error)), self._project)
                raise
        self._is_there[stack.name] = True
        return opened

    def _workspace(
        self,
        kind: type[automation.LocalWorkspace] = automation.LocalWorkspace,
        program: Callable[[], None] | None = None,
        *,
        adopts: bool = False,
    ) -> automation.LocalWorkspace:
        environment = dict(self._environment)
        if adopts:
            environment[ADOPTS] = "1"
        options: dict[str, Any] = {"work_dir": str(self._project), "pulumi_command": self._command, "program": program}
        return kind(**options, env_vars=environment)


def _forget_pending(stack: automation.Stack) -> None:
    """Forget the pending operations of an interrupted update: all of them can be repeated.

    Pulumi itself would keep them for ever, and warn of them in each update.
    """
    state = stack.export_stack()
    deployment = dict(state.deployment or {})
    if deployment.pop("pending_operations", None):
        stack.import_stack(automation.Deployment(state.version, deployment))


def is_damage(message: str) -> bool:
    """Whether a message of Pulumi is about a state that is no JSON."""
    signs = ("failed to load checkpoint", "unexpected end of JSON input", "invalid character")
    return any(sign in message for sign in signs)


def _reason(error: automation.CommandError) -> str:
    """The reason in Pulumi's standard error, or in its standard output, or the signal that ended it."""
    text = str(error)
    if killed := _KILLED.match(text):
        return (
            f"Pulumi's engine was killed (signal {killed[1]}). What it did is recorded; the same command finds out "
            "what was under way, and takes it up"
        )
    message = text.partition("stderr: ")[2].strip() or text.partition("stdout: ")[2].partition("\n stderr:")[0].strip()
    if is_damage(message):
        return (
            f"the recorded state cannot be read ({message.removeprefix('error: ')}). In the state backend, put back "
            "the last copy of that stack (stacks/**/<stack>.json.bak, or the newest under backups/), or remove it: "
            "without it, the same command compares every device and writes what differs"
        )
    return for_people(message.removeprefix("error: "))
