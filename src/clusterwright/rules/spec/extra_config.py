"""CW170, CW171, CW177: configuration that a network engineer adds by hand."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import unknown
from clusterwright.spec.ethernet import ExtraConfig
from clusterwright.spec.hardware.systems import systems


@rule("CW170", Severity.ERROR)
def added_for_nobody(subject: Subject) -> Iterator[Problem]:
    """Devices, roles and fabrics of `extra_config` that are not planned."""
    for item in subject.spec.extra_config:
        for key, wanted in (("device", item.device), ("role", item.role), ("fabric", item.fabric)):
            if wanted is None or _systems(subject, item):
                continue
            known = {
                "device": {seat.name for skeleton in subject.skeleton.fabrics for seat in skeleton.seats},
                "role": {tier.role for fabric in subject.spec.fabrics for tier in fabric.tiers},
                "fabric": {fabric.name for fabric in subject.spec.fabrics},
            }[key]
            yield unknown(f"switch with the {key}" if key != "device" else "switch", wanted, known, (*item.path, key))


@rule("CW171", Severity.ERROR)
def added_in_another_form(subject: Subject) -> Iterator[Problem]:
    """Lines for JSON files, and patches for text or for files that are not rendered."""
    for item in subject.spec.extra_config:
        yield from _misplaced_lines(item)
        for name in sorted(_systems(subject, item)):
            system = systems().get(name)
            if item.lines and (system is None or not system.takes_lines):
                message = f"{name or 'A switch without an operating system'} is not configured by lines."
                yield Problem((*item.path, "lines"), message, "Use `merge` with `file`.", key=True)
            patched = () if system is None else system.patched
            if item.file is not None and item.file not in patched:
                files = " or ".join(patched)
                message = f"{name or 'A switch without an operating system'} has no file {item.file} that is patched."
                yield Problem((*item.path, "file"), message, f"Name {files}." if files else "Use `lines`.")


def _misplaced_lines(item: ExtraConfig) -> Iterator[Problem]:
    """A first line that EOS would read somewhere else than it seems to stand."""
    if item.lines and item.lines[0].startswith(" "):
        mend = "Begin with the section's own line, such as `interface Ethernet3/1/1`."
        yield Problem((*item.path, "lines", 0), "The first line is indented, and no section stands before it.", mend)


def _systems(subject: Subject, item: ExtraConfig) -> set[str]:
    """The network operating systems of the switches that an entry concerns; "" for none."""
    return {
        tier.model.network_os or ""
        for skeleton in subject.skeleton.fabrics
        for depth, tier in enumerate(skeleton.fabric.tiers)
        if item.role == tier.role
        or item.fabric == skeleton.fabric.name
        or (item.device and any(seat.name == item.device and seat.tier == depth for seat in skeleton.seats))
    }


@rule("CW177", Severity.ERROR)
def vouched_for_nothing(subject: Subject) -> Iterator[Problem]:
    """Lines and keys under `unread` that the same entry does not add."""
    for item in subject.spec.extra_config:
        for at, vouched in enumerate(item.unread):
            if not item.places(vouched.line):
                message = f"This entry does not add `{vouched.line.strip()}`."
                what = "a line of `lines`" if item.lines else "keys of `merge`, the outermost first, with ` / ` between"
                yield Problem((*item.path, "unread", at, "line"), message, f"Name {what}, as it stands there.")
