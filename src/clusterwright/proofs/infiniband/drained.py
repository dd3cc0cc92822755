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
    adapters = subnet.fabric.adapters
    owners = [
        declaration.endpoints.get(adapters[at].guid, (adapters[at].host, ""))[0]
        for at in subnet.fabric.taps[:, 0].tolist()
    ]
    is_drained = np.array([owner in declaration.drained for owner in owners], np.bool_)
    switches = subnet.fabric.switches
    drained = [at for at in _switches(subnet, declaration.drained_chips) if subnet.carries[at]]
    in_service = subnet.carrying(~is_drained)
    counterexamples = [
        subnet.at_fabric(
            switches[at].line,
            f"the spec drains {switches[at].name}, and paths of nodes that are in service lead through it",
        )
        for at in drained
        if in_service[at]
    ]
    nodes = {owner for owner, is_one in zip(owners, is_drained.tolist(), strict=True) if is_one}
    facts = []
    if nodes:
        facts.append(Fact("drained nodes, to which paths lead still", len(nodes)))
    if drained:
        facts.append(Fact("drained switch chips that carry what drained nodes send or are sent", len(drained)))
    return facts, counterexamples


def _switches(subnet: ManagedSubnet, chips: Set[int]) -> list[int]:
    switches = enumerate(subnet.fabric.switches)
    return [index for index, switch in switches if switch.guid in chips and subnet.rank[index] != 0]
