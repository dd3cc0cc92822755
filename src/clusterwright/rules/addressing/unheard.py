"""CW321 and CW354: keys and values rendered for some switches of a spec and not for others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.site_limits import OPERATOR_END, OPERATOR_KEYS, DroppedValue, untold
from clusterwright.spec.hardware.systems import System, system_of
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path

_ITEM = ""  # a step into each item of a list
_MEND_END = (
    "Remove the operator on that day and run `clusterwright up`: lint, preview and status ask for it from then on."
)
_MEND = "Use another system for them, or accept it for these switches; all others keep it."


@rule("CW354", Severity.WARNING)
def unheard_keys(subject: Subject) -> Iterator[Problem]:
    """Keys and values not supported by the system of some tiers."""
    spec = subject.spec
    for system, tiers in _tiers_by_system(spec).items():
        for unheard in (key for key in system.unheard if key.said_by == "lint"):
            for path in _places(spec.document.data, unheard.steps, ()):
                concerned = [place for place in tiers if path[0] != "fabrics" or path[:2] == place[:2]]
                if concerned:
                    where = _switches(spec, concerned)
                    yield Problem(
                        path,
                        f"{system.title} does not support {unheard.key} ({where}): {unheard.reason}.",
                        _mend(unheard.key),
                    )
        for value in untold(spec.site, system):
            if value.key != OPERATOR_KEYS:
                yield Problem(value.path, _message(spec, system, tiers, value), _mend(value.key))


@rule("CW321", Severity.WARNING)
def too_many_keys(subject: Subject) -> Iterator[Problem]:
    """Operators with more keys than the switches of some tiers support."""
    spec = subject.spec
    for system, tiers in _tiers_by_system(spec).items():
        for value in untold(spec.site, system):
            if value.key == OPERATOR_KEYS:
                fix = "Write another operator for the others, or accept it for these switches; all others keep them."
                yield Problem(value.path, _message(spec, system, tiers, value), fix)


def _mend(key: str) -> str:
    return _MEND_END if key == OPERATOR_END else _MEND


def _message(spec: ClusterSpec, system: System, tiers: Sequence[Path], value: DroppedValue) -> str:
    return f"{system.title} supports only part of {value.key} ({_switches(spec, tiers)}): {value.reason}."


def _switches(spec: ClusterSpec, tiers: Sequence[Path]) -> str:
    roles = ", ".join(str(spec.document.at((*place, "role"))) for place in tiers)
    return f"switches of {roles}"


def _tiers_by_system(spec: ClusterSpec) -> dict[System, list[Path]]:
    tiers: dict[System, list[Path]] = {}
    for fabric in spec.fabrics:
        for tier in fabric.tiers:
            system = system_of(tier.model)
            if system is not None:
                tiers.setdefault(system, []).append(tier.path)
    return dict(sorted(tiers.items(), key=lambda item: item[0].name))


def _places(data: Any, steps: tuple[str, ...], above: Path) -> Iterator[Path]:
    """The places of a key in a spec."""
    if not steps:
        yield above
        return
    step, *rest = steps
    if step == _ITEM:
        items = data if isinstance(data, list) else ()
        for index, item in enumerate(items):
            yield from _places(item, tuple(rest), (*above, index))
    elif isinstance(data, Mapping) and step in data:
        yield from _places(data[step], tuple(rest), (*above, step))
