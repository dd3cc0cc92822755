"""CW534, CW535: invalid borders, and outside zones without a border."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from clusterwright.finding import Severity
from clusterwright.plan.ports import Allocation
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.rules.spec.references import unknown
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.cages import PortMode
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.hardware.systems import system_of, systems
from clusterwright.spec.isolation import Border, Flow, Zone
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import is_outside, is_whole_internet

_NEXT_CAGE = "the cage next to it"


@rule("CW534", Severity.ERROR)
def impossible_border(subject: Subject) -> Iterator[Problem]:
    """Borders with an unsuitable switch, port, address or zone."""
    spec = subject.spec
    seats: dict[str, tuple[Fabric, HardwareModel]] = {}
    for skeleton in subject.skeleton.fabrics:
        for seat in skeleton.seats:
            seats[seat.name] = (skeleton.fabric, skeleton.fabric.tiers[seat.tier].model)
    taken: dict[tuple[str, str], str] = {}
    for border in spec.borders:
        if border.device not in seats:
            yield unknown("switch", border.device, seats, (*border.path, "device"))
            continue
        fabric, model = seats[border.device]
        yield from _misplaced(border, fabric, model)
        yield from _without_session(border, fabric)
        first = taken.setdefault((border.device, border.port), border.name)
        if first != border.name:
            message = f"{border.device} {border.port} is the port of border {first} already."
            yield Problem((*border.path, "port"), message, "Choose another port.")
    yield from _stopped(spec)
    yield from _doubled(spec)
    for border in spec.borders:
        yield from _strange_zones(spec, border)
    yield from _cabled(subject)


@rule("CW535", Severity.WARNING)
def unreachable_outside(subject: Subject) -> Iterator[Problem]:
    """Outside zones with a flow and without a border."""
    spec = subject.spec
    bordered = set(chain.from_iterable(border.zones for border in spec.borders))
    if not spec.borders:
        return
    for zone in spec.zones:
        if is_whole_internet(zone):
            continue  # CW515
        flow = _first_flow(spec, zone)
        if not zone.prefixes or not is_outside(spec, zone):
            continue
        if flow is not None and zone.name not in bordered:
            message = f"Zone {zone.name} is outside, and no border leads to it: flow {flow.name} has no path."
            yield Problem((*zone.path, "name"), message, "Add it to the `zones` of a border.")


def _first_flow(spec: ClusterSpec, zone: Zone) -> Flow | None:
    for flow in spec.flows:
        if zone.name in (flow.source, flow.target):
            return flow
    return None


def _without_session(border: Border, fabric: Fabric) -> Iterator[Problem]:
    """Borders of a single-tier fabric without an AS number or loopbacks for BGP."""
    if len(fabric.tiers) > 1 or fabric.addressing is None:
        return
    lacking = []
    if fabric.tiers[0].asn is None:
        lacking.append("asn")
    if fabric.addressing.loopbacks is None:
        lacking.append("loopbacks")
    if lacking:
        keys = " and ".join(f"`{key}`" for key in lacking)
        message = f"{border.device} runs BGP at border {border.name}, and {fabric.name} has no {keys}."
        yield Problem((*border.path, "device"), message, f"Give {fabric.name} {keys}.")


def _stopped(spec: ClusterSpec) -> Iterator[Problem]:
    """Borders at a port taken out of service by an exception: without a cable in the plan, the port would stay up."""
    ports = {(item.device, item.port) for item in spec.exceptions if item.state is not None and item.port is not None}
    for border in spec.borders:
        if (border.device, border.port) in ports:
            message = f"An exception takes {border.device} {border.port} out of service, and the border would stay up."
            yield Problem((*border.path, "port"), message, "Remove the border, `remove: true`, while it is out.")


def _doubled(spec: ClusterSpec) -> Iterator[Problem]:
    """Borders with a link network overlapping another border's."""
    for index, border in enumerate(spec.borders):
        network = border.address.network
        for other in spec.borders[:index]:
            is_same_version = border.address.version == other.address.version
            if is_same_version and network.overlaps(other.address.network):
                message = f"{network} overlaps {other.address.network}, the link of border {other.name}."
                yield Problem((*border.path, "address"), message, "Give each link a network of its own.")
                break


def _cabled(subject: Subject) -> Iterator[Problem]:
    """Borders at ports assigned to cables, or in a cage not running at their speed."""
    if not subject.spec.borders:
        return
    borders: dict[str, list[Border]] = defaultdict(list)
    for border in subject.spec.borders:
        borders[border.device].append(border)
    for skeleton, allocations in subject.allocations:
        for seat, allocation in zip(skeleton.seats, allocations, strict=True):
            for border in borders.get(seat.name, ()):
                if border.port in (*allocation.down, *allocation.up):
                    message = f"{border.device} {border.port} is used by a cable of {skeleton.fabric.name}."
                    yield Problem((*border.path, "port"), message, "Name a port that is free.")
                    continue
                neighbours = [other for other in borders[seat.name] if other is not border]
                model = skeleton.fabric.tiers[seat.tier].model
                other_use = _in_the_way(subject, model, border, neighbours, allocation)
                if other_use is not None:
                    speed = border.speed_gbps
                    message = f"{border.device} {border.port} cannot run at {speed} Gb/s beside {other_use}."
                    yield Problem((*border.path, "port"), message, "Name a port of a cage that nothing else uses.")


def _speeds(subject: Subject, switch: str) -> Mapping[str, int]:
    """The speeds of a switch's cabled ports in Gb/s, by building the plan."""
    speeds: dict[str, int] = {}
    for cable in subject.plan.cables_of.get(switch, ()):
        for end in (cable.a, cable.b):
            if end.device == switch:
                speeds[end.port] = cable.speed_gbps
    return speeds


def _in_the_way(
    subject: Subject, model: HardwareModel, border: Border, neighbours: Sequence[Border], allocation: Allocation
) -> str | None:
    """Another use of the border port's cage, or of the cage next to it, excluding the border's speed.

    ``neighbours`` are the other borders of the switch.
    """
    used = {*allocation.down, *allocation.up, *(other.port for other in neighbours)}
    for block in model.blocks:
        for index, cage in enumerate(block.cages):
            cage_ports = set(chain.from_iterable(mode.ports(cage) for mode in block.modes))
            if border.port not in cage_ports:
                continue
            running: dict[str, int] = {}
            if used & cage_ports:
                speeds = {**_speeds(subject, border.device), **{other.port: other.speed_gbps for other in neighbours}}
                running = {port: speeds[port] for port in used & cage_ports if port in speeds}
            modes = [mode for mode in block.modes if mode.speed_gbps == border.speed_gbps]
            if running and not _runs_beside(border, running, modes, cage):
                return min(running)
            if not running and (block.name, index) in allocation.taken:
                return _NEXT_CAGE
            disabled = [(mode.disables, index) for mode in modes if border.port in mode.ports(cage)]
            if modes and allocation.taken.issuperset(disabled):
                return _NEXT_CAGE
    return None


def _runs_beside(border: Border, running: Mapping[str, int], modes: Sequence[PortMode], cage: str) -> bool:
    """True if one of ``modes`` has the border's port and the ``running`` ones of a cage at one speed."""
    if any(speed != border.speed_gbps for speed in running.values()):
        return False
    ports = {border.port, *running}
    return any(ports.issubset(mode.ports(cage)) for mode in modes)


def _misplaced(border: Border, fabric: Fabric, model: HardwareModel) -> Iterator[Problem]:
    system = system_of(model)
    if system is None or not system.has_borders:
        supported = " or ".join(system.title for system in systems().values() if system.has_borders)
        message = f"{border.device} runs {model.network_os}; borders are rendered for {supported}."
        yield Problem((*border.path, "device"), message, f"Name a switch that runs {supported}.")
    yield from _wrong_port(border, model)
    yield from _wrong_address(border, fabric)


def _wrong_port(border: Border, model: HardwareModel) -> Iterator[Problem]:
    speeds: dict[str, set[int]] = defaultdict(set)
    for block in model.blocks:
        for mode in block.modes:
            for port in block.port_names(mode):
                speeds[port].add(mode.speed_gbps)
    if border.port not in speeds:
        yield unknown("port", border.port, speeds, (*border.path, "port"), border.device)
    elif border.speed_gbps not in speeds[border.port]:
        message = f"{border.device} {border.port} does not run at {border.speed_gbps} Gb/s."
        choices = ", ".join(str(speed) for speed in sorted(speeds[border.port]))
        yield Problem((*border.path, "speed_gbps"), message, f"Write a speed that the port has: {choices}.")


def _wrong_address(border: Border, fabric: Fabric) -> Iterator[Problem]:
    if fabric.addressing is None:
        message = f"{fabric.name} has no addresses, and so no routes to exchange."
        yield Problem((*border.path, "device"), message, "Name a switch of an Ethernet fabric.")
        return
    version = border.address.version
    if fabric.addressing.hosts.version != version:
        message = f"{border.address} is IPv{version}, {fabric.name} is IPv{fabric.addressing.hosts.version}."
        yield Problem((*border.path, "address"), message, "Write both ends in the IP version of the fabric.")
        return
    network = border.address.network
    pools = [pool for _, pool in fabric.addressing.pools if pool.version == version]
    if any(network.overlaps(pool) for pool in pools):
        message = f"{network} lies within the addresses of {fabric.name}."
        yield Problem((*border.path, "address"), message, "Choose a link network outside all pools.")


def _strange_zones(spec: ClusterSpec, border: Border) -> Iterator[Problem]:
    for index, name in enumerate(border.zones):
        zone = spec.zone(name)
        path = (*border.path, "zones", index)
        if zone is None:
            yield unknown("zone", name, [item.name for item in spec.zones], path)
        elif not is_outside(spec, zone):
            yield Problem(path, f"Zone {name} lies inside the cluster.", "Name zones of prefixes outside.")
        elif not any(network.version == border.address.version for network in zone.prefixes):
            message = f"Zone {name} has no IPv{border.address.version} prefix to learn at {border.name}."
            yield Problem(path, message, "Name a zone with prefixes in the IP version of the link.")
