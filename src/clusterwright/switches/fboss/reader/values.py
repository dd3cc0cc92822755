"""Fields of agent.conf and bgpcpp.conf allowed to differ from the rendered ones."""

from __future__ import annotations

from clusterwright.facts.values import FieldValues, IdleFields, field_pattern

# Readers turn every value of these into facts: proofs follow rules and routes, and compare maps.
_AGENT_JUDGED = """
sw aclTableGroup aclTables * aclEntries * : actionType dstIp icmpType ipType l4DstPort l4SrcPort proto srcIp srcPort
sw aclTableGroup aclTables * aclEntries * : tcpFlagsBitMap vlanID
sw interfaces * : dhcpRelayAddressV4 dhcpRelayAddressV6 ipAddresses vlanID
sw ports * : ingressVlan speed state
sw ports * pfc : rx tx
sw qosPolicies * qosMap : dscpMaps
sw qosPolicies * qosMap pfcPriorityToPgId : *
sw qosPolicies * qosMap pfcPriorityToQueueId : *
sw qosPolicies * qosMap trafficClassToQueueId : *
sw staticRoutesToNull * : prefix
"""
_AGENT_HARMLESS = (
    ("wedge_agent", "a name for people", "sw interfaces * : name\nsw vlans * : name"),
    ("wedge_agent", "a name for people", "sw aggregatePorts * : description"),
    ("wedge_agent", "the name of a counter", "sw trafficCounters * : name types"),
    ("fsdb", "what the switch publishes", "defaultCommandLineArgs : publish_state_to_fsdb publish_stats_to_fsdb"),
)
_BGP_JUDGED = """
networks6 * : prefix
networks4 * : prefix
peer_groups * : egress_policy_name ingress_policy_name
peers * : local_addr next_hop6 peer_addr peer_group_name remote_as_4_byte
"""
_BGP_HARMLESS = (
    ("bgpd", "words for people", "peers * : description\npeer_groups * : description"),
    ("bgpd", "words for people", "policies prefix_lists * : description\npolicies community_lists * : description"),
)


_CLASSES = """
sw bufferPoolConfigs : *...
sw portPgConfigs : *...
sw portQueueConfigs : *...
sw ports * pfc : *...
sw qosPolicies : *...
"""


def _values(judged: str, harmless: tuple[tuple[str, str, str], ...]) -> FieldValues:
    groups = tuple(IdleFields(program, reason, field_pattern(fields)) for program, reason, fields in harmless)
    touches = ((field_pattern(_CLASSES), frozenset({"qos"})),)
    return FieldValues(judged=field_pattern(judged), harmless=groups, touches=touches)


AGENT_VALUES = _values(_AGENT_JUDGED, _AGENT_HARMLESS)
BGP_VALUES = _values(_BGP_JUDGED, _BGP_HARMLESS)
