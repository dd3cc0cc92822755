"""Gates: checks of a wave's devices after the wave, before the next one starts.

A gate runs twice: before the wave it records the state of devices, after the wave it reports unhealthy ones. A device
unhealthy before and no worse after is noted, and does not count. Gates querying the devices themselves are in
``sessions`` and ``node_checks``; a site may add its own program or file.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from clusterwright.child_environment import child_environment
from clusterwright.deploy.ansible.query import Devices
from clusterwright.deploy.secrets.secrets import left_in
from clusterwright.deploy.store import Store
from clusterwright.deploy.target import DeviceTree, Target, Unreachable, tree_digest
from clusterwright.finding import ClusterwrightError
from clusterwright.given_file import read_given
from clusterwright.plan.model import Plan
from clusterwright.rollout.waves import Wave
from clusterwright.spec.rollout import GatePolicy

PROBE_LIMIT_S = 900
POLL_S = 2.0
"""Seconds between queries of devices not well yet."""


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """A gate's answer: ``asked`` is the number of devices, ``wrong`` are the failed ones, ``notes`` do not count."""

    asked: int
    wrong: Mapping[str, str]
    notes: tuple[str, ...] = ()


class Gate(Protocol):
    """A check of a wave. Raises ClusterwrightError if nothing can be queried at all."""

    @property
    def name(self) -> str:
        """One word, used in the record and the table of gates."""
        ...

    @property
    def budget(self) -> int | None:
        """Most failed devices of a wave by this gate; None stands for the rollout's own budget."""
        ...

    @property
    def deadline_s(self) -> int | None:
        """Time for devices to pass this gate; None if there is a single query."""
        ...

    def question(self) -> str:
        """The gate's question and its time limit, for operators."""
        ...

    def before(self, wave: Wave) -> Any:
        """The state before the wave, for the comparison afterwards."""
        ...

    def after(self, wave: Wave, trees: Mapping[str, str], before: Any) -> GateAnswer:
        """Failures after the wave; ``trees`` are the devices to query, with the digests of their trees."""
        ...


@dataclass(frozen=True, slots=True)
class Checked:
    """Results of a gate for one wave, for the record."""

    gate: str
    answer: GateAnswer
    duration_s: float


@dataclass(frozen=True, slots=True)
class HoldsTree:
    """Reads the devices back: each has to hold its tree."""

    target: Callable[[str], Target]
    """Opens the target with the secrets of a layer's stack."""
    store: Store
    name: str = "files"
    budget: int | None = None
    deadline_s: int | None = None

    def question(self) -> str:
        """See ``Gate``."""
        return "every changed device is read back and holds the deployed files"

    def before(self, wave: Wave) -> None:
        """See ``Gate``."""

    def after(self, wave: Wave, trees: Mapping[str, str], before: Any) -> GateAnswer:
        """See ``Gate``."""
        wrong: dict[str, str] = {}
        with_secrets: dict[str, DeviceTree] = {}
        target = self.target(wave.layer)
        for name, held in target.read(tuple(trees)).items():
            tree = self.store.get_tree(name, trees[name])
            if isinstance(held, Unreachable):
                wrong[name] = f"cannot be read: {held.message}"
            elif held.digest != tree_digest(tree):
                wrong[name] = "its files differ from those deployed"
                if left_in(tree):
                    with_secrets[name] = tree
        if not with_secrets:
            return GateAnswer(len(trees), wrong)
        # The stored tree holds placeholders; the target alone can compare the values in their places.
        for name, outcome in target.apply(with_secrets, check=True).items():
            if outcome.ok and not outcome.changed:
                del wrong[name]
        return GateAnswer(len(trees), wrong)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """A file of the site's health checks: ``{"healthy": [...], "unhealthy": {"gpu-p00r00n0": "why"}}``.

    Read after each wave. A missing or damaged file raises ClusterwrightError: no verdict is no health.
    """

    path: Path
    name: str = "site-verdicts"
    budget: int | None = None
    deadline_s: int | None = None

    def question(self) -> str:
        """See ``Gate``."""
        return f"no changed device is named as unhealthy by {self.path}"

    def before(self, wave: Wave) -> None:
        """See ``Gate``."""

    def after(self, wave: Wave, trees: Mapping[str, str], before: Any) -> GateAnswer:
        """See ``Gate``."""
        try:
            unhealthy = json.loads(read_given(self.path))["unhealthy"]
            return GateAnswer(len(trees), {name: str(unhealthy[name]) for name in trees if name in unhealthy})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ClusterwrightError(
                f'{self.path}: not a file of health verdicts ({error}); it needs {{"unhealthy": {{device: why}}}}'
            ) from None


@dataclass(frozen=True, slots=True)
class SiteProbe:
    """A program of the site: standard input is the wave as JSON, each line of its output ``device: why`` a complaint.

    An exit status other than 0 without such a line counts against every device of the wave.
    """

    command: tuple[str, ...]
    name: str = "site-probe"
    budget: int | None = None
    deadline_s: int = PROBE_LIMIT_S

    def question(self) -> str:
        """See ``Gate``."""
        return f"{self.command[0]} names no changed device, within {PROBE_LIMIT_S} s"

    def before(self, wave: Wave) -> None:
        """See ``Gate``."""

    def after(self, wave: Wave, trees: Mapping[str, str], before: Any) -> GateAnswer:
        """See ``Gate``."""
        return GateAnswer(len(trees), self._complaints(wave, trees))

    def _complaints(self, wave: Wave, trees: Mapping[str, str]) -> Mapping[str, str]:
        wave_fields = {"layer": wave.layer, "kind": wave.kind, "units": wave.units, "devices": list(trees)}
        try:
            done = subprocess.run(
                self.command,
                input=json.dumps(wave_fields),
                capture_output=True,
                text=True,
                check=False,
                timeout=PROBE_LIMIT_S,
                env=child_environment(prefixes=["CLUSTERWRIGHT_"]),
            )
        except subprocess.TimeoutExpired:
            return dict.fromkeys(trees, f"{self.command[0]} gave no answer within {PROBE_LIMIT_S} s")
        except OSError as error:
            raise ClusterwrightError(f"the probe {self.command[0]} cannot be started: {error.strerror}") from None
        lines = (line.partition(": ") for line in done.stdout.splitlines())
        wrong = {name: why for name, _, why in lines if name in trees}
        if done.returncode != 0 and not wrong:
            output_lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
            why = f"{self.command[0]} ended with status {done.returncode}"
            if output_lines:
                why += f": {output_lines[-1]}"
            return dict.fromkeys(trees, why)
        return wrong


def look(gates: Iterable[Gate], wave: Wave) -> tuple[Any, ...]:
    """The state before a wave, gate by gate. Raises ClusterwrightError."""
    return tuple(gate.before(wave) for gate in gates)


def ask(
    gates: Sequence[Gate], wave: Wave, trees: Mapping[str, str], before: Sequence[Any]
) -> tuple[tuple[Checked, ...], dict[str, str]]:
    """Answers of each gate, and the first complaint about each device; further gates skip such a device.

    Raises ClusterwrightError.
    """
    wrong: dict[str, str] = {}
    checked: list[Checked] = []
    for gate, state_before in zip(gates, before, strict=True):
        started = time.monotonic()
        remaining_trees = {name: digest for name, digest in trees.items() if name not in wrong}
        answer = gate.after(wave, remaining_trees, state_before)
        checked.append(Checked(gate.name, answer, time.monotonic() - started))
        wrong |= answer.wrong
    return tuple(checked), wrong


def until_well(
    names: Sequence[str],
    deadline_s: float,
    complaints: Callable[[Sequence[str]], Mapping[str, str]],
    poll_s: float = POLL_S,
) -> Mapping[str, str]:
    """Query ``names``, then again those with a complaint, until there is none or ``deadline_s`` are over."""
    end = time.monotonic() + deadline_s
    wrong = complaints(names) if names else {}
    while wrong and time.monotonic() + poll_s < end:
        time.sleep(poll_s)
        wrong = complaints([name for name in names if name in wrong])
    return wrong


@dataclass(frozen=True, slots=True)
class DeviceGate:
    """A ``Gate``: the plan has the expected state, ``devices`` answers, ``policy`` has deadline and budget."""

    plan: Plan
    devices: Devices
    policy: GatePolicy

    @property
    def budget(self) -> int | None:
        """See ``Gate``."""
        return self.policy.budget

    @property
    def deadline_s(self) -> int:
        """See ``Gate``."""
        return self.policy.deadline_s
