"""CW534: borders that no switch can have."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.references import unknown
from clusterwright.rules.rule import Problem, Stage, Subject, rule
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware import HardwareModel
from clusterwright.spec.isolation import Border
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import is_outside

BORDER_SYSTEM = "eos"


@rule(
    code="CW534",
    severity=Severity.ERROR,
    title="border that cannot be built",
    why="A session with the outside that is half configured is either no way out or an unfiltered one.",
    mend="Name an EOS switch of a routed fabric, a port of it, and zones of prefixes in the IP version of the fabric.",
    docs="A port that the plan cables is refused when it is rendered: which ports are free, `clusterwright inventory`"
    " says.",
    stage=Stage.SKELETON,
)
def impossible_border(subject: Subject) -> Iterator[Problem]:
    """Borders whose switch, port, address or zones do not fit."""
    spec = subject.spec
    seats = {
        seat.name: (skeleton.fabric, skeleton.fabric.tiers[seat.tier].model)
        for skeleton in subject.skeleton.fabrics
        for seat in skeleton.seats
    }
    taken: dict[tuple[str, str], str] = {}
    for border in spec.borders:
        if border.device not in seats:
            yield unknown("switch", border.device, seats, (*border.path, "device"))
            continue
        fabric, model = seats[border.device]
        yield from _misplaced(border, fabric, model)
        first = taken.setdefault((border.device, border.port), border.name)
        if first != border.name:
            message = f"{border.device} {border.port} is the port of border {first} already."
            yield Problem((*border.path, "port"), message, "Choose another port.")
    for border in spec.borders:
        yield from _strange_zones(spec, border)


def _misplaced(border: Border, fabric: Fabric, model: HardwareModel) -> Iterator[Problem]:
    if model.network_os != BORDER_SYSTEM:
        system = model.network_os or "no system of its own"
        message = f"{border.device} runs {system}; borders are rendered for EOS."
        yield Problem((*border.path, "device"), message, "Name a switch that runs EOS.")
    ports = [cage + end for block in model.blocks for cage in block.cages for m in block.modes for end in m.subports]
    if border.port not in ports:
        yield unknown("port", border.port, ports, (*border.path, "port"), border.device)
    if fabric.addressing is None:
        message = f"{fabric.name} has no addresses, and so no routes to exchange."
        yield Problem((*border.path, "device"), message, "Name a switch of an Ethernet fabric.")
    elif fabric.addressing.hosts.version != border.address.version:
        message = (
            f"{border.address} is IPv{border.address.version}, {fabric.name} is IPv{fabric.addressing.hosts.version}."
        )
        yield Problem((*border.path, "address"), message, "Write both ends in the IP version of the fabric.")
    elif any(
        pool.version == border.address.version and border.address.network.overlaps(pool)
        for pool in (fabric.addressing.hosts, fabric.addressing.links, fabric.addressing.loopbacks)
    ):
        message = f"{border.address.network} lies within the addresses of {fabric.name}."
        yield Problem((*border.path, "address"), message, "Choose a link network that no pool holds.")


def _strange_zones(spec: ClusterSpec, border: Border) -> Iterator[Problem]:
    for at, name in enumerate(border.zones):
        zone = spec.zone(name)
        path = (*border.path, "zones", at)
        if zone is None:
            yield unknown("zone", name, [item.name for item in spec.zones], path)
        elif not is_outside(spec, zone):
            yield Problem(path, f"Zone {name} lies inside the cluster.", "Name zones of prefixes outside.")
        elif not any(network.version == border.address.version for network in zone.prefixes):
            message = f"Zone {name} has no IPv{border.address.version} prefix to learn at {border.name}."
            yield Problem(path, message, "Name a zone with prefixes in the IP version of the link.")
