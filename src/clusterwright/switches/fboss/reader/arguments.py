"""Forms of values in agent.conf and bgpcpp.conf, for readers' numbers, switches and addresses.

Forms are those of facebook/fboss (switch_config.thrift, bgp_config.thrift, bgp_policy.thrift), by the name of the
field, which has one type in every structure; if it does not, the structure's name comes before it. Thrift refuses a
file with another type, so such a value is unread at its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.facts.router import is_address

_NUMBERS = """
algorithm compare_operator defaultVlan detectionTimeMsecs fieldSizeInBytes flow_action fromDscpToTrafficClass
graceful_restart_seconds header headroomBytes headroomLimitBytes hold_time hold_time_seconds icmpType id ingressVlan
internalTrafficClass intfID ipType ipv4Fields ipv6Fields l4DstPort l4SrcPort linkCount local_as_4_byte logicalID
logicalPort match_logic_type max_routes maxFrameSize maximumLength memberPortID minimumLength mtu
pfcPriorityToPgId.* pfcPriorityToQueueId.* prefix_len_ranges[].value priority probability profileID proto
recoveryAction recoveryTimeMsecs remote_as_4_byte result routerAdvertisementSeconds routerID routerLifetime seed
sharedBytes spanningTreeState speed srcPort startOffsetInBytes tcpFlagsBitMap term_miss_action trafficClassToPgId.*
trafficClassToQueueId.* transportFields UdfL4DstPort vlanID weight
"""
_SWITCHES = """
disable_ipv4_afi disable_ipv6_afi emitTags routable routerAdvertisementManagedBit rx tx warning_only
"""
_TEXTS = """
bufferPoolName community.value community_list_name defaultQosPolicy description egress_policy_name hostname
ingress_policy_name name peer_group_name portPgConfigName portQueueConfigName prefix_list_name udfGroups
udfPacketMatcherIds
"""
_ADDRESSES = """
dhcpRelayAddressV4 dhcpRelayAddressV6 local_addr next_hop4 next_hop6 nexthops peer_addr router_id
"""
_PREFIXES = "base_prefix dstIp ipAddresses prefix srcIp"
_MOST = 1 << 32
# In the place of a word that a file has alone, and of a prefix that is hidden. `has_ill_formed_words` looks at
# addresses among words; a prefix that is none ends what is read of its switch.
_BLANK, _NUMBER_BLANK, _HIDDEN = "\0", "\0#", "an address"
_LONGEST = {4: 32, 6: 128}
_ADDRESS_WORDS = re.compile(
    r'"(?:local_addr|peer_addr|next_hop4|next_hop6|router_id)":(?! ?"[0-9A-Fa-f]*[.:][0-9A-Fa-f.:]*")'
)


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a value; ``kind`` is one of number, switch, text, address and prefix."""

    kind: str

    def fits(self, value: Any) -> bool:
        """True for a value of this form, and for the blank of a word of its type."""
        if isinstance(value, str) and value[:1] == _BLANK:
            return (value[:2] == _NUMBER_BLANK) == (self.kind == "number")
        if self.kind == "number":
            return type(value) is int and 0 <= value < _MOST
        if self.kind == "switch":
            return isinstance(value, bool)
        if not isinstance(value, str):
            return False
        if self.kind == "address":
            return is_address(value)
        return self.kind == "text" or value == _HIDDEN or _is_prefix(value)


def _is_prefix(text: str) -> bool:
    address, has_length, length = text.partition("/")
    if not is_address(address):
        return False
    longest = _LONGEST[6 if ":" in address else 4]
    return not has_length or (length.isdecimal() and int(length) <= longest)


FORMS: Mapping[str, Form] = {
    **dict.fromkeys(_NUMBERS.split(), Form("number")),
    **dict.fromkeys(_SWITCHES.split(), Form("switch")),
    **dict.fromkeys(_TEXTS.split(), Form("text")),
    **dict.fromkeys(_ADDRESSES.split(), Form("address")),
    **dict.fromkeys(_PREFIXES.split(), Form("prefix")),
}


def has_ill_formed_words(text: str) -> bool:
    """True for a file of BGP with a neighbour's address that may not be one."""
    return _ADDRESS_WORDS.search(text) is not None
