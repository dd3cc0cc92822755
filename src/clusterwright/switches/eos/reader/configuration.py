"""Reading an EOS startup-config into a router: its statements and their bodies, as far as the proofs need them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clusterwright.facts.router import (
    HashFunction,
    Mark,
    Prefix,
    Router,
    prefix_of,
)
from clusterwright.finding import VerifyError
from clusterwright.switches.eos.reader.authentication import shared_secrets
from clusterwright.switches.eos.reader.interfaces import Body, read_ports, read_qos_map, read_watchdog
from clusterwright.switches.eos.reader.macsec import keys_of
from clusterwright.switches.eos.reader.policies import read_policies
from clusterwright.switches.eos.reader.relays import relay_sources
from clusterwright.switches.eos.reader.sections import PATH, sections_by_word, sections_with
from clusterwright.switches.eos.reader.sessions import read_sessions

_FOREIGN = re.compile(r"^ *(?:redistribute|route-target|aggregate-address|neighbor \S+ default-originate).*$", re.M)
_FOREIGN_WORDS = ("redistribute", "route-target", "aggregate-address", "default-originate")
_FAMILY = re.compile(r"^   address-family ipv[46]\n((?:      .*\n)*)", re.M)
_NETWORK = re.compile(r"^      network (\S+)", re.M)
_OWN = re.compile(r"^   ip(?:v6)? address ([0-9a-f.:]+/\d+)$", re.M)
_HASHED_BYTES = re.compile(r"^      fields udp dst-port (?P<port>\d+)\n         payload bytes (?P<bytes>\S+)$", re.M)
_ADVERTISES = re.compile(r"^   ipv6 nd managed-config-flag$", re.M)
_RELAYS = re.compile(r"^   (?:ip helper-address|ipv6 dhcp relay destination) ", re.M)


# Reserves counters of marked packets, on chips with virtual output queues.
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
    by_word: dict[str, list[Body]] = {}
    for word, sections in sections_by_word(text).items():
        by_word[word] = [(section.header, section.body) for section in sections]
    bgp = next((statement for statement in by_word.get("router", ()) if statement[0].startswith("router bgp ")), None)
    qos, profiles = _qos_statements(by_word.get("qos", ()))
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
        reserves_counters=_has_statement(by_word.get("hardware", ()), _ECN_COUNTERS),
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
        sessions=tuple(read_sessions(body, families, secrets)) if _is_routing(addressing, body) else (),
        networks=tuple(_networks(families)),
        policies=read_policies(by_word.get("route-map", ()), addressing),
        qos=read_qos_map(tuple(qos), tuple(profiles.values())) if qos else None,
        defaults=tuple(_defaults(addressing)),
        discards=frozenset(_discards(addressing)),
        leaks=(*_leaks(body, addressing, by_word.get("router", [])), *_bare_management(by_word)),
        spreads_by=_spreads_by(by_word),
        spread_mark=("load-balance policies",),
        hash_function=_hash_function(addressing),
        seed_mark=("\nip load-sharing ",),
        advertised=frozenset(_advertised_subnets(interfaces)),
        relayed=frozenset(_relayed_subnets(interfaces)),
        relay_sources=dict(relay_sources(interfaces)),
    )


def _qos_statements(statements: Iterable[Body]) -> tuple[list[Body], dict[str, str]]:
    """The maps of classes, and the bodies of the profiles by name."""
    maps: list[Body] = []
    profiles: dict[str, str] = {}
    for header, body in statements:
        if header.startswith("qos profile"):
            profiles[header.split()[2]] = body
        else:
            maps.append((header, body))
    return maps, profiles


def _has_statement(statements: Iterable[Body], wanted: str) -> bool:
    return any(header == wanted for header, _ in statements)


def _networks(families: str) -> Iterator[tuple[Prefix, Mark]]:
    """The prefixes announced by BGP, with their places."""
    for prefix in _NETWORK.findall(families):
        yield prefix_of(prefix), (f"      network {prefix}\n",)


def _discards(addressing: Iterable[Body]) -> Iterator[Prefix]:
    """The prefixes of discard routes."""
    for header, _ in addressing:
        words = header.split()
        if words[1] == "route" and words[3:4] == ["Null0"]:
            yield prefix_of(words[2])


def _advertised_subnets(interfaces: Iterable[Body]) -> Iterator[Prefix]:
    """The subnets with router advertisements for DHCPv6."""
    for _, body in interfaces:
        # Few interfaces have such a line, and the search for a word of it is fast.
        if "-config-flag" not in body or "   ipv6 nd ra disabled" in body:
            continue
        if _ADVERTISES.search(body):
            yield from _subnets_in_service(body)


def _relayed_subnets(interfaces: Iterable[Body]) -> Iterator[Prefix]:
    """The subnets with a DHCP relay."""
    for _, body in interfaces:
        # As above, the search for a word comes first.
        if "helper-" not in body and "relay" not in body:
            continue
        if _RELAYS.search(body):
            yield from _subnets_in_service(body)


def _subnets_in_service(body: str) -> list[Prefix]:
    if "   shutdown\n" in body:
        return []
    return [prefix_of(text) for text in _OWN.findall(body)]


def _leaks(bgp: str, addressing: list[Body], routers: list[Body]) -> Iterator[tuple[Mark, str]]:
    """Ways for routes of other protocols, tables and fabrics into this one."""
    yield from _bgp_leaks(bgp)
    processes = [header for header, _ in routers if header.startswith("router bgp ")]
    for header in processes[1:]:
        yield (f"{header}\n",), f"{header} is a second BGP process, of which EOS takes one"
    for header, body in routers:
        if "leak routes " not in body:
            continue
        for line in re.findall(r"^ +leak routes .*$", body, re.M):
            yield (f"{header}\n", line), f"{line.strip()} carries routes from one VRF to another"
    for header, _ in addressing:
        words = header.split()
        if words[1] != "route" or words[3:4] == ["Null0"]:
            continue
        if words[2] not in {"vrf", "0.0.0.0/0", "::/0"}:
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
    channels = by_word.get("port-channel", [])
    policies = next((body for _, body in by_word.get("load-balance", ())), "")
    for header, _ in channels:
        name = re.search(r" profile (\S+)$", header)
        if name is None:
            continue
        start = rf"^   load-balance sand profile {re.escape(name[1])}\n"
        profile = re.search(rf"{start}((?:      .*\n)*)", policies, re.M)
        if profile is None:
            continue
        fields = _HASHED_BYTES.search(profile[1])
        if fields is not None:
            first, _, last = fields["bytes"].partition("-")
            return f"bytes {first} to {last or first} of UDP's payload to port {fields['port']}"
    return "addresses and ports alone" if channels or policies else None


def _hash_function(addressing: list[Body]) -> HashFunction | None:
    """The configured seed; without one it is 0 on every chip (EOS user manual, ip load-sharing)."""
    seeds: list[str] = []
    for header, _ in addressing:
        words = header.split()
        if words[:2] == ["ip", "load-sharing"] and len(words) == 4:
            seeds.append(words[3])
    if any(not seed.isdigit() for seed in seeds):
        return None
    return HashFunction("EOS's own", int(seeds[-1]) if seeds else 0)


def _word(pattern: str, body: str) -> str:
    """The first group of a pattern, "" without a match."""
    match = re.search(pattern, body, re.M)
    return match[1] if match else ""


def _is_routing(addressing: list[Body], bgp: str) -> bool:
    """True for a switch with routing in BGP's address family: EOS has it off by default."""
    is_ipv6 = "   address-family ipv6\n" in bgp
    return _has_statement(addressing, "ipv6 unicast-routing" if is_ipv6 else "ip routing")


def _bare_management(by_word: dict[str, list[Body]]) -> Iterator[tuple[Mark, str]]:
    """Management ports among the fabric's own: without a VRF, or with an undefined one."""
    vrfs = {header.split()[-1] for header, _ in by_word.get("vrf", ())}
    for header, body in by_word.get("interface", ()):
        if not header.startswith("interface Management") or "   shutdown\n" in body:
            continue
        vrf = _word(r"^   vrf (\S+)$", body)
        if vrf not in vrfs:
            reason = f"VRF {vrf} is defined nowhere" if vrf else "it has no VRF of its own"
            yield (f"{header}\n",), f"{header.split()[1]} joins the fabric's routes to management's: {reason}"


def _defaults(addressing: list[Body]) -> Iterator[Mark]:
    """The places of default routes."""
    for header, _ in addressing:
        words = header.split()
        if words[1] == "route" and words[2] in {"0.0.0.0/0", "::/0"}:
            yield (f"{header}\n",)
