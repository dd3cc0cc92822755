"""Reading an EOS startup-config: statements and their bodies, as far as the proofs need them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from clusterwright.facts.router import (
    DEFAULT_BFD_MS,
    DEFAULT_HOLD_TIME_S,
    HashFunction,
    Mark,
    Policy,
    Prefix,
    PrefixRule,
    PrefixRules,
    Router,
    Session,
    Term,
    packed,
    prefix_of,
)
from clusterwright.finding import VerifyError
from clusterwright.switches.eos.reader.authentication import authentication_of, shared_secrets
from clusterwright.switches.eos.reader.interfaces import Body, read_ports, read_qos_map, read_watchdog
from clusterwright.switches.eos.reader.macsec import keys_of
from clusterwright.switches.eos.reader.relays import relay_sources
from clusterwright.switches.eos.reader.sections import PATH, sections_by_word, sections_with

# it begins with the end of the line before: a search for a fixed text is much faster than one for beginnings of lines
_NEIGHBOUR = re.compile(
    r"\n   neighbor (\S+) (peer group|remote-as|route-map|shutdown|bfd|maximum-routes|password|timers)(?: (.+))?(?=\n)"
)
_FOREIGN = re.compile(r"^ *(?:redistribute|route-target|aggregate-address|neighbor \S+ default-originate).*$", re.M)
_FOREIGN_WORDS = ("redistribute", "route-target", "aggregate-address", "default-originate")
_FAMILY = re.compile(r"^   address-family ipv[46]\n((?:      .*\n)*)", re.M)
_NETWORK = re.compile(r"^      network (\S+)", re.M)
_ENTRY = re.compile(r"^   (?:seq (\d+) )?(permit|deny) (\S+)(.*)$", re.M)


_OF_ONE = frozenset({"peer group", "remote-as"})  # what a neighbour says of itself alone
_BFD_TIMERS = re.compile(r"interval \d+ min-rx (?P<receive>\d+) multiplier (?P<multiplier>\d+)")
_OWN = re.compile(r"^   ip(?:v6)? address ([0-9a-f.:]+/\d+)$", re.M)
_ADVERTISES = re.compile(r"^   ipv6 nd managed-config-flag$", re.M)
_RELAYS = re.compile(r"^   (?:ip helper-address|ipv6 dhcp relay destination) ", re.M)


class _NeighbourSaid(NamedTuple):
    """A neighbour's settings, as Session has them; ``group_mark`` is empty outside of any group."""

    into: str
    out_of: str
    has_bfd: bool
    most_routes: int
    authentication: str
    auth_mark: Mark
    hold_time_s: int
    hold_mark: Mark
    group_mark: Mark
    bfd_ms: int


# Sets counters aside for packets that queues mark, on chips with virtual output queues.
_ECN_COUNTERS = "hardware counter feature ecn out"


def read_eos(device: str, text: str) -> Router | None:
    """The router of a startup-config; None for one without BGP and routing.

    Raises VerifyError for unreadable statements among those needed here.
    """
    try:
        return _router(device, text)
    except (ValueError, IndexError) as error:
        raise VerifyError(f"{device}:/{PATH}: {error}. Render the spec again.") from None


def _router(device: str, text: str) -> Router | None:
    by_word = {
        word: [(statement.header, statement.body) for statement in sections]
        for word, sections in sections_by_word(text).items()
    }
    bgp = next((statement for statement in by_word.get("router", ()) if statement[0].startswith("router bgp ")), None)
    qos = [statement for statement in by_word.get("qos", ()) if not statement[0].startswith("qos profile")]
    profiles = {h.split()[2]: b for h, b in by_word.get("qos", ()) if h.startswith("qos profile")}
    watchdog = read_watchdog(tuple(header for header, _ in by_word.get("priority-flow-control", ())))
    interfaces = by_word.get("interface", [])
    vlans = {"1", *(header.split()[1] for header, _ in by_word.get("vlan", ()))}
    keys = keys_of(by_word.get("mac", ()))
    ports, own_addresses = read_ports(
        sections_with(text, "interface"),
        profiles,
        watchdog,
        keys,
        vlans,
        reserves_counters=any(header == _ECN_COUNTERS for header, _ in by_word.get("hardware", ())),
    )
    addressing = [*by_word.get("ip", ()), *by_word.get("ipv6", ())]
    if bgp is None and not own_addresses:
        return None
    header, body = bgp or ("router bgp 0", "")
    families = "".join(_FAMILY.findall(body, max(0, body.find("   address-family "))))
    secrets = shared_secrets(by_word.get("management", ()))
    return Router(
        device=device,
        ports_file=PATH,
        bgp_file=PATH,
        keeps_communities="send-community" in body,
        router_id=_word(r"^   router-id (\S+)$", body),
        router_id_mark=("   router-id ",),
        asn=int(header.split()[2]),
        asn_mark=(f"{header}\n",),
        max_paths=int(_word(r"^   maximum-paths (\d+)", body) or 1),
        max_paths_mark=("router bgp ", "\n   maximum-paths "),
        ports=ports,
        own_addresses=own_addresses,
        sessions=tuple(_sessions(body, families, secrets)) if _routes(addressing, body) else (),
        networks=tuple(
            (prefix_of(statement), (f"      network {statement}\n",)) for statement in _NETWORK.findall(families)
        ),
        policies=_policies(by_word.get("route-map", []), addressing),
        qos=read_qos_map(tuple(qos), tuple(profiles.values())) if qos else None,
        defaults=tuple(_defaults(addressing)),
        discards=frozenset(
            prefix_of(words[2])
            for words in (header.split() for header, _ in addressing)
            if words[1] == "route" and words[3:4] == ["Null0"]
        ),
        leaks=(*_leaks(body, addressing, by_word.get("router", [])), *_bare_management(by_word)),
        spreads_by=_spreads_by(by_word),
        spread_mark=("load-balance policies",),
        hash_function=_hash_function(addressing),
        seed_mark=("\nip load-sharing ",),
        # few interfaces have such a line: a word of it is soon found
        advertised=frozenset(
            _subnets(
                (interface for interface in interfaces if "-config-flag" in interface[1]),
                _ADVERTISES,
                "ipv6 nd ra disabled",
            )
        ),
        relayed=frozenset(
            _subnets(
                (interface for interface in interfaces if "helper-" in interface[1] or "relay" in interface[1]), _RELAYS
            )
        ),
        relay_sources=dict(relay_sources(interfaces)),
    )


def _subnets(interfaces: Iterable[Body], asks: re.Pattern[str], without: str = "") -> Iterator[Prefix]:
    """The subnets of interfaces in service with a matching line, unless another line negates it."""
    for _, body in interfaces:
        if "   shutdown\n" not in body and asks.search(body) and not (without and f"   {without}" in body):
            yield from (prefix_of(text) for text in _OWN.findall(body))


def _leaks(bgp: str, addressing: list[Body], routers: list[Body]) -> Iterator[tuple[Mark, str]]:
    """Ways for routes of other protocols, tables and fabrics into this one."""
    yield from _bgp_leaks(bgp)
    for header, _ in [router for router in routers if router[0].startswith("router bgp ")][1:]:
        yield (f"{header}\n",), f"{header} is a second BGP process, of which EOS takes one"
    for header, body in routers:
        if "leak routes " in body:
            for line in re.findall(r"^ +leak routes .*$", body, re.M):
                yield (f"{header}\n", line), f"{line.strip()} carries routes from one VRF to another"
    for header, _ in addressing:
        words = header.split()
        if words[1] == "route" and words[2] not in {"vrf", "0.0.0.0/0", "::/0"} and words[3:4] != ["Null0"]:
            yield (f"{header}\n",), f"{header} leads traffic past the routes of BGP"


def _bgp_leaks(bgp: str) -> Iterator[tuple[Mark, str]]:
    """Lines of the fabric's BGP with routes of other protocols and VRFs."""
    if any(word in bgp for word in _FOREIGN_WORDS):
        for line in _FOREIGN.findall(bgp):
            message = f"{line.strip()} brings routes into BGP that no policy of the fabric names"
            yield ("router bgp ", f"\n{line}"), message
    if "   vrf " in bgp:
        for line in re.findall(r"^   vrf \S+$", bgp, re.M):
            yield ("router bgp ", f"\n{line}\n"), f"BGP of the fabric runs in {line.strip()} too"


def _spreads_by(by_word: dict[str, list[Body]]) -> str | None:
    """Inputs of the hash beyond addresses and ports: fields of the profile in use."""
    used = [re.search(r" profile (\S+)$", header) for header, _ in by_word.get("port-channel", ())]
    policies = next((body for _, body in by_word.get("load-balance", ())), "")
    for name in (match[1] for match in used if match):
        profile = re.search(rf"^   load-balance sand profile {re.escape(name)}\n((?:      .*\n)*)", policies, re.M)
        if profile:
            fields = re.search(r"^      fields udp dst-port (\d+)\n         payload bytes (\S+)$", profile[1], re.M)
            if fields:
                first, _, last = fields[2].partition("-")
                return f"bytes {first} to {last or first} of UDP's payload to port {fields[1]}"
    return None if policies == "" and not used else "addresses and ports alone"


def _hash_function(addressing: list[Body]) -> HashFunction | None:
    """The configured seed; without one it is 0 on every chip (EOS user manual, ip load-sharing)."""
    balancing = [words for words in (header.split() for header, _ in addressing) if words[:2] == ["ip", "load-sharing"]]
    seeds = [words[3] for words in balancing if len(words) == 4]
    if any(not seed.isdigit() for seed in seeds):
        return None
    return HashFunction("EOS's own", int(seeds[-1]) if seeds else 0)


def _word(pattern: str, body: str) -> str:
    match = re.search(pattern, body, re.M)
    return match[1] if match else ""


def _routes(addressing: list[Body], bgp: str) -> bool:
    """True for a switch with routing in BGP's address family: EOS has it off by default."""
    wanted = "ipv6 unicast-routing" if "   address-family ipv6\n" in bgp else "ip routing"
    return any(header == wanted for header, _ in addressing)


def _bare_management(by_word: dict[str, list[Body]]) -> Iterator[tuple[Mark, str]]:
    """Management ports among the fabric's own: without a VRF, or with an undefined one."""
    defined = {header.split()[-1] for header, _ in by_word.get("vrf", ())}
    for header, body in by_word.get("interface", ()):
        if header.startswith("interface Management") and "   shutdown\n" not in body:
            vrf = _word(r"^   vrf (\S+)$", body)
            if vrf not in defined:
                what = f"VRF {vrf} is defined nowhere" if vrf else "it has no VRF of its own"
                yield (f"{header}\n",), f"{header.split()[1]} joins the fabric's routes to management's: {what}"


def _sessions(body: str, families: str, profiles: Mapping[str, str]) -> Iterator[Session]:
    groups: dict[str, dict[str, str]] = {}
    declared: set[str] = set()
    for who, what, value in _NEIGHBOUR.findall(f"\n{body}\n"):
        settings = groups.setdefault(who, {})
        if what == "route-map":
            name, _, direction = value.partition(" ")
            settings[direction] = name
        elif what == "bfd":
            settings["bfd interval" if value else what] = value or "on"
        elif what == "peer group" and not value:
            declared.add(who)
        else:
            settings[what] = value
    active = set(re.findall(r"^      neighbor (\S+) activate$", families, re.M))
    restart_s, restart_mark = _restart(body)
    shared_by: dict[str, _NeighbourSaid] = {}  # of the groups whose neighbours say nothing themselves
    for who, settings in groups.items():
        if ":" not in who and "." not in who:
            continue
        group = settings.get("peer group", "")
        shared = groups.get(group, {})
        is_shut = "shutdown" in settings or "shutdown" in shared
        if is_shut or not active & {who, group} or (group and group not in declared):
            continue
        peer, remote_as = packed(who), int(settings.get("remote-as") or shared.get("remote-as") or 0)
        if not settings.keys() <= _OF_ONE:
            values = _said(who, settings, group, shared, profiles)
        elif group in shared_by:
            values = shared_by[group]
        else:
            values = shared_by[group] = _said(who, settings, group, shared, profiles)
        into, out_of, has_bfd, most_routes, authentication, auth_mark, hold_time_s, hold_mark, group_mark, bfd_ms = (
            values
        )
        place = (f"   neighbor {who} ",)
        mark = (f"   neighbor {who} remote-as ",) if "remote-as" in settings else place
        yield Session(
            peer=peer,
            local=None,
            remote_as=remote_as,
            into=into,
            out_of=out_of,
            mark=mark,
            group_mark=group_mark or place,
            as_mark=mark,
            local_mark=place,
            has_bfd=has_bfd,
            most_routes=most_routes,
            authentication=authentication,
            auth_mark=auth_mark,
            hold_time_s=hold_time_s,
            hold_mark=hold_mark,
            restart_s=restart_s,
            restart_mark=restart_mark,
            bfd_ms=bfd_ms,
        )


def _bfd_ms(words: str) -> int:
    """BFD's detection time, from the words of its line; the default without one."""
    timers = _BFD_TIMERS.fullmatch(words)
    return DEFAULT_BFD_MS if timers is None else int(timers["receive"]) * int(timers["multiplier"])


def _said(
    who: str, words: Mapping[str, str], group: str, shared: Mapping[str, str], profiles: Mapping[str, str]
) -> _NeighbourSaid:
    """A neighbour's settings, by its own lines and those of its group."""
    return _NeighbourSaid(
        into=words.get("in") or shared.get("in", ""),
        out_of=words.get("out") or shared.get("out", ""),
        has_bfd="bfd" in words or "bfd" in shared,
        most_routes=_most_routes(words.get("maximum-routes") or shared.get("maximum-routes") or "0"),
        authentication=authentication_of(words.get("password") or shared.get("password", ""), profiles),
        auth_mark=_place(who if "password" in words else group, "password "),
        hold_time_s=int((words.get("timers") or shared.get("timers") or f"60 {DEFAULT_HOLD_TIME_S}").split()[1]),
        hold_mark=_place(who if "timers" in words else group, "timers "),
        group_mark=_place(group) if group else (),
        bfd_ms=_bfd_ms(words.get("bfd interval") or shared.get("bfd interval", "")),
    )


def _place(who: str, word: str = "") -> Mark:
    """Place of a setting of a neighbour or a group."""
    return (f"   neighbor {who} {word}",)


def _restart(bgp: str) -> tuple[int | None, Mark]:
    """Restart time in seconds, None for EOS's own, 0 for none, and the line to blame for it."""
    time = re.search(r"^   graceful-restart restart-time (\d+)$", bgp, re.M)
    lines = [line for line in ("\n   graceful-restart restart-time ", "\n   graceful-restart\n") if line in f"\n{bgp}"]
    mark = ("router bgp ", *lines[:1])
    return (int(time[1]) if time else None) if "\n   graceful-restart\n" in lines else 0, mark


def _most_routes(words: str) -> int:
    """The number behind maximum-routes; 0, for any number, if exceeding it only causes a warning."""
    return 0 if "warning-only" in words else int(words.split(maxsplit=1)[0])


def _policies(maps: list[Body], addressing: list[Body]) -> Mapping[str, Policy]:
    lists: dict[str, PrefixRules] = {}
    communities: dict[str, frozenset[str]] = {}
    for header, body in addressing:
        words = header.split()
        if words[1] == "prefix-list":
            # several statements make one list: those with an entry of their own add it
            entries = f"   {' '.join(words[3:])}\n" if len(words) > 3 else body
            lists[words[2]] = (*lists.get(words[2], ()), *_rules(entries))
        elif words[1] == "community-list":
            communities[words[2]] = communities.get(words[2], frozenset()) | frozenset(words[4:])
    policies: dict[str, list[tuple[int, Term]]] = {}
    for header, body in maps:
        words = header.split()
        name = re.search(r"^   match ip(?:v6)? address prefix-list (\S+)$", body, re.M)
        wanted = re.search(r"^   match community (\S+)$", body, re.M)
        change, values = _change(body)
        term = Term(
            permit=words[2] == "permit",
            list_name=name[1] if name else "",
            prefixes=lists.get(name[1], ()) if name else None,
            communities=communities.get(wanted[1], frozenset()) if wanted else None,
            change=change,
            values=values,
            mark=(f"{header}\n",),
        )
        policies.setdefault(words[1], []).append((int(words[3]), term))
    return {name: tuple(term for _, term in sorted(terms, key=lambda t: t[0])) for name, terms in policies.items()}


def _change(body: str) -> tuple[str, frozenset[str]]:
    match = re.search(r"^   set community (.+)$", body, re.M)
    if match is None:
        return "", frozenset()
    words = match[1].split()
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
        if not within[1] <= low <= high <= top:
            raise ValueError(f'"{text}{rest}" names lengths that no prefix in it has; EOS refuses the line')
        rules.append((int(number or 0), PrefixRule(permit=action == "permit", within=within, low=low, high=high)))
    return tuple(rule for _, rule in sorted(rules, key=lambda numbered: numbered[0]))


def _defaults(addressing: list[Body]) -> Iterator[Mark]:
    for header, _ in addressing:
        words = header.split()
        if words[1] == "route" and words[2] in {"0.0.0.0/0", "::/0"}:
            yield (f"{header}\n",)
