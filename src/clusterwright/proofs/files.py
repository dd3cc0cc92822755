"""The folder contains the files rendered for its spec: claims can only be made about present files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.and_more import and_more
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.tree import ExpectedTree, RenderedTree
from clusterwright.proofs.unread import UNREAD

_SHOWN = 3
_NO_MANIFEST = (
    "There is no manifest, so the folder is taken as read back from devices: no file was compared with a digest."
)


def _check(tree: RenderedTree) -> Verdict:
    notes = [_NO_MANIFEST] if tree.is_read_back else []
    cases = Cases("files", len(tree.files))
    if tree.rendering is None:
        unjudged = "not checked: without a manifest only a spec sets which files there should be"
        return Verdict(
            facts=(Fact("files", len(tree.files)),),
            counterexamples=(),
            cases=cases,
            notes=tuple(notes),
            unjudged=unjudged,
        )
    others = sorted(place for place in tree.others if place not in tree.rendering.files)
    unplanned = [(device, path) for device, path in others if device in tree.rendering.devices]
    if tree.is_read_back and unplanned:
        names = and_more([f"{device}:/{path}" for device, path in unplanned], _SHOWN)
        notes.append(f"Beside what the spec renders: {names}.")
    planned_others = [place for place in tree.others if place in tree.rendering.files]
    reworded = sorted((device, path) for device, path in planned_others if path in UNREAD)
    if reworded:
        names = and_more([f"{device}:/{path}" for device, path in reworded], _SHOWN)
        notes.append(f"Different from the rendered files, so that claims are checked on each of their lines: {names}.")
    counterexamples = [*_missing(tree), *_strangers(others, tree.rendering)]
    if not tree.is_read_back:
        message = "the spec renders no such file"
        counterexamples += [Counterexample(device, path, 0, message) for device, path in unplanned]
    facts = (
        Fact("devices", len({device for device, _ in tree.files} & tree.rendering.devices)),
        Fact("files that the spec renders", len(tree.rendering.files)),
    )
    return Verdict(facts=facts, counterexamples=tuple(counterexamples), cases=cases, notes=tuple(notes))


def _missing(tree: RenderedTree) -> Iterator[Counterexample]:
    """Missing files; a device without any file is reported once."""
    present_devices = {device for device, _ in tree.files}
    absent: set[str] = set()
    files = Counter(device for device, _ in tree.lacking)
    for device, path in tree.lacking:
        if device in present_devices:
            yield Counterexample(
                device=device, file=path, line=0, message="the file is missing, and the spec renders it"
            )
        elif device not in absent:
            absent.add(device)
            more = files[device] - 1
            message = f"nothing of the device is there; the spec renders this and {more:,} more files for it"
            yield Counterexample(device=device, file=path, line=0, message=message)


def _strangers(others: list[tuple[str, str]], rendering: ExpectedTree) -> Iterator[Counterexample]:
    reported: set[str] = set()
    for device, path in others:
        if device not in rendering.devices and device not in reported:
            reported.add(device)
            yield Counterexample(device=device, file=path, line=0, message="the spec has no such device")


FILES = ProofCheck(
    name="files",
    claim=(
        "The folder has every file that the spec renders for these claims, and none of devices that the spec lacks."
    ),
    kinds=frozenset(),
    intent=frozenset(),
    applies=lambda tree: tree.rendering is not None or tree.is_read_back,
    check=_check,
    spec_only="the files of each device",
)
