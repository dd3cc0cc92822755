"""Devices' running files, compared with their rendered ones.

A folder holds them: a copy of a file as ``<device>/<path on the device>``, the output of a command under its name in
``OUTPUTS``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from clusterwright.device_files.drift import Compare, Difference, Drift
from clusterwright.finding import ClusterwrightError
from clusterwright.known_secrets import value_without_secrets, without_secrets
from clusterwright.switches.eos.reader.sections import PATH


@dataclass(frozen=True, slots=True)
class Output:
    """A command's output: ``files`` are the rendered files with its content, joined in their order."""

    files: str
    command: str


OUTPUTS: Mapping[str, Output] = {
    "running-config": Output(PATH, "show running-config"),
    "nft-ruleset": Output("etc/nftables.conf", "nft list ruleset"),
    "sysctl": Output("etc/sysctl.d/*.conf", "sysctl -a"),
}


def drifts(
    device: str, rendered: Mapping[str, str], running: Mapping[str, str], comparisons: Iterable[tuple[str, Compare]]
) -> tuple[Drift, ...]:
    """Every difference of one device, file by file.

    ``rendered`` is its tree, ``running`` its answers, by path or name of an output; ``comparisons`` have a pattern
    of the rendered path, and the first match compares. Raises ClusterwrightError for unreadable text.
    """
    compare_by_pattern = tuple(comparisons)
    drifts: list[Drift] = []
    for name, running_text in sorted(running.items()):
        paths = _rendered_paths(name, rendered)
        if not paths:
            drifts.append(_unplanned_file(device, name))
            continue
        compare = _comparison_for(paths[0], compare_by_pattern)
        planned_text = "\n".join(rendered[path] for path in paths)
        try:
            differences = tuple(compare(planned_text, running_text))
        except ValueError as error:
            raise ClusterwrightError(f"{device}/{name}: cannot be read as {paths[0]}: {error}") from None
        drifts += [_without_secrets(Drift(device, paths[0], *difference)) for difference in differences]
    return tuple(drifts)


def _rendered_paths(name: str, rendered: Iterable[str]) -> list[str]:
    """The rendered files with the content of a running file or of a command's output, in order."""
    pattern = OUTPUTS[name].files if name in OUTPUTS else name
    return sorted(path for path in rendered if fnmatchcase(path, pattern))


def _unplanned_file(device: str, name: str) -> Drift:
    return Drift(
        device=device,
        file=name,
        kind=Difference.UNEXPECTED,
        place="",
        runs="a file that the plan does not give it",
    )


def _comparison_for(path: str, comparisons: Iterable[tuple[str, Compare]]) -> Compare:
    """The first comparison with a pattern that matches a rendered path."""
    return next(compare for pattern, compare in comparisons if fnmatchcase(path, pattern))


def _without_secrets(drift: Drift) -> Drift:
    """The difference without placeholders of secrets: an unplanned running line may hold one of its own."""
    place = without_secrets(drift.place)
    runs = value_without_secrets(drift.place.rpartition("/")[2].strip(), drift.runs)
    sections = tuple(map(without_secrets, drift.sections))
    is_unchanged = runs == drift.runs
    return replace(drift, place=place, runs=runs, sections=sections, value=drift.value if is_unchanged else None)
