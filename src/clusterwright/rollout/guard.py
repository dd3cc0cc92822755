"""Proofs guarding a change: the checks of ``verify`` on the cluster before, after, and on the way.

A check that reads nothing changed keeps its answer and is not run again. A former counterexample is no reason to
refuse; a new one is. So is a lost proof: a claim proven before and undecided after. A claim undecided before and after
is reported as such, never as held.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import chain

from clusterwright.finding import ClusterwrightError, VerifyError
from clusterwright.proofs.check import Counterexample, ProofCheck
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.bandwidth import ETHERNET_BISECTION
from clusterwright.proofs.ethernet.failures import ETHERNET_FAILURES
from clusterwright.proofs.ethernet.reachability import REACHABILITY
from clusterwright.proofs.ethernet.sessions import SESSIONS
from clusterwright.proofs.infiniband.bisection import BISECTION
from clusterwright.proofs.infiniband.failures import FAILURES
from clusterwright.proofs.infiniband.partitions import PARTITIONS
from clusterwright.proofs.infiniband.paths import PATH_BALANCE
from clusterwright.proofs.intent_change import is_changed
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree
from clusterwright.rollout.trees import Trees
from clusterwright.rollout.waves import Wave

# Claims about agreement of several devices: they may fail with half of the devices changed, though both ends hold.
_ON_THE_WAY = frozenset({SESSIONS.name, REACHABILITY.name, ISOLATION.name, PARTITIONS.name})
# Refused even for a minute; a session waiting for its other end is only reported.
_NEVER = frozenset({ISOLATION.name, PARTITIONS.name})
# Claims about remaining bandwidth and redundant paths: a drain takes some of both on purpose.
_LEFT_OVER = frozenset(
    {ETHERNET_BISECTION.name, ETHERNET_FAILURES.name, BISECTION.name, FAILURES.name, PATH_BALANCE.name}
)
_WHILE_EDITS_WAIT = "while other edits of the spec wait"
_WHILE_DEVICES_ARE_OUT = "while devices out of service keep what they have"
_DEVICES_AT_MOST = 15_000  # of all states on the way together: the cost of proving one state grows with its devices
_STATES_AT_MOST = 8
_Key = tuple[str, str, str]  # device, file and message of a counterexample
_PLACE = re.compile(r"([^:/ ]+):/([^: ]+):(?:(\d+):)? (.*)", re.DOTALL)  # in errors of checks


@dataclass(frozen=True, slots=True)
class Proof:
    """A check's answer at the moment ``state``; ``counterexamples`` are new by the change.

    ``lasts`` marks a claim refuted only while switches stay drained or edits wait, which refuses nothing.
    """

    check: str
    claim: str
    state: str
    counterexamples: tuple[Counterexample, ...]
    refuses: bool
    lasts: bool = False


@dataclass(frozen=True, slots=True)
class Unproven:
    """A check undecided after the change, with the reason, and not decided before."""

    check: str
    why: str


@dataclass(frozen=True, slots=True)
class Guarded:
    """Results of the checks.

    ``held`` are the checks proven after the change, ``untouched`` those reading nothing changed, ``broken`` those with
    new counterexamples, ``unproven`` those neither proven nor refuted. ``states`` are the checked moments on the way,
    of ``moments`` in all; ``stale`` are checks refuted by the same counterexamples before and after the change.
    """

    held: tuple[str, ...]
    untouched: tuple[str, ...]
    unproven: tuple[Unproven, ...]
    broken: tuple[Proof, ...]
    stale: tuple[str, ...]
    states: tuple[str, ...]
    moments: int

    @property
    def refusals(self) -> tuple[Proof, ...]:
        """Refusals of the change; an operator may override each."""
        return tuple(proof for proof in self.broken if proof.refuses)


@dataclass(frozen=True, slots=True)
class Override:
    """An operator's override of a broken check."""

    check: str
    reason: str
    who: str


@dataclass(frozen=True, slots=True)
class _Answer:
    """Counterexamples of a check for one state, and the reason of an undecided answer."""

    counterexamples: tuple[Counterexample, ...]
    unjudged: str

    @property
    def is_settled(self) -> bool:
        return not self.counterexamples and not self.unjudged


_SETTLED = _Answer((), "")


def guard(
    cluster: str,
    trees: Trees,
    intents: tuple[Declaration | None, Declaration],
    waves: Sequence[Wave],
    drained: Sequence[str] = (),
    *,
    is_partial: bool = False,
) -> Guarded:
    """Run the checks that the change can affect. ``intents`` are the deployed and the wanted one.

    ``drained`` are the switches of a change that only drains them, none for any other change: less bandwidth and fewer
    redundant paths are reported then, and refuse nothing. After an update of some devices alone (``is_partial``) the
    others keep the old intent, as devices out of service do after any update: their contradictions to the new intent
    alone are reported and refuse nothing. Text that a check cannot read is a counterexample.
    """
    was, wanted = intents
    touched = _touched(_changed_kinds(trees), was, wanted) if trees.changed else ()
    change = _CheckedChange(
        cluster=cluster,
        trees=trees,
        was=was,
        wanted=wanted,
        kinds=frozenset(chain.from_iterable(check.kinds for check in touched)),
    )
    keeping, while_keeping = _keeping(trees, wanted, is_partial=is_partial)
    held: list[str] = []
    stale: list[str] = []
    broken: list[Proof] = []
    unproven: list[Unproven] = []
    for check in touched:
        if not check.applies(change.after):
            continue
        answer = _answer(check, change.after)
        if answer.is_settled:
            held.append(check.name)
            continue
        old = _answer(check, change.before) if _had(trees) else None
        new = _lost(cluster, answer, old)
        waiting: tuple[Counterexample, ...] = ()
        if new and keeping and was is not None and check.name not in _ON_THE_WAY | _LEFT_OVER:
            new, waiting = _without_waiting(new, change.lost_by(check, was, old), keeping)
        if waiting:
            broken.append(_lasting(check, while_keeping, waiting))
        if new and drained and check.name in _LEFT_OVER:
            verb = "is" if len(drained) == 1 else "are"
            broken.append(_lasting(check, f"while {', '.join(drained)} {verb} drained", new))
        elif new:
            broken.append(
                Proof(check=check.name, claim=check.claim, state="after the change", counterexamples=new, refuses=True)
            )
        elif not answer.counterexamples:
            unproven.append(Unproven(check.name, answer.unjudged))
        elif not waiting:
            stale.append(check.name)
    held_checks = [check for check in touched if check.name in held]
    states, on_the_way = _between(cluster, trees, (was, wanted), waves, held_checks)
    moments = max(0, len(waves) - 1) if _had(trees) else 0
    return Guarded(
        held=tuple(held),
        untouched=tuple(_untouched(trees, touched)),
        unproven=tuple(unproven),
        broken=(*broken, *on_the_way),
        stale=tuple(stale),
        states=states,
        moments=moments,
    )


def _changed_kinds(trees: Trees) -> frozenset[str]:
    kinds: set[str] = set()
    for files in chain(trees.before.values(), trees.after.values()):
        kinds.update(file.kind for file in files)
    return frozenset(kinds)


def _untouched(trees: Trees, touched: Collection[ProofCheck]) -> Iterator[str]:
    """Names of the other checks than ``touched`` that read files of the cluster."""
    kinds: set[str] = set()
    for files in trees.files.values():
        kinds.update(kind for _, kind, _, _ in files)
    for check in CHECKS:
        if check not in touched and not check.kinds.isdisjoint(kinds):
            yield check.name


@dataclass(frozen=True)
class _CheckedChange:
    """A change for checks: files of ``kinds`` before and after it, with the deployed and the wanted intent."""

    cluster: str
    trees: Trees
    was: Declaration | None
    wanted: Declaration
    kinds: frozenset[str]

    @cached_property
    def before(self) -> RenderedTree:
        """The cluster before the change."""
        return self.trees.state(self.cluster, (), self.was if self.was is not None else self.wanted, self.kinds)

    @cached_property
    def after(self) -> RenderedTree:
        """The cluster after the change."""
        return self.trees.state(self.cluster, self.trees.changed, self.wanted, self.kinds)

    def lost_by(self, check: ProofCheck, intent: Declaration, old: _Answer | None) -> frozenset[_Key]:
        """New counterexamples under another ``intent``; ``old`` is the answer before the change."""
        state = self.trees.state(self.cluster, self.trees.changed, intent, self.kinds)
        return frozenset(map(_key, _lost(self.cluster, _answer(check, state), old)))


def _lasting(check: ProofCheck, state: str, counterexamples: tuple[Counterexample, ...]) -> Proof:
    """A claim refuted for a while, without refusing the change."""
    return Proof(
        check=check.name,
        claim=check.claim,
        state=state,
        counterexamples=counterexamples,
        refuses=False,
        lasts=True,
    )


def require_known(names: Iterable[str]) -> None:
    """Raises ClusterwrightError for a name without a check."""
    check_names = [check.name for check in CHECKS]
    for name in names:
        if name not in check_names:
            raise ClusterwrightError(f'There is no check "{name}". There are: {", ".join(check_names)}.')


def unanswered(guarded: Guarded, overrides: Iterable[Override]) -> tuple[Proof, ...]:
    """The refusals without an override."""
    overridden = {override.check for override in overrides}
    return tuple(proof for proof in guarded.refusals if proof.check not in overridden)


def _had(trees: Trees) -> bool:
    return bool(trees.held)


def _touched(kinds: frozenset[str], was: Declaration | None, wanted: Declaration) -> tuple[ProofCheck, ...]:
    """The checks reading a file of these kinds, or a part of the intent that changed.

    Without the old intent, all checks.
    """
    if was is None:
        return CHECKS
    is_part_changed = cache(partial(is_changed, earlier=was, later=wanted))
    touched = []
    for check in CHECKS:
        reads_a_file = not check.kinds.isdisjoint(kinds)
        if reads_a_file or any(map(is_part_changed, sorted(check.whole_intent))):
            touched.append(check)
    return tuple(touched)


def _between(
    cluster: str,
    trees: Trees,
    intents: tuple[Declaration | None, Declaration],
    waves: Sequence[Wave],
    checks: Sequence[ProofCheck],
) -> tuple[tuple[str, ...], list[Proof]]:
    """The checked moments after some of the waves, except the last one, and the claims broken then.

    On the way a device follows either the old intent or the new one; only a contradiction to both is a counterexample.
    """
    checks_on_the_way = [check for check in checks if check.name in _ON_THE_WAY]
    if not checks_on_the_way or len(waves) < 2 or not _had(trees):
        return (), []
    kinds = frozenset(chain.from_iterable(check.kinds for check in checks_on_the_way))
    was, wanted = intents
    states: list[str] = []
    broken: list[Proof] = []
    for index in boundary(waves, len(trees.files)):
        name = f"after wave {index + 1} of {len(waves)}"
        states.append(name)
        applied: set[str] = set()
        for wave in waves[: index + 1]:
            applied |= set(wave.devices)
        state = trees.state(cluster, applied, wanted, kinds)
        old_state = trees.state(cluster, applied, was, kinds) if was is not None and was != wanted else None
        for check in checks_on_the_way:
            wrong = _lost(cluster, _answer(check, state), _SETTLED)
            if wrong and old_state is not None:
                wrong_before = frozenset(map(_key, _lost(cluster, _answer(check, old_state), _SETTLED)))
                wrong = tuple(example for example in wrong if _key(example) in wrong_before)
            if wrong:
                refuses = check.name in _NEVER
                broken.append(
                    Proof(check=check.name, claim=check.claim, state=name, counterexamples=wrong, refuses=refuses)
                )
    return tuple(states), broken


def boundary(waves: Sequence[Wave], devices: int) -> tuple[int, ...]:
    """The waves followed by a check of the cluster: first those before a change of the kind of unit or the layer.

    At most as many as keep the cost bounded for a cluster of ``devices``, spread over all waves but the last.
    """
    most = max(1, min(_STATES_AT_MOST, _DEVICES_AT_MOST // max(1, devices)))
    indices = range(len(waves) - 1)
    keys = [(wave.is_canary, wave.layer, wave.kind) for wave in waves]
    turns = [index for index in indices if keys[index] != keys[index + 1]]
    remaining = [index for index in indices if index not in turns]
    chosen = _spread(turns, most)
    return tuple(sorted([*chosen, *_spread(remaining, most - len(chosen))]))


def _spread(items: Sequence[int], most: int) -> list[int]:
    """At most ``most`` of the items, evenly spread."""
    if len(items) <= most:
        return list(items)
    return [items[number * len(items) // most] for number in range(most)]


def _answer(check: ProofCheck, tree: RenderedTree) -> _Answer:
    """The result of a check; unreadable text is a counterexample, since nothing is proven of it."""
    try:
        verdict = check.run(tree)
    except VerifyError as error:
        match = _PLACE.fullmatch(str(error))
        device, file, line, message = match.groups() if match is not None else (tree.cluster, "", None, str(error))
        example = Counterexample(device=device, file=file, line=int(line or 0), message=f"cannot be checked: {message}")
        return _Answer((example,), "")
    return _Answer(verdict.counterexamples, verdict.unjudged)


def _lost(cluster: str, now: _Answer, old: _Answer | None) -> tuple[Counterexample, ...]:
    """New counterexamples of a claim; ``old`` is None without files before."""
    old_keys = frozenset(map(_key, old.counterexamples)) if old is not None else frozenset()
    new = tuple(counterexample for counterexample in now.counterexamples if _key(counterexample) not in old_keys)
    if now.unjudged and old is not None and old.is_settled:
        new += (Counterexample(device=cluster, file="", line=0, message=f"settled before, and now {now.unjudged}"),)
    return new


def _keeping(trees: Trees, wanted: Declaration, *, is_partial: bool) -> tuple[frozenset[str], str]:
    """Devices keeping their files in spite of the wanted intent, and a phrase for how long."""
    if is_partial:
        return frozenset(trees.files) - frozenset(trees.after), _WHILE_EDITS_WAIT
    out_of_service = wanted.stopped - wanted.drained
    return out_of_service - frozenset(trees.after), _WHILE_DEVICES_ARE_OUT


def _without_waiting(
    examples: Iterable[Counterexample], by_old_intent: frozenset[_Key], keeping: frozenset[str]
) -> tuple[tuple[Counterexample, ...], tuple[Counterexample, ...]]:
    """Counterexamples that count, and those on ``keeping`` devices, absent under the old intent."""
    counted: list[Counterexample] = []
    waiting: list[Counterexample] = []
    for example in examples:
        if example.device in keeping and _key(example) not in by_old_intent:
            waiting.append(example)
        else:
            counted.append(example)
    return tuple(counted), tuple(waiting)


def _key(example: Counterexample) -> _Key:
    """A counterexample without its line, since that moves with every edit above it."""
    return example.device, example.file, example.message
