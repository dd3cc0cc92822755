"""A comparison for people: moves of existing equipment first, then zones, devices, cables, configuration."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from posixpath import dirname

from clusterwright.compare.changes import CableChanges, CableMove, ConfigGroup, PlanChanges
from clusterwright.compare.diff_lines import shown_lines
from clusterwright.hosts.slurm.hostlist import hostlist
from clusterwright.plan.model import Cable, Device

EXAMPLES = 3  # shown of many changes of a kind; JSON and the work order have all of them
MOST_GROUPS = 24
NUMBERS = frozenset({"asn", "loopback", "guid"})  # fields of a device used by other devices


def text_lines(changes: PlanChanges, configs: Sequence[ConfigGroup] | None, most_lines: int) -> Iterator[str]:
    """The lines of the report; ``configs`` None leaves configuration out.

    ``most_lines`` limits the diff lines shown of each file, the files of a folder and the groups of devices; 0 shows
    all.
    """
    yield f"{changes.before} → {changes.after}"
    if not changes and not configs:
        yield "no difference"
        return
    yield ""
    yield from standing_lines(changes)
    yield from _isolation(changes)
    yield from _devices(changes)
    for fabric in changes.cables:
        yield from _cables(fabric)
    if configs is not None:
        yield from _configuration(configs, most_lines)


def standing_lines(changes: PlanChanges, *, as_laid: bool = False) -> Iterator[str]:
    """Moves of existing equipment, which come before everything new.

    With ``as_laid`` the plan follows the laid cables, instead of the cables following the plan.
    """
    cables = sum(len(fabric.moved) for fabric in changes.cables)
    numbers = [item for item in changes.devices.changed if item.field in NUMBERS]
    rest = f"{len(changes.addresses):,} addresses and {len(numbers):,} numbers change"
    if as_laid:
        yield f"as laid: {cables:,} cables stay where they are, which the plan had elsewhere; {rest}"
    elif not (cables or changes.addresses or numbers):
        yield "existing devices: no cable, address or number moves"
    else:
        yield f"existing devices: {cables:,} cables move, {rest}"
    verb, more = ("planned ", "") if as_laid else ("move ", " moves")
    for fabric in changes.cables:
        for move in fabric.moved[:EXAMPLES]:
            yield f"  {fabric.fabric}: {verb}{moved(move)}"
        if len(fabric.moved) > EXAMPLES:
            yield f"  {fabric.fabric}: … and {len(fabric.moved) - EXAMPLES:,} more{more}"
    yield from _addresses(changes)


def _isolation(changes: PlanChanges) -> Iterator[str]:
    yield "" if changes.isolation else "\nzones and flows: no change"
    if not changes.isolation:
        return
    yield "zones and flows"
    for cell in changes.isolation.access:
        word = "OPENS " if cell.opened else "closes"
        cause = f"  (flow {', '.join(cell.flows)})" if cell.flows else ""
        yield f"  {word} {cell.source} → {cell.target}: {cell.traffic}{cause}"
    for change in changes.isolation.terms:
        word = "LONGER" if change.longer else "terms "
        nothing = "never" if change.term == "expires" else "none"
        yield f"  {word} flow {change.flow}: {change.term} {change.before or nothing} → {change.after or nothing}"
    for item in changes.isolation.membership:
        sign = "+" if item.added else "-"
        yield f"  {sign} {item.owner} {item.what}"


def _devices(changes: PlanChanges) -> Iterator[str]:
    devices = changes.devices
    yield "" if devices else "\ndevices: no change"
    if not devices:
        return
    yield "devices"
    yield from _counted("+", devices.added)
    yield from _counted("-", devices.removed)
    if devices.renamed:
        shown = [f"{old} is now {new}" for old, new in list(devices.renamed.items())[:EXAMPLES]]
        yield f"  {len(devices.renamed):,} renamed: {_and_more(shown, len(devices.renamed))}"
    by_change: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for item in devices.changed:
        by_change[item.field, item.before, item.after].append(item.device)
    singles: dict[str, list[str]] = defaultdict(list)
    for (field, old, new), names in by_change.items():
        if len(names) > 1:
            yield f"  {field} {old} → {new}: {len(names):,} devices, {_names(names)}"
        else:
            singles[field].append(f"{names[0]} {old} → {new}")
    for field, texts in singles.items():
        yield f"  {field}: {_and_more(texts[:EXAMPLES], len(texts))}"


def _counted(sign: str, devices: Iterable[Device]) -> Iterator[str]:
    kinds: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for device in devices:
        kinds[device.kind, device.role, device.model].append(device.name)
    for (_, role, model), names in kinds.items():
        yield f"  {sign} {len(names):,} {role} ({model}): {_names(names)}"


def _names(names: Sequence[str]) -> str:
    """Names in bracketed ranges if they are short, else the first and last."""
    folded = hostlist(names)
    return folded if len(folded) <= 60 else f"{names[0]} … {names[-1]}"


def _and_more(shown: Sequence[str], total: int) -> str:
    rest = f"; … and {total - len(shown):,} more" if total > len(shown) else ""
    return "; ".join(shown) + rest


def _cables(fabric: CableChanges) -> Iterator[str]:
    if not fabric:
        yield f"\ncables of {fabric.fabric}: {fabric.kept:,} kept, no change"
        return
    yield f"\ncables of {fabric.fabric}: {summary(fabric)}"
    ends = Counter((cable.a.side, cable.tier) for cable in fabric.added)
    for (side, _), count in sorted(ends.items(), key=lambda item: item[0][1]):
        first = next(cable for cable in fabric.added if cable.a.side == side)
        target = "to hosts" if side == "host" else side
        yield f"  + {count:,} {target} at {first.speed_gbps} Gb/s, {_between(first)} …"
    changes_of_service = (
        ("-", fabric.removed),
        ("no more traffic:", fabric.stopped),
        ("traffic again:", fabric.started),
    )
    for sign, cables in changes_of_service:
        if cables:
            shown = [_between(cable) for cable in cables[:EXAMPLES]]
            yield f"  {sign} {_and_more(shown, len(cables))}"
    if fabric.replaced:
        shown = [f"{_between(m.after)}: {_kind(m.before)} → {_kind(m.after)}" for m in fabric.replaced[:EXAMPLES]]
        yield f"  replace {_and_more(shown, len(fabric.replaced))}"


def summary(fabric: CableChanges) -> str:
    """The counts of one fabric; moved, added and removed are shown even if zero."""
    parts = [f"{fabric.kept:,} kept", f"{len(fabric.moved):,} moved", f"{len(fabric.added):,} added"]
    parts.append(f"{len(fabric.removed):,} removed")
    rare = (
        (fabric.replaced, "replaced"),
        (fabric.stopped, "without traffic from now on"),
        (fabric.started, "with traffic again"),
    )
    return ", ".join([*parts, *(f"{len(cables):,} {word}" for cables, word in rare if cables)])


def moved(move: CableMove) -> str:
    """A cable, and the old and new place of its moved ends."""
    old, new = move.before, move.after
    lower = f"{old.a.device} {old.a.port} → {new.a.device} {new.a.port}"
    upper = f"{old.b.device} {old.b.port} → {new.b.device} {new.b.port}"
    if move.ends == "both":
        return f"both ends: {lower} and {upper}"
    if move.ends == "lower":
        return f"{lower}, on the cable of {old.b.device} {old.b.port}"
    return f"{upper}, on the cable of {old.a.device} {old.a.port}"


def _between(cable: Cable) -> str:
    return f"{cable.a.device} {cable.a.port} – {cable.b.device} {cable.b.port}"


def _kind(cable: Cable) -> str:
    return f"{cable.length_m:g} m {cable.medium} at {cable.speed_gbps} Gb/s"


def _addresses(changes: PlanChanges) -> Iterator[str]:
    by_fabric: dict[str, list[str]] = defaultdict(list)
    for item in changes.addresses:
        text = f"{item.device} {item.port} {item.before or 'none'} → {item.after or 'none'}"
        by_fabric[item.fabric].append(text)
    for fabric, texts in by_fabric.items():
        yield f"  {fabric}: {len(texts):,} addresses change: {_and_more(texts[:EXAMPLES], len(texts))}"


def _configuration(groups: Sequence[ConfigGroup], most_lines: int) -> Iterator[str]:
    total = sum(len(group.devices) for group in groups)
    yield f"\nconfiguration: {total:,} devices change" if groups else "\nconfiguration: no change"
    shown = groups[:MOST_GROUPS] if most_lines else groups
    for group in shown:
        count = f"{len(group.devices):,} × " if len(group.devices) > 1 else ""
        yield f"\n{count}{group.role} {_names(group.devices)}"
        # A boot server has some files for each node, with the same changes in one folder: one file stands for the
        # others.
        for (status, folder), alike in groupby(group.files, key=lambda diff: (diff.status, dirname(diff.path))):
            files = list(alike)
            shown_files = files[:EXAMPLES] if most_lines else files
            for diff in shown_files:
                yield f"  {status} /{diff.path}"
                lines = shown_lines(diff.lines, most_lines) if most_lines else diff.lines
                for line in lines:
                    yield f"    {line}"
            if len(files) > len(shown_files):
                yield f"  {status} {len(files) - len(shown_files):,} more files in /{folder}"
    rest = groups[len(shown) :]
    if rest:
        roles = Counter[str]()
        for group in rest:
            roles[group.role] += len(group.devices)
        counts_of_roles = ", ".join(f"{count:,} {role}" for role, count in roles.items())
        yield f"\n… and {counts_of_roles}, each changed in another way; --lines 0 or --format json shows all"
