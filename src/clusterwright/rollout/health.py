"""Whether the devices that a wave changed are well: asked after each wave, before the next one starts.

Every target answers for what its devices hold. What only a site can see (sessions of the fabric, verdicts on nodes, a
probe of isolation) comes from a program of the site, which is told the wave and answers with the devices that are not
well.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterwright.deploy.store import Store
from clusterwright.deploy.target import Target, Unreachable, tree_digest
from clusterwright.finding import ClusterwrightError
from clusterwright.rollout.waves import Wave

PROBE_LIMIT_S = 900

Gate = Callable[[Wave, Mapping[str, str]], Mapping[str, str]]
"""Asks about a wave; its devices with the digests of their trees. The answer: devices that are not well, and why."""


@dataclass(frozen=True, slots=True)
class HoldsTree:
    """The devices are read back: each holds what it was given."""

    target: Target
    store: Store

    def __call__(self, wave: Wave, trees: Mapping[str, str]) -> Mapping[str, str]:
        """See ``Gate``."""
        wrong: dict[str, str] = {}
        for name, held in self.target.read(tuple(trees)).items():
            if isinstance(held, Unreachable):
                wrong[name] = f"cannot be read: {held.message}"
            elif held.digest != tree_digest(self.store.get_tree(name, trees[name])):
                wrong[name] = "holds something else than it was given"
        return wrong


@dataclass(frozen=True, slots=True)
class Verdicts:
    """A file that the site's health checks keep: ``{"healthy": [...], "unhealthy": {"gpu-p00r00n0": "why"}}``.

    Read anew after each wave. A file that is missing or damaged raises ClusterwrightError: no verdict is no health.
    """

    path: Path

    def __call__(self, wave: Wave, trees: Mapping[str, str]) -> Mapping[str, str]:
        """See ``Gate``."""
        try:
            found = json.loads(self.path.read_bytes())["unhealthy"]
            return {name: str(found[name]) for name in trees if name in found}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ClusterwrightError(
                f'{self.path}: not a file of health verdicts ({error}); it needs {{"unhealthy": {{device: why}}}}'
            ) from None


@dataclass(frozen=True, slots=True)
class Probe:
    """A program of the site: standard input is the wave as JSON, each line of its output ``device: why`` a complaint.

    Another exit status than 0 without such a line counts against every device of the wave.
    """

    command: tuple[str, ...]

    def __call__(self, wave: Wave, trees: Mapping[str, str]) -> Mapping[str, str]:
        """See ``Gate``. Raises ClusterwrightError when the program cannot be started."""
        told = {"layer": wave.layer, "kind": wave.kind, "units": wave.units, "devices": list(trees)}
        try:
            done = subprocess.run(
                self.command, input=json.dumps(told), capture_output=True, text=True, check=False, timeout=PROBE_LIMIT_S
            )
        except subprocess.TimeoutExpired:
            return dict.fromkeys(trees, f"{self.command[0]} gave no answer within {PROBE_LIMIT_S} s")
        except OSError as error:
            raise ClusterwrightError(f"the probe {self.command[0]} cannot be started: {error.strerror}") from None
        lines = (line.partition(": ") for line in done.stdout.splitlines())
        wrong = {name: why for name, _, why in lines if name in trees}
        if done.returncode != 0 and not wrong:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            why = f"{self.command[0]} ended with status {done.returncode}" + (f": {said[-1]}" if said else "")
            return dict.fromkeys(trees, why)
        return wrong


def ask(gates: tuple[Gate, ...], wave: Wave, trees: Mapping[str, str]) -> dict[str, str]:
    """What all gates say; the first complaint about a device stands. Raises ClusterwrightError."""
    wrong: dict[str, str] = {}
    for gate in gates:
        wrong = {**gate(wave, trees), **wrong}
    return wrong
