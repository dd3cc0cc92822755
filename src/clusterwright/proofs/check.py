"""The form of a proof: a check reads a rendered tree and answers with facts it proved, or with counterexamples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from clusterwright.and_more import and_more
from clusterwright.facts.router import Mark, line_of
from clusterwright.plan.node_parts import kinds_of_part
from clusterwright.proofs.reading import SwitchReading, read_together
from clusterwright.proofs.tree import RenderedTree
from clusterwright.proofs.unread import UnreadPlace, left_by
from clusterwright.spec.fabric import Fabric
from clusterwright.switches.readers import READERS, ROUTERS

_ROUTED = frozenset[str]().union(*(reader.kinds for reader in ROUTERS))
_MANAGED = frozenset[str]().union(*(reader.kinds for reader in READERS))

INTENT_OF_EVERY_CLAIM = frozenset({"ethernet", "left_out", "other_systems", "provided", "vouched"})
"""What each claim reads of the declaration: devices that are somebody else's, and unread text that is vouched for."""

REFUTED = "REFUTED"
"""The answer to a claim that has a counterexample."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something proven, with its number: ``name`` gives the counted things and their unit."""

    name: str
    value: float | int | str


@dataclass(frozen=True, slots=True)
class Counterexample:
    """The reason that a proof fails, at a ``line`` (from 1) of a ``file`` (path on the device) of ``device``.

    ``line`` is 0 where something is missing from the file as a whole.
    """

    device: str
    file: str
    line: int
    message: str

    def __str__(self) -> str:
        place = f"{self.device}:/{self.file}"
        return f"{place}:{self.line}: {self.message}" if self.line else f"{place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Cases:
    """The number of things that a claim was tried on, and their name in the plural: 8,128 ``pairs of adapters``."""

    what: str
    count: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of one check: proven without a counterexample, and with everything that the claim needs.

    ``facts`` hold where it is not refuted; ``notes`` name comparisons that were not made. ``unjudged`` is the short
    reason that the claim itself could not be checked, "" where it was. A claim about no ``cases`` is true and says
    nothing, so it is never called proven. ``unread`` is text that no reader knows and that could touch the claim.
    """

    facts: tuple[Fact, ...]
    counterexamples: tuple[Counterexample, ...]
    cases: Cases
    notes: tuple[str, ...] = ()
    unjudged: str = ""
    unread: tuple[UnreadPlace, ...] = ()

    @property
    def is_refuted(self) -> bool:
        """True when something contradicts the claim."""
        return bool(self.counterexamples)

    @property
    def is_proven(self) -> bool:
        """True when there was something to prove, nothing contradicts the claim, and all of it was judged."""
        return self.is_settled and self.cases.count > 0

    @property
    def is_settled(self) -> bool:
        """True when the claim is proven, or there was nothing to prove."""
        return not self.counterexamples and not self.unjudged

    @property
    def word(self) -> str:
        """The answer in a few words, the same in every output: proven, REFUTED, or the reason for neither."""
        if self.is_refuted:
            return REFUTED
        if self.unjudged:
            return self.unjudged
        return "proven" if self.is_proven else f"nothing to prove: no {self.cases.what}"


def _nothing(_: RenderedTree) -> tuple[SwitchReading[Any], ...]:
    return ()


def _every_fabric(_: Fabric) -> bool:
    return True


def _judgeable(_: RenderedTree) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class ProofCheck:
    """One proof.

    ``claim`` is one sentence; ``kinds`` are the kinds of artifacts it reads, ``intent`` the properties of the spec's
    declaration that it compares them with, beside those of every claim. ``applies`` is true for a tree with
    parts that the claim is about, ``judge`` gives the verdict on the text that readers know and raises VerifyError
    for text that does not parse. ``spec_only`` is the part of the claim that needs a spec, "" for nothing: for a
    folder without one the answer notes that it was not checked. ``readings`` are made of switches' files,
    ``concerns`` is true for Ethernet fabrics that the claim is about. ``unjudgeable`` is the reason that nothing of
    the claim can be checked of a tree, "" where it can.
    """

    name: str
    claim: str
    kinds: frozenset[str]
    intent: frozenset[str]
    applies: Callable[[RenderedTree], bool]
    judge: Callable[[RenderedTree], Verdict]
    spec_only: str
    readings: Callable[[RenderedTree], Iterable[SwitchReading[Any]]] = _nothing
    concerns: Callable[[Fabric], bool] = _every_fabric
    unjudgeable: Callable[[RenderedTree], str] = _judgeable
    compared: frozenset[str] = frozenset()
    """Those of ``kinds`` of which it takes single values: what else stands there is for other claims."""
    rests_on: frozenset[str] = frozenset()
    """Other claims about the same text: what leaves one of them open leaves this one open too."""
    standing_alone: frozenset[str] = frozenset()
    """Files whose faults hold, whoever owns other parts of the same node."""
    does_without: frozenset[str] = frozenset()
    """Those of ``kinds`` that its verdict notes itself, where somebody else owns their part of a node."""
    folder_kinds: frozenset[str] = frozenset()
    """Further kinds, of a folder alone: in memory they are made of the same files, and rendering them takes long."""

    @property
    def whole_intent(self) -> frozenset[str]:
        """The properties of the declaration that its answer depends on."""
        return self.intent | INTENT_OF_EVERY_CLAIM

    @property
    def kinds_in_folder(self) -> frozenset[str]:
        """The kinds of artifacts that it reads of a folder."""
        return self.kinds | self.folder_kinds

    @property
    def judged_kinds(self) -> frozenset[str]:
        """The kinds of files of which every line touches the claim."""
        return self.kinds_in_folder - self.compared

    def answers(self, tree: RenderedTree) -> bool:
        """Whether a tree has parts that the check is about, or switches of another system that it ought to read."""
        beyond = (self._other_systems(tree), self._provided(tree), self._left_out(tree))
        return self.applies(tree) or any(beyond)

    def _left_out(self, tree: RenderedTree) -> dict[str, tuple[str, ...]]:
        """The parts of nodes that the claim leans on and that somebody else owns, with these nodes."""
        if tree.declaration is None:
            return {}
        parts = tree.declaration.left_out.items()
        needed = self.kinds - self.does_without
        return {part: nodes for part, nodes in parts if needed & kinds_of_part(part)}

    def _other_systems(self, tree: RenderedTree) -> dict[str, str]:
        """The switches of another system that the claim is about, with their fabrics."""
        declaration = tree.declaration
        if declaration is None:
            return {}
        other_systems: dict[str, str] = {}
        for switch, name in declaration.other_systems.items():
            if name in declaration.provided:
                continue
            fabric = declaration.ethernet.get(switch)
            needed = _MANAGED if fabric is None else _ROUTED
            if self.kinds >= needed and (fabric is None or self.concerns(fabric)):
                other_systems[switch] = name
        return other_systems

    def _provided(self, tree: RenderedTree) -> list[str]:
        """The provider's fabrics that the claim is about."""
        provided = tree.declaration.provided if tree.declaration is not None else {}
        names = []
        for name, fabric in provided.items():
            if fabric.technology == "infiniband":
                is_concerned = "opensm" in self.kinds
            else:
                is_concerned = self.kinds >= _ROUTED and self.concerns(fabric)
            if is_concerned:
                names.append(name)
        return names

    def _verdict(self, tree: RenderedTree) -> Verdict:
        """The verdict on the text that readers know."""
        why_not = self.unjudgeable(tree)
        if why_not:
            return Verdict((), (), Cases("files that can be judged", 0), unjudged=why_not)
        return self.judge(tree)

    def run(self, tree: RenderedTree) -> Verdict:
        """The verdict on the whole tree.

        Text that no reader knows, and files of the spec that the tree lacks, leave the claim not proven. So do parts
        of nodes that another owner manages: there only files that stand alone refute it. Raises VerifyError for text
        that does not parse.
        """
        verdict = Verdict((), (), Cases("files that it reads", 0))
        if self.applies(tree):
            read_together(self.readings(tree))
            verdict = self._verdict(tree)
        if tree.declaration is None and self.spec_only:
            verdict = replace(verdict, notes=(f"without a spec was not judged {self.spec_only}.", *verdict.notes))
        left = left_by(tree, self.rests_on | {self.name}, self.judged_kinds)
        missing = [f"{device}:/{path}" for (device, path), kind in tree.lacking.items() if kind in self.kinds_in_folder]
        others, left_out = self._other_systems(tree), self._left_out(tree)
        provided = self._provided(tree)
        if not left.places and not missing and not others and not provided and not left_out:
            return verdict
        somebody_elses = set(chain.from_iterable(left_out.values()))
        refuting = tuple(
            counterexample
            for counterexample in verdict.counterexamples
            if counterexample.device not in somebody_elses or self._stands_alone(tree, counterexample)
        )
        lack = f"not proven, because the folder lacks {and_more(missing, 3)}" if missing else ""
        reasons = (
            verdict.unjudged,
            lack,
            left.reason,
            _not_checked(others),
            _of_provider(provided),
            _not_ours(left_out),
        )
        return replace(
            verdict,
            counterexamples=refuting,
            notes=(*verdict.notes, *left.notes),
            unjudged="; ".join(reason for reason in reasons if reason),
            unread=left.places,
        )

    def _stands_alone(self, tree: RenderedTree, counterexample: Counterexample) -> bool:
        """Whether a fault is one of a file that the node has from us, and that says all by itself."""
        place = counterexample.device, counterexample.file
        return counterexample.file in self.standing_alone and place in tree.files


def _not_checked(others: Mapping[str, str]) -> str:
    """The answer about switches of another system; "" where there are none."""
    if not others:
        return ""
    count = f"{len(others):,} switch{'es' if len(others) > 1 else ''}"
    return f"not checked: {count} of another system ({', '.join(sorted(set(others.values())))})"


def _of_provider(fabrics: list[str]) -> str:
    """The answer about fabrics of a provider; "" where there are none."""
    if not fabrics:
        return ""
    subject = f"the fabric {fabrics[0]} is" if len(fabrics) == 1 else f"the fabrics {' and '.join(fabrics)} are"
    return f"not checked: {subject} the provider's"


def _not_ours(left_out: Mapping[str, tuple[str, ...]]) -> str:
    """The answer about parts of nodes with another owner; "" without such parts."""
    if not left_out:
        return ""
    nodes = sorted(set(chain.from_iterable(left_out.values())))
    count = f"{len(nodes):,} node{'s' if len(nodes) > 1 else ''}"
    parts = ", ".join(sorted(left_out))
    return f"not checked: somebody else owns {parts} of {count}, as {nodes[0]} (`takes`)"


def line_with(text: str, word: str) -> int:
    """The line, from 1, of the first ``word`` in a text; 0 without one."""
    position = text.find(word) if word else -1
    return text.count("\n", 0, position) + 1 if position >= 0 else 0


def example(tree: RenderedTree, device: str, file: str, mark: Mark, message: str) -> Counterexample:
    """A counterexample at the place that a mark leads to."""
    return Counterexample(device=device, file=file, line=line_of(tree.text(device, file) or "", mark), message=message)
