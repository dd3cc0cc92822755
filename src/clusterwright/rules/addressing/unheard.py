"""CW354: keys that some switches of a spec are told, and others are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.systems import System, system_of
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path

_ITEM = ""  # a step into each item of a list


@rule("CW354", Severity.WARNING)
def unheard_keys(subject: Subject) -> Iterator[Problem]:
    """Keys that the system of some tiers is not told."""
    spec = subject.spec
    for system, tiers in _tiers_by_system(spec).items():
        for unheard in (each for each in system.unheard if each.said_by == "lint"):
            for path in _places(spec.document.data, unheard.steps, ()):
                concerned = [place for place in tiers if path[0] != "fabrics" or path[:2] == place[:2]]
                if concerned:
                    roles = ", ".join(str(spec.document.at((*place, "role"))) for place in concerned)
                    message = f"{system.title} is not told {unheard.key} (switches of {roles}): {unheard.reason}."
                    mend = "Take another system for them, or accept it for these switches; all others keep it."
                    yield Problem(path, message, mend)


def _tiers_by_system(spec: ClusterSpec) -> dict[System, list[Path]]:
    found: dict[System, list[Path]] = {}
    for fabric in spec.fabrics:
        for tier in fabric.tiers:
            system = system_of(tier.model)
            if system is not None:
                found.setdefault(system, []).append(tier.path)
    return dict(sorted(found.items(), key=lambda item: item[0].name))


def _places(data: Any, steps: tuple[str, ...], above: Path) -> Iterator[Path]:
    """Where a key stands in a spec."""
    if not steps:
        yield above
        return
    step, *rest = steps
    if step == _ITEM:
        for index, item in enumerate(data if isinstance(data, list) else ()):
            yield from _places(item, tuple(rest), (*above, index))
    elif isinstance(data, Mapping) and step in data:
        yield from _places(data[step], tuple(rest), (*above, step))
