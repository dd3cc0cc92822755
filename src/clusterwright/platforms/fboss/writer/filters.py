"""What FBOSS's agent filters: an ingress group of ACL tables, permits above denies.

Within one table the agent places every deny before every permit (ApplyThriftConfig), so what is permitted stands in a
table of its own with a greater priority. An entry matches one prefix and one port on each side; the permits name no
switch port, since hosts' own prefixes are their sources, and the denies name nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

from clusterwright.intent.edge import host_permits, is_host_port
from clusterwright.platforms.json_lines import Encoded, encode
from clusterwright.spec.hardware.systems import filter_tables_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.intent.edge_filters import PermitShapes
    from clusterwright.intent.filter_entries import Permit
    from clusterwright.intent.switch import SwitchView
    from clusterwright.plan.model import Plan

# The agent's flag for configurations with more than one table.
COMMAND_LINE = {"enable_acl_table_group": "true"}
SYSTEM = "fboss"
INGRESS = 0
DENY, PERMIT = 0, 1
IP_PACKETS = 1
PACKET_ACTION, COUNTER = 0, 1
PACKETS = 0
DENIES_PRIORITY = 1
PROTOCOLS = {"tcp": 6, "udp": 17}
ICMP_PROTOCOLS = {4: 1, 6: 58}
# Addresses, ports, protocol, TCP flags, ICMP types in both versions.
PERMIT_QUALIFIERS = (0, 1, 2, 3, 4, 5, 6, 7, 11, 13)
SOURCE_PORT, IP_TYPE, OUTER_VLAN = 8, 17, 23


# Where the text of tables has a source: its number among those of the switch, behind a byte that no text has.
_PLACE = re.compile(r"\\u0000(\d+)")


@dataclass(frozen=True, slots=True)
class FbossFilters:
    """The agent's ``aclTableGroup``, the entries' actions, and the counters that these name."""

    group: dict[str, Any]
    actions: Encoded
    counters: tuple[dict[str, Any], ...]


def fboss_filters(plan: Plan, view: SwitchView, host_vlan: int) -> FbossFilters | None:
    """What hosts behind a switch may send; None where nothing is filtered. ``host_vlan`` is that of a shared subnet."""
    permits = host_permits(plan, view, single_ports=True)
    if permits is None:
        return None
    pieces, numbers, actions, counters = _flows(permits.of_kind)
    texts = [str(network) for network in permits.sources]
    own = [*pieces]
    own[1::2] = [texts[number] for number in numbers]
    closed = _table("closed", DENIES_PRIORITY, list(_denies(view, host_vlan)), (SOURCE_PORT, IP_TYPE, OUTER_VLAN))
    return FbossFilters(
        group={"name": "hosts", "stage": INGRESS, "aclTables": Encoded("".join((*own, encode(closed), "]")))},
        actions=actions,
        counters=counters,
    )


@lru_cache(maxsize=256)
def _flows(
    of_kind: PermitShapes,
) -> tuple[tuple[str, ...], tuple[int, ...], Encoded, tuple[dict[str, Any], ...]]:
    """The text of the tables before the last one, actions and counters: the same for all switches with hosts of a kind.

    Every second piece of the text is to be a source: that of the number that is returned with it.
    """
    entries: list[dict[str, Any]] = []
    actions: list[dict[str, Any]] = []
    numbers: Counter[str] = Counter()
    for permit, sources in of_kind.shapes:
        places: tuple[int | None, ...] = sources or (None,)
        matches = list(_matches(permit))
        for source, match in product(places, matches):
            name = f"{permit.name.replace(' ', '-')}-{numbers[permit.name]}"
            numbers[permit.name] += 1
            entry: dict[str, Any] = {"name": name, "actionType": PERMIT}
            entries.append(entry | ({} if source is None else {"srcIp": f"\0{source}"}) | match)
            actions.append({"matcher": name, "action": {"counter": permit.name.replace(" ", "-")}})
    most = filter_tables_of(SYSTEM).entries
    parts = [entries[at : at + most] for at in range(0, len(entries), most)]
    names = [f"flows-{number}" if number > 1 else "flows" for number in range(1, len(parts) + 1)]
    tables = [
        _table(name, DENIES_PRIORITY + len(parts) - number, part, PERMIT_QUALIFIERS)
        for number, (name, part) in enumerate(zip(names, parts, strict=True))
    ]
    pieces = _PLACE.split("[" + "".join(f"{encode(table)}, " for table in tables))
    counters = dict.fromkeys(action["action"]["counter"] for action in actions)
    return (
        tuple(pieces),
        tuple(map(int, pieces[1::2])),
        Encoded(encode(actions)),
        tuple({"name": name, "types": [PACKETS]} for name in counters),
    )


def _table(name: str, priority: int, entries: list[dict[str, Any]], qualifiers: tuple[int, ...]) -> dict[str, Any]:
    return {
        "name": name,
        "priority": priority,
        "aclEntries": entries,
        "actionTypes": [PACKET_ACTION, COUNTER],
        "qualifiers": list(qualifiers),
    }


def _denies(view: SwitchView, host_vlan: int) -> Iterator[dict[str, Any]]:
    hosts = [link for link in view.links if is_host_port(link)]
    if any(not link.is_routed for link in hosts):
        yield {"name": "closed-hosts", "actionType": DENY, "ipType": IP_PACKETS, "vlanID": host_vlan}
    for link in hosts:
        if link.is_routed:
            port = view.platform_port(link.port).number
            name = f"closed-{link.port.port}"
            yield {"name": name, "actionType": DENY, "ipType": IP_PACKETS, "srcPort": port}


def _matches(permit: Permit) -> Iterator[dict[str, Any]]:
    """What entries match beside their source, one for each combination of targets, ports, flags and types."""
    protocol = PROTOCOLS.get(permit.protocol)
    common: dict[str, Any] = {} if protocol is None else {"proto": protocol}
    if permit.protocol == "icmp":
        common = {"proto": ICMP_PROTOCOLS[permit.version]}
    flags = filter_tables_of(SYSTEM).reply_flags if permit.established else (None,)
    for target, low, high, flag, kind in product(
        permit.targets or (None,),
        tuple(port for port, _ in permit.source_ports) or (None,),
        tuple(port for port, _ in permit.target_ports) or (None,),
        flags,
        permit.types or (None,),
    ):
        wanted = {
            "dstIp": None if target is None else str(target),
            "l4SrcPort": low,
            "l4DstPort": high,
            "tcpFlagsBitMap": flag,
            "icmpType": kind,
        }
        yield {key: value for key, value in wanted.items() if value is not None} | common
