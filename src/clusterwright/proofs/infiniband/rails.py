"""Rail purity: adapters of one rail meet on leaves of that rail only, and the nodes of a unit on the same leaves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clusterwright.hosts.opensm.reader.fabric import Integers
from clusterwright.proofs.check import Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.infiniband.outcome import SubnetOutcome
from clusterwright.proofs.infiniband.subnet import (
    COMPUTE_LIST,
    KINDS,
    ROOT_LIST,
    SUBNET_INTENT,
    ManagedSubnet,
    has_subnet,
)
from clusterwright.proofs.infiniband.units import Units, units_of
from clusterwright.proofs.tree import RenderedTree


def _has_rails(tree: RenderedTree, subnet: ManagedSubnet, units: Units) -> bool:
    """True for a fabric with leaves of one rail each: by the spec, or in a folder by most leaves.

    A fabric with one adapter a node has no rails.
    """
    # A fabric without nodes shows no rails; the missing nodes are a fault by themselves.
    can_have_rails = len(units.rails) > 1 or not len(subnet.leaves)
    declaration = tree.declaration
    fabric = None
    if declaration is not None:
        fabric = declaration.fabric_with(adapter.guid for adapter in subnet.fabric.adapters)
    if declaration is None or fabric is None:
        has_one_rail = (_rails_of(subnet, units)[subnet.leaves] > 0).sum(axis=1) == 1
        return can_have_rails and (not len(subnet.leaves) or 2 * int(has_one_rail.sum()) > len(subnet.leaves))
    if fabric not in declaration.railed:
        return False
    name = declaration.subnet_with(adapter.guid for adapter in subnet.fabric.adapters)
    planned = declaration.subnets.get(name) if name is not None else None
    # In a plane of one rail, an adapter of another rail would join two subnets.
    return can_have_rails or (planned is not None and planned.is_plane)


def _run(tree: RenderedTree) -> Verdict:
    outcome = SubnetOutcome(tree)
    for subnet in outcome.read(ROOT_LIST, COMPUTE_LIST):
        units = units_of(subnet)
        if not _has_rails(tree, subnet, units):
            continue
        if not len(subnet.leaves):
            outcome.counterexamples.append(subnet.without_nodes())
            continue
        outcome.tried += len(units.taps)
        table = _rails_of(subnet, units)
        outcome.facts += [
            Fact("rails", len(units.rails)),
            Fact("adapters on rails", len(units.taps)),
            Fact("leaves, each of one rail", len(subnet.leaves)),
            Fact("units, each with its own leaf for every rail", int(units.unit.max(initial=-1)) + 1),
        ]
        foreign_taps = set(_foreign_taps(subnet, units, table))
        outcome.counterexamples += [_crossed(subnet, units, table, tap) for tap in sorted(foreign_taps)]
        outcome.counterexamples += _other_units(subnet, units, foreign_taps)
        planes = list(_planes(subnet, units))
        outcome.facts += [Fact(f"switches of one rail at rank {rank}", count) for rank, count, _ in planes]
        for _, _, examples in planes:
            outcome.counterexamples += examples
    return outcome.verdict("adapters of several rails on leaves for one each")


def _rails_of(subnet: ManagedSubnet, units: Units) -> Integers:
    """The number of adapters of each rail (column) at each switch (row)."""
    table = np.zeros((len(subnet.fabric.switches), len(units.rails)), np.int64)
    np.add.at(table, (subnet.fabric.taps[units.taps, 1], units.rail), 1)
    return table


def _foreign_taps(subnet: ManagedSubnet, units: Units, table: Integers) -> Iterator[int]:
    """Indexes of compute taps outside their leaf's rail, the rail of most of its adapters."""
    leaf = subnet.fabric.taps[units.taps, 1]
    yield from np.flatnonzero(table.argmax(axis=1)[leaf] != units.rail).tolist()


def _crossed(subnet: ManagedSubnet, units: Units, table: Integers, tap: int) -> Counterexample:
    row = int(units.taps[tap])
    leaf = int(subnet.fabric.taps[row, 1])
    leaf_rail = int(table[leaf].argmax())
    return subnet.at_fabric(
        int(subnet.fabric.taps[row, 4]),
        f"{subnet.fabric.tap_name(row)}: an adapter of rail {units.rails[units.rail[tap]]} on a leaf whose "
        f"{table[leaf, leaf_rail]} other adapters are of rail {units.rails[leaf_rail]}",
    )


def _other_units(subnet: ManagedSubnet, units: Units, foreign_taps: set[int]) -> Iterator[Counterexample]:
    """Cables of the right rail to another unit's leaf."""
    leaf = subnet.fabric.taps[units.taps, 1]
    home = units.home[units.host, units.rail]
    for tap in np.flatnonzero((home != leaf) & (home >= 0)).tolist():
        if tap in foreign_taps:
            continue
        row = int(units.taps[tap])
        rail, home_leaf = units.rails[units.rail[tap]], subnet.fabric.switches[int(home[tap])].name
        message = f"{subnet.fabric.tap_name(row)}: the other nodes of the unit have rail {rail} on {home_leaf}"
        yield subnet.at_fabric(int(subnet.fabric.taps[row, 4]), message)


def _planes(subnet: ManagedSubnet, units: Units) -> Iterator[tuple[int, int, list[Counterexample]]]:
    """Rank, number of switches of one rail, and mixed switches, for ranks above the leaves with mostly one rail each.

    A tier with mostly mixed switches is no rail plane by design, and no claim covers it.
    """
    serves = _rails_of(subnet, units) > 0
    leaf_rank = int(subnet.rank[subnet.leaves].max(initial=0))
    for rank in range(leaf_rank - 1, -1, -1):
        below = subnet.up.T @ serves.astype(np.int64)
        here = np.flatnonzero(subnet.rank == rank)
        serves[here] |= below[here] > 0
        counts = serves[here].sum(axis=1)
        pure, mixed = int((counts == 1).sum()), here[counts > 1]
        if pure > len(mixed):
            yield rank, pure, [_mixed(subnet, units, below, int(switch)) for switch in mixed]


def _mixed(subnet: ManagedSubnet, units: Units, below: Integers, switch: int) -> Counterexample:
    """A counterexample at the cable carrying the rarest rail to a switch."""
    rails = np.flatnonzero(below[switch])
    rare = int(rails[below[switch, rails].argmin()])
    trunks = subnet.fabric.trunks
    leaf_rails = _rails_of(subnet, units)
    down = np.concatenate([trunks[trunks[:, 0] == switch][:, [2, 5]], trunks[trunks[:, 2] == switch][:, [0, 4]]])
    carrying = [row for row in down.tolist() if leaf_rails[row[0], rare]] or down.tolist()
    others = ", ".join(units.rails[rail] for rail in rails if rail != rare)
    return subnet.at_fabric(
        carrying[0][1],
        f"{subnet.fabric.switches[switch].name} serves rail {others}, and through "
        f"{subnet.fabric.switches[carrying[0][0]].name} rail {units.rails[rare]} too",
    )


RAIL_PURITY = ProofCheck(
    name="ib-rail-purity",
    claim="Every adapter of a rail is on a leaf of that rail only, and the nodes of a unit share their leaves.",
    kinds=KINDS,
    intent=SUBNET_INTENT | {"railed", "subnet_fabrics"},
    applies=has_subnet,
    check=_run,
    spec_only="whether leaves are joined by rail; assumed if most leaves serve one rail",
)
