"""The skeleton of a plan: switches, who is attached where, and which switches are joined, before ports and addresses.

Cheap enough for linting (milliseconds at 24,576 GPUs), and exact: the plan is the skeleton with ports, cables and
addresses added, so a rule that holds here holds there.

How a fabric is joined: a link goes up to the lowest tier above (``tier_order``) that has an instance around it. Within
that instance the tier's ``join`` says to which plane. In a plane, link j of the i-th lower switch goes to upper switch
(i * links + j) modulo their number: totals differ by at most one, every upper switch is reached, and each lower switch
spreads as evenly as its links allow. Where ``spread`` is adjacent, the same links lie side by side in the lower switch.
What stands goes before all of that (``spreading``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat

from clusterwright.plan.allocation.seat_numbers import Numbering
from clusterwright.plan.allocation.spreading import spread_over, standing_links
from clusterwright.plan.allocation.standing import NOTHING_RESTS, Resting, Standing
from clusterwright.plan.attaching import SeatChoice, gpu_ports
from clusterwright.plan.free_ports import Crowded, fill_free_ports
from clusterwright.plan.layout import Layout, lay_out
from clusterwright.plan.seats import Attachment, Bundle, NodeSeats, Seat, SeatLink, nic_speeds
from clusterwright.spec.attachment import tier_order
from clusterwright.spec.fabric import Attach, Fabric, Tier
from clusterwright.spec.model import CLUSTER, ClusterSpec, NodeGroup


@dataclass(frozen=True)
class FabricSkeleton:
    """One fabric's switches, attachments and joins.

    ``planes`` is the number of planes of each tier. ``nodes`` are attached by their NICs, switches of other fabrics by
    their ``management`` ports. ``standing`` are the uplinks of lower switches, by their seat, in
    bundles of which something stands; ``resting`` what was given up of late. ``loose`` are the seats
    whose uplinks find nothing above them, ``unattached`` the node groups and switches that find no switch around
    them, ``crowded`` those that were sent to a tier and find no free port there.
    """

    fabric: Fabric
    planes: tuple[int, ...]
    seats: tuple[Seat, ...]
    nodes: tuple[NodeSeats, ...]
    management: tuple[Attachment, ...]
    bundles: tuple[Bundle, ...]
    loose: tuple[int, ...]
    unattached: tuple[str, ...]
    crowded: tuple[Crowded, ...] = ()
    standing: Mapping[int, tuple[SeatLink, ...]] = field(default_factory=dict)
    resting: Resting = NOTHING_RESTS

    def joined_tiers(self) -> tuple[tuple[Tier, Tier], ...]:
        """Every pair of tiers, the lower first, between which there is a link, in the order of the spec."""
        tiers = self.fabric.tiers
        pairs: set[tuple[int, int]] = set()
        for bundle in self.bundles:
            pairs |= {(self.seats[lower].tier, bundle.tier) for lower in bundle.lowers}
        return tuple((tiers[lower], tiers[upper]) for lower, upper in sorted(pairs))

    def attachments(self) -> Iterator[Attachment]:
        """Every NIC and management port that is attached, in cabling order: tens of thousands."""
        for node, seats, speed, bond, cables in self.nodes:
            for nic, (seat, cable) in enumerate(zip(seats, cables or repeat(None), strict=False)):
                yield Attachment(node=node, nic=nic, seat=seat, speed_gbps=speed, standing=cable, bond=bond)
        yield from self.management

    @cached_property
    def attached_at(self) -> Mapping[tuple[int, int], int]:
        """How many NICs and management ports are attached to a seat at a speed in Gb/s, by both."""
        count_by_seat = Counter((port.seat, port.speed_gbps) for port in self.management)
        for speed in sorted({node.speed_gbps for node in self.nodes}):
            counts = count_seats(node.seats for node in self.nodes if node.speed_gbps == speed)
            count_by_seat.update({(seat, speed): count for seat, count in counts.items()})
        return count_by_seat

    @cached_property
    def attached(self) -> Counter[int]:
        """The same at any speed, by seat alone."""
        count_by_seat: Counter[int] = Counter()
        for (seat, _), count in self.attached_at.items():
            count_by_seat[seat] += count
        return count_by_seat

    @cached_property
    def uppers_of(self) -> Mapping[int, Sequence[int]]:
        """For each seat that has uplinks the seats that they lead to, link by link."""
        uppers_of: dict[int, Sequence[int]] = {}
        for bundle in self.bundles:
            start, uppers = 0, bundle.uppers
            for lower in bundle.lowers:
                up = self.fabric.tiers[self.seats[lower].tier].up
                links = up.links if up else 0
                if lower in self.standing:
                    uppers_of[lower] = [link.upper for link in self.standing[lower]]
                else:
                    turns = spread_over(len(uppers), start, links, up.spread if up else "")
                    uppers_of[lower] = [uppers[index] for index in turns]
                start += links
        return uppers_of

    @cached_property
    def links_down(self) -> Sequence[Sequence[int]]:
        """For each seat the speeds in Gb/s of its downlinks: attachments first, then links from switches below."""
        speeds: list[list[int]] = [[] for _ in self.seats]
        for node in self.nodes:
            for seat in node.seats:
                speeds[seat].append(node.speed_gbps)
        for port in self.management:
            speeds[port.seat].append(port.speed_gbps)
        for lower, uppers in self.uppers_of.items():
            up = self.fabric.tiers[self.seats[lower].tier].up
            for upper in uppers:
                speeds[upper].append(up.speed_gbps if up else 0)
        return speeds

    def standing_down(self) -> list[list[str]]:
        """For each seat the ports in which its downlinks stand, in the same order; "" for new ones."""
        ports: list[list[str]] = [[] for _ in self.seats]
        for attachment in self.attachments():
            ports[attachment.seat].append(attachment.standing.upper_port if attachment.standing else "")
        for bundle in self.bundles:
            for lower in bundle.lowers:
                if lower in self.standing:
                    for link in self.standing[lower]:
                        ports[link.upper].append(link.upper_port)
                else:
                    for upper in self.uppers_of[lower]:
                        ports[upper].append("")
        return ports


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The layout of a spec and the skeleton of each of its fabrics, in the spec's order, and what stands of them."""

    layout: Layout
    fabrics: tuple[FabricSkeleton, ...]
    standing: Standing


def count_seats(seats: Iterable[tuple[int, ...]]) -> Counter[int]:
    """How often each seat is among the seats of nodes, most of which are attached as another one is."""
    counts: Counter[int] = Counter()
    for seats_of_node, count in Counter(seats).items():
        for seat in seats_of_node:
            counts[seat] += count
    return counts


def joins(fabric: FabricSkeleton, bundle: Bundle) -> Iterable[tuple[int, int]]:
    """Every link of a bundle as (lower seat, upper seat), in cabling order: switch by switch, link by link."""
    for lower in bundle.lowers:
        for upper in fabric.uppers_of[lower]:
            yield lower, upper


def links_of(fabric: FabricSkeleton, bundle: Bundle) -> Iterable[tuple[int, SeatLink]]:
    """The same, each link with its cable where that stands."""
    fresh = {upper: SeatLink(upper) for upper in bundle.uppers}
    for lower in bundle.lowers:
        if lower in fabric.standing:
            for link in fabric.standing[lower]:
                yield lower, link
        else:
            for upper in fabric.uppers_of[lower]:
                yield lower, fresh[upper]


def build_skeleton(spec: ClusterSpec) -> Skeleton:
    """Place every switch and join every fabric. Expects a spec whose references hold (the CW15x rules)."""
    standing = Standing(spec, spec.allocated)
    layout = lay_out(spec, standing)
    built: dict[str, FabricSkeleton] = {}
    ordinary = [fabric for fabric in spec.fabrics if not fabric.is_management]
    management = [fabric for fabric in spec.fabrics if fabric.is_management]
    for fabric in ordinary:
        built[fabric.name] = _fabric(spec, layout, standing, fabric, ())
    for fabric in management:
        built[fabric.name] = _fabric(spec, layout, standing, fabric, tuple(built[other.name] for other in ordinary))
    return Skeleton(layout, tuple(built[fabric.name] for fabric in spec.fabrics), standing)


def planes_of_tiers(spec: ClusterSpec, fabric: Fabric) -> list[int]:
    """The number of planes of each tier, from the bottom up."""
    planes: list[int] = []
    order = tier_order(spec, fabric)
    for depth, tier in enumerate(fabric.tiers):
        ports = gpu_ports(spec, fabric, order, depth)
        below = max((fabric.tiers[lower].count for lower in order.next_below(depth)), default=1)
        railed = all(fabric.tiers[lower].join == "rail" for lower in order.at_or_below(depth) if lower != depth)
        of = {"rail": len(ports) if railed else 1, "port": max(ports) + 1, "position": below}
        planes.append(of.get(tier.join, 1))
    return planes


def _fabric(
    spec: ClusterSpec, layout: Layout, standing: Standing, fabric: Fabric, others: Sequence[FabricSkeleton]
) -> FabricSkeleton:
    served = _served_groups(spec, layout, fabric)
    seats: list[Seat] = []
    seats_in: list[dict[int, list[int]]] = []  # per tier: group index -> its seats
    planes_of = planes_of_tiers(spec, fabric)
    for depth, (tier, planes) in enumerate(zip(fabric.tiers, planes_of, strict=True)):
        instances = [-1]
        if tier.per != CLUSTER:
            instances = [group for group in layout.instances(tier.per) if group in served]
        numbering = Numbering(standing, fabric.name, tier)
        seats_in.append(
            _add_seats(layout, tier, depth, instances=instances, planes=planes, seats=seats, numbering=numbering)
        )
    nodes, management, unattached, crowded = _attach(
        spec, layout, standing, fabric=fabric, seats=seats, seats_in=seats_in, others=others
    )
    bundles, loose = _join(spec, layout, fabric, seats, seats_in)
    cables = standing.cables.get(fabric.name, {})
    links = standing_links(fabric, seats, bundles, cables)
    uplinks = list(chain.from_iterable(links.values()))
    stands = list(chain.from_iterable(node.standing for node in nodes))
    stands += [port.standing for port in management]
    stands += [link.standing for link in uplinks]
    replugged = [link.standing for link in uplinks if link.is_replugged]
    return FabricSkeleton(
        fabric=fabric,
        planes=tuple(planes_of),
        seats=tuple(seats),
        nodes=tuple(nodes),
        management=tuple(management),
        bundles=tuple(bundles),
        loose=tuple(loose),
        unattached=tuple(unattached),
        crowded=tuple(crowded),
        standing=links,
        resting=standing.resting(fabric.name, [seat.standing for seat in seats], stands, replugged),
    )


def _served_groups(spec: ClusterSpec, layout: Layout, fabric: Fabric) -> frozenset[int]:
    """Groups that hold nodes of a node group with switches of its own; all of them for a management network."""
    if fabric.is_management:
        return frozenset(range(len(layout.groups)))
    names = {attach.nodes for attach in fabric.attach if attach.to is None}
    served = {index for index, group in enumerate(layout.groups) if group.node_group in names}
    attached = {index for index, node_group in enumerate(spec.node_groups) if node_group.name in names}
    inside = {index for index in attached if spec.node_groups[index].inside is not None}
    if not inside:
        return frozenset(served)
    for node in layout.nodes:
        if node.node_group in inside:
            served.update(node.groups)
    return frozenset(served)


def _add_seats(
    layout: Layout,
    tier: Tier,
    depth: int,
    *,
    instances: Sequence[int],
    planes: int,
    seats: list[Seat],
    numbering: Numbering,
) -> dict[int, list[int]]:
    """Append a tier's switches; returns them by group."""
    in_group: dict[int, list[int]] = {}
    per_group = planes * tier.count
    width = max(2, len(str(per_group - 1)))
    for instance in instances:
        group = layout.groups[instance].name if instance >= 0 else ""
        here = in_group[instance] = []
        for plane in range(planes):
            for position in range(tier.count):
                standing_seat = numbering.at(group, plane, position)
                number = plane * tier.count + position
                planned = numbering.planned_name(standing_seat, group, number, width, per_group > 1)
                here.append(len(seats))
                seats.append(
                    Seat(
                        name=numbering.name(planned),
                        planned_name=planned,
                        tier=depth,
                        group=instance,
                        plane=plane if planes > 1 else None,
                        rail=plane if tier.join == "rail" and planes > 1 else None,
                        position=position,
                        index=numbering.take(standing_seat.number if standing_seat else None),
                        standing=standing_seat,
                    )
                )
    return in_group


def _home(
    around: Sequence[int], seats_in: Sequence[dict[int, list[int]]], tiers: Iterable[int]
) -> tuple[int, list[int]] | None:
    """The first of ``tiers`` that has switches around a place, and those switches."""
    for depth in tiers:
        for group in (*around, -1):
            seats_of_group = seats_in[depth].get(group)
            if seats_of_group:
                return depth, seats_of_group
    return None


def _attach(
    spec: ClusterSpec,
    layout: Layout,
    standing: Standing,
    *,
    fabric: Fabric,
    seats: Sequence[Seat],
    seats_in: Sequence[dict[int, list[int]]],
    others: Sequence[FabricSkeleton],
) -> tuple[list[NodeSeats], list[Attachment], list[str], list[Crowded]]:
    node_seats: list[NodeSeats] = []
    management: list[Attachment] = []
    missing: list[str] = []
    wanted = {attach.nodes: attach for attach in fabric.attach}
    everything = None in wanted
    late: list[tuple[int, Attach]] = []
    homes: dict[tuple[int, ...], tuple[int, list[int]] | None] = {}
    choice = SeatChoice(spec, layout, fabric, seats, standing.cables.get(fabric.name, {}))
    nics: list[tuple[NodeGroup, Attach | None, Sequence[int]]] = []
    for group in spec.node_groups:
        attach = wanted.get(None) if everything else wanted.get(group.name)
        nics.append((group, attach, nic_speeds(group, attach)))
    for number, node in enumerate(layout.nodes):
        group, attach, speeds = nics[node.node_group]
        if not speeds:
            continue
        if attach is not None and attach.to is not None:
            late.append((number, attach))
            continue
        if node.groups not in homes:
            homes[node.groups] = _home(node.groups, seats_in, range(len(seats_in)))
        home = homes[node.groups]
        if home is None:
            missing.append(group.name)
            continue
        node_seats.append(choice.of_node(number, speeds, home[1]))
    crowded = fill_free_ports(spec, layout, fabric, seats=seats, nodes=late, node_seats=node_seats, choice=choice)
    if everything:
        _attach_switches(layout, others, seats_in, choice=choice, attachments=management, missing=missing)
    bonds = [None if attach is None else attach.bond for _, attach, _ in nics]
    if any(bonds):
        node_seats = [item._replace(bond=bonds[layout.nodes[item.node].node_group]) for item in node_seats]
    return node_seats, management, sorted(set(missing)), crowded


def _attach_switches(
    layout: Layout,
    others: Sequence[FabricSkeleton],
    seats_in: Sequence[dict[int, list[int]]],
    *,
    choice: SeatChoice,
    attachments: list[Attachment],
    missing: list[str],
) -> None:
    """Attach the management ports of the other fabrics' switches to the nearest management switch around them."""
    for other in others:
        for seat in other.seats:
            ports = other.fabric.tiers[seat.tier].model.management
            if not ports:
                continue
            around = layout.around[seat.group] if seat.group >= 0 else ()
            home = _home(around, seats_in, range(len(seats_in)))
            if home is None:
                missing.append(seat.name)
                continue
            attachments.extend(choice.of_switch(seat.name, port.name, port.speed_gbps, home[1]) for port in ports)


def _join(
    spec: ClusterSpec, layout: Layout, fabric: Fabric, seats: Sequence[Seat], seats_in: Sequence[dict[int, list[int]]]
) -> tuple[list[Bundle], list[int]]:
    """Group the lower switches of every tier by the upper switches they share."""
    order = tier_order(spec, fabric)
    ports_of_rails = [gpu_ports(spec, fabric, order, depth) for depth in range(len(fabric.tiers))]
    bundles: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    loose: list[int] = []
    for number, seat in enumerate(seats):
        if fabric.tiers[seat.tier].up is None:
            continue
        around = layout.around[seat.group] if seat.group >= 0 else ()
        home = _home(around, seats_in, order.above[seat.tier])
        if home is None:
            loose.append(number)
            continue
        depth, choices = home
        tier = fabric.tiers[depth]
        planes = len(choices) // tier.count
        if planes > 1 and depth == order.next_above(seat.tier):
            port = ports_of_rails[seat.tier][seat.rail] if seat.rail is not None else seat.plane or 0
            plane = {"rail": seat.rail or 0, "port": port, "position": seat.position}[tier.join]
            choices = choices[plane * tier.count : (plane + 1) * tier.count]
        bundles.setdefault((depth, tuple(choices)), []).append(number)
    return [Bundle(depth, tuple(lowers), uppers) for (depth, uppers), lowers in bundles.items()], loose
