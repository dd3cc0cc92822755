"""Drained parts of a subnet: drained switches may carry only traffic of drained nodes, reported as a fact.

A subnet manager knows nothing of drained nodes: their adapters keep LIDs and partitions, and every switch on the paths
to them carries their traffic. So leaves drained together with all their nodes are not empty.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from clusterwright.proofs.check import Counterexample, Fact
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.subnet import ManagedSubnet


def drained_parts(subnet: ManagedSubnet, declaration: Declaration) -> tuple[list[Fact], list[Counterexample]]:
    """Facts on drained parts with remaining paths, and drained switches on paths of other nodes.

    Roots are left out: ``ib-up-down`` refuses a drained root.
    """
    owners: list[str] = []
    for index in subnet.fabric.taps[:, 0].tolist():
        adapter = subnet.fabric.adapters[index]
        owner, _ = declaration.endpoints.get(adapter.guid, (adapter.host, ""))
        owners.append(owner)
    is_drained = np.array([owner in declaration.drained for owner in owners], np.bool_)
    drained = [index for index in _switches(subnet, declaration.drained_chips) if subnet.carries[index]]
    carries_in_service = subnet.carrying(~is_drained)
    counterexamples: list[Counterexample] = []
    for index in drained:
        switch = subnet.fabric.switches[index]
        if carries_in_service[index]:
            message = f"the spec drains {switch.name}, and paths of nodes that are in service lead through it"
            counterexamples.append(subnet.at_fabric(switch.line, message))
    nodes = {owner for owner in owners if owner in declaration.drained}
    facts = []
    if nodes:
        facts.append(Fact("drained nodes, to which paths lead still", len(nodes)))
    if drained:
        facts.append(Fact("drained switch chips that carry what drained nodes send or are sent", len(drained)))
    return facts, counterexamples


def _switches(subnet: ManagedSubnet, chips: Set[int]) -> list[int]:
    """Indexes of switches with one of these GUIDs, without roots."""
    switches = enumerate(subnet.fabric.switches)
    with_guid = [index for index, switch in switches if switch.guid in chips]
    return [index for index in with_guid if subnet.rank[index] != 0]
