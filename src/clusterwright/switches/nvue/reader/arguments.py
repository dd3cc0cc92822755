"""Forms of values and names of NVUE for readers' numbers and addresses.

Forms are those of NVUE's command reference (CumulusNetworks/docs, content/nvue-reference): ``auto`` and ``none`` stand
there beside numbers. A value of an unknown form is unread at its line, and left out for readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy

from clusterwright.facts.router import is_address
from clusterwright.switches.nvue.reader.objects import Object

_ANY = "*"
_NUMBERS = """
interface * link breakout * lanes-per-port
interface * link lanes
interface * link mtu
qos congestion-control default-global traffic-class * max-threshold
qos congestion-control default-global traffic-class * min-threshold
qos congestion-control default-global traffic-class * probability
qos egress-queue-mapping default-global switch-priority * traffic-class
qos egress-scheduler default-global traffic-class * bw-percent
qos mapping default-global dscp * switch-priority
qos pfc default-global cable-length
qos pfc-watchdog polling-interval
qos pfc-watchdog robustness
router bgp autonomous-system
router bgp graceful-restart restart-time
router policy prefix-list * rule * match * max-prefix-len
router policy prefix-list * rule * match * min-prefix-len
system forwarding hash-seed
vrf default router bgp address-family * multipaths ebgp
vrf default router bgp autonomous-system
vrf default router bgp neighbor * bfd *
vrf default router bgp peer-group * bfd detect-multiplier
vrf default router bgp peer-group * bfd min-rx-interval
vrf default router bgp peer-group * bfd min-tx-interval
vrf default router bgp peer-group * timers hold
"""
# Without leading zeros: two names would be one number to FRR, which keeps the rule that it is given last.
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
# Values that are addresses, and names of objects that are prefixes or numbers.
_ADDRESSES = """
vrf default router bgp neighbor * update-source
"""
_PREFIX_NAMES = """
interface * ip address
vrf * router static
vrf default router bgp address-family * network
"""
_NUMBER_NAMES = """
acl * rule
router policy community-list * rule
router policy prefix-list * rule
router policy route-map * rule
"""
_PREFIX = re.compile(r"(?P<address>[^/]+)/(?P<length>[0-9]{1,3})")
_LONGEST = {4: 32, 6: 128}
Path = tuple[str, ...]


def unfit(root: Object) -> Iterator[Path]:
    """The paths of objects and values in forms unknown to readers."""
    for words in _paths(_NUMBERS):
        for path, node in _at(root, words, ()):
            if node.below or _NUMBER.fullmatch(node.value) is None:
                yield path
    for words in _paths(_ADDRESSES):
        for path, node in _at(root, words, ()):
            if node.below or not is_address(node.value):
                yield path
    for words in _paths(_PREFIX_NAMES):
        yield from (path for path, _ in _at(root, (*words, _ANY), ()) if not _is_prefix(path[-1]))
    for words in _paths(_NUMBER_NAMES):
        yield from (path for path, _ in _at(root, (*words, _ANY), ()) if _NUMBER.fullmatch(path[-1]) is None)


def without(root: Object, places: list[Path]) -> Object:
    """The objects without those at these paths."""
    remaining = deepcopy(root)  # the cached objects stay unchanged
    for path in places:
        remaining.at(*path[:-1]).below.pop(path[-1], None)
    return remaining


def _paths(table: str) -> list[Path]:
    return [tuple(line.split()) for line in table.strip().splitlines()]


def _at(node: Object, words: Path, above: Path) -> Iterator[tuple[Path, Object]]:
    """The objects at a path of names, a ``*`` for any, each with its own path."""
    if not words:
        yield above, node
        return
    names = list(node.below) if words[0] == _ANY else [words[0]] if words[0] in node.below else []
    for name in names:
        yield from _at(node.below[name], words[1:], (*above, name))


def _is_prefix(text: str) -> bool:
    match = _PREFIX.fullmatch(text)
    if match is None or not is_address(match["address"]):
        return False
    return int(match["length"]) <= _LONGEST[6 if ":" in text else 4]
