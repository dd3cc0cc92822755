"""Proof checks: each reads a rendered tree and returns proven facts or counterexamples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from clusterwright.and_more import and_more
from clusterwright.facts.router import Mark, line_of
from clusterwright.packets.phrases import count
from clusterwright.plan.node_parts import kinds_of_part
from clusterwright.proofs.reading import SwitchReading, read_together
from clusterwright.proofs.tree import RenderedTree
from clusterwright.proofs.unread import UnreadPlace, unread_text
from clusterwright.spec.fabric import Fabric
from clusterwright.switches.readers import READERS, ROUTERS

_ROUTED = frozenset[str]().union(*(reader.kinds for reader in ROUTERS))
_MANAGED = frozenset[str]().union(*(reader.kinds for reader in READERS))

INTENT_OF_EVERY_CLAIM = frozenset({"ethernet", "left_out", "other_systems", "provided", "accepted_unread"})
"""Properties of the declaration read by every claim: devices of other owners, and accepted unread text."""

REFUTED = "REFUTED"
"""The word for a claim with a counterexample."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A proven figure; ``name`` gives the counted things and their unit."""

    name: str
    value: float | int | str


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Reason for a failed proof, at a ``line`` (from 1) of a ``file`` (path on the device) of ``device``.

    ``line`` is 0 if something is missing from the file as a whole.
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
    """Number of things checked for a claim, with their name in the plural: 8,128 ``pairs of adapters``."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of one check.

    ``facts`` hold unless the claim is refuted; ``notes`` name comparisons that were not made. ``unjudged`` is the short
    reason why the claim itself could not be checked, "" if it was. A claim about no ``cases`` is vacuously true and is
    never called proven. ``unread`` is text of unknown meaning that could affect the claim.
    """

    facts: tuple[Fact, ...]
    counterexamples: tuple[Counterexample, ...]
    cases: Cases
    notes: tuple[str, ...] = ()
    unjudged: str = ""
    unread: tuple[UnreadPlace, ...] = ()

    @property
    def is_refuted(self) -> bool:
        """True for a claim with a counterexample."""
        return bool(self.counterexamples)

    @property
    def is_proven(self) -> bool:
        """True for a completely checked claim with at least one case and no counterexample."""
        return self.is_settled and self.cases.count > 0

    @property
    def is_settled(self) -> bool:
        """True for a completely checked claim without a counterexample, even without cases."""
        return not self.counterexamples and not self.unjudged

    @property
    def word(self) -> str:
        """Short result, the same in every output: proven, REFUTED, or the reason for neither."""
        if self.is_refuted:
            return REFUTED
        if self.unjudged:
            return self.unjudged
        return "proven" if self.is_proven else f"nothing to prove: no {self.cases.name}"


def _nothing(_: RenderedTree) -> tuple[SwitchReading[Any], ...]:
    return ()


def _every_fabric(_: Fabric) -> bool:
    return True


def _checkable(_: RenderedTree) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class ProofCheck:
    """One proof.

    ``claim`` is one sentence; ``kinds`` are the kinds of artifacts it reads, ``intent`` the properties of the spec's
    declaration compared with them, in addition to those of every claim. ``applies`` is true for a tree with parts
    covered by the claim. ``check`` returns the verdict on the text known to readers and raises VerifyError for text
    that does not parse. ``spec_only`` is the part of the claim that needs a spec, "" for none: without a spec, the
    verdict notes that this part was not checked. ``readings`` are made of switches' files, ``concerns`` is true for
    Ethernet fabrics covered by the claim. ``uncheckable`` is the reason why nothing of the claim can be checked in a
    tree, "" if it can.
    """

    name: str
    claim: str
    kinds: frozenset[str]
    intent: frozenset[str]
    applies: Callable[[RenderedTree], bool]
    check: Callable[[RenderedTree], Verdict]
    spec_only: str
    readings: Callable[[RenderedTree], Iterable[SwitchReading[Any]]] = _nothing
    concerns: Callable[[Fabric], bool] = _every_fabric
    uncheckable: Callable[[RenderedTree], str] = _checkable
    compared: frozenset[str] = frozenset()
    """Kinds from which the claim reads single values; other text of these files belongs to other claims."""
    rests_on: frozenset[str] = frozenset()
    """Other claims about the same text; unread text that leaves one of them open leaves this one open too."""
    standing_alone: frozenset[str] = frozenset()
    """Files with faults that hold regardless of the owner of other parts of the node."""
    does_without: frozenset[str] = frozenset()
    """Kinds that the verdict itself reports as missing if another owner manages their part of a node."""
    folder_kinds: frozenset[str] = frozenset()
    """Further kinds read from a folder only; in memory they are made of the same files, and rendering them is slow."""

    @property
    def whole_intent(self) -> frozenset[str]:
        """Properties of the declaration that affect the verdict."""
        return self.intent | INTENT_OF_EVERY_CLAIM

    @property
    def kinds_in_folder(self) -> frozenset[str]:
        """Kinds of artifacts read from a folder."""
        return self.kinds | self.folder_kinds

    @property
    def checked_kinds(self) -> frozenset[str]:
        """Kinds of files with only lines relevant to the claim."""
        return self.kinds_in_folder - self.compared

    def answers(self, tree: RenderedTree) -> bool:
        """Whether the claim covers parts of a tree, or parts with another owner or operating system."""
        unchecked_parts = (self._other_systems(tree), self._provided(tree), self._left_out(tree))
        return self.applies(tree) or any(unchecked_parts)

    def _left_out(self, tree: RenderedTree) -> dict[str, tuple[str, ...]]:
        """Nodes by part, for the parts read by the claim and managed by another owner."""
        if tree.declaration is None:
            return {}
        parts = tree.declaration.left_out.items()
        needed = self.kinds - self.does_without
        return {part: nodes for part, nodes in parts if needed & kinds_of_part(part)}

    def _other_systems(self, tree: RenderedTree) -> dict[str, str]:
        """Fabric by switch, for the claim's switches configured by another system."""
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
        """Names of the provider's fabrics covered by the claim."""
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
        """Verdict on the text known to readers."""
        reason = self.uncheckable(tree)
        if reason:
            return Verdict((), (), Cases("files that can be checked", 0), unjudged=reason)
        return self.check(tree)

    def run(self, tree: RenderedTree) -> Verdict:
        """Return the verdict on the whole tree.

        Text of unknown meaning and missing files of the spec leave the claim not proven. So do parts of nodes managed
        by another owner: only faults in ``standing_alone`` files refute the claim there. Raises VerifyError for text
        that does not parse.
        """
        verdict = Verdict((), (), Cases("files that it reads", 0))
        if self.applies(tree):
            read_together(self.readings(tree))
            verdict = self._verdict(tree)
        if tree.declaration is None and self.spec_only:
            verdict = replace(verdict, notes=(f"not checked without a spec: {self.spec_only}.", *verdict.notes))
        unread = unread_text(tree, self.rests_on | {self.name}, self.checked_kinds)
        left_out = self._left_out(tree)
        reasons = (
            verdict.unjudged,
            self._missing_files(tree),
            unread.reason,
            _other_systems_reason(self._other_systems(tree)),
            _provider_reason(self._provided(tree)),
            _other_owner_reason(left_out),
        )
        return replace(
            verdict,
            counterexamples=self._refuting(tree, verdict.counterexamples, left_out),
            notes=(*verdict.notes, *unread.notes),
            unjudged="; ".join(filter(None, reasons)),
            unread=unread.places,
        )

    def _missing_files(self, tree: RenderedTree) -> str:
        """Reason for missing files of the folder; "" without any."""
        missing = [f"{device}:/{path}" for (device, path), kind in tree.lacking.items() if kind in self.kinds_in_folder]
        return f"not proven, because the folder lacks {and_more(missing, 3)}" if missing else ""

    def _refuting(
        self, tree: RenderedTree, counterexamples: tuple[Counterexample, ...], left_out: Mapping[str, tuple[str, ...]]
    ) -> tuple[Counterexample, ...]:
        """Counterexamples that hold regardless of parts of nodes with another owner."""
        if not left_out:
            return counterexamples
        nodes = set(chain.from_iterable(left_out.values()))
        refuting: list[Counterexample] = []
        for counterexample in counterexamples:
            has_other_owner = counterexample.device in nodes
            if not has_other_owner or self._stands_alone(tree, counterexample):
                refuting.append(counterexample)
        return tuple(refuting)

    def _stands_alone(self, tree: RenderedTree, counterexample: Counterexample) -> bool:
        """Whether a fault is in a rendered file whose faults hold by themselves."""
        place = counterexample.device, counterexample.file
        return counterexample.file in self.standing_alone and place in tree.files


def _other_systems_reason(fabric_by_switch: Mapping[str, str]) -> str:
    """Reason for switches of another system; "" without such switches."""
    if not fabric_by_switch:
        return ""
    fabrics = ", ".join(sorted(set(fabric_by_switch.values())))
    return f"not checked: {count(len(fabric_by_switch), 'switch')} of another system ({fabrics})"


def _provider_reason(fabrics: list[str]) -> str:
    """Reason for fabrics of a provider; "" without such fabrics."""
    if not fabrics:
        return ""
    subject = f"the fabric {fabrics[0]} is" if len(fabrics) == 1 else f"the fabrics {' and '.join(fabrics)} are"
    return f"not checked: {subject} the provider's"


def _other_owner_reason(left_out: Mapping[str, tuple[str, ...]]) -> str:
    """Reason for parts of nodes with another owner; "" without such parts."""
    if not left_out:
        return ""
    nodes = sorted(set(chain.from_iterable(left_out.values())))
    parts = ", ".join(sorted(left_out))
    return f"not checked: another owner manages {parts} of {count(len(nodes), 'node')}, as {nodes[0]} (`takes`)"


def line_with(text: str, word: str) -> int:
    """Line, from 1, of the first ``word`` in a text; 0 without one."""
    position = text.find(word) if word else -1
    return text.count("\n", 0, position) + 1 if position >= 0 else 0


def example(tree: RenderedTree, device: str, file: str, mark: Mark, message: str) -> Counterexample:
    """Counterexample at the line of a mark."""
    return Counterexample(device=device, file=file, line=line_of(tree.text(device, file) or "", mark), message=message)
