"""Place of enforcement of each zone's matrix: hosts and the ports of their edges, or ports alone."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import chain

from clusterwright.and_more import and_more
from clusterwright.packets.phrases import count
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.edges import tells_tenants_apart
from clusterwright.proofs.isolation.managed import managed
from clusterwright.proofs.isolation.nodes import RUNNING
from clusterwright.proofs.reading import reader_by_switch
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.readers import READERS, ROUTERS


def enforcement_notes(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[str]:
    """Notes on the enforcement of each zone, its assumptions, and switches without a readable file."""
    yield from _enforcement(tree, declared)
    beside = sorted(declared.beside_others & set(tree.devices_with(RUNNING)))
    if beside:
        subject = f"{count(len(beside), 'node')} installed by another owner, as {beside[0]}"
        yield f"{subject}: what this filter drops stays dropped, and no table of other programs there was read."
    yield from _bridges(tree, declared)
    filtered = reader_by_switch(tree, ROUTERS).keys()
    fabrics_in_zones: set[str] = set()
    for zone in declared.zones:
        fabrics_in_zones.update(part.fabric for part in zone.parts)
    covered = [edge for edge in declared.edges if edge.fabric in fabrics_in_zones]
    open_edges = sorted({edge.switch for edge in covered} - filtered)
    yield from _chip_bounds(tree, {edge.switch for edge in covered})
    yield from _by_address_alone(tree, declared)
    yield from _factory_accounts(tree)
    if open_edges:
        yield f"{count(len(open_edges), 'switch')} with host ports, as {open_edges[0]}, have no file here that is read."


def _bridges(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[str]:
    """Assumptions about Docker on nodes with container bridges."""
    nodes: dict[str, list[str]] = {}
    for device in sorted(declared.bridges.keys() & set(tree.devices_with(RUNNING))):
        for bridge in declared.bridges[device]:
            nodes.setdefault(bridge.interface, []).append(device)
    for interface, devices in nodes.items():
        yield (
            f"containers on {interface} of {count(len(devices), 'node')}, as {devices[0]}: they reach what their node"
            " may reach, and answer at ports of it that flows open. Docker is trusted to write the node's address as"
            " their source, and to say which container answers at a port."
        )


def _chip_bounds(tree: RenderedTree, edges: Set[str]) -> Iterator[str]:
    """Switches without a known bound on list entries in their chip: an oversized list is not in force."""
    for reader in ROUTERS:
        system = systems()[reader.system]
        switches = sorted(edges & set(tree.devices_with(reader.file)))
        if switches and not system.has_chip_bound:
            subject = f"{count(len(switches), 'switch')} with {system.title}, as {switches[0]}"
            yield (
                f"whether the chips of {subject}, hold their lists was not checked: no bound of theirs is known"
                " (`clusterwright explain systems`)."
            )


def _by_address_alone(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[str]:
    """Switches with filters separating tenants by the hosts' source addresses alone."""
    for reader in ROUTERS:
        devices = set(tree.devices_with(reader.file))
        shared: list[str] = []
        zones: set[str] = set()
        for edge in declared.edges:
            ports = declared.ports_by_zones(edge)
            if edge.switch in devices and len(ports) > 1 and not tells_tenants_apart(edge, reader):
                shared.append(edge.switch)
                zones.update(chain.from_iterable(ports))
        if shared:
            subject = f"{count(len(shared), 'switch')} with {systems()[reader.system].title}, as {min(shared)}"
            hosts = f"hosts of {and_more(sorted(zones), 4)}"
            yield f"{subject}: {hosts} share a subnet or a table, and only their source addresses tell them apart."


def _factory_accounts(tree: RenderedTree) -> Iterator[str]:
    """Factory accounts missing from all rendered text: they open with the switch's password."""
    unread = tree.left_open_for("isolation")
    configured: set[tuple[str, str]] = set()
    for part in managed(tree):
        configured.update((device, login.name) for device, _, login, _ in part.logins)
    for reader in READERS:
        system = systems()[reader.system]
        devices_by_account: dict[str, list[str]] = {}
        for name in system.factory_accounts:
            for device in sorted(set(tree.devices_with(reader.file)) - unread):
                if (device, name) not in configured:
                    devices_by_account.setdefault(name, []).append(device)
        for name, devices in devices_by_account.items():
            subject = f"{count(len(devices), 'switch')} with {system.title}, as {devices[0]}"
            yield f"nothing rendered changes the factory's account {name} of {subject}: give it a password, or close it"


def _enforcement(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[str]:
    """For each zone with hosts, whether they filter packets in addition to their edges' ports."""
    hosts: dict[tuple[str, bool], list[str]] = {}
    provided = {fabric.name for fabric in declared.fabrics if fabric.is_provided}
    unread = tree.left_open_for("isolation")
    for device, zones in sorted(declared.zones_of.items()):
        if device in unread:
            continue
        for name in zones:
            hosts.setdefault((name, (device, RUNNING) in tree.files), []).append(device)
    for zone in declared.zones:
        filtering = hosts.get((zone.name, True), [])
        unfiltered = hosts.get((zone.name, False), [])
        is_rented = bool(zone.parts) and all(part.fabric in provided for part in zone.parts)
        both = "hosts alone, as the fabric is the provider's" if is_rented else "hosts and edges"
        places = []
        if filtering:
            places.append(f"{both} ({count(len(filtering), 'host')})")
        if unfiltered:
            places.append(f"edges alone ({count(len(unfiltered), 'host')} without an image, as {unfiltered[0]})")
        if places:
            yield f"{zone.name}: enforced by {' and '.join(places)}."
