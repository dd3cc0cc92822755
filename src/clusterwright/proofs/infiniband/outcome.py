"""The verdict of a proof on all subnets of a tree, gathered one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from clusterwright.proofs.check import Cases, Counterexample, Fact, Verdict
from clusterwright.proofs.infiniband.idle import excused
from clusterwright.proofs.infiniband.subnet import (
    COMPUTE_LIST,
    ROOT_LIST,
    ManagedSubnet,
    lacking_subnets,
    named_facts,
    subnets,
)
from clusterwright.proofs.tree import RenderedTree


@dataclass(slots=True)
class SubnetOutcome:
    """Facts, counterexamples, notes and cases so far; ``unjudged`` is the first reason against a proof."""

    tree: RenderedTree
    facts: list[Fact] = field(default_factory=list)
    counterexamples: list[Counterexample] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unjudged: str = ""
    tried: int = 0

    def read(self, *lists: str) -> Iterator[ManagedSubnet]:
        """The subnets with all ``lists``; a missing list of another subnet prevents a proof."""
        self.unjudged = self.unjudged or lacking_subnets(self.tree)
        for subnet in subnets(self.tree):
            if lack := subnet.lack(*lists):
                self.unjudged = self.unjudged or lack
                continue
            count = len(self.facts)
            yield subnet
            self.facts[count:] = named_facts(self.tree, subnet, self.facts[count:])

    def routed(self) -> Iterator[ManagedSubnet]:
        """The subnets with roots and compute nodes; one without nodes on a leaf refutes."""
        for subnet in self.read(ROOT_LIST, COMPUTE_LIST):
            if len(subnet.leaves):
                self.notes += _planes_inside(self.tree, subnet)
                yield subnet
            else:
                self.counterexamples.append(subnet.without_nodes())

    def excuse(self, subnet: ManagedSubnet, counterexamples: Sequence[Counterexample]) -> None:
        """Add counterexamples against a claim on the whole fabric, or notes if the spec takes parts of it away."""
        refuting, noted, why = excused(self.tree, subnet, counterexamples)
        self.counterexamples += refuting
        self.notes += noted
        self.unjudged = self.unjudged or why

    def verdict(self, unit: str) -> Verdict:
        """The verdict on all subnets; ``unit`` names the checked cases."""
        cases = Cases(unit, self.tried)
        return Verdict(
            facts=tuple(self.facts),
            counterexamples=tuple(self.counterexamples),
            cases=cases,
            notes=tuple(self.notes),
            unjudged=self.unjudged,
        )


def _planes_inside(tree: RenderedTree, subnet: ManagedSubnet) -> Iterator[str]:
    """A note on switches with several planes inside, as only one plane is checked."""
    if tree.declaration is None:
        return
    name = tree.declaration.subnet_with(adapter.guid for adapter in subnet.fabric.adapters)
    declared = tree.declaration.subnets.get(name) if name is not None else None
    if declared is not None and declared.planes > 1:
        yield (
            f"{name}: checked as one plane; its switches carry each port in {declared.planes}, which fail by"
            " themselves."
        )
