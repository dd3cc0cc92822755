"""Pulumi's Automation API over the stacks of one deployment.

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
from clusterwright.deploy.pulumi.given import Given, read_given
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
from clusterwright.deploy.pulumi.state_files import mend_states
from clusterwright.deploy.pulumi.units import UPPER, Stack
from clusterwright.deploy.pulumi.upper_layer import Downlinks
from clusterwright.deploy.pulumi.urns import parent_urns, unit_urn
from clusterwright.finding import ClusterwrightError

ADOPT = "adopt"
ACTIONS = ("preview", "up", ADOPT, "refresh", "destroy")

_KILLED = re.compile(r"\s*code: -(\d+)")
"""How a CommandError begins whose command was ended by a signal."""

RESOURCES_AT_ONCE = 64
"""As many racks at a time make about as many hosts as one run of Ansible is best at (128 to 256)."""

STATES_AT_ONCE = 4
"""Each is read by a command of Pulumi's of its own, which waits for the backend as long as it computes."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How driving one stack ended; ``counts`` are its resources by operation, ``reason`` why it failed."""

    stack: str
    ok: bool
    counts: Mapping[str, int]
    duration_s: float
    reason: str = ""


class _SelectedWorkspace(automation.LocalWorkspace):
    """Opens a stack that is there, without another command of Pulumi: every command names its stack."""

    def select_stack(self, stack_name: str) -> None:
        """Selects nothing."""


class _WatchedStack(automation.Stack):
    """An opened stack whose events report the result of driving it.

    The base class reads the stack's outputs twice and its history once, by a command of Pulumi each. A public function
    opens the stack, and its fields are taken over: the constructor's third argument is of a private type.
    """

    def __init__(self, opened: automation.Stack) -> None:
        vars(self).update(vars(opened))

    def outputs(self) -> automation.OutputMap:
        """None: resources keep theirs, and a stack hands out none but to ``given``."""
        return {}

    def info(self, show_secrets: bool = True) -> automation.UpdateSummary:
        """No summary: the engine's last event was one."""
        return automation.UpdateSummary("", datetime.min.replace(tzinfo=UTC), "", {}, {}, "")


@dataclass(slots=True)
class _Watch:
    """Hears the events of one run: passes them on, keeps counts and errors."""

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
                if (translated.unit, translated.text) in self.reported:  # the engine has a unit compared more than once
                    continue
                self.reported.add((translated.unit, translated.text))
            if translated.kind is EventKind.MESSAGE and translated.severity == "error":
                self.errors.append(translated.text)
            self.listen(translated)


class Engine:
    """Drives the stacks of one deployment. Raises ClusterwrightError when Pulumi is not to be found."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        variables = deployment.target.secret_variables()
        self._environment = {**pulumi_environment(deployment.target.root, variables), IN_ORDER: "1"}
        self._project = write_project(deployment.target.root)
        self._command = OwnGroup(self._environment)
        self._mend_states(thoroughly=False)
        self._opening = threading.Lock()
        self._locks = StackLocks(deployment.target.root / "locks")
        self._upper_downlinks: Downlinks | None = None  # by the upper layer when it was first asked
        self._is_there: dict[str, bool] = {}  # of the stacks that the backend was asked for

    def _mend_states(self, *, thoroughly: bool) -> bool:
        """Puts back states that were cut off, where they are files here; whether one was."""
        url = urlsplit(self._environment["PULUMI_BACKEND_URL"])
        if url.scheme != "file":
            return False
        mended = list(mend_states(Path(url.path), self._deployment.target.root / "locks", thoroughly=thoroughly))
        sys.stderr.writelines(f"{line}\n" for line in mended)
        return bool(mended)

    def interrupt(self) -> None:
        """Have every running engine stop after the steps that are under way."""
        self._command.send(signal.SIGINT)

    def close(self) -> None:
        """Let go of the stacks that were driven, as the end of the process does."""
        self._locks.close()

    def known(self) -> frozenset[str]:
        """The stacks that the state backend holds with at least one resource in them."""
        try:
            summaries = self._workspace().list_stacks()
        except automation.CommandError as error:
            raise ClusterwrightError(f"Pulumi could not list its stacks: {_reason(error)}") from None
        self._is_there.update((stack.name, True) for stack in summaries)
        return frozenset(stack.name for stack in summaries if stack.resource_count)

    def given(self, stack: Stack) -> Given:
        """Trees that devices were given last, by the state of ``stack``. Raises ClusterwrightError.

        Nothing where there is no such stack. What the upper layer offered pods when it was first asked is good enough
        for those that ``run`` drives later: both change in one rollout then, in an order of its own.
        """
        return self._read(stack) or Given({}, {})

    def all_given(self, stacks: Iterable[Stack]) -> dict[str, Given]:
        """As ``given`` for each of ``stacks`` whose state holds at least one resource, by its name."""
        every = tuple(stacks)
        if sum(stack.name not in self._is_there for stack in every) > 1:  # one list tells which are not there
            self.known()
            self._is_there = {stack.name: False for stack in every} | self._is_there
        there = [stack for stack in every if self._is_there.get(stack.name, True)]
        if self._upper_downlinks is None and any(stack.layer == UPPER for stack in every if stack not in there):
            self._upper_downlinks = {}
        with ThreadPoolExecutor(STATES_AT_ONCE, "state") as pool:
            recorded = zip(there, pool.map(self._read, there), strict=True)
            return {stack.name: given for stack, given in recorded if given is not None}

    def _read(self, stack: Stack) -> Given | None:
        """As ``given``; None where there is no such stack, or no resource in it."""
        try:
            # Not by the workspace, which would have secrets decrypted: there are none, and making their key costs more
            # than all the rest.
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
        """One of ``ACTIONS`` over a stack, or over those of its units that ``units`` names.

        With a ``manifest`` the stack's program takes that instead of the spec, and runs in this process, which has
        imported all that it needs: one of its own is a sixth of an update that changes nothing. Named units are all
        tried, whatever becomes of the others; a whole stack stops at its first failure, unless ``tries_all``. Nothing
        is raised for what goes wrong in a stack: the answer says it.
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
        text = "" if watch.errors else reason  # what was said already is not said twice
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
        """The upper layer's first offer to ``stack``; None where there was none."""
        if self._upper_downlinks is None or stack.layer == UPPER:
            return None
        return {name: {stack.pod: pods[stack.pod]} for name, pods in self._upper_downlinks.items() if stack.pod in pods}

    def _drive_alone(
        self,
        action: str,
        name: str,
        stack: automation.Stack,
        watch: _Watch,
        drive: Callable[[automation.Stack], None],
    ) -> None:
        """``drive`` under the stack's lock; a lock that a killed engine left is removed. Raises Busy."""
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
        """Opens a stack, or creates it; where nobody asked for it before, by trying the one and then the other.

        Raises Busy where somebody else creates it at this moment: Pulumi locks it for that as well.
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
        options: dict[str, Any] = {"work_dir": str(self._project), "pulumi_command": self._command, "program": program}
        return kind(**options, env_vars={**self._environment, **({ADOPTS: "1"} if adopts else {})})


def _forget_pending(stack: automation.Stack) -> None:
    """Forget the pending operations of an interrupted update, all of which can be repeated.

    Pulumi itself would remember it for ever, and warn of it in each update.
    """
    state = stack.export_stack()
    deployment = dict(state.deployment or {})
    if deployment.pop("pending_operations", None):
        stack.import_stack(automation.Deployment(state.version, deployment))


def is_damage(message: str) -> bool:
    """Whether Pulumi says that a state is no JSON."""
    signs = ("failed to load checkpoint", "unexpected end of JSON input", "invalid character")
    return any(sign in message for sign in signs)


def _reason(error: automation.CommandError) -> str:
    """Pulumi's standard error, or how it ended without any."""
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
