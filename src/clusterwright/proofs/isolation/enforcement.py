"""Where each zone's matrix is enforced: by hosts and the ports that they hang on, or by the ports alone."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.packets.phrases import count
from clusterwright.platforms.readers import ROUTERS
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.nodes import RUNNING
from clusterwright.proofs.tree import RenderedTree


def enforcement_notes(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[str]:
    """What a reader of the proof should know: zones whose hosts judge nothing, and switches that no file is read of."""
    yield from _enforcement(tree, declared)
    files = {reader.file for reader in ROUTERS}
    filtered = {device for device, path in tree.files if path in files}
    covered = [edge for edge in declared.edges if any(zone.on(edge.fabric) for zone in declared.zones)]
    open_edges = sorted({edge.switch for edge in covered} - filtered)
    if open_edges:
        yield f"{count(len(open_edges), 'switch')} with host ports, as {open_edges[0]}, have no file here that is read."


def _enforcement(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[str]:
    """For each zone with hosts, whether they judge packets themselves besides their edges' ports."""
    hosts: dict[tuple[str, bool], list[str]] = {}
    for device, zones in sorted(declared.zones_of.items()):
        for name in zones:
            hosts.setdefault((name, (device, RUNNING) in tree.files), []).append(device)
    for zone in declared.zones:
        own, others = hosts.get((zone.name, True), []), hosts.get((zone.name, False), [])
        parts = [f"hosts and edges ({count(len(own), 'host')})"] if own else []
        parts += [f"edges alone ({count(len(others), 'host')} without an image, as {others[0]})"] if others else []
        if parts:
            yield f"{zone.name}: enforced by {' and '.join(parts)}."
