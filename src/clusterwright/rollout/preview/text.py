"""A preview as people read it: the verdict first, then what changes, what it takes, the waves and the proofs.

Bounded: a change of 3,072 nodes is as long as one of four, and what is left out is counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from clusterwright.and_more import and_more
from clusterwright.device_files.effect import Effect
from clusterwright.hosts.slurm.hostlist import hostlist
from clusterwright.rollout.disturbance import AFTERWARDS, Disturbance, JobImpact, WaveImpact
from clusterwright.rollout.guard import Guarded, Override, Proof, unanswered
from clusterwright.rollout.lost_partitions import PartitionLoss
from clusterwright.rollout.preview.file_text import file_lines
from clusterwright.rollout.preview.grouping import CHANGED, DRIFTED, NEW, REMOVED, GroupKind
from clusterwright.rollout.preview.preview import Preview
from clusterwright.rollout.preview.sentences import Sentence

_STATUS = {CHANGED: "", NEW: ", new", REMOVED: ", everything on it is removed", DRIFTED: ", holds something else"}
_EFFECT = {Effect.LIVE: "takes it while it runs", Effect.RESTART: "restarts", Effect.REBOOT: "boots anew"}
_EFFECTS = {Effect.LIVE: "take it while they run", Effect.RESTART: "restart", Effect.REBOOT: "boot anew"}
_LAYERS = 5
_CONSEQUENCES = 3


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of each kind is shown: groups of devices, lines of a file, files of a group, and other items."""

    groups: int = 12
    lines: int = 12
    files: int = 6
    items: int = 8


def text_lines(
    found: Preview, overrides: Sequence[Override] = (), bounds: Bounds | None = None, *, shows_waves: bool = True
) -> Iterator[str]:
    """The lines of a preview, without line ends; ``shows_waves`` is for those who show the waves in another form."""
    limits = bounds if bounds is not None else Bounds()
    count = len(found.changed)
    yield f"{found.cluster}, {_layers(found.layers)}: {_of(count, found.devices)} ({found.known})"
    yield from _verdict(found, overrides)
    yield from _spec(found, limits)
    yield from _cluster_wide(found, limits)
    for kind in found.kinds[: limits.groups]:
        yield from _kind(found, kind, limits)
    rest = found.kinds[limits.groups :]
    if rest:
        roles: Counter[str] = Counter()
        for kind in rest:
            roles[kind.groups[0].role] += len(kind.devices)
        told = ", ".join(f"{number:,} {role}" for role, number in sorted(roles.items()))
        yield f"\n… and {told}, changed in {len(rest):,} other way{_many(rest)}; --format json has all"
    if found.changed:
        yield from _disturbs(found.disturbance, limits)
        if shows_waves:
            yield from _waves(found.disturbance.waves, limits)
    yield from _proofs(found.guarded, limits)


def refusal_lines(guarded: Guarded, overrides: Sequence[Override], limit: int = 8) -> Iterator[str]:
    """Why the change is refused, with the counterexamples and the options that override it."""
    for proof in unanswered(guarded, overrides):
        yield from _proof(proof, limit)
        yield f"  to go on all the same: --accept-refuted {proof.check} --because REASON, which is recorded"


def names_of(names: Sequence[str], columns: int = 60) -> str:
    """Names in brackets of ranges where that is short, else the first and the last."""
    folded = hostlist(names)
    return folded if len(folded) <= columns else f"{names[0]} … {names[-1]}"


def _layers(layers: Sequence[str]) -> str:
    return ", ".join(layers) if len(layers) <= _LAYERS else f"{len(layers)} stacks"


def _of(count: int, total: int) -> str:
    return f"{count:,} of {total:,} devices change{'s' if count == 1 else ''}" if count else "nothing changes"


def _verdict(found: Preview, overrides: Sequence[Override]) -> Iterator[str]:
    refused = unanswered(found.guarded, overrides)
    if refused:
        yield f"REFUSED: breaks {', '.join(dict.fromkeys(proof.check for proof in refused))}; nothing was touched"
        yield ""
        yield from refusal_lines(found.guarded, overrides)
    for override in overrides:
        yield f"accepted by {override.who} although refuted: {override.check}. Because: {override.reason}"


def _spec(found: Preview, limits: Bounds) -> Iterator[str]:
    if not found.spec:
        return
    yield "\nin the spec"
    for change in found.spec[: limits.items]:
        if not change.before:
            what = f"+ {change.key}: {change.after}"
        elif not change.after:
            what = f"- {change.key}: {change.before}"
        else:
            what = f"~ {change.key}: {change.before} → {change.after}"
        yield f"  {what}  ({change.place})"
    yield from _more(found.spec, limits.items, "values")


def _cluster_wide(found: Preview, limits: Bounds) -> Iterator[str]:
    """Changes without a device: permitted flows, and cables whose ends keep their files."""
    changed = frozenset(found.changed)
    own = [sentence for sentence in found.sentences if sentence.devices.isdisjoint(changed)]
    if own:
        yield "\nin the model"
        yield from (f"  {each.text}" for each in own[: limits.items])
        yield from _more(own, limits.items, "changes")


def _kind(found: Preview, kind: GroupKind, limits: Bounds) -> Iterator[str]:
    group, names = kind.groups[0], kind.devices
    many = len(names) > 1
    count = f"{len(names):,} × " if many else ""
    effect = (_EFFECTS if many else _EFFECT)[group.effect]
    yield f"\n{count}{group.role} {names_of(names)}: {kind.place}{_STATUS[group.status]}; {effect}"
    if group.status == NEW:
        yield from (f"  taken over: {text}" for text in kind.does)
    elif kind.does:
        yield f"  while it is applied: {and_more(kind.does, _CONSEQUENCES, between='; ')}"
    devices = frozenset(names)
    own = [sentence for sentence in found.sentences if not sentence.devices.isdisjoint(devices)]
    yield from (f"  {line}" for line in _told(own, limits.items))
    if len(kind.groups) > 1:
        yield f"  the lines are those of {names[0]}; the others' differ in numbers, addresses and names"
    yield from file_lines(group.files, limits.files, limits.lines)


def _told(sentences: Sequence[Sentence], limit: int) -> Iterator[str]:
    yield from (sentence.text for sentence in sentences[:limit])
    if len(sentences) > limit:
        yield f"… and {len(sentences) - limit:,} more changes of the model"


def _more(items: Sequence[object], limit: int, what: str) -> Iterator[str]:
    if len(items) > limit:
        yield f"  … and {len(items) - limit:,} more {what}"


def _disturbs(found: Disturbance, limits: Bounds) -> Iterator[str]:
    yield "\nwhat it disturbs"
    if found.is_none:
        yield "  nothing: every device takes its change while it runs"
    away = [name for impact in found.waves for name in impact.away]
    if away:
        links: Counter[str] = Counter()
        for impact in found.waves:
            links.update(impact.links)
        shown = ", ".join(f"{count:,} of {fabric}" for fabric, count in sorted(links.items()))
        down = f"; links down with them: {shown}" if shown else ""
        yield f"  away for a while: {len(away):,} device{_many(away)}{down}"
        cut = {rack: impact.number for impact in found.waves for rack in impact.cut}
        if cut:
            without = "are without their own switches" if len(cut) > 1 else "is without its own switch"
            yield f"  {_racks(list(cut))} {without}, {_when(cut.values())}"
        yield from _lost(found.waves)
    yield from (_partition(loss) for loss in found.partitions[: limits.items])
    for share, racks in _by_share(found.standing)[: limits.items]:
        yield f"  afterwards {_racks(racks)} {_keep(racks)} {share:.1%} of {_its(racks)} way up"
    for job in found.jobs[: limits.items]:
        yield f"  job {job.job.name}: {'; '.join(job_phrases(job))}"
    yield from _more(found.jobs, limits.items, "jobs")
    if found.untouched:
        yield f"  jobs that notice nothing: {and_more([job.name for job in found.untouched], limits.items)}"
    yield from (f"  note: {note}" for note in found.notes)


def _partition(loss: PartitionLoss) -> str:
    lose = "loses" if len(loss.nodes) == 1 else "lose"
    ended = "their jobs end" if loss.ends_jobs else "what is connected in it ends"
    nodes = f"{len(loss.nodes):,} node{_many(loss.nodes)} ({names_of(loss.nodes, 40)})"
    return f"  {nodes} {lose} partition {loss.partition} ({loss.key}) of {loss.fabric}: {ended}"


def _lost(waves: Iterable[WaveImpact]) -> Iterator[str]:
    """Racks that lose bandwidth while waves last, each by its worst wave."""
    worst: dict[str, tuple[float, int]] = {}
    for impact in waves:
        for rack, share in impact.losers.items():
            worst[rack] = min(worst.get(rack, (1.0, 0)), (share, impact.number))
    shares = {rack: share for rack, (share, _) in worst.items()}
    for share, racks in _by_share(shares)[:4]:
        numbers = [worst[rack][1] for rack in racks]
        kept = f"{_keep(racks)} {share:.1%} of" if share else ("lose" if len(racks) > 1 else "loses")
        yield f"  {_racks(racks)} {kept} {_its(racks)} way up, {_when(numbers)}"
    if len(set(shares.values())) > 4:
        yield f"  … and others keep more, up to {max(shares.values()):.1%}"


def _when(waves: Iterable[int]) -> str:
    numbers = sorted(set(waves))
    if len(numbers) == 1:
        return f"while wave {numbers[0]} lasts"
    return f"each for one of the waves {numbers[0]} to {numbers[-1]}"


def _many(items: Sequence[object]) -> str:
    return "" if len(items) == 1 else "s"


def _by_share(shares: Mapping[str, float]) -> list[tuple[float, list[str]]]:
    found: dict[float, list[str]] = defaultdict(list)
    for rack, share in shares.items():
        found[round(share, 3)].append(rack)
    return sorted(found.items())


def _racks(racks: Sequence[str]) -> str:
    return f"rack {racks[0]}" if len(racks) == 1 else f"{len(racks):,} racks ({names_of(racks, 40)})"


def _its(racks: Sequence[str]) -> str:
    return "its" if len(racks) == 1 else "their"


def _keep(racks: Sequence[str]) -> str:
    return "keeps" if len(racks) == 1 else "keep"


def job_phrases(found: JobImpact) -> Iterator[str]:
    """Effects of a change on a job."""
    total = f"{len(found.job.nodes):,} nodes{' as the spec would place it' if found.job.is_planned else ''}"
    if found.booting:
        yield f"{len(found.booting):,} of {total} boot anew ({names_of(found.booting, 40)})"
    if found.interrupted:
        named = names_of(found.interrupted, 40)
        yield f"{len(found.interrupted):,} of {total} lose connections: interfaces are set up anew ({named})"
    if found.cut:
        yield f"{len(found.cut):,} of {total} lose every way of a fabric ({names_of(found.cut, 40)})"
    if found.slowed:
        when = "from then on" if found.worst_wave == AFTERWARDS else f"in wave {found.worst_wave}"
        yield f"{len(found.slowed):,} of {total} keep {found.least:.1%} of their way up at worst, {when}"


def _waves(impacts: Sequence[WaveImpact], limits: Bounds) -> Iterator[str]:
    yield f"\n{len(impacts):,} wave{'s' * (len(impacts) != 1)}"
    runs = [list(run) for _, run in groupby(impacts, key=run_of_waves)]
    for run in runs[: limits.items]:
        yield f"  {run_text(run)}"
    yield from _more(runs, limits.items, "runs of waves")


def run_of_waves(impact: WaveImpact) -> tuple[str, str, bool, Effect, str]:
    """Common properties of waves that are shown as one run."""
    wave = impact.wave
    return wave.layer, wave.kind, wave.is_canary, wave.effect, wave.breaks


def run_text(run: Sequence[WaveImpact]) -> str:
    """Waves of a kind: their numbers, what changes in them, and what others keep."""
    first, last = run[0], run[-1]
    number = f"{first.number}" if first is last else f"{first.number}-{last.number}"
    devices = [name for impact in run for name in impact.wave.devices]
    units = [name for impact in run for name in impact.wave.units]
    canary = "canary, " if first.wave.is_canary else ""
    each = max(len(impact.wave.units) for impact in run)
    at_once = f", at most {each} at once" if first is not last else ""
    unit = f"{len(units):,} {first.wave.kind}{'' if len(units) == 1 else _plural(first.wave.kind)}{at_once}"
    text = f"{number:>5}  {canary}{first.wave.layer}: {unit} ({names_of(units, 40)}), "
    text += (
        f"{len(devices):,} devices {_EFFECTS[first.wave.effect]}"
        if len(devices) > 1
        else (f"1 device {_EFFECT[first.wave.effect]}")
    )
    least = min(run, key=lambda impact: impact.wave.bandwidth_left)
    if least.wave.bandwidth_left < 1:
        text += f"; others keep {least.wave.bandwidth_left:.1%} or more of {least.wave.worst_fabric}"
    return f"{text}. BREAKS THE POLICY: {first.wave.breaks}" if first.wave.breaks else text


def _plural(kind: str) -> str:
    return "es" if kind.endswith("ch") else "s"


def _proofs(found: Guarded, limits: Bounds) -> Iterator[str]:
    yield "\nproofs"
    if found.held:
        yield f"  hold after the change: {', '.join(found.held)}"
    if found.untouched:
        told = ", ".join(found.untouched) if len(found.untouched) <= limits.items else f"{len(found.untouched)} checks"
        yield f"  read nothing that changes: {told}"
    if found.stale:
        yield f"  refuted before as after, by the same counterexamples: {', '.join(found.stale)}"
    for each in found.unproven:
        yield f"  neither held nor refuted: {each.check}, {each.why}"
    if found.states:
        yield f"  on the way: checked {_states(found.states)}; {_rest(found)}"
    elif found.moments:
        yield "  on the way: no proof about what devices agree on reads what changes"
    for proof in (each for each in found.broken if each.lasts):
        yield f"  {proof.state}: {proof.check} does not hold, {_counterexamples(proof)}"
    for name, proofs in _on_the_way(found).items():
        when = _states([proof.state for proof in proofs])
        total = sum(len(proof.found) for proof in proofs)
        yield f"  for a while, {when}: {name} does not hold, {total:,} counterexamples in all, as {proofs[0].found[0]}"


def _counterexamples(proof: Proof) -> str:
    left = len(proof.found) - 1
    return f"as {proof.found[0]}" + (f", and {left:,} more counterexamples" if left else "")


def _rest(found: Guarded) -> str:
    left = found.moments - len(found.states)
    return f"the {left:,} other moment{'s were' if left > 1 else ' was'} not" if left else "that is every one"


def _on_the_way(found: Guarded) -> Mapping[str, list[Proof]]:
    """Claims that do not hold while the change is under way, and do not refuse it, by check."""
    told: dict[str, list[Proof]] = {}
    for proof in found.broken:
        if not proof.refuses and not proof.lasts:
            told.setdefault(proof.check, []).append(proof)
    return told


def _states(states: Sequence[str]) -> str:
    """``after wave 1 of 4``, ``after wave 2 of 4`` as ``after waves 1, 2 of 4``."""
    numbers = [state.split()[2] for state in states]
    total = states[0].rpartition(" ")[2]
    return f"after wave{'s' * (len(states) > 1)} {', '.join(numbers)} of {total}"


def _proof(proof: Proof, limit: int) -> Iterator[str]:
    yield f"{proof.check} does not hold {proof.state}. It says: {proof.claim}"
    yield from (f"  {example}" for example in proof.found[:limit])
    if len(proof.found) > limit:
        yield f"  and {len(proof.found) - limit:,} more counterexamples"
