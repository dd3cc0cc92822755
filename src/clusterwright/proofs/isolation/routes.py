"""Routes in rendered text that lead where nothing is declared: default routes, to foreign addresses, between VRFs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from clusterwright.finding import VerifyError
from clusterwright.packets.boxes import DST, FAMILY, ICMP, ICMP6, PROTO, V4, V6, WHOLE, box
from clusterwright.packets.filters import ACCEPT
from clusterwright.packets.phrases import address
from clusterwright.packets.ranges import Ranges, values
from clusterwright.packets.values import addresses
from clusterwright.platforms.managed.nvos_reader import NvosLists
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.tree import RenderedTree

# each begins with the end of the line before: a search for a fixed text is much faster than one for beginnings of lines
_NETWORK = re.compile(
    r"\n(?:(?P<section>\[.*\])|Destination=(?P<to>\S+)|Gateway=(?P<via>\S+)|(?P<learnt>(?:DHCP|IPv6AcceptRA)="
    r"(?!no\b|false\b|0\b).*))$",
    re.M,
)
_EOS_STATIC = re.compile(r"\nip(?:v6)? route (?:vrf (?P<vrf>\S+) )?(?P<to>\S+) (?P<via>.+)$", re.M)
_EOS_LEAK = re.compile(
    r"^ *(?:neighbor \S+ default-originate.*|leak routes .*|route-target import .*|vpn-import .*|redistribute .*)$",
    re.M,
)
_LEAKS = ("default-originate", "leak routes ", "route-target import ", "vpn-import ", "redistribute ")
_FBOSS_ROUTES = re.compile(r'"staticRoutes(?!ToNull")\w*":\s*')
_FRR = re.compile(r"^(?:ip|ipv6) route (?P<to>\S+) .*$", re.M)
_PROFILE = re.compile(r"^(?:gateway|address\d+|route\d+)=(?P<value>.*)$", re.M)
_MLNX = re.compile(r"^(?:ip (?:default-gateway|route (?P<to>\S+) /?(?P<mask>\S+))|ipv6 route (?P<six>\S+)) \S+", re.M)
_DEFAULTS = frozenset({"0.0.0.0/0", "::/0", "default"})


def route_faults(
    tree: RenderedTree, known: Mapping[int, Ranges], *, is_declared: bool = True
) -> Iterator[Counterexample]:
    """Every route to where no zone and no fabric is, and everything that could bring one in.

    ``known`` are the addresses that a route may lead to, by IP version. Where they are not what is declared, but only
    what a tree happens to name, a route is at fault when it leads to public addresses and holds none of them.
    """
    judged: dict[str, str] = {}
    for (device, path), file in sorted(tree.files.items()):
        if not path.endswith(_ENDS):
            continue
        reader = next(read for ends, read in _READERS if path.endswith(ends))
        text = file.read()
        try:
            for at, what in reader(text, lambda to: _verdict(judged, known, to, is_declared)):
                yield Counterexample(device, path, text.count("\n", 0, at) + 1, what)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise VerifyError(f"{device}:/{path}: the routes do not read ({error!r}). Render the spec again.") from None


def _verdict(judged: dict[str, str], known: Mapping[int, Ranges], destination: str, is_declared: bool) -> str:
    """What is wrong with a destination, "" for nothing."""
    if destination not in judged:
        judged[destination] = _judge(known, destination, is_declared)
    return judged[destination]


def _judge(known: Mapping[int, Ranges], destination: str, is_declared: bool) -> str:
    if destination in _DEFAULTS or destination.endswith("/0"):
        return f"a default route ({destination}) leads everywhere, the internet included"
    version = 6 if ":" in destination else 4
    try:
        whole = addresses(destination, version)
    except ValueError as error:
        return f"this route does not read: {error}"
    if not is_declared:
        is_foreign = ip_network(destination, strict=False).is_global and not whole & known[version]
        reason = "public addresses, none of which an interface or a filter here names"
        return f"a route to {destination}, {reason}" if is_foreign else ""
    return f"a route to {destination}, which holds addresses of no zone and no fabric" if whole - known[version] else ""


Judge = Callable[[str], str]


def _networkd(text: str, judge: Judge) -> Iterator[tuple[int, str]]:
    section, start, gateway, named = "", 0, False, True
    for found in (*_NETWORK.finditer(f"\n{text}"), None):
        if found is None or found["section"]:
            if section == "[Route]" and gateway and not named:
                yield start, "a default route (a gateway without a destination) leads everywhere, the internet included"
            if found is not None:
                section, start, gateway, named = found["section"], found.start(), False, False
        elif found["to"]:
            named = True
            if section == "[Route]" and (what := judge(found["to"])):
                yield found.start(), what
        elif found["via"]:
            gateway = True
            if section == "[Network]":
                yield found.start(), "a default route (Gateway= of the network) leads everywhere, the internet included"
        else:
            yield found.start(), f"{found['learnt']} takes routes from whoever offers them"


def _eos(text: str, judge: Judge) -> Iterator[tuple[int, str]]:
    for found in _EOS_STATIC.finditer(f"\n{text}"):
        if found["via"].split()[0] != "Null0" and (what := judge(found["to"])):
            yield found.start(), what
        if "egress-vrf" in found["via"]:
            own = found["vrf"] or "default"
            yield found.start(), f"a static route of VRF {own} leaves through another VRF: the two are no longer apart"
    for found in _EOS_LEAK.finditer(text) if any(word in text for word in _LEAKS) else ():
        yield found.start(), f'"{found[0].strip()}" brings routes from outside their VRF or protocol'


def _fboss(text: str, judge: Judge) -> Iterator[tuple[int, str]]:
    """The agent's static routes, but those to nowhere; only their part of the file is parsed."""
    if text.count('"staticRoutes') == text.count('"staticRoutesToNull'):
        return
    for key in _FBOSS_ROUTES.finditer(text):
        rows = json.JSONDecoder().raw_decode(text, key.end())[0]
        for row in rows:
            if what := judge(row["prefix"]):
                yield text.find(f'"{row["prefix"]}"', key.start()), what


def _sonic(text: str, judge: Judge) -> Iterator[tuple[int, str]]:
    """Static routes, but those to nowhere; a gateway makes a default route, unless one to nowhere comes before it."""
    document: Mapping[str, Any] = json.loads(text)
    routes = document.get("STATIC_ROUTE", {})
    discards = {key for key, fields in routes.items() if fields.get("blackhole") == "true"}
    for key in routes:
        if key in discards:
            continue
        if what := judge(key.rpartition("|")[2]):
            yield text.find(f'"{key}"'), what
    for key, fields in document.get("MGMT_INTERFACE", {}).items():
        anywhere = "::/0" if ":" in fields.get("gwaddr", "") else "0.0.0.0/0"
        if "gwaddr" in fields and f"mgmt|{anywhere}" not in discards:
            yield text.find(f'"{key}"'), "gwaddr makes a default route of the management VRF: it leads everywhere"


def _frr(text: str, judge: Judge) -> Iterator[tuple[int, str]]:
    for found in _FRR.finditer(text):
        if what := judge(found["to"]):
            yield found.start(), what
    for found in _EOS_LEAK.finditer(text):
        if "default-originate" in found[0]:
            yield found.start(), f'"{found[0].strip()}" announces a default route'


def _profile(text: str, judge: Judge) -> Iterator[tuple[int, str]]:
    """A NetworkManager profile: ``address1=ADDRESS/LENGTH[,GATEWAY]``, ``route1=PREFIX,HOP``, ``gateway=``."""
    for found in _PROFILE.finditer(text):
        key, _, value = found[0].partition("=")
        parts = value.split(",")
        if key.startswith("route"):
            if what := judge(parts[0]):
                yield found.start(), what
        elif key == "gateway" or len(parts) > 1:
            yield found.start(), "a gateway makes a default route: it leads everywhere, the internet included"


def _mlnxos(text: str, judge: Judge) -> Iterator[tuple[int, str]]:
    for found in _MLNX.finditer(text):
        to = found["six"] or (f"{found['to']}/{found['mask']}" if found["to"] else "default")
        if what := judge(to if found["six"] or to == "default" else str(ip_network(to))):
            yield found.start(), what


def _nvos(text: str, judge: Judge) -> Iterator[tuple[int, str]]:
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


_READERS: tuple[tuple[str, Callable[[str, Judge], Iterator[tuple[int, str]]]], ...] = (
    (".network", _networkd),
    ("mnt/flash/startup-config", _eos),
    ("etc/coop/agent.conf", _fboss),
    ("etc/sonic/config_db.json", _sonic),
    ("frr.conf", _frr),
    ("bgpd.conf", _frr),
    (".nmconnection", _profile),
    ("text-configs/clusterwright", _mlnxos),
    ("etc/nvue.d/startup.yaml", _nvos),
)
_ENDS = tuple(ends for ends, _ in _READERS)
