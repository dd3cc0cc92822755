"""The filters of switches: what each host port and each management port lets in, beside what it should."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from clusterwright.verify.check import VerifyError
from clusterwright.verify.isolation.declared import Declared, Edge
from clusterwright.verify.isolation.eos_lists import IN, EosLists, read_eos_lists
from clusterwright.verify.isolation.expected import edge_input, management_input
from clusterwright.verify.isolation.fboss_lists import FbossLists
from clusterwright.verify.isolation.filter_flow import Decision, Idle, decide, passing
from clusterwright.verify.isolation.filter_model import Ruleset
from clusterwright.verify.isolation.nft_words import Unreadable
from clusterwright.verify.isolation.packets import DST, EVERYTHING, SRC, Box, Packet, PacketSet
from clusterwright.verify.isolation.ranges import Ranges
from clusterwright.verify.isolation.sonic_lists import SonicLists
from clusterwright.verify.tree import RenderedTree

EOS, FBOSS, SONIC = "mnt/flash/startup-config", "etc/coop/agent.conf", "etc/sonic/config_db.json"
HOSTS, MANAGEMENT = "host port", "management port"
_READERS: tuple[tuple[str, Callable[[str], EosLists | FbossLists | SonicLists]], ...] = (
    (EOS, read_eos_lists),
    (FBOSS, FbossLists),
    (SONIC, SonicLists),
)


@dataclass(frozen=True)
class PortFilter:
    """What ports of a switch do with the packets that come in there; ``ports`` have the same lists.

    ``what`` says what kind of ports these are, ``wanted`` what should pass, ``local`` the addresses behind them.
    """

    device: str
    file: str
    what: str
    fabric: str
    ports: tuple[str, ...]
    ruleset: Ruleset
    wanted: PacketSet
    local: Ranges

    def decide(self, packet: Packet) -> Decision:
        """What becomes of a packet, and by which line."""
        return decide(self.ruleset, IN, packet)

    def passes(self) -> tuple[PacketSet, tuple[Idle, ...]]:
        """Everything that passes, and rules that never decide."""
        found = passing(self.ruleset, IN, EVERYTHING)
        return found.packets, found.idle

    def shape(self) -> object:
        """Equal for filters that differ in nothing but their local addresses, and so are right or wrong together.

        Every set of addresses is replaced by how it stands to the local ones: is it them, does it hold all of them or
        none, or else which part.
        """
        rules = tuple(
            (
                table.family,
                chain.hook,
                chain.policy,
                tuple((r.verdict, r.limited, self._shapes(r.matches)) for r in chain.rules),
            )
            for table in self.ruleset.tables
            for chain in table.chains.values()
        )
        return rules, self._shapes(self.wanted.boxes)

    def _shapes(self, boxes: Iterable[Box]) -> object:
        return tuple((self._shape(b[SRC]), self._shape(b[DST]), b[:SRC], b[DST + 1 :]) for b in boxes)

    def _shape(self, addresses: Ranges) -> object:
        if addresses == self.local:
            return "local"
        both = addresses & self.local
        return (addresses, "holds" if both == self.local else both or "apart")


def port_filters(tree: RenderedTree, declared: Declared) -> Iterator[PortFilter]:
    """The filters of all switches. Raises VerifyError at the line that does not read."""
    edges: dict[str, list[Edge]] = {}
    for edge in declared.edges:
        edges.setdefault(edge.switch, []).append(edge)
    management = {fabric.name: management_input(declared, fabric.name) for fabric in declared.fabrics}
    for file, read in _READERS:
        for device in tree.devices_with(file):
            try:
                lists = read(tree.text(device, file) or "")
            except Unreadable as error:
                raise VerifyError(
                    f"{device}:/{file}:{error.line}: {error}, so what passes cannot be said. Write it with what "
                    "docs/isolation.md names."
                ) from None
            for edge in edges.get(device, ()):
                yield from _edge(declared, edge, file, lists.at)
            fabric = declared.management.get(device, "")
            wanted = management.get(fabric)
            if isinstance(lists, EosLists) and wanted is not None:
                pool = declared.fabric[fabric].pool
                for port in lists.management_ports():
                    yield PortFilter(device, file, MANAGEMENT, fabric, (port,), lists.at(port), wanted, pool)


def _edge(declared: Declared, edge: Edge, file: str, at: Callable[[str], Ruleset]) -> Iterator[PortFilter]:
    """The host ports of an edge, those with equal rules together."""
    wanted = edge_input(declared, edge.fabric, edge.subnet, single_ports=file == FBOSS)
    if wanted is None:
        return
    alike: dict[object, tuple[list[str], Ruleset]] = {}
    for port in edge.ports:
        ruleset = at(port)
        key = tuple(
            (chain.policy, tuple((r.matches, r.verdict) for r in chain.rules), chain.line if not chain.rules else 0)
            for table in ruleset.tables
            for chain in table.chains.values()
        )
        alike.setdefault(key, ([], ruleset))[0].append(port)
    for ports, ruleset in alike.values():
        yield PortFilter(edge.switch, file, HOSTS, edge.fabric, tuple(ports), ruleset, wanted, edge.subnet)
