"""Read running configurations of devices, with rights to read alone, and keep them by date.

Over SSH as the access file's account itself. It becomes root by sudo for two commands alone: listing the packet filter
and the kernel's settings, which are complete for root only. Over eAPI as one request. Nothing is written on a device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path

from clusterwright.deploy.ansible.query import CommandResult, Devices, RemoteCommand
from clusterwright.deploy.target import Unreachable
from clusterwright.finding import ClusterwrightError
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.switches.registry import SYSTEMS
from clusterwright.switches.running import OUTPUTS

LIMIT_S = 60
_NODE_FILES = ("etc/nccl.conf", "etc/nccl/nccl.conf", "*opensm.conf")
_FILTER, _SETTINGS, _EOS = "nft-ruleset", "sysctl", "running-config"


@dataclass(frozen=True, slots=True)
class Collected:
    """Answers by device and by name of the output or path of the file, and errors of devices without an answer."""

    texts: Mapping[str, Mapping[str, str]]
    failures: Mapping[str, str]


def collect(plan: Plan, devices: Devices) -> Collected:
    """Query all devices of the access file. Raises ClusterwrightError for one outside the plan."""
    reached = devices.over_ssh | devices.over_eapi
    unknown = sorted(reached - plan.by_name.keys())
    if unknown:
        raise ClusterwrightError(f"no device of {plan.name} is called {unknown[0]}; the access file names it")
    texts: dict[str, dict[str, str]] = {}
    failures: dict[str, str] = {}
    questions = {name: dict(_questions(plan, name)) for name in sorted(devices.over_ssh)}
    outputs = set(chain.from_iterable(questions.values()))
    for output in sorted(outputs):
        asked = {
            name: results[output] for name, results in questions.items() if output in results and name not in failures
        }
        for name, answer in devices.run(asked, becomes_root=False).items():
            if isinstance(answer, CommandResult) and answer.status == 0:
                texts.setdefault(name, {})[output] = answer.output
            else:
                reason = answer.message if isinstance(answer, Unreachable) else answer.said
                failures[name] = f"{output}: {reason}"
    for name, printed in devices.show_text(sorted(devices.over_eapi), OUTPUTS[_EOS].command).items():
        if isinstance(printed, Unreachable):
            failures[name] = f"{_EOS}: {printed.message}"
        else:
            texts[name] = {_EOS: printed}
    return Collected(texts, failures)


def _questions(plan: Plan, name: str) -> Iterator[tuple[str, RemoteCommand]]:
    """Outputs and configuration files to read from a device over SSH."""
    paths = [artifact.path for artifact in Rendering(plan).of_device(name)]
    for output in (_FILTER, _SETTINGS):
        if any(fnmatchcase(path, OUTPUTS[output].files) for path in paths):
            words = tuple(OUTPUTS[output].command.split())
            yield output, RemoteCommand(("sudo", "-n", *words), LIMIT_S)
    system = SYSTEMS.get(plan.spec.catalogue[plan.by_name[name].model].network_os or "")
    patterns = _NODE_FILES if system is None else tuple(system.drift)
    printed = {} if system is None else system.probes.configuration
    for path in paths:
        if any(fnmatchcase(path, pattern) for pattern in patterns):
            yield path, RemoteCommand(printed.get(path, ("cat", f"/{path}")), LIMIT_S)


def keep(texts: Mapping[str, Mapping[str, str]], folder: Path, moment: str) -> Path:
    """Write the answers into ``folder/moment/DEVICE``, readable by the owner alone: they hold hashes of secrets.

    Raises ClusterwrightError if that fails, or if there is a folder of that moment already.
    """
    place = folder / moment
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.mkdir(mode=0o700)
        for device, outputs in texts.items():
            for name, text in outputs.items():
                file = place / device / name
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                file.touch(mode=0o600)
                file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ClusterwrightError(f"{place}: cannot be written: {error.strerror}") from error
    return place
