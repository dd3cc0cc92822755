"""The proofs that a change must not break: today's checks on the cluster before, after, and on its way.

The same checks as ``verify`` makes. One that cannot read anything that changes keeps its answer and is not made again.
A counterexample that was there before is no reason to refuse; a new one is. So is a proof that the change takes away:
what was settled before and cannot be judged after. What could not be judged before either is said, and never held.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial

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

# Proofs about what devices agree on: half of them changed may break what both ends of a rollout keep.
_ON_THE_WAY = frozenset({SESSIONS.name, REACHABILITY.name, ISOLATION.name, PARTITIONS.name})
# What may not be open even for a minute; a session that waits for its other end is only told.
_NEVER = frozenset({ISOLATION.name, PARTITIONS.name})
# What is left of bandwidth and of second ways: a drain takes some of both, which is what a drain is for.
_LEFT_OVER = frozenset(
    {ETHERNET_BISECTION.name, ETHERNET_FAILURES.name, BISECTION.name, FAILURES.name, PATH_BALANCE.name}
)
_WHILE_EDITS_WAIT = "while other edits of the spec wait"
_WHILE_DEVICES_ARE_OUT = "while devices out of service keep what they have"
_DEVICES_AT_MOST = 15_000  # of all states on the way together: what a proof of one state costs grows with them
_STATES_AT_MOST = 8
_Key = tuple[str, str, str]  # device, file and message of a counterexample
_PLACE = re.compile(r"([^:/ ]+):/([^: ]+):(?:(\d+):)? (.*)", re.DOTALL)  # as checks name it in their errors


@dataclass(frozen=True, slots=True)
class Proof:
    """One check's answer: ``state`` says of which moment; ``counterexamples`` are new by the change.

    ``lasts`` marks what does not hold for as long as switches stay drained or edits wait, which refuses nothing.
    """

    check: str
    claim: str
    state: str
    counterexamples: tuple[Counterexample, ...]
    refuses: bool
    lasts: bool = False


@dataclass(frozen=True, slots=True)
class Unproven:
    """A check that cannot be judged after the change, ``why``, and that the change did not take away."""

    check: str
    why: str


@dataclass(frozen=True, slots=True)
class Guarded:
    """The proven claims.

    ``held`` are the checks that the change leaves settled, ``untouched`` those that read nothing that changes,
    ``broken`` those it breaks, ``unproven`` those that are neither proven nor refuted. ``states`` are the moments on
    the way that were checked too, of ``moments`` in all; ``stale`` are checks that were refuted before the change and
    are by the same counterexamples after it.
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
        """Refusals of the change, each of which an operator may override."""
        return tuple(proof for proof in self.broken if proof.refuses)


@dataclass(frozen=True, slots=True)
class Override:
    """Somebody's answer for a check that a change breaks: ``reason`` in their words, ``who`` they are."""

    check: str
    reason: str
    who: str


@dataclass(frozen=True, slots=True)
class _Answer:
    """Counterexamples of a check for one state, and why it could not decide, "" where it did."""

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
    """Makes the checks that the change can touch. ``intents`` are what was and what is asked for.

    ``drained`` are switches whose drain is all that the change does, none where it does more: what is left of
    bandwidth and of second ways is told then, and refuses nothing. After an update of some devices alone
    (``is_partial``) the others keep the old intent, as devices out of service do after any update: what contradicts
    the new one alone, on one of them, is told and refuses nothing. Text that a check cannot judge is a counterexample.
    """
    was, wanted = intents
    kinds = frozenset(file.kind for side in (trees.before, trees.after) for files in side.values() for file in files)
    touched = _touched(kinds, was, wanted) if trees.changed else ()
    judged = _JudgedChange(cluster, trees, was, wanted, frozenset(kind for check in touched for kind in check.kinds))
    makes = tuple(check for check in touched if check.applies(judged.after))
    keeping, while_keeping = _keeping(trees, wanted, is_partial=is_partial)
    held: list[str] = []
    stale: list[str] = []
    broken: list[Proof] = []
    unproven: list[Unproven] = []
    for check in makes:
        answer = _answer(check, judged.after)
        if answer.is_settled:
            held.append(check.name)
            continue
        old = _answer(check, judged.before) if _had(trees) else None
        new = _lost(cluster, answer, old)
        waiting: tuple[Counterexample, ...] = ()
        if new and keeping and was is not None and check.name not in _ON_THE_WAY | _LEFT_OVER:
            new, waiting = _without_waiting(new, judged.lost_by(check, was, old), keeping)
        if waiting:
            broken.append(_lasting(check, while_keeping, waiting))
        if new and drained and check.name in _LEFT_OVER:
            state = f"while {', '.join(drained)} {'is' if len(drained) == 1 else 'are'} drained"
            broken.append(_lasting(check, state, new))
        elif new:
            broken.append(
                Proof(check=check.name, claim=check.claim, state="after the change", counterexamples=new, refuses=True)
            )
        elif not answer.counterexamples:
            unproven.append(Unproven(check.name, answer.unjudged))
        elif not waiting:
            stale.append(check.name)
    states, on_the_way = _between(cluster, trees, (was, wanted), waves, [make for make in makes if make.name in held])
    present = frozenset(kind for files in trees.files.values() for _, kind, _, _ in files)
    untouched = tuple(check.name for check in CHECKS if check not in touched and not check.kinds.isdisjoint(present))
    moments = max(0, len(waves) - 1) if _had(trees) else 0
    return Guarded(
        held=tuple(held),
        untouched=untouched,
        unproven=tuple(unproven),
        broken=(*broken, *on_the_way),
        stale=tuple(stale),
        states=states,
        moments=moments,
    )


@dataclass(frozen=True)
class _JudgedChange:
    """The change that checks judge: files of ``kinds`` before and after it, with what the spec said and says."""

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
        """The counterexamples that would be new if the spec said this; ``old`` is the answer before the change."""
        state = self.trees.state(self.cluster, self.trees.changed, intent, self.kinds)
        return frozenset(map(_key, _lost(self.cluster, _answer(check, state), old)))


def _lasting(check: ProofCheck, state: str, counterexamples: tuple[Counterexample, ...]) -> Proof:
    """What does not hold for a while, and refuses nothing."""
    return Proof(
        check=check.name,
        claim=check.claim,
        state=state,
        counterexamples=counterexamples,
        refuses=False,
        lasts=True,
    )


def require_known(names: Iterable[str]) -> None:
    """Raises ClusterwrightError for a name that no check has."""
    known = [check.name for check in CHECKS]
    for name in names:
        if name not in known:
            raise ClusterwrightError(f'There is no check "{name}". There are: {", ".join(known)}.')


def unanswered(guarded: Guarded, overrides: Iterable[Override]) -> tuple[Proof, ...]:
    """The refusals that no override answers for."""
    answered = {override.check for override in overrides}
    return tuple(proof for proof in guarded.refusals if proof.check not in answered)


def _had(trees: Trees) -> bool:
    return bool(trees.held)


def _touched(kinds: frozenset[str], was: Declaration | None, wanted: Declaration) -> tuple[ProofCheck, ...]:
    """The checks that read a file of these kinds, or something that the intents say differently.

    Where the old intent is not known, every check is.
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
    """The moments after some of the waves, the last one left out: which were checked, and what is broken then.

    On the way a device follows either the old intent or the new one; only what contradicts both is a counterexample.
    """
    makes = [check for check in checks if check.name in _ON_THE_WAY]
    if not makes or len(waves) < 2 or not _had(trees):
        return (), []
    kinds = frozenset(kind for check in makes for kind in check.kinds)
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
        other = trees.state(cluster, applied, was, kinds) if was is not None and was != wanted else None
        for check in makes:
            wrong = _lost(cluster, _answer(check, state), _SETTLED)
            if wrong and other is not None:
                excused = frozenset(map(_key, _lost(cluster, _answer(check, other), _SETTLED)))
                wrong = tuple(example for example in wrong if _key(example) in excused)
            if wrong:
                refuses = check.name in _NEVER
                broken.append(
                    Proof(check=check.name, claim=check.claim, state=name, counterexamples=wrong, refuses=refuses)
                )
    return tuple(states), broken


def boundary(waves: Sequence[Wave], devices: int) -> tuple[int, ...]:
    """The waves after which the cluster is looked at: those after which the kind of unit or the layer changes first.

    At most as many as keep the cost bounded for a cluster of ``devices``, spread over the whole way; never the last.
    """
    most = max(1, min(_STATES_AT_MOST, _DEVICES_AT_MOST // max(1, devices)))
    indices = range(len(waves) - 1)
    keys = [(wave.is_canary, wave.layer, wave.kind) for wave in waves]
    turns = [index for index in indices if keys[index] != keys[index + 1]]
    others = [index for index in indices if index not in turns]
    chosen = _spread(turns, most)
    return tuple(sorted([*chosen, *_spread(others, most - len(chosen))]))


def _spread(items: Sequence[int], most: int) -> list[int]:
    """At most so many of the items, evenly from all of them."""
    if len(items) <= most:
        return list(items)
    return [items[number * len(items) // most] for number in range(most)]


def _answer(check: ProofCheck, tree: RenderedTree) -> _Answer:
    """The result of a check; unreadable text is a counterexample, since nothing is proven of it."""
    try:
        verdict = check.run(tree)
    except VerifyError as error:
        match = _PLACE.fullmatch(str(error))
        if match is None:
            example = Counterexample(device=tree.cluster, file="", line=0, message=f"cannot be judged: {error}")
        else:
            device, file, line, message = match.groups()
            example = Counterexample(
                device=device, file=file, line=int(line or 0), message=f"cannot be judged: {message}"
            )
        return _Answer((example,), "")
    return _Answer(verdict.counterexamples, verdict.unjudged)


def _lost(cluster: str, now: _Answer, old: _Answer | None) -> tuple[Counterexample, ...]:
    """New counterexamples of a claim; ``old`` is None where nothing was held before."""
    known = frozenset(map(_key, old.counterexamples)) if old is not None else frozenset()
    new = tuple(counterexample for counterexample in now.counterexamples if _key(counterexample) not in known)
    if now.unjudged and old is not None and old.is_settled:
        new += (Counterexample(device=cluster, file="", line=0, message=f"settled before, and now {now.unjudged}"),)
    return new


def _keeping(trees: Trees, wanted: Declaration, *, is_partial: bool) -> tuple[frozenset[str], str]:
    """The devices that keep what they hold though the spec asks for something else, and in words how long."""
    if is_partial:
        return frozenset(trees.files) - frozenset(trees.after), _WHILE_EDITS_WAIT
    out_of_service = wanted.stopped - wanted.drained
    return out_of_service - frozenset(trees.after), _WHILE_DEVICES_ARE_OUT


def _without_waiting(
    examples: Iterable[Counterexample], by_old_intent: frozenset[_Key], keeping: frozenset[str]
) -> tuple[tuple[Counterexample, ...], tuple[Counterexample, ...]]:
    """Those that count, and those of devices that keep what they hold, as the old intent has it."""
    count: list[Counterexample] = []
    wait: list[Counterexample] = []
    for example in examples:
        (wait if example.device in keeping and _key(example) not in by_old_intent else count).append(example)
    return tuple(count), tuple(wait)


def _key(example: Counterexample) -> _Key:
    """A counterexample without its line, which moves with every edit above it."""
    return example.device, example.file, example.message
