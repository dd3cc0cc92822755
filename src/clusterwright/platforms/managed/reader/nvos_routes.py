"""Routes of an NVOS switch's management port: where its gateway leads, as far as its lists let packets out."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.packets.boxes import DST, FAMILY, ICMP, ICMP6, PROTO, V4, V6, WHOLE, box
from clusterwright.packets.filters import ACCEPT
from clusterwright.packets.phrases import address
from clusterwright.packets.ranges import values
from clusterwright.platforms.managed.reader.nvos_lists import NvosLists
from clusterwright.platforms.reader import Fault, RouteJudge


def routes(text: str, judge: RouteJudge) -> Iterator[Fault]:
    """NVOS's gateway is a default route of its port: what the port's outward lists let pass is where it leads."""
    lists = NvosLists(text)
    lines = text.splitlines(keepends=True)
    for port in lists.management_ports() if lists.gateways else ():
        for rule in lists.at(port, "out").tables[0].chains[""].rules:
            for each in rule.matches if rule.verdict == ACCEPT else ():
                version = 4 if each[FAMILY] == V4 else 6
                link = each[PROTO] == values(ICMP6) and each[ICMP] != WHOLE[ICMP]
                for low, high in each[DST].bounds if not link else ():
                    to = f"{address(version, low)}/0" if each[DST] is WHOLE[DST] else _prefix(version, low, high)
                    if what := judge(to):
                        yield sum(map(len, lines[: rule.line - 1])), f"the gateway's way out: {what}"
        if not _is_closed(lists, port):
            at = sum(map(len, lines[: lists.gateways[0] - 1]))
            yield at, f"the gateway makes a default route, and no list of {port} ends it outwards: it leads everywhere"


def _is_closed(lists: NvosLists, port: str) -> bool:
    """True when the outward lists of a port deny what they do not name, of both IP versions."""
    rules = lists.at(port, "out").tables[0].chains[""].rules
    return all(
        any(rule.verdict != ACCEPT and box(family=family) in rule.matches for rule in rules) for family in (V4, V6)
    )


def _prefix(version: int, low: int, high: int) -> str:
    return f"{address(version, low)}/{(32 if version == 4 else 128) - (high - low).bit_length()}"
