"""CW143 to CW146: scanned GUIDs, compared with the planned devices."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.nearest_name import did_you_mean
from clusterwright.plan.chips import chip_names
from clusterwright.plan.skeleton import FabricSkeleton
from clusterwright.rules.rule import LintRule, Problem, Subject, rule
from clusterwright.spec.attachment import attached_nics

# Findings about unknown devices: after that many, the file evidently belongs to another cluster.
MOST_UNKNOWN = 20
_PREFIX_SHIFT = 40

NOT_A_LABEL = LintRule("CW143", Severity.ERROR)


def _ends(subject: Subject, skeleton: FabricSkeleton) -> dict[tuple[str, str], None]:
    """Every (device, port) of a fabric with a GUID, in the plan's order; for a director, its chips."""
    groups = subject.spec.node_groups
    interfaces: dict[str | None, list[str]] = {}
    for attach in skeleton.fabric.attach:
        nics = attached_nics(subject.spec, attach)
        if nics is not None:
            interfaces[attach.nodes] = [nic.interface for nic in nics.nics]
    ends: dict[tuple[str, str], None] = {}
    for attached in skeleton.nodes:
        node = subject.skeleton.layout.nodes[attached.node]
        ports = interfaces[groups[node.node_group].name]
        for port, _ in zip(ports, attached.seats, strict=False):
            ends[node.name, port] = None
    for seat in skeleton.seats:
        chips = skeleton.fabric.tiers[seat.tier].model.chips
        switch_names = (seat.name,) if chips is None else chip_names(seat.name, chips)
        for name in switch_names:
            ends[name, ""] = None
    return ends


@rule("CW144", Severity.ERROR)
def unknown_end(subject: Subject) -> Iterator[Problem]:
    """Labels of devices or ports missing in the fabric."""
    for skeleton in subject.skeleton.fabrics:
        labels = skeleton.fabric.guids
        if labels is None:
            continue
        ends = _ends(subject, skeleton)
        ports: dict[str, list[str]] = {}
        for device, port in ends:
            ports.setdefault(device, []).append(port)
        directors = {seat.name for seat in skeleton.seats if skeleton.fabric.tiers[seat.tier].model.chips is not None}
        wrong = [row for row in labels.rows if (row.device, row.port) not in ends]
        for row in wrong[:MOST_UNKNOWN]:
            if row.device in directors:
                message = f"{row.device} is a director; its chips have GUIDs, and it has none."
                hint = f'Name a chip, such as "{row.device} leaf 0" or "{row.device} spine 0".'
            elif row.device in ports:
                named = ", ".join(port or "no port at all" for port in ports[row.device])
                message = f'{row.device} has no adapter port "{row.port}" on {skeleton.fabric.name}.'
                hint = f"It has: {named}."
            else:
                message = f'{skeleton.fabric.name} has no device "{row.device}".'
                hint = did_you_mean(row.device, ports, "Write the name that the cabling list has.")
            yield Problem(labels.path, message, hint, position=row.position)


@rule("CW145", Severity.ERROR)
def labelled_twice(subject: Subject) -> Iterator[Problem]:
    """GUIDs and ports with two labels, and planned placeholders among the labels."""
    owner: dict[int, str] = {}  # of all fabrics: a port is in one
    for fabric in subject.spec.fabrics:
        labels, manager = fabric.guids, fabric.subnet_manager
        if labels is None:
            continue
        seen: dict[tuple[str, str], int] = {}
        for row in labels.rows:
            end, name = (row.device, row.port), f"{row.device} {row.port}".rstrip()
            if manager is not None and row.guid >> _PREFIX_SHIFT == manager.guid_prefix:
                message = f"0x{row.guid:016x} is a planned placeholder, not the label of a device."
                yield Problem(labels.path, message, "Scan the label, or leave the line out.", position=row.position)
            elif row.guid in owner:
                message = f"0x{row.guid:016x} is the label of {owner[row.guid]} already."
                yield Problem(labels.path, message, f"Scan {name} again.", position=row.position)
            elif end in seen:
                message = f"{name} has a label already, on line {seen[end]}."
                yield Problem(labels.path, message, "Keep the correct line.", position=row.position)
            owner.setdefault(row.guid, name)
            seen.setdefault(end, row.position.line)


@rule("CW146", Severity.NOTE)
def not_scanned(subject: Subject) -> Iterator[Problem]:
    """The number of ports and switches without a label, for each fabric with a file of labels."""
    for skeleton in subject.skeleton.fabrics:
        labels = skeleton.fabric.guids
        if labels is None:
            continue
        missing = [end for end in _ends(subject, skeleton) if end not in labels.by_end]
        if not missing:
            continue
        first = " ".join(missing[0]).rstrip()
        message = f"{len(missing):,} ports and switches of {skeleton.fabric.name} keep planned GUIDs, {first} first."
        yield Problem(labels.path, message, "Scan their labels before bring-up.")
