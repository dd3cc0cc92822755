"""NVUE's routing objects as FRR has them: what they mean there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Objects = dict[str, Any]


def at(tree: Mapping[str, Any], *path: str) -> Any:
    found: Any = tree
    for name in path:
        found = found.get(name, {})
    return found


def frr_conf(own: Objects) -> str:
    """The routing objects as FRR has them: what they mean there."""
    policy = at(own, "router", "policy")
    lines = [f"hostname {own['system']['hostname']}"]
    for prefix, route in at(own, "vrf", "default", "router", "static").items():
        lines += [f"{_word(route['address-family'])} route {prefix} {via}" for via in route["via"]]
    lines += _prefix_lists(policy)
    for name, marks in at(policy, "community-list").items():
        for number, rule in marks["rule"].items():
            community = " ".join(rule["community"])
            lines.append(f"bgp community-list standard {name} seq {number} {rule['action']} {community}")
    lines += _route_maps(policy)
    for family, rib in at(own, "vrf", "default", "router", "rib").items():
        for name, rule in rib["protocol"].items():
            lines.append(f"{_word(family)} protocol {name} route-map {rule['fib-filter']}")
    return "\n".join([*lines, *_process(own, at(own, "vrf", "default", "router", "bgp")), ""])


def _word(family: str) -> str:
    return "ipv6" if family.startswith("ipv6") else "ip"


def _prefix_lists(policy: Objects) -> Iterator[str]:
    for name, prefixes in at(policy, "prefix-list").items():
        for number, rule in prefixes["rule"].items():
            for prefix, bounds in rule["match"].items():
                low, high = (bounds.get(f"{end}-prefix-len") for end in ("min", "max"))
                more = (f" ge {low}" if low else "") + (f" le {high}" if high else "")
                yield f"{_word(prefixes['type'])} prefix-list {name} seq {number} {rule['action']} {prefix}{more}"


def _route_maps(policy: Objects) -> Iterator[str]:
    for name, route_map in at(policy, "route-map").items():
        for number, rule in route_map["rule"].items():
            (action,), match = rule["action"], rule.get("match", {})
            yield f"route-map {name} {action} {number}"
            if "ip-prefix-list" in match:
                yield f" match {_word(match['type'])} address prefix-list {match['ip-prefix-list']}"
            if "community-list" in match:
                yield f" match community {match['community-list']}"
            yield from (f" set community {mark}" for mark in at(rule, "set", "community"))
            if "source-ip" in rule.get("set", {}):
                yield f" set src {rule['set']['source-ip']}"
            yield "exit"


def _process(own: Objects, bgp: Objects) -> Iterator[str]:
    yield f"router bgp {bgp['autonomous-system']}"
    yield f" bgp router-id {bgp['router-id']}"
    restart = own["router"]["bgp"]["graceful-restart"]
    yield from (" bgp graceful-restart", f" bgp graceful-restart restart-time {restart['restart-time']}")
    if at(bgp, "path-selection", "multipath", "aspath-ignore") == "on":
        yield " bgp bestpath as-path multipath-relax"
    for name, each in bgp["peer-group"].items():
        yield f" neighbor {name} peer-group"
        yield f" neighbor {name} timers {each['timers']['keepalive']} {each['timers']['hold']}"
        if "bfd" in each:
            bfd = each["bfd"]
            figures = (bfd["detect-multiplier"], bfd["min-rx-interval"], bfd["min-tx-interval"])
            yield f" neighbor {name} bfd {' '.join(map(str, figures))}"
    for peer, each in bgp["neighbor"].items():
        yield f" neighbor {peer} remote-as {each['remote-as']}"
        yield f" neighbor {peer} peer-group {each['peer-group']}"
        yield f" neighbor {peer} description {each['description']}"
        yield f" neighbor {peer} update-source {each['update-source']}"
        if "password" in each:
            yield f" neighbor {peer} password secret"
    for family, each in bgp["address-family"].items():
        yield f" address-family {family.replace('-', ' ')}"
        yield from (f"  network {prefix}" for prefix in each.get("network", {}))
        yield from (f"  maximum-paths {each['multipaths']['ebgp']}" for _ in "x" if "multipaths" in each)
        for name, group in bgp["peer-group"].items():
            yield from _activation(name, group["address-family"][family])
        yield " exit-address-family"
    yield "exit"


def _activation(name: str, family: Objects) -> Iterator[str]:
    """What a peer group is told in an address family."""
    yield f"  {'' if family['enable'] == 'on' else 'no '}neighbor {name} activate"
    for way, word in (("inbound", "in"), ("outbound", "out")):
        if way in family.get("policy", {}):
            yield f"  neighbor {name} route-map {family['policy'][way]['route-map']} {word}"
    for kind, is_on in family.get("community-advertise", {}).items():
        word = {"regular": "standard"}.get(kind, kind)
        yield f"  {'' if is_on == 'on' else 'no '}neighbor {name} send-community {word}"
    if "prefix-limits" in family:
        limit = family["prefix-limits"]["inbound"]
        yield f"  neighbor {name} maximum-prefix {limit['maximum']} {limit['warning-threshold']}"
