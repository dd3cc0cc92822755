"""The waves of an update as text, for its approval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from clusterwright.and_more import and_more
from clusterwright.deploy.pulumi.units import UPPER, Stack
from clusterwright.rollout.gates.selection import Gates
from clusterwright.rollout.prepare import Prepared
from clusterwright.rollout.unbuilt_images import unbuilt_lines
from clusterwright.rollout.waves import Wave
from clusterwright.text.columns import aligned_lines

if TYPE_CHECKING:
    from clusterwright.cli.stacks.checked import CheckedPreview

_HEADINGS = ("wave", "", "layer", "units", "devices", "effect", "racks disturbed", "bandwidth left")
_SHOWN = 3


def update_text(checked: CheckedPreview | None, prepared: Prepared, gates: Gates) -> str:
    """The preview, then the remaining waves as a table, the gates between them, and changes outside of waves.

    "" for no change.
    """
    preview_text = checked.text if checked else ""
    waves_text = "\n".join(_lines(prepared, gates))
    return "\n\n".join(filter(None, (preview_text, waves_text)))


def _lines(prepared: Prepared, gates: Gates) -> Iterator[str]:
    first = [stack for stack in prepared.stacks if stack.name in prepared.first]
    upper = [stack for stack in first if stack.layer == UPPER]
    before_waves = upper if prepared.waves else first
    yield from _at_once(before_waves, "")
    if prepared.waves:
        rows = [_HEADINGS, *(_row(number, wave) for number, wave in prepared.rollout.left)]
        yield from aligned_lines(rows)
    for number, wave in prepared.rollout.left:
        if wave.breaks:
            yield f"wave {number} breaks the policy: {wave.breaks}"
    if prepared.waves:
        yield from gates.lines
        yield from _at_once([stack for stack in first if stack not in upper], "behind the waves, ")
    if prepared.silent:
        yield (
            f"{len(prepared.silent)} devices did not answer, and no state knows whether they run: "
            f"{_some(prepared.silent)}. They count as new"
        )
    if prepared.only:
        yield f"alone: {_some(sorted(prepared.only))}; all other devices stay as they are"
    if prepared.away and (prepared.waves or first):
        names = _some(sorted(prepared.away))
        yield f"left out, as out of service: {names}; they get what they are owed once they are back"
    yield from unbuilt_lines(prepared.unbuilt)
    if prepared.removed:
        yield f"at the end, the deployed files of {_some(prepared.removed)} are removed: the spec no longer has them"


def _at_once(stacks: Iterable[Stack], when: str) -> Iterator[str]:
    names = _some(stack.name for stack in stacks)
    if names:
        yield f"{when}at once and without gates, as their first update has not ended yet: {names}"


def _row(number: int, wave: Wave) -> tuple[str, ...]:
    bandwidth = f"{wave.bandwidth_left:.0%}"
    if wave.worst_rack:
        bandwidth += f" ({wave.worst_rack}, {wave.worst_fabric})"
    return (
        str(number),
        "canary" if wave.is_canary else "",
        wave.layer,
        _some(wave.units),
        str(len(wave.devices)),
        wave.effect.name.lower(),
        _some(wave.disturbed) or "-",
        bandwidth,
    )


def _some(names: Iterable[str]) -> str:
    return and_more(tuple(names), _SHOWN)
