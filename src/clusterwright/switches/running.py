"""Devices' running files, compared with their rendered ones.

They lie in a folder: ``<device>/<path on the device>`` as the files are there, or the output of a command under its
name in ``OUTPUTS``.
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
    for name, text in sorted(running.items()):
        pattern = OUTPUTS[name].files if name in OUTPUTS else name
        paths = sorted(path for path in rendered if fnmatchcase(path, pattern))
        if not paths:
            drifts.append(
                Drift(
                    device=device,
                    file=name,
                    kind=Difference.UNEXPECTED,
                    place="",
                    runs="a file that the plan does not give it",
                )
            )
            continue
        compare = next(compare for pattern, compare in compare_by_pattern if fnmatchcase(paths[0], pattern))
        try:
            differences = tuple(compare("\n".join(rendered[path] for path in paths), text))
        except ValueError as error:
            raise ClusterwrightError(f"{device}/{name}: cannot be read as {paths[0]}: {error}") from None
        drifts += [_without_secrets(Drift(device, paths[0], *difference)) for difference in differences]
    return tuple(drifts)


def _without_secrets(drift: Drift) -> Drift:
    """The difference without placeholders of secrets: an unplanned running line may hold one of its own."""
    place = without_secrets(drift.place)
    runs = value_without_secrets(drift.place.rpartition("/")[2].strip(), drift.runs)
    sections = tuple(map(without_secrets, drift.sections))
    value = drift.value if runs == drift.runs else None
    return replace(drift, place=place, runs=runs, sections=sections, value=value)
