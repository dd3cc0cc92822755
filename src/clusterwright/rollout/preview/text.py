"""A preview as text: the verdict first, then changes, disturbance, waves and proofs.

Bounded: a change of 3,072 nodes is as long as one of four, and the omitted lines are counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

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

_STATUS = {CHANGED: "", NEW: ", new", REMOVED: ", everything on it is removed", DRIFTED: ", drifted"}
_EFFECT = {Effect.LIVE: "applies it live", Effect.RESTART: "restarts", Effect.REBOOT: "reboots"}
_EFFECTS = {Effect.LIVE: "apply it live", Effect.RESTART: "restart", Effect.REBOOT: "reboot"}
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
    preview: Preview, overrides: Sequence[Override] = (), bounds: Bounds | None = None, *, shows_waves: bool = True
) -> Iterator[str]:
    """Lines of a preview, without line ends; without ``shows_waves`` the caller shows the waves itself."""
    limits = bounds if bounds is not None else Bounds()
    count = len(preview.changed)
    yield f"{preview.cluster}, {_layers(preview.layers)}: {_of(count, preview.devices)} ({preview.basis})"
    yield from _verdict(preview, overrides)
    yield from _spec(preview, limits)
    yield from _cluster_wide(preview, limits)
    for kind in preview.kinds[: limits.groups]:
        yield from _kind(preview, kind, limits)
    hidden_kinds = preview.kinds[limits.groups :]
    if hidden_kinds:
        roles: Counter[str] = Counter()
        for kind in hidden_kinds:
            roles[kind.groups[0].role] += len(kind.devices)
        counts_by_role = ", ".join(f"{number:,} {role}" for role, number in sorted(roles.items()))
        ways = f"{len(hidden_kinds):,} other way{_many(hidden_kinds)}"
        yield f"\n… and {counts_by_role}, changed in {ways}; --format json has all"
    if preview.changed:
        yield from _disturbs(preview.disturbance, limits)
        if shows_waves:
            yield from _waves(preview.disturbance.waves, limits)
    yield from _proofs(preview.guarded, limits)


def refusal_lines(guarded: Guarded, overrides: Sequence[Override], limit: int = 8) -> Iterator[str]:
    """Reasons for refusing the change, with the counterexamples and the options to override it."""
    for proof in unanswered(guarded, overrides):
        yield from _proof(proof, limit)
        yield f"  to go on all the same: --accept-refuted {proof.check} --because REASON, which is recorded"


def names_of(names: Sequence[str], columns: int = 60) -> str:
    """Names as bracketed ranges of at most ``columns`` characters, else the first and the last."""
    folded = hostlist(names)
    return folded if len(folded) <= columns else f"{names[0]} … {names[-1]}"


def _layers(layers: Sequence[str]) -> str:
    return ", ".join(layers) if len(layers) <= _LAYERS else f"{len(layers)} stacks"


def _of(count: int, total: int) -> str:
    if not count:
        return "nothing changes"
    verb = "changes" if count == 1 else "change"
    return f"{count:,} of {total:,} devices {verb}"


def _verdict(preview: Preview, overrides: Sequence[Override]) -> Iterator[str]:
    refused = unanswered(preview.guarded, overrides)
    if refused:
        checks = ", ".join(dict.fromkeys(proof.check for proof in refused))
        yield f"REFUSED: breaks {checks}; nothing was touched"
        yield ""
        yield from refusal_lines(preview.guarded, overrides)
    for override in overrides:
        yield f"accepted by {override.who} although refuted: {override.check}. Because: {override.reason}"


def _spec(preview: Preview, limits: Bounds) -> Iterator[str]:
    if not preview.spec:
        return
    yield "\nin the spec"
    for change in preview.spec[: limits.items]:
        if not change.before:
            difference = f"+ {change.key}: {change.after}"
        elif not change.after:
            difference = f"- {change.key}: {change.before}"
        else:
            difference = f"~ {change.key}: {change.before} → {change.after}"
        yield f"  {difference}  ({change.place})"
    yield from _more(preview.spec, limits.items, "values")


def _cluster_wide(preview: Preview, limits: Bounds) -> Iterator[str]:
    """Changes without a changed device: permitted flows, and cables between devices with unchanged files."""
    changed = frozenset(preview.changed)
    sentences = [sentence for sentence in preview.sentences if sentence.devices.isdisjoint(changed)]
    if sentences:
        yield "\nin the model"
        yield from (f"  {sentence.text}" for sentence in sentences[: limits.items])
        yield from _more(sentences, limits.items, "changes")


def _kind(preview: Preview, kind: GroupKind, limits: Bounds) -> Iterator[str]:
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
    sentences = [sentence for sentence in preview.sentences if not sentence.devices.isdisjoint(devices)]
    yield from (f"  {line}" for line in _sentence_lines(sentences, limits.items))
    if len(kind.groups) > 1:
        yield f"  the lines are those of {names[0]}; the others' differ in numbers, addresses and names"
    yield from file_lines(group.files, limits.files, limits.lines)


def _sentence_lines(sentences: Sequence[Sentence], limit: int) -> Iterator[str]:
    yield from (sentence.text for sentence in sentences[:limit])
    if len(sentences) > limit:
        yield f"… and {len(sentences) - limit:,} more changes of the model"


def _more(items: Sequence[object], limit: int, plural: str) -> Iterator[str]:
    if len(items) > limit:
        yield f"  … and {len(items) - limit:,} more {plural}"


def _disturbs(disturbance: Disturbance, limits: Bounds) -> Iterator[str]:
    yield "\ndisturbances"
    if disturbance.is_none:
        yield "  nothing: every device applies its change live"
    yield from _absences(disturbance.waves)
    yield from (_partition(loss) for loss in disturbance.partitions[: limits.items])
    for share, racks in _by_share(disturbance.standing)[: limits.items]:
        yield f"  afterwards {_racks(racks)} {_keep(racks)} {share:.1%} of {_its(racks)} uplink bandwidth"
    for job in disturbance.jobs[: limits.items]:
        yield f"  job {job.job.name}: {'; '.join(job_phrases(job))}"
    yield from _more(disturbance.jobs, limits.items, "jobs")
    if disturbance.untouched:
        yield f"  jobs that notice nothing: {and_more([job.name for job in disturbance.untouched], limits.items)}"
    yield from (f"  note: {note}" for note in disturbance.notes)


def _absences(waves: Sequence[WaveImpact]) -> Iterator[str]:
    """Devices away in a wave, with their links and the racks behind them."""
    away = list(chain.from_iterable(impact.away for impact in waves))
    if not away:
        return
    links: Counter[str] = Counter()
    cut_racks: dict[str, int] = {}  # the number of the wave without the rack's own switches
    for impact in waves:
        links.update(impact.links)
        cut_racks.update(dict.fromkeys(impact.cut, impact.number))
    link_counts = ", ".join(f"{count:,} of {fabric}" for fabric, count in sorted(links.items()))
    links_down = f"; links down with them: {link_counts}" if link_counts else ""
    yield f"  away for a while: {len(away):,} device{_many(away)}{links_down}"
    if cut_racks:
        absence = "are without their own switches" if len(cut_racks) > 1 else "is without its own switch"
        yield f"  {_racks(list(cut_racks))} {absence}, {_when(cut_racks.values())}"
    yield from _lost_bandwidth(waves)


def _partition(loss: PartitionLoss) -> str:
    lose = "loses" if len(loss.nodes) == 1 else "lose"
    ended = "their jobs end" if loss.ends_jobs else "its connections end"
    nodes = f"{len(loss.nodes):,} node{_many(loss.nodes)} ({names_of(loss.nodes, 40)})"
    return f"  {nodes} {lose} partition {loss.partition} ({loss.key}) of {loss.fabric}: {ended}"


def _lost_bandwidth(waves: Iterable[WaveImpact]) -> Iterator[str]:
    """Racks with less bandwidth during a wave, each by its worst wave."""
    worst: dict[str, tuple[float, int]] = {}
    for impact in waves:
        for rack, share in impact.losers.items():
            worst[rack] = min(worst.get(rack, (1.0, 0)), (share, impact.number))
    shares = {rack: share for rack, (share, _) in worst.items()}
    for share, racks in _by_share(shares)[:4]:
        numbers = [worst[rack][1] for rack in racks]
        change = "lose" if len(racks) > 1 else "loses"
        if share:
            change = f"{_keep(racks)} {share:.1%} of"
        yield f"  {_racks(racks)} {change} {_its(racks)} uplink bandwidth, {_when(numbers)}"
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
    racks_by_share: dict[float, list[str]] = defaultdict(list)
    for rack, share in shares.items():
        racks_by_share[round(share, 3)].append(rack)
    return sorted(racks_by_share.items())


def _racks(racks: Sequence[str]) -> str:
    return f"rack {racks[0]}" if len(racks) == 1 else f"{len(racks):,} racks ({names_of(racks, 40)})"


def _its(racks: Sequence[str]) -> str:
    return "its" if len(racks) == 1 else "their"


def _keep(racks: Sequence[str]) -> str:
    return "keeps" if len(racks) == 1 else "keep"


def job_phrases(impact: JobImpact) -> Iterator[str]:
    """Effects of a change on a job."""
    placement = " as the spec would place it" if impact.job.is_planned else ""
    total = f"{len(impact.job.nodes):,} nodes{placement}"
    if impact.booting:
        yield f"{len(impact.booting):,} of {total} reboot ({names_of(impact.booting, 40)})"
    if impact.interrupted:
        named = names_of(impact.interrupted, 40)
        yield f"{len(impact.interrupted):,} of {total} lose connections: interfaces are configured again ({named})"
    if impact.cut:
        yield f"{len(impact.cut):,} of {total} lose every path of a fabric ({names_of(impact.cut, 40)})"
    if impact.slowed:
        when = "from then on" if impact.worst_wave == AFTERWARDS else f"in wave {impact.worst_wave}"
        yield f"{len(impact.slowed):,} of {total} keep {impact.least:.1%} of their uplink bandwidth at worst, {when}"


def _waves(impacts: Sequence[WaveImpact], limits: Bounds) -> Iterator[str]:
    yield f"\n{len(impacts):,} wave{'s' * (len(impacts) != 1)}"
    runs = [list(run) for _, run in groupby(impacts, key=run_of_waves)]
    for run in runs[: limits.items]:
        yield f"  {run_text(run)}"
    yield from _more(runs, limits.items, "runs of waves")


def run_of_waves(impact: WaveImpact) -> tuple[str, str, bool, Effect, str]:
    """Common properties of the waves in one run."""
    wave = impact.wave
    return wave.layer, wave.kind, wave.is_canary, wave.effect, wave.breaks


def run_text(run: Sequence[WaveImpact]) -> str:
    """Waves of a run: their numbers, their devices, and the remaining bandwidth of other racks."""
    first, last = run[0], run[-1]
    number = f"{first.number}" if first is last else f"{first.number}-{last.number}"
    canary = "canary, " if first.wave.is_canary else ""
    phrases = [f"{number:>5}  {canary}{first.wave.layer}: {_units(run)}, {_devices(run)}"]
    least = min(run, key=lambda impact: impact.wave.bandwidth_left).wave
    if least.bandwidth_left < 1:
        phrases.append(f"; others keep {least.bandwidth_left:.1%} or more of {least.worst_fabric}")
    if first.wave.breaks:
        phrases.append(f". BREAKS THE POLICY: {first.wave.breaks}")
    return "".join(phrases)


def _units(run: Sequence[WaveImpact]) -> str:
    units = list(chain.from_iterable(impact.wave.units for impact in run))
    kind = run[0].wave.kind
    if len(units) != 1:
        kind += "es" if kind.endswith("ch") else "s"
    most_units = max(len(impact.wave.units) for impact in run)
    at_once = f", at most {most_units} at once" if len(run) > 1 else ""
    return f"{len(units):,} {kind}{at_once} ({names_of(units, 40)})"


def _devices(run: Sequence[WaveImpact]) -> str:
    count = sum(len(impact.wave.devices) for impact in run)
    effect = run[0].wave.effect
    return f"{count:,} devices {_EFFECTS[effect]}" if count > 1 else f"1 device {_EFFECT[effect]}"


def _proofs(guarded: Guarded, limits: Bounds) -> Iterator[str]:
    yield "\nproofs"
    if guarded.held:
        yield f"  hold after the change: {', '.join(guarded.held)}"
    if guarded.untouched:
        few = len(guarded.untouched) <= limits.items
        untouched = ", ".join(guarded.untouched) if few else f"{len(guarded.untouched)} checks"
        yield f"  read nothing that changes: {untouched}"
    if guarded.stale:
        yield f"  refuted before as after, by the same counterexamples: {', '.join(guarded.stale)}"
    for unproven in guarded.unproven:
        yield f"  neither held nor refuted: {unproven.check}, {unproven.why}"
    if guarded.states:
        yield f"  on the way: checked {_states(guarded.states)}; {_unchecked_moments(guarded)}"
    elif guarded.moments:
        yield "  on the way: no proof about what devices agree on reads what changes"
    for proof in guarded.broken:
        if proof.lasts:
            yield f"  {proof.state}: {proof.check} does not hold, {_counterexamples(proof)}"
    for name, proofs in _on_the_way(guarded).items():
        when = _states([proof.state for proof in proofs])
        total = sum(len(proof.counterexamples) for proof in proofs)
        first = proofs[0].counterexamples[0]
        yield f"  for a while, {when}: {name} does not hold, {total:,} counterexamples in all, as {first}"


def _counterexamples(proof: Proof) -> str:
    example = f"as {proof.counterexamples[0]}"
    more = len(proof.counterexamples) - 1
    return f"{example}, and {more:,} more counterexamples" if more else example


def _unchecked_moments(guarded: Guarded) -> str:
    unchecked = guarded.moments - len(guarded.states)
    if not unchecked:
        return "that is every one"
    moments = "moments were" if unchecked > 1 else "moment was"
    return f"the {unchecked:,} other {moments} not"


def _on_the_way(guarded: Guarded) -> Mapping[str, list[Proof]]:
    """Claims refuted only while the change is under way, without refusing it, by check."""
    proofs_by_check: dict[str, list[Proof]] = {}
    for proof in guarded.broken:
        if not proof.refuses and not proof.lasts:
            proofs_by_check.setdefault(proof.check, []).append(proof)
    return proofs_by_check


def _states(states: Sequence[str]) -> str:
    """``after wave 1 of 4``, ``after wave 2 of 4`` as ``after waves 1, 2 of 4``."""
    numbers = [state.split()[2] for state in states]
    total = states[0].rpartition(" ")[2]
    return f"after wave{'s' * (len(states) > 1)} {', '.join(numbers)} of {total}"


def _proof(proof: Proof, limit: int) -> Iterator[str]:
    yield f"{proof.check} does not hold {proof.state}. It says: {proof.claim}"
    yield from (f"  {example}" for example in proof.counterexamples[:limit])
    if len(proof.counterexamples) > limit:
        yield f"  and {len(proof.counterexamples) - limit:,} more counterexamples"
