"""CW149, CW605 to CW608, CW627, CW628, CW631: buildable images, network boot, and logins."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Position, Severity
from clusterwright.intent.filter_entries import subnet_network
from clusterwright.intent.zone_networks import zone_networks
from clusterwright.nearest_name import did_you_mean
from clusterwright.plan.boot import boot_nics, format_mac, is_placeholder
from clusterwright.plan.model import Plan
from clusterwright.rules.rule import LintRule, Problem, Subject, rule
from clusterwright.rules.spec.references import unknown
from clusterwright.spec.attachment import attached_nics
from clusterwright.spec.distribution import distribution_of, known_distributions
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.image import ACCOUNTS
from clusterwright.spec.isolation import Network
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.zone_reach import covers, members_of, zones_of

NOT_A_MAC = LintRule("CW149", Severity.ERROR)
MOST_UNKNOWN = 20


@rule("CW605", Severity.ERROR)
def unknown_distribution(subject: Subject) -> Iterator[Problem]:
    """Distributions unknown to the image builders."""
    for image in subject.spec.images:
        if distribution_of(image.distribution) is None:
            distributions = known_distributions()
            hint = did_you_mean(image.distribution, distributions, f"There is: {', '.join(distributions)}.")
            message = f'"{image.distribution}" is not a distribution and release that images can be built from.'
            yield Problem((*image.path, "distribution"), message, hint)


@rule("CW606", Severity.ERROR)
def boot_fabric(subject: Subject) -> Iterator[Problem]:
    """The technology of the boot fabric, and the nodes attached to it."""
    spec, boot = subject.spec, subject.spec.boot
    fabric = spec.fabric(boot.fabric) if boot is not None else None
    if boot is None or fabric is None or spec.node_group(boot.servers) is None:
        return
    path = (*boot.path, "fabric")
    if spec.boot_network is None:
        message = f"{fabric.name} is {fabric.technology}, and firmware boots over plain Ethernet."
        yield Problem(path, message, "Name one of technology ethernet.")
        return
    attached = {attach.nodes for attach in fabric.attach}
    if boot.servers not in attached:
        message = f"{boot.servers} have no NIC on {fabric.name}."
        yield Problem((*boot.path, "servers"), message, f"Attach them to {fabric.name}.")
    attached_anywhere: set[str | None] = set()
    for other in spec.fabrics:
        attached_anywhere.update(attach.nodes for attach in other.attach)
    for group in spec.node_groups:
        if group.image is not None and group.name in attached_anywhere - attached:
            message = f"Nodes of {group.name} have an image and no NIC on {fabric.name}, over which nodes boot."
            yield Problem(path, message, f"Attach {group.name} to {fabric.name}, or boot over another fabric.")


@rule("CW627", Severity.ERROR)
def boot_gateway(subject: Subject) -> Iterator[Problem]:
    """Boot fabrics without a gateway for hosts."""
    boot, network = subject.spec.boot, subject.spec.boot_network
    if boot is None or network is None:
        return
    fabric, addressing = network
    if addressing.host_links != "shared":
        message = f"Hosts on {fabric.name} share no subnet with a gateway, over which machines could boot."
        yield Problem(
            (*boot.path, "fabric"), message, f"Write `host_links: shared` under the addressing of {fabric.name}."
        )


@rule("CW628", Severity.ERROR)
def boot_beside_others(subject: Subject) -> Iterator[Problem]:
    """Switches relaying over IPv6 with a host subnet shared by several zones."""
    spec, boot, network = subject.spec, subject.spec.boot, subject.spec.boot_network
    if boot is None or network is None:
        return  # CW606
    fabric, addressing = network
    if addressing.hosts.version == 4 or not any(covers(spec, zone, fabric) for zone in spec.zones):
        return  # CW539
    subject.require_plan()
    tenants = {frozenset(groups) for groups in subject.filter_bound.tenants[fabric.name].values()}
    if all(_is_one_zones(spec, fabric, groups) for groups in tenants):
        return
    shared = list(_nics_in_shared_subnets(subject.plan, fabric))
    if shared:
        node, switch = shared[0]
        others = len({name for name, _ in shared}) - 1
        message = f"{node} boots behind {switch}, whose subnet hosts of other zones share"
        if others:
            message += f", as {others} more do."
        else:
            message += "."
        hint = "Give the hosts behind a switch one zone, or switches of their own."
        yield Problem((*boot.path, "fabric"), message, hint)


def _nics_in_shared_subnets(plan: Plan, fabric: Fabric) -> Iterator[tuple[str, str]]:
    """The booting nodes with zones, at a switch with a host subnet not in one of them; each with the switch."""
    for name, nics in boot_nics(plan).items():
        zones = [zone for zone in plan.by_name[name].zones if plan.spec.zone(zone)]
        networks: list[Network] = []
        for zone in zones:
            networks += [network.network for network in zone_networks(plan, zone) if network.fabric == fabric.name]
        for nic in nics:
            subnet = plan.host_subnet_of[fabric.name, nic.switch]
            host_network = subnet_network(subnet.network, subnet.prefix_length, subnet.version)
            if zones and not any(_holds(network, host_network) for network in networks):
                yield name, nic.switch


def _is_one_zones(spec: ClusterSpec, fabric: Fabric, groups: frozenset[str]) -> bool:
    """True if a zone holds all of the node groups behind a switch, for each group with a zone."""
    whole_zones: set[str] = set()
    for zone in spec.zones:
        if covers(spec, zone, fabric) and groups.issubset(members_of(spec, zone)):
            whole_zones.add(zone.name)
    for group in groups:
        zones = zones_of(spec, group)
        if zones and whole_zones.isdisjoint(zones):
            return False
    return True


def _holds(outer: Network, inner: Network) -> bool:
    return outer.version == inner.version and outer.overlaps(inner) and outer.prefixlen <= inner.prefixlen


@rule("CW607", Severity.ERROR)
def unknown_adapter(subject: Subject) -> Iterator[Problem]:
    """Rows of the MAC file for devices or ports that do not boot."""
    boot = subject.spec.boot
    if boot is None or boot.macs is None:
        return
    ports = _boot_ports(subject, boot.fabric)
    unknown_rows = [row for row in boot.macs.rows if (row.device, row.port) not in ports]
    for row in unknown_rows[:MOST_UNKNOWN]:
        message = f"Line {row.line} names {row.device} {row.port}, which has no adapter on {boot.fabric}."
        yield Problem((*boot.path, "macs"), message, "Write the planned name of the node and of its interface.")


def _boot_ports(subject: Subject, fabric_name: str) -> set[tuple[str, str]]:
    """The nodes and interfaces on the boot fabric."""
    spec = subject.spec
    fabric = spec.fabric(fabric_name)
    ports: set[tuple[str, str]] = set()
    if fabric is None:
        return ports
    for attach in fabric.attach:
        nics = attached_nics(spec, attach)
        if nics is None:
            continue
        for node in subject.skeleton.layout.nodes:
            if spec.node_groups[node.node_group].name == attach.nodes:
                ports.update((node.name, nic.interface) for nic in nics.nics)
    return ports


@rule("CW631", Severity.ERROR)
def placeholder_noted(subject: Subject) -> Iterator[Problem]:
    """Placeholder addresses in the MAC file and the overlay file."""
    boot, overlay = subject.spec.boot, subject.spec.overlay
    if boot is not None and boot.macs is not None:
        for row in boot.macs.rows:
            yield from _placeholder(row.mac, Position(boot.macs.file, row.line, 1))
    for noted in overlay.rows:
        if noted.mac is not None:
            yield from _placeholder(noted.mac, Position(overlay.file, noted.line, 1))


def _placeholder(mac: int, position: Position) -> Iterator[Problem]:
    if is_placeholder(mac):
        message = f"{format_mac(mac)} is a planned placeholder, not the label of an adapter."
        yield Problem((), message, "Read the label, or leave the line out.", position=position)


@rule("CW608", Severity.ERROR)
def users(subject: Subject) -> Iterator[Problem]:
    """Unknown operators of image users, and duplicate user numbers."""
    operator_names = {operator.name for operator in subject.spec.site.operators}
    for image in subject.spec.images:
        owner: dict[int, str] = {}
        for user in image.users:
            for index, name in enumerate(user.operators):
                if name not in operator_names:
                    yield unknown("operator", name, operator_names, (*user.path, "operators", index))
            if user.uid in owner:
                message = f"{user.uid} is the UID of {owner[user.uid]} already."
                yield Problem((*user.path, "uid"), message, "Give each user its own.")
            owner.setdefault(user.uid, user.name)


@rule("CW336", Severity.WARNING)
def without_administrator(subject: Subject) -> Iterator[Problem]:
    """Images in use without an administrator."""
    used = {group.image for group in subject.spec.node_groups}
    for image in subject.spec.images:
        if image.name not in used or not image.owns(ACCOUNTS):
            continue
        if not any(user.becomes_root and user.operators for user in image.users):
            message = f"No user of {image.name} can become root."
            yield Problem(image.path, message, "Add a user with an operator's key in the group `sudo` or `wheel`.")
