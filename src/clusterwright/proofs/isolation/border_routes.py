"""What a border's session learns and announces: its prefix lists and route maps, beside the zones on either side."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.packets.phrases import address
from clusterwright.packets.ranges import EMPTY, Ranges
from clusterwright.packets.values import addresses
from clusterwright.platforms.eos.reader.sections import PATH as EOS
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.declared import OUTSIDE, DeclaredBorder, DeclaredIsolation
from clusterwright.proofs.tree import RenderedTree

_LIST = re.compile(r"^(ip|ipv6) prefix-list (\S+)\n((?:   .*\n)*)", re.M)
_ENTRY = re.compile(r"^   seq \d+ permit (\S+)/(\d+) eq (\d+)$")
_MAP = re.compile(r"^route-map (\S+) (permit|deny) \d+\n((?:   .*\n)*)", re.M)
_MATCH = re.compile(r"^   match (?:ip|ipv6) address prefix-list (\S+)$", re.M)
_LEARNT, _ANNOUNCED = "learnt", "announced"


def border_route_faults(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Every prefix that a border learns or announces and should not, and every one that it should and does not."""
    for border in declared.borders:
        text = tree.text(border.switch, EOS)
        if text is None:
            continue
        for direction, what, wanted in (
            ("in", _LEARNT, _outside(declared, border)),
            ("out", _ANNOUNCED, _inside(declared, border)),
        ):
            for at, message in _direction(text, border, direction, what, wanted):
                line = text.count("\n", 0, at) + 1 if at >= 0 else 0
                yield Counterexample(border.switch, EOS, line, f"border {border.name}: {message}")


def _outside(declared: DeclaredIsolation, border: DeclaredBorder) -> Ranges:
    """The prefixes of the zones behind a border, in its IP version."""
    found = EMPTY
    for name in border.zones:
        for part in declared.zone[name].parts:
            if (part.fabric, part.version) == (OUTSIDE, border.version):
                found |= part.addresses
    return found


def _inside(declared: DeclaredIsolation, border: DeclaredBorder) -> Ranges:
    """The host subnets, whole, in which zones that have a flow with those behind a border have addresses."""
    behind = _outside(declared, border)
    met = {
        other
        for flow in declared.flows
        for mine, other in ((flow.source, flow.target), (flow.target, flow.source))
        if mine in border.zones and not flow.is_rdma and behind
    }
    own = EMPTY
    for name in met:
        for part in declared.zone[name].parts:
            if (part.fabric, part.version) == (border.fabric, border.version):
                own |= part.addresses
    found = EMPTY
    for edge in declared.edges:
        if edge.fabric == border.fabric and edge.subnet & own:
            found |= edge.subnet
    return found


def _direction(
    text: str, border: DeclaredBorder, direction: str, what: str, wanted: Ranges
) -> Iterator[tuple[int, str]]:
    neighbour = address(border.version, border.neighbour)
    joined = re.search(rf"^   neighbor {re.escape(neighbour)} peer group (\S+)$", text, re.M)
    if joined is None:
        yield text.find("router bgp"), f"there is no session with {neighbour}"
        return
    # a neighbour's own map stands before that of its group
    maps = (
        re.search(rf"^   neighbor {re.escape(of)} route-map (\S+) {direction}$", text, re.M)
        for of in (neighbour, joined[1])
    )
    applied = next((found for found in maps if found is not None), None)
    if applied is None:
        yield joined.start(), f"the session has no route map {direction}: every prefix is {what}"
        return
    names: list[str] = []
    for entry in _MAP.finditer(text):
        if entry[1] != applied[1] or entry[2] == "deny":
            continue
        match = _MATCH.search(entry[3])
        if match is None:
            yield entry.start(), f"this part of {entry[1]} matches no prefix list: every prefix is {what}"
        else:
            names.append(match[1])
    is_drained = not names and re.search(rf"^route-map {re.escape(applied[1])} deny ", text, re.M) is not None
    if not is_drained:
        yield from _lists(text, names, border, what, wanted)


def _lists(text: str, names: list[str], border: DeclaredBorder, what: str, wanted: Ranges) -> Iterator[tuple[int, str]]:
    version = border.version
    listed: set[tuple[int, int]] = set()
    passes, first = EMPTY, -1
    for found in _LIST.finditer(text):
        if found[2] not in names or found[1] != ("ip" if version == 4 else "ipv6"):
            continue
        first = found.start() if first < 0 else first
        at = found.start(3)
        for line in found[3].splitlines(keepends=True):
            entry = _ENTRY.match(line.rstrip("\n"))
            if entry is None or int(entry[3]) < int(entry[2]) or (what == _LEARNT and entry[2] != entry[3]):
                yield at, f'"{line.strip()}" is not one prefix of one length: others may be {what} by it'
            else:
                own = addresses(f"{entry[1]}/{entry[2]}", version)
                if extra := own - wanted:
                    shown = address(version, extra.bounds[0][0])
                    yield at, f"{entry[1]}/{entry[2]} is {what}, and {shown} of it is in no zone that should be"
                passes |= own
                listed.add((own.bounds[0][0], int(entry[2])))
            at += len(line)
    for prefix, length in border.prefixes if what == _LEARNT else ():
        if (prefix, length) not in listed:
            whole = f"{address(version, prefix)}/{length}"
            yield first, f"{whole} is in a zone that should be learnt, and no entry has this prefix at this length"
            return
    if lacking := wanted - passes:
        yield (
            first,
            f"{address(version, lacking.bounds[0][0])} is in a zone that should be {what}, and no prefix holds it",
        )
