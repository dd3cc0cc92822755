"""The rendered lists of switches in the kernel, parsed by the proof's readers and written as nftables rules.

The lab does not run EOS, FBOSS or SONiC. The meaning of their lists is read from their text, as in `verify`, and
applied at the interface of the switch's port: at ingress and egress, without connection tracking, so that bridged
packets and fragments are filtered one by one, as in a chip.
"""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator, Sequence

from clusterwright.child_environment import child_environment
from clusterwright.extras.lab.namespaces import inside
from clusterwright.finding import ClusterwrightError
from clusterwright.packets.boxes import (
    DPORT,
    DST,
    FAMILY,
    FLAGS,
    FRAGMENT,
    ICMP,
    ICMP4,
    ICMP6,
    PROTO,
    SPORT,
    SRC,
    TCP,
    UDP,
    V4,
    V6,
    WHOLE,
    Box,
)
from clusterwright.packets.filters import ACCEPT, DROP, Rule, Ruleset
from clusterwright.packets.phrases import address
from clusterwright.packets.ranges import Ranges, values

TABLE = "cwlab"
_LATER, _NOT_LATER = values(2), values(0, 1)
_WHOLE_FAMILIES = ((V4, 4), (V6, 6))
_PORT_WORDS = {SPORT: "sport", DPORT: "dport"}
_ALL_ADDRESSES = {4: Ranges(((0, (1 << 32) - 1),)), 6: WHOLE[SRC]}
_UNDERSTOOD = frozenset({FAMILY, PROTO, FRAGMENT, SRC, DST, DPORT, SPORT, ICMP, FLAGS})


def load(namespace: str, name: str, interfaces: Sequence[str], hook: str, ruleset: Ruleset) -> None:
    """Put a list on interfaces of a namespace; ``hook`` is ``ingress`` or ``egress``, ``name`` names the chain.

    Raises ClusterwrightError for a list without an equivalent in the kernel.
    """
    text = "".join(f"{line}\n" for line in nft_lines(name, interfaces, hook, ruleset))
    with inside(namespace):
        ended = subprocess.run(
            ["nft", "-f", "-"], input=text, capture_output=True, text=True, check=False, env=child_environment()
        )
    if ended.returncode != 0:
        raise ClusterwrightError(f"{namespace}: nft refuses a switch's list: {ended.stderr.strip()}")


def nft_lines(name: str, interfaces: Sequence[str], hook: str, ruleset: Ruleset) -> Iterator[str]:
    """A list as an nftables file. Raises ClusterwrightError for a rule without an equivalent.

    SONiC applies the tables of a port in order, and each may drop a packet: they are consecutive base chains.
    """
    devices = ", ".join(f'"{interface}"' for interface in interfaces)
    yield f"table netdev {TABLE} {{"
    chains = itertools.chain.from_iterable(table.chains.values() for table in ruleset.tables)
    for index, chain in enumerate(chains):
        chain_name = f"{name}_{index}" if index else name
        yield f"chain {chain_name} {{"
        yield f"type filter hook {hook} devices = {{ {devices} }} priority {index}; policy {chain.policy};"
        yield "meta protocol != { ip, ip6 } accept"
        for rule in chain.rules:
            yield from _rule(rule)
        yield "}"
    yield "}"


def _rule(rule: Rule) -> Iterator[str]:
    if rule.verdict not in {ACCEPT, DROP}:
        raise ClusterwrightError(f"line {rule.line}: a list's entry permits or denies, and does not {rule.verdict}")
    for match in rule.matches:
        for family, version in _WHOLE_FAMILIES:
            if match[FAMILY] & family:
                yield from (f"{words} counter {rule.verdict}" for words in _terms(match, version))


def _terms(box: Box, version: int) -> Iterator[str]:
    """The matches for one IP version: one, or two for whole packets and first fragments."""
    limited = {index for index, ranges in enumerate(box) if ranges != WHOLE[index]}
    if limited - _UNDERSTOOD:
        raise ClusterwrightError("a switch's list matches on what a switch does not know")
    ip = "ip" if version == 4 else "ip6"
    words = [f"meta protocol {ip}"]
    for field_index, side in ((SRC, "saddr"), (DST, "daddr")):
        if field_index in limited and box[field_index] != _ALL_ADDRESSES[version]:
            words.append(f"{ip} {side} {_addresses(version, box[field_index])}")
    if PROTO in limited:
        words.append(f"meta l4proto {_numbers(box[PROTO])}")
    ports = [field_index for field_index in (SPORT, DPORT) if field_index in limited]
    protocols = set(itertools.chain.from_iterable(box[PROTO].bounds))
    if ports and not protocols <= {TCP, UDP}:
        raise ClusterwrightError("a switch's list matches ports of a protocol that may have none")
    words += [f"th {_PORT_WORDS[field_index]} {_numbers(box[field_index])}" for field_index in ports]
    if FLAGS in limited:
        words.append(f"tcp flags {_numbers(box[FLAGS], singly=True)}")
    if ICMP in limited:
        name = {ICMP4: "icmp", ICMP6: "icmpv6"}[box[PROTO].bounds[0][0]]
        words.append(f"{name} type {_numbers(box[ICMP])}")
    text = " ".join(words)
    if FRAGMENT not in limited or ports or {FLAGS, ICMP} & limited:
        yield text  # a later fragment has no ports, flags or types
    else:
        yield from _fragment_terms(text, box, version)


def _fragment_terms(text: str, box: Box, version: int) -> Iterator[str]:
    """The matches ``text`` for later fragments only, or for all other packets."""
    if box[FRAGMENT] == _LATER:
        later_fragment = "ip frag-off & 0x1fff != 0" if version == 4 else "frag frag-off != 0"
        yield f"{text} {later_fragment}"
    elif box[FRAGMENT] != _NOT_LATER:
        raise ClusterwrightError("a switch's list tells first fragments from whole packets")
    elif version == 4:
        yield f"{text} ip frag-off & 0x1fff == 0"
    else:
        yield f"{text} exthdr frag missing"
        yield f"{text} frag frag-off 0"


def _addresses(version: int, ranges: Ranges) -> str:
    texts = [
        address(version, low) if low == high else f"{address(version, low)}-{address(version, high)}"
        for low, high in ranges.bounds
    ]
    return "{ " + ", ".join(texts) + " }"


def _numbers(ranges: Ranges, *, singly: bool = False) -> str:
    if singly:
        numbers = itertools.chain.from_iterable(range(low, high + 1) for low, high in ranges.bounds)
        words = [f"{number:#x}" for number in numbers]
    else:
        words = [f"{low}" if low == high else f"{low}-{high}" for low, high in ranges.bounds]
    return f"{{ {', '.join(words)} }}"
