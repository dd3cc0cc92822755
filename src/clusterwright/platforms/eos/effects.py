"""What changes of EOS' configuration do: a session commits the lines that differ, and nothing else is touched."""

from __future__ import annotations

from clusterwright.platforms.effect import Effect
from clusterwright.platforms.eos.reader.sections import sections_of
from clusterwright.platforms.eos.reader.system import READER

# Top-level sections that links and sessions do not hang on: services, policies (which BGP asks anew of what it has
# learnt), lists.
_LIVE = (
    *("ntp ", "logging ", "snmp-server ", "username ", "aaa ", "tacacs-server ", "radius-server ", "ip name-server "),
    *("dns ", "management ", "daemon ", "banner ", "alias ", "clock "),
    *("route-map ", "ip prefix-list ", "ipv6 prefix-list ", "ip community-list "),
    *("ip access-list ", "ipv6 access-list "),
)
_INTERFACE, _BGP = "interface ", "router bgp "
# Of a port alone: what it is called, and whether it is wanted. A port that goes out of service takes nobody along, and
# what its loss costs for good is counted apart.
_OF_A_PORT = ("description ", "shutdown", "no shutdown")


def effect(path: str, was: bytes | None, will: bytes | None) -> Effect:
    """By the sections and lines that differ; a session with a neighbour that comes or goes as a whole is its own."""
    if path != READER.file or was is None or will is None:
        return Effect.RESTART
    before, after = _sections(was), _sections(will)
    for head in before.keys() | after.keys():
        old, new = before.get(head), after.get(head)
        if old == new or head.startswith(_LIVE):
            continue
        if old is None or new is None or not _is_live(head, old, new):
            return Effect.RESTART
    return Effect.LIVE


def _is_live(head: str, old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    changed = set(old) ^ set(new)
    if head.startswith(_INTERFACE):
        return all(line.strip().startswith(_OF_A_PORT) for line in changed)
    if head.startswith(_BGP):
        return all(_is_a_neighbours(line, old, new) for line in changed)
    return False


def _is_a_neighbours(line: str, old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Whether a line belongs to a neighbour of which only one of the two has anything."""
    words = line.split()
    if len(words) < 3 or words[0] != "neighbor":
        return False
    start = f"neighbor {words[1]} "
    return any(each.strip().startswith(start) for each in old) != any(each.strip().startswith(start) for each in new)


def _sections(text: bytes) -> dict[str, tuple[str, ...]]:
    """The top-level lines of a configuration, each with what is indented below it."""
    found: dict[str, tuple[str, ...]] = {}
    for section in sections_of(text.decode("utf-8", "replace")):
        found[section.header] = (*found.get(section.header, ()), *section.body.splitlines())
    return found
