"""Reading FBOSS's agent.conf and bgpcpp.conf, as far as the proofs need them.

Numbers of enumerations are those of facebook/fboss, switch_config.thrift and the BGP daemon's policy definitions.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.facts.router import Mark, Prefix, Router, Session, prefix_of
from clusterwright.finding import VerifyError
from clusterwright.switches.fboss.reader.agent import agent_of, ports_of, subnets_of
from clusterwright.switches.fboss.reader.bgp import next_hops, policies, sessions
from clusterwright.switches.fboss.reader.document import (
    FileInParts,
    Json,
    WrittenAs,
    addresses_hidden,
    addresses_out,
    document_of,
    far_ends_out,
    hostname_out,
    neighbours_out,
    whole_file,
)

AGENT, BGP = "etc/coop/agent.conf", "etc/coop/bgpcpp.conf"
LAYOUTS = {
    AGENT: WrittenAs(
        key="sw",
        opening='\n  "sw": {\n    "',
        closing="\n  }",
        between=',\n    "',
        words={
            "hostname": hostname_out,
            "ports": far_ends_out,
            "interfaces": addresses_out,
            "staticRoutesToNull": addresses_out,
            "aclTableGroup": addresses_hidden,
        },
    ),
    BGP: WrittenAs(
        key="",
        opening='{\n  "',
        closing="\n}",
        between=',\n  "',
        words={
            "router_id": neighbours_out,
            "local_as_4_byte": neighbours_out,
            "networks4": addresses_out,
            "networks6": addresses_out,
            "peers": neighbours_out,
            "policies": addresses_out,
        },
    ),
}
# a switch that has no other to speak with gets no file
_IPV4_BYTES = 4
_NO_BGP = whole_file(
    "",
    {
        "router_id": "",
        "local_as_4_byte": 0,
        "networks4": [],
        "networks6": [],
        "peer_groups": [],
        "peers": [],
        "policies": {"bgp_policy_statements": [], "prefix_lists": [], "community_lists": []},
    },
)


def read_fboss(device: str, agent_text: str, bgp_text: str) -> Router:
    """The router of both files. Raises VerifyError for other text."""
    file = AGENT
    try:
        document = document_of(agent_text, LAYOUTS[AGENT])
        agent, switch = agent_of(document.shape), document.value["sw"]
        ports, own_addresses = ports_of(agent, document)
        file = BGP
        bgp = document_of(bgp_text, LAYOUTS[BGP]) if bgp_text else _NO_BGP
        outline, restored = bgp.shape.outline, bgp.said
        return Router(
            device=device,
            ports_file=AGENT,
            bgp_file=BGP,
            keeps_communities=True,
            router_id=restored(outline["router_id"]),
            router_id_mark=('"router_id": ',),
            asn=restored(outline["local_as_4_byte"]),
            asn_mark=('"local_as_4_byte": ',),
            max_paths=0,
            max_paths_mark=(),
            ports=ports,
            own_addresses=own_addresses,
            sessions=tuple(session for session in sessions(bgp) if _version(session) in agent.sessions),
            networks=tuple(_networks(bgp)),
            policies=policies(bgp),
            qos=agent.qos,
            defaults=tuple(_defaults(switch)),
            discards=frozenset(prefix_of(row["prefix"]) for row in switch.get("staticRoutesToNull", ())),
            leaks=(*_leaks(switch), *next_hops(bgp)),
            spreads_by=agent.spreads_by,
            spread_mark=('"loadBalancers"', '"udfGroups"'),
            hash_function=agent.hash_function,
            seed_mark=('"loadBalancers"', '"seed"'),
            pools=agent.pools,
            advertised=subnets_of(agent.advertised, document),
            relayed=subnets_of(agent.relayed, document),
            relay_sources=dict(own_addresses),  # DHCPv4Handler.cpp, DHCPv6Handler.cpp: the VLAN's own address
        )
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise VerifyError(f"{device}:/{file}: this does not read ({error!r}). Render the spec again.") from None


def _version(session: Session) -> int:
    """The IP version of a session."""
    return 4 if len(session.peer) == _IPV4_BYTES else 6


def _networks(bgp: FileInParts) -> Iterator[tuple[Prefix, Mark]]:
    """The prefixes announced by BGP, with their places."""
    outline = bgp.shape.outline
    for network in (*outline["networks4"], *outline["networks6"]):
        prefix = bgp.said(network["prefix"])
        yield prefix_of(prefix), ('"networks', f'"prefix": "{prefix}"')


def _defaults(switch: Json) -> Iterator[Mark]:
    """The places of default routes."""
    for key in switch:
        if not key.startswith("staticRoutes"):
            continue
        for row in switch[key]:
            if row["prefix"] in {"0.0.0.0/0", "::/0"}:
                yield (f'"{key}"', f'"{row["prefix"]}"')


def _leaks(switch: Json) -> Iterator[tuple[Mark, str]]:
    """Static routes through other switches, beside default ones."""
    for row in switch.get("staticRoutesWithNhops", ()):
        if row["prefix"] not in {"0.0.0.0/0", "::/0"}:
            mark = ('"staticRoutesWithNhops"', f'"{row["prefix"]}"')
            yield mark, f"a static route to {row['prefix']} leads traffic past the routes of BGP"
