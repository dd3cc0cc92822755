"""Access lists on cables between switches: none of them may stop any packet."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.facts.reader import Lists
from clusterwright.facts.router import Port, Router
from clusterwright.packets.boxes import EVERYTHING, FOREIGN
from clusterwright.packets.passage import decide, passing
from clusterwright.packets.phrases import packet_phrase
from clusterwright.packets.tokens import Unreadable
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS


def list_faults(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """Ports between two switches with a list stopping packets, and such a packet.

    The isolation proof checks packets of hosts where they enter; from there on, the network must carry all of them.
    """
    for index, port in fabric.link_ends:
        router = fabric.routers[index]
        for direction in port.filtered:
            line, message = _stopped(_lists(tree, router), port, direction)
            if message:
                yield Counterexample(device=router.device, file=router.ports_file, line=line, message=message)


def _lists(tree: RenderedTree, router: Router) -> Lists:
    read = next(reader.lists for reader in READERS if reader.file == router.ports_file)
    return read(tree.text(router.device, router.ports_file) or "")


def _stopped(lists: Lists, port: Port, direction: str) -> tuple[int, str]:
    """The first line stopping packets of a port, and the message; 0 and "" if everything passes."""
    subject = f"the lists of {port.name} to {port.peer} ({direction})"
    try:
        ruleset = lists.at(port.name, direction)
        stopped = EVERYTHING - passing(ruleset, direction, EVERYTHING).packets
    except Unreadable as error:
        return error.line, f"what {subject} stop cannot be said: {error}"
    if not stopped:
        return 0, ""
    packet = stopped.witness()
    return decide(ruleset, direction, packet).line, f"{subject} stop {packet_phrase(packet, FOREIGN)}"
