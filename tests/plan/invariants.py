"""What holds in every plan, said without the planner's own words wherever that can be done.

``check_plan`` asserts all of it. The functions are ordered like the plan is made: names and places, ports, joins,
addresses, figures.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from ipaddress import ip_address
from math import ceil

from tests.plan.counted_figures import counted

from clusterwright.plan.chips import chips_of
from clusterwright.plan.figures import figures
from clusterwright.plan.model import Cable, Interface, Plan, format_address
from clusterwright.plan.skeleton import FabricSkeleton, Skeleton
from clusterwright.spec.fabric import Side
from clusterwright.spec.hardware.cages import PortMode
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.isolation import Network
from clusterwright.spec.model import ClusterSpec

NAME = re.compile(r"[a-z0-9-]+")


def check_plan(spec: ClusterSpec, skeleton: Skeleton, plan: Plan) -> None:
    """Asserts everything that holds in every plan."""
    check_names(plan)
    check_ranks(plan)
    check_racks(plan)
    check_ports(plan)
    check_speeds(plan)
    check_modes(plan)
    check_attachments(plan)
    check_uplinks(plan, skeleton)
    check_spread(plan, skeleton)
    check_rails(plan, skeleton)
    check_addresses(plan)
    check_as_numbers(plan)
    check_guids(plan)
    check_figures(spec, skeleton, plan)


def duplicates(items: Iterable[object]) -> list[object]:
    return [item for item, count in Counter(items).items() if count > 1]


def check_names(plan: Plan) -> None:
    """Names are unique, are host names, and every group that a device names is in the plan."""
    assert not duplicates(device.name for device in plan.devices)
    assert not duplicates(group.name for group in plan.groups)
    for device in plan.devices:
        assert NAME.fullmatch(device.name), device.name
        assert len(device.name) <= 63, f"{device.name} is longer than a DNS label"
        assert device.rack in plan.group_by_name
        assert all(name in plan.group_by_name for name in device.groups)
    for group in plan.groups:
        assert not group.parent or group.parent in plan.group_by_name


def check_ranks(plan: Plan) -> None:
    """GPUs are numbered from 0 without a gap, node by node."""
    expected = 0
    for device in plan.devices:
        gpus = plan.spec.catalogue[device.model].gpus
        assert device.rank == (expected if gpus else None), device
        expected += gpus.count if gpus else 0


def check_racks(plan: Plan) -> None:
    """Nothing overlaps in a rack or sticks out of it; what brings its own cabinet stands alone."""
    units: dict[str, dict[float, str]] = defaultdict(dict)
    cabinets: list[str] = []
    for device in plan.devices:
        height = plan.spec.catalogue[device.model].units
        if device.unit == 0:
            assert height == 0, device
            cabinets.append(device.rack)
            continue
        assert device.unit >= 1, device
        assert device.unit - 1 + ceil(height) <= plan.spec.site.rack_units, device
        for unit in range(int(device.unit), int(device.unit) + ceil(height)):
            other = units[device.rack].setdefault(unit, device.name)
            assert other == device.name, f"{device.name} and {other} in unit {unit} of {device.rack}"
    assert not duplicates(cabinets)
    assert not set(cabinets) & units.keys()


def ends(plan: Plan) -> Iterator[tuple[Cable, Interface]]:
    for cable in plan.cables:
        yield cable, cable.a
        yield cable, cable.b


def check_ports(plan: Plan) -> None:
    """No port carries two cables, and every port is one that its device's model has."""
    assert not duplicates((end.device, end.port) for _, end in ends(plan))
    for _, end in ends(plan):
        device = plan.by_name[end.device]
        assert end.port in _ports_of(plan.spec.catalogue[device.model], end.side), end
    for device in plan.devices:
        if device.kind == "switch":
            model = plan.spec.catalogue[device.model]
            used = sum(1 for c in plan.cables_of[device.name] for e in (c.a, c.b) if e.device == device.name)
            most = sum(len(block.cages) * max(len(mode.subports) for mode in block.modes) for block in model.blocks)
            assert used <= most + len(model.management), device


@cache
def _ports_by_model(model_id: int, side: str) -> frozenset[str]:
    model = _KNOWN[model_id]
    if side == "management":
        return frozenset(model.management_names)
    if side == "host":
        return frozenset(nic.interface for group in model.nic_groups for nic in group.nics)
    return frozenset(port for b in model.blocks for c in b.cages for mode in b.modes for port in mode.ports(c))


_KNOWN: dict[int, HardwareModel] = {}  # keeps the models alive, so that an id stands for one model


def _ports_of(model: HardwareModel, side: str) -> frozenset[str]:
    _KNOWN[id(model)] = model
    return _ports_by_model(id(model), side)


def check_speeds(plan: Plan) -> None:
    """A cable and both its ends have one speed, which a NIC's model confirms."""
    for cable in plan.cables:
        assert cable.speed_gbps == cable.a.speed_gbps == cable.b.speed_gbps > 0
        assert cable.fabric == cable.a.fabric == cable.b.fabric
        if cable.a.side == "host":
            groups = plan.spec.catalogue[plan.by_name[cable.a.device].model].nic_groups
            speeds = [g.speed_gbps for g in groups if cable.a.port in {nic.interface for nic in g.nics}]
            assert speeds == [cable.speed_gbps]


def check_modes(plan: Plan) -> None:
    """The used ports of a cage all belong to one of its modes, and what that mode disables is unused.

    Ports lie in the blocks, and run in the mode, that the tier's side names.
    """
    switches = {device.name: device for device in plan.devices if device.kind == "switch"}
    used: dict[str, dict[str, Interface]] = defaultdict(dict)
    for _, end in ends(plan):
        if end.device in switches and end.side in {"down", "up"}:
            used[end.device][end.port] = end
    moved = {(item.device, item.state) for item in plan.spec.exceptions if item.port}
    seen: set[tuple[int, tuple[tuple[str, int, str], ...]]] = set()
    for name, ports in used.items():
        device = switches[name]
        tier = next(f for f in plan.spec.fabrics if f.name == device.fabric).tiers[device.tier]
        shape = (id(tier), tuple(sorted((port, end.speed_gbps, end.side) for port, end in ports.items())))
        if shape in seen:
            continue  # thousands of switches use their ports alike
        seen.add(shape)
        sides = {"down": tier.down, "up": tier.up.side if tier.up else tier.down}
        loose = (name, "out-of-service") in moved
        _check_cages(tier.model, ports, {} if loose else sides)


def _check_cages(model: HardwareModel, ports: dict[str, Interface], sides: dict[str, Side]) -> None:
    cages: dict[tuple[str, int], dict[str, Interface]] = defaultdict(dict)
    for port, end in ports.items():
        cages[_cages_of(model)[port]][port] = end
    running: dict[tuple[str, int], list[PortMode]] = {}
    for (block_name, index), used in cages.items():
        block = model.block(block_name)
        assert block is not None
        modes = [
            mode
            for mode in block.modes
            if used.keys() <= set(mode.ports(block.cages[index]))
            and all(end.speed_gbps == mode.speed_gbps for end in used.values())
        ]
        assert modes, f"{sorted(used)} are in no single mode of their cage"
        running[block_name, index] = modes
        for end in used.values():
            side = sides.get(end.side)
            assert side is None or not side.blocks or block.name in side.blocks, (end, side)
            assert side is None or side.mode is None or side.mode in {mode.name for mode in modes}, (end, side)
    for (block_name, index), found in running.items():
        free = any(mode.disables is None or (mode.disables, index) not in running for mode in found)
        assert free, f"cage {index} of {block_name} disables a cage in use"


@cache
def _cages_by_model(model_id: int) -> dict[str, tuple[str, int]]:
    return {
        port: (block.name, index)
        for block in _KNOWN[model_id].blocks
        for mode in block.modes
        for index, cage in enumerate(block.cages)
        for port in mode.ports(cage)
    }


def _cages_of(model: HardwareModel) -> dict[str, tuple[str, int]]:
    _KNOWN[id(model)] = model
    return _cages_by_model(id(model))


def check_attachments(plan: Plan) -> None:
    """Every NIC that a fabric serves has exactly one cable, and so has every management port."""
    cabled = {(end.device, end.port): cable for cable, end in ends(plan) if cable.a is end}
    for fabric in plan.spec.fabrics:
        served = {attach.nodes: attach.nics for attach in fabric.attach}
        for device in plan.devices:
            model = plan.spec.catalogue[device.model]
            if None in served:
                ports = list(model.management_names) if device.fabric != fabric.name else []
            elif device.node_group in served:
                group = model.nic_group(served[device.node_group] or "")
                assert group is not None
                ports = [nic.interface for nic in group.nics]
            else:
                continue
            for port in ports:
                assert cabled[device.name, port].fabric == fabric.name


def check_uplinks(plan: Plan, skeleton: Skeleton) -> None:
    """Every declared uplink is cabled, to a higher tier of the same fabric, and no switch is dark."""
    up: Counter[str] = Counter()
    below: Counter[str] = Counter()
    for cable in plan.cables:
        below[cable.b.device] += 1
        upper = plan.by_name[cable.b.device]
        assert (upper.fabric, upper.tier) == (cable.fabric, cable.tier)
        if cable.a.side == "up":
            up[cable.a.device] += 1
            lower = plan.by_name[cable.a.device]
            assert lower.fabric == cable.fabric
            assert lower.tier < cable.tier
    for fabric in skeleton.fabrics:
        for seat in fabric.seats:
            uplinks = fabric.fabric.tiers[seat.tier].up
            assert up[seat.name] == (uplinks.links if uplinks else 0), seat
            assert below[seat.name] > 0, f"{seat.name} is dark"


def check_spread(plan: Plan, skeleton: Skeleton) -> None:
    """Uplinks are even: from each lower switch, and over the upper switches that lower ones share.

    The latter not where a rack that stood is left out: what stands keeps its cables, and those of the rack are gone.
    """
    keeps_gaps = any(group.left_out for group in plan.spec.node_groups)
    pairs = Counter((c.a.device, c.b.device) for c in plan.cables if c.a.side == "up")
    total = 0
    for fabric in skeleton.fabrics:
        for bundle in fabric.bundles:
            uppers = [fabric.seats[at].name for at in bundle.uppers]
            sums: Counter[str] = Counter(dict.fromkeys(uppers, 0))
            for at in bundle.lowers:
                counts = [pairs[fabric.seats[at].name, upper] for upper in uppers]
                assert max(counts) - min(counts) <= 1, (fabric.seats[at].name, counts)
                sums.update(dict(zip(uppers, counts, strict=True)))
                total += sum(counts)
            assert keeps_gaps or max(sums.values()) - min(sums.values()) <= 1, sums
    assert total == sum(pairs.values()), "cables outside every bundle"


def check_rails(plan: Plan, skeleton: Skeleton) -> None:
    """Where the lowest tier is joined by rail, NIC r of every node ends on a switch of rail r, and stays on it."""
    railed = {f.fabric.name: f for f in skeleton.fabrics if f.fabric.tiers[0].join == "rail" and f.planes[0] > 1}
    for cable in plan.cables:
        if cable.fabric not in railed:
            continue
        fabric = railed[cable.fabric]
        upper = plan.by_name[cable.b.device]
        if cable.a.side == "host" and upper.tier == 0:
            assert upper.rail == _nic_number(plan, fabric, cable.a) % fabric.planes[0]
        lower = plan.by_name[cable.a.device]
        if lower.rail is not None and upper.rail is not None and upper.tier == lower.tier + 1:
            assert lower.rail == upper.rail


def _nic_number(plan: Plan, fabric: FabricSkeleton, end: Interface) -> int:
    device = plan.by_name[end.device]
    nics = next(attach.nics for attach in fabric.fabric.attach if attach.nodes == device.node_group)
    group = plan.spec.catalogue[device.model].nic_group(nics or "")
    assert group is not None
    return [nic.interface for nic in group.nics].index(end.port)


def _bounds(network: Network) -> range:
    first = int(network.network_address)
    return range(first, first + 2 ** (network.max_prefixlen - network.prefixlen))


def _check_host_link(plan: Plan, cable: Cable, low: int, hosts: Network) -> None:
    """A host's address lies in the subnet of its switch, and that in the pool of hosts."""
    subnet = plan.host_subnet_of[cable.fabric, cable.b.device]
    inside = _bounds_of(subnet.network, subnet.prefix_length, hosts.max_prefixlen)
    assert low in inside
    assert inside.start in _bounds(hosts)
    assert inside.stop - 1 in _bounds(hosts)
    if cable.b.address is None and hosts.version == 4:
        assert low not in {inside.start, inside.stop - 1}, "network or broadcast address on a NIC"


def check_addresses(plan: Plan) -> None:
    """Addresses are unique in a fabric and lie in their pools; both ends of a link lie in one /127 or /31.

    A bond has one."""
    for fabric in plan.spec.fabrics:
        pools = fabric.addressing
        cables = [cable for cable in plan.cables if cable.fabric == fabric.name]
        switches = [device for device in plan.devices if device.fabric == fabric.name]
        if pools is None:
            assert all(e.address is None for c in cables for e in (c.a, c.b))
            assert all(switch.loopback is None for switch in switches)
            continue
        every: list[int] = []
        hosts = _bounds(pools.hosts)
        links = range(0) if pools.links is None else _bounds(pools.links)
        loopbacks = range(0) if pools.loopbacks is None else _bounds(pools.loopbacks)
        assigned = [switch.loopback for switch in switches if switch.loopback is not None]
        assert len(assigned) == (0 if pools.loopbacks is None else len(switches))
        assert all(address in loopbacks for address in assigned)
        every.extend(assigned)
        for subnet in plan.subnets:
            if subnet.fabric == fabric.name and subnet.gateway is not None:
                assert subnet.gateway in _bounds_of(subnet.network, subnet.prefix_length, pools.hosts.max_prefixlen)
                every.append(subnet.gateway)
        for cable in cables:
            low, high = cable.a.address, cable.b.address
            if low is None and cable.bond is not None and high is None:
                continue  # the address of a bond is its first cable's
            assert low is not None
            every.append(low)
            if high is not None:
                every.append(high)
                assert low >> 1 == high >> 1, "two ends of a link in two networks"
                assert cable.a.prefix_length == cable.b.prefix_length == pools.hosts.max_prefixlen - 1
            if cable.a.side == "up":
                assert high is not None
                assert low in links
                assert high in links
            else:
                assert (high is None) == (pools.host_links == "shared")
                assert low in hosts
                _check_host_link(plan, cable, low, pools.hosts)
        version = pools.hosts.version
        assert not duplicates(every), [format_address(int(str(at)), version) for at in duplicates(every)]
        assert ip_address(format_address(every[0], version)).version == version


def _bounds_of(network: int, length: int, bits: int) -> range:
    return range(network, network + (1 << (bits - length)))


def check_as_numbers(plan: Plan) -> None:
    """Neighbours over BGP have different AS numbers, all of 32 bits."""
    for cable in plan.cables:
        if cable.a.side == "up" and cable.a.address is not None:
            lower, upper = plan.by_name[cable.a.device].asn, plan.by_name[cable.b.device].asn
            assert lower is not None
            assert upper is not None
            assert lower != upper, cable
    assert all(0 < device.asn < 2**32 - 1 for device in plan.devices if device.asn is not None)


def check_guids(plan: Plan) -> None:
    """GUIDs of switches, of the chips inside directors and of NICs are unique, over all subnets."""
    guids = [end.guid for _, end in ends(plan) if end.guid is not None]
    for device in plan.devices:
        if device.guid is not None:
            guids += {device.guid, *(chip.guid for chip in chips_of(plan, device))}
    assert not duplicates(guids)
    assert all(0 < guid < 2**64 for guid in guids)
    for fabric in plan.spec.fabrics:
        if fabric.technology == "infiniband":
            assert all(device.guid is not None for device in plan.devices if device.fabric == fabric.name)
            assert all(c.a.guid is not None for c in plan.cables if c.fabric == fabric.name and c.a.side == "host")


def check_figures(spec: ClusterSpec, skeleton: Skeleton, plan: Plan) -> None:
    """The figures that lint computes without expanding are those of the expanded plan."""
    found = counted(plan)
    told = dict(figures(spec, skeleton))
    assert told.keys() == found.keys()
    for name, value in found.items():
        assert abs(told[name] - value) <= 1e-9 * abs(value), (name, told[name], value)
