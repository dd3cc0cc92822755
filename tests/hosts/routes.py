"""The routes of a subnet beside the plan: where each chip's ports lead, and what a subnet manager made of it.

Ranks count the levels of chips upwards from the leaves: a tier is one level, a director's spine chips one more.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from tests.hosts.subnet import Subnet

from clusterwright.plan.chips import chip_ports, chips_of, internal_links
from clusterwright.plan.model import Interface, Plan


@dataclass(frozen=True)
class Cabling:
    """``ranks`` by chip GUID; ``ends`` and ``adapters``: what a port of a chip, or an adapter, is cabled to.

    A port is (GUID, port number).
    """

    ranks: Mapping[int, int]
    ends: Mapping[tuple[int, int], tuple[int, int]]
    adapters: Mapping[int, tuple[int, int]]

    @cached_property
    def ports(self) -> Mapping[int, tuple[int, ...]]:
        """The cabled ports of each chip."""
        found: dict[int, list[int]] = defaultdict(list)
        for chip, port in self.ends:
            found[chip].append(port)
        return {chip: tuple(sorted(own)) for chip, own in found.items()}

    def uplinks(self, chip: int) -> list[int]:
        """The ports of a chip that lead to a higher one."""
        return [port for port in self.ports[chip] if self.ranks.get(self.ends[chip, port][0], -1) > self.ranks[chip]]

    def beneath(self, chip: int) -> dict[int, set[int]]:
        """For each adapter that lies below a chip, the ports that lead down to it."""
        found: dict[int, set[int]] = defaultdict(set)
        up = set(self.uplinks(chip))
        for port in self.ports[chip]:
            peer, _ = self.ends[chip, port]
            if port not in up:
                for adapter in [peer] if peer in self.adapters else self._below[peer]:
                    found[adapter].add(port)
        return found

    @cached_property
    def _below(self) -> Mapping[int, frozenset[int]]:
        """The adapters below each chip, lowest chips first. Chips of the top rank lie below none and are left out."""
        found: dict[int, frozenset[int]] = {}
        top = max(self.ranks.values())
        for chip, rank in sorted(self.ranks.items(), key=lambda item: item[1]):
            if rank < top:
                peers = {self.ends[chip, port][0] for port in self.ports.get(chip, ())}
                lower = [found[peer] for peer in peers if self.ranks.get(peer, rank) < rank]
                found[chip] = frozenset(peers & self.adapters.keys()).union(*lower)
        return found


def cabling_of(plan: Plan, fabric: str) -> Cabling:
    """The cables in service of an InfiniBand fabric of a plan, with the traces inside its directors."""
    switches = [device for device in plan.devices if device.kind == "switch" and device.fabric == fabric]
    chips = {device.name: chips_of(plan, device) for device in switches}
    places = {
        name: chip_ports(plan.spec.catalogue[name], split=name in plan.split_models)
        for name in {device.model for device in switches}
    }

    def at(end: Interface) -> tuple[int, int]:
        if end.guid is not None:
            return end.guid, 1
        index, port = places[plan.by_name[end.device].model][end.port]
        return chips[end.device][index].guid, port

    pairs = [(at(cable.a), at(cable.b)) for cable in plan.cables if cable.fabric == fabric and cable.in_service]
    for device in switches:
        own = chips[device.name]
        pairs.extend(
            ((own[link.leaf].guid, link.leaf_port), (own[link.spine].guid, link.spine_port))
            for link in internal_links(plan.spec.catalogue[device.model])
        )
    ranks = {chip.guid: device.tier + (chip.kind == "spine") for device in switches for chip in chips[device.name]}
    both = dict(pairs) | {upper: lower for lower, upper in pairs}
    return Cabling(
        ranks=ranks,
        ends={end: other for end, other in both.items() if end[0] in ranks},
        adapters={lower[0]: upper for lower, upper in pairs if lower[0] not in ranks},
    )


def uplink_loads(cabling: Cabling, ports: Mapping[int, int], chip: int, carried: AbstractSet[int]) -> Mapping[int, int]:
    """How many of the adapters ``carried`` a chip, with a port for each adapter, sends over each of its uplinks.

    Checks on the way that an adapter below the chip gets a port that leads down to it (on its own leaf, the port of its
    cable), any other an uplink: a chip that keeps to that turns no packet upwards that came from above.
    """
    beneath, up = cabling.beneath(chip), cabling.uplinks(chip)
    for adapter, port in ports.items():
        allowed = beneath.get(adapter, up)
        assert port in allowed, f"{chip:#x} sends {adapter:#x} to port {port} instead of one of {sorted(allowed)}"
    loads = Counter(ports[adapter] for adapter in carried if adapter not in beneath)
    return {port: loads[port] for port in up}


def trace(subnet: Subnet, cabling: Cabling, source: int, target: int) -> list[int]:
    """The ranks of the chips on the way between two adapters, as ibtracert goes, every hop over a planned cable."""
    text = subnet.run("ibtracert", "-n", str(subnet.lids[source]), str(subnet.lids[target]))
    hops = [
        (int(out), (int(guid, 16), int(port)))
        for out, guid, port in re.findall(r"^\[(\d+)\] -> \{0x([0-9a-f]{16})\}\[(\d+)\]$", text, re.M)
    ]
    (_, first), *others = hops
    assert first == cabling.adapters[source], text
    here, ranks = first[0], []
    for out, following in others:
        ranks.append(cabling.ranks[here])
        assert cabling.ends[here, out] == following, text
        here, _ = following
    assert here == target, text
    return ranks
