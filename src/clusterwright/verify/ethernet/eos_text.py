"""Reading an EOS startup-config: statements and their bodies, as far as the proofs need them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from clusterwright.verify.check import VerifyError
from clusterwright.verify.ethernet.router import (
    DSCPS,
    Mark,
    Policy,
    Port,
    Prefix,
    PrefixRule,
    PrefixRules,
    QosMap,
    Router,
    Session,
    Term,
    network_of,
    packed,
    prefix_of,
)

PATH = "mnt/flash/startup-config"
_STATEMENT = re.compile(r"^([^\s!].*)\n((?: .*\n)*)", re.M)
_ADDRESS = re.compile(r"^   ip(?:v6)? address (\S+)/(\d+)$", re.M)
_SPEED = re.compile(r"^   speed (?:forced )?(\d+)(g|full)?", re.M)
_DESCRIPTION = re.compile(r"^   description (?:to )?(.+)$", re.M)
_PROFILE = re.compile(r"^   service-profile (\S+)$", re.M)
_NEIGHBOUR = re.compile(r"^   neighbor (\S+) (peer group|remote-as|route-map|shutdown)(?: (.+))?$", re.M)
_NETWORK = re.compile(r"^      network (\S+)", re.M)
_ENTRY = re.compile(r"^   (?:seq (\d+) )?(permit|deny) (\S+)(.*)$", re.M)
_NO_DROP = re.compile(r"^   priority-flow-control priority (\d) no-drop$", re.M)
Body = tuple[str, str]


def read_eos(device: str, text: str) -> Router | None:
    """The router that a startup-config makes; None for one that runs no BGP and routes nothing.

    Raises VerifyError for statements that are wanted here and cannot be read.
    """
    try:
        return _router(device, text)
    except ValueError as error:
        raise VerifyError(f"{device}:/{PATH}: {error}. Render the spec again.") from None


def _router(device: str, text: str) -> Router | None:
    by_word: dict[str, list[Body]] = {}
    for header, body in _STATEMENT.findall(text):
        by_word.setdefault(header.split(" ", 1)[0], []).append((header, body))
    bgp = next((each for each in by_word.get("router", ()) if each[0].startswith("router bgp ")), None)
    qos = [each for each in by_word.get("qos", ()) if not each[0].startswith("qos profile")]
    profiles = {h.split()[2]: b for h, b in by_word.get("qos", ()) if h.startswith("qos profile")}
    ports, own_addresses = _ports(by_word.get("interface", []), profiles)
    addressing = [*by_word.get("ip", ()), *by_word.get("ipv6", ())]
    if bgp is None and not own_addresses:
        return None
    header, body = bgp or ("router bgp 0", "")
    return Router(
        device=device,
        ports_file=PATH,
        bgp_file=PATH,
        keeps_communities="send-community" in body,
        router_id=_word(r"^   router-id (\S+)$", body),
        asn=int(header.split()[2]),
        max_paths=int(_word(r"^   maximum-paths (\d+)", body) or 1),
        max_paths_mark=("router bgp ", "\n   maximum-paths "),
        ports=ports,
        own_addresses=own_addresses,
        sessions=tuple(_sessions(body)),
        networks=tuple((prefix_of(each), (f"      network {each}\n",)) for each in _NETWORK.findall(body)),
        policies=_policies(by_word.get("route-map", []), addressing),
        qos=_qos_map(tuple(qos), tuple(profiles.values())) if qos else None,
        defaults=tuple(_defaults(addressing)),
        discards=frozenset(
            prefix_of(words[2])
            for words in (header.split() for header, _ in addressing)
            if words[1] == "route" and words[3:4] == ["Null0"]
        ),
        leaks=tuple(
            (("router bgp ", f"\n{line}"), f"{line.strip()} brings routes into BGP that no policy of the fabric names")
            for line in re.findall(r"^ *(?:redistribute|neighbor \S+ default-originate).*$", body, re.M)
        ),
    )


def _word(pattern: str, body: str) -> str:
    found = re.search(pattern, body, re.M)
    return found[1] if found else ""


def _ports(
    bodies: list[Body], profiles: Mapping[str, str]
) -> tuple[tuple[Port, ...], tuple[tuple[Prefix, bytes], ...]]:
    """Ports in service of the default VRF, and the addresses of all its interfaces by subnet."""
    ports, own_addresses = [], []
    lossless_of = {name: frozenset(_pfc(body)) for name, body in profiles.items()}
    for header, body in bodies:
        if "   shutdown\n" in body or "   vrf " in body:
            continue
        name = header.split(" ", 1)[1]
        found = _ADDRESS.search(body)
        start = f"{header}\n"
        if found is not None:
            address, length = packed(found[1]), int(found[2])
            own_addresses.append((network_of(address, length), address))
        if not name.startswith(("Ethernet", "Et")):
            continue
        profile, speed, description = _PROFILE.search(body), _SPEED.search(body), _DESCRIPTION.search(body)
        lossless = lossless_of.get(profile[1], frozenset()) if profile else frozenset(_pfc(body))
        ports.append(
            Port(
                name,
                packed(found[1]) if found else None,
                int(found[2]) if found else 0,
                _gbps(speed) if speed else 0.0,
                description[1] if description else "",
                lossless,
                (start, found[0].strip()) if found else (start,),
                (start, speed[0].strip()) if speed else (start,),
                (start, profile[0].strip()) if profile else (start,),
                (start, description[0].strip()) if description else (start,),
            )
        )
    return tuple(ports), tuple(own_addresses)


def _gbps(speed: re.Match[str]) -> float:
    return float(speed[1]) if speed[2] == "g" else float(speed[1]) / 1000


def _pfc(body: str) -> Iterator[int]:
    if "   priority-flow-control on\n" in body:
        yield from map(int, _NO_DROP.findall(body))


def _sessions(body: str) -> Iterator[Session]:
    groups: dict[str, dict[str, str]] = {}
    for who, what, value in _NEIGHBOUR.findall(body):
        own = groups.setdefault(who, {})
        if what == "route-map":
            name, _, direction = value.partition(" ")
            own[direction] = name
        elif not (what == "peer group" and not value):
            own[what] = value
    active = set(re.findall(r"^      neighbor (\S+) activate$", body, re.M))
    for who, own in groups.items():
        if ":" not in who and "." not in who:
            continue
        group = own.get("peer group", "")
        shared = groups.get(group, {})
        if "shutdown" in own or "shutdown" in shared or not active & {who, group}:
            continue
        yield Session(
            packed(who),
            None,
            int(own.get("remote-as") or shared.get("remote-as") or 0),
            own.get("in") or shared.get("in", ""),
            own.get("out") or shared.get("out", ""),
            (f"   neighbor {who} remote-as ",) if "remote-as" in own else (f"   neighbor {who} ",),
            (f"   neighbor {group} " if group else f"   neighbor {who} ",),
            (f"   neighbor {who} remote-as ",) if "remote-as" in own else (f"   neighbor {who} ",),
            (f"   neighbor {who} ",),
        )


def _policies(maps: list[Body], addressing: list[Body]) -> Mapping[str, Policy]:
    lists: dict[str, PrefixRules] = {}
    communities: dict[str, frozenset[str]] = {}
    for header, body in addressing:
        words = header.split()
        if words[1] == "prefix-list":
            lists[words[2]] = _rules(body)
        elif words[1] == "community-list":
            communities[words[2]] = communities.get(words[2], frozenset()) | frozenset(words[4:])
    found: dict[str, list[tuple[int, Term]]] = {}
    for header, body in maps:
        words = header.split()
        name = re.search(r"^   match ip(?:v6)? address prefix-list (\S+)$", body, re.M)
        wanted = re.search(r"^   match community (\S+)$", body, re.M)
        change, values = _change(body)
        term = Term(
            words[2] == "permit",
            name[1] if name else "",
            lists.get(name[1], ()) if name else None,
            communities.get(wanted[1], frozenset()) if wanted else None,
            change,
            values,
            (f"{header}\n",),
        )
        found.setdefault(words[1], []).append((int(words[3]), term))
    return {name: tuple(term for _, term in sorted(terms, key=lambda t: t[0])) for name, terms in found.items()}


def _change(body: str) -> tuple[str, frozenset[str]]:
    found = re.search(r"^   set community (.+)$", body, re.M)
    if found is None:
        return "", frozenset()
    words = found[1].split()
    if words == ["none"]:
        return "set", frozenset()
    kind = {"additive": "add", "delete": "remove"}.get(words[-1], "set")
    return kind, frozenset(words if kind == "set" else words[:-1])


@lru_cache(maxsize=4096)
def _rules(body: str) -> PrefixRules:
    rules = []
    for number, action, text, rest in _ENTRY.findall(body):
        within = prefix_of(text)
        bounds = {word: int(value) for word, value in re.findall(r"(eq|le|ge) (\d+)", rest)}
        top = 8 * len(within[0])
        low = bounds.get("eq", bounds.get("ge", within[1]))
        high = bounds.get("eq", bounds.get("le", top if "ge" in bounds else within[1]))
        rules.append((int(number or 0), PrefixRule(action == "permit", within, low, high)))
    return tuple(rule for _, rule in sorted(rules, key=lambda each: each[0]))


def _defaults(addressing: list[Body]) -> Iterator[Mark]:
    for header, _ in addressing:
        words = header.split()
        if words[1] == "route" and words[2] in {"0.0.0.0/0", "::/0"}:
            yield (f"{header}\n",)


@lru_cache(maxsize=256)
def _qos_map(statements: tuple[Body, ...], profiles: tuple[str, ...]) -> QosMap:
    class_of: list[int | None] = [None] * DSCPS
    queue_of: dict[int, int] = {}
    marks: dict[str, Mark] = {}
    for header, _ in statements:
        if found := re.fullmatch(r"qos map dscp ([\d ]+) to traffic-class (\d+)", header):
            for dscp in map(int, found[1].split()):
                if dscp < DSCPS:
                    class_of[dscp] = int(found[2])
                    marks[f"dscp {dscp}"] = (header,)
        elif found := re.fullmatch(r"qos map traffic-class ([\d ]+) to (?:uc-)?tx-queue (\d+)", header):
            for number in map(int, found[1].split()):
                queue_of[number] = int(found[2])
                marks[f"class {number}"] = (header,)
    lossless = frozenset(priority for body in profiles for priority in _pfc(body))
    for priority in lossless:
        marks[f"priority {priority}"] = (f"   priority-flow-control priority {priority} no-drop",)
    return QosMap(tuple(class_of), queue_of, lossless, marks)
