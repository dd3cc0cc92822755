"""Known fields of agent.conf and bgpcpp.conf: those readers understand, and those without effect on any claim.

Each line is a structure and its fields, by the names of facebook/fboss (switch_config.thrift, bgp_config.thrift). A
list ends in ``[]``, the entries of a map are ``*``; ``field=1|2`` is accounted for with these values alone, and a field
with ``...`` at its end with any content.
"""

from __future__ import annotations

AGENT_READ = """
defaultCommandLineArgs enable_acl_table_group=true
sw hostname defaultVlan
sw.ports[] logicalID name description state=1|2 speed profileID maxFrameSize routable ingressVlan portQueueConfigName
sw.ports[].pfc tx rx portPgConfigName
sw.ports[].pfc.watchdog detectionTimeMsecs recoveryTimeMsecs recoveryAction
sw.vlans[] id intfID dhcpRelayAddressV4 dhcpRelayAddressV6
sw.vlanPorts[] vlanID logicalPort spanningTreeState emitTags
sw.aggregatePorts[] name
sw.aggregatePorts[].memberPorts[] memberPortID rate=0|1 activity=0|1
sw.aggregatePorts[].minimumCapacity linkCount=1
sw.interfaces[] intfID routerID vlanID ipAddresses[] mtu dhcpRelayAddressV4 dhcpRelayAddressV6
sw.interfaces[].ndp routerAdvertisementSeconds routerAdvertisementManagedBit routerLifetime
sw.staticRoutesToNull[] prefix routerID=0
sw.staticRoutesWithNhops[] prefix nexthops[] routerID=0
sw.loadBalancers[] id algorithm seed
sw.loadBalancers[].fieldSelection ipv4Fields[] ipv6Fields[] transportFields[] udfGroups[]
sw.udfConfig.udfGroups.* header startOffsetInBytes fieldSizeInBytes udfPacketMatcherIds[] type=0
sw.udfConfig.udfPacketMatcher.* UdfL4DstPort l2PktType=0 l3pktType=0 l4PktType=2
sw.qosPolicies[] name
sw.qosPolicies[].qosMap.dscpMaps[] internalTrafficClass fromDscpToTrafficClass[]
sw.qosPolicies[].qosMap.trafficClassToQueueId *
sw.qosPolicies[].qosMap.pfcPriorityToQueueId *
sw.qosPolicies[].qosMap.trafficClassToPgId *
sw.qosPolicies[].qosMap.pfcPriorityToPgId *
sw.dataPlaneTrafficPolicy defaultQosPolicy
sw.portQueueConfigs.*[] id streamType=0 weight scheduling=0|1
sw.portQueueConfigs.*[].aqms[] behavior=1
sw.portQueueConfigs.*[].aqms[].detection.linear minimumLength maximumLength probability
sw.portPgConfigs.*[] id headroomLimitBytes bufferPoolName
sw.bufferPoolConfigs.* sharedBytes headroomBytes
sw.aclTableGroup stage=0
sw.aclTableGroup.aclTables[] name priority
sw.aclTableGroup.aclTables[].aclEntries[] name actionType=0|1 srcIp dstIp proto l4SrcPort l4DstPort tcpFlagsBitMap
sw.aclTableGroup.aclTables[].aclEntries[] icmpType ipType srcPort vlanID
"""
"""Fields that readers read, or refuse by name."""

AGENT_REFUTED = (
    "mirrors mirrorOnDropReports sFlowCollectors ipInIpTunnels staticMplsRoutesWithNhops staticIp2MplsRoutes "
    "globalEgressTrafficPolicy"
)
"""Fields that let packets bypass the tables of their ports: `isolation` is refuted at these fields of the switch."""

AGENT_IDLE = """
defaultCommandLineArgs publish_state_to_fsdb publish_stats_to_fsdb
thriftApiToRateLimitInQps *
platform chip...
sw version sdkVersion... arpTimeoutSeconds arpAgerInterval maxNeighborProbes staleEntryInterval proactiveArp
sw.ports[] parserType=2
sw.ports[].expectedLLDPValues *
sw.vlans[] name recordStats routable ipAddresses[]
sw.vlanPorts[] emitPriorityTags=false
sw.aggregatePorts[] key description
sw.aggregatePorts[].memberPorts[] priority
sw.interfaces[] name isVirtual isStateSyncDisabled
sw.cpuQueues[] id streamType weight scheduling name
sw.cpuQueues[].portQueueRate.pktsPerSec minimum maximum
sw.cpuTrafficPolicy.rxReasonToQueueOrderedList[] rxReason queueId
sw.loadBalancers[].fieldSelection mplsFields[]
sw.udfConfig.udfGroups.* name
sw.udfConfig.udfPacketMatcher.* name
sw.switchSettings.switchIdToSwitchInfo.* switchType=0 asicType switchIndex=0
sw.switchSettings.switchIdToSwitchInfo.*.portIdRange minimum maximum
sw.portQueueConfigs.*[] name
sw.portPgConfigs.*[] name scalingFactor minLimitBytes resumeOffsetBytes
sw.dataPlaneTrafficPolicy.matchToAction[] matcher
sw.dataPlaneTrafficPolicy.matchToAction[].action counter
sw.trafficCounters[] name types[]
sw.aclTableGroup name
sw.aclTableGroup.aclTables[] actionTypes[] qualifiers[]
"""
"""Fields without influence on any claim: names, counters and their exports, timeouts of neighbours, the queues of the
switch's processor, expected LLDP values, the chip's type with its vendor's settings, and the shares of buffers beyond
the headroom. Empty lists there have no effect."""

EMPTY_LISTS = """
sw.switchSettings.switchIdToSwitchInfo.*.systemPortRanges systemPortRanges[]
sw.qosPolicies[] rules[]
sw.qosPolicies[].qosMap expMaps[]
sw acls[]
"""
"""Lists that are accounted for only if empty."""

BGP_READ = """
top router_id local_as_4_byte hold_time listen_port=179
networks4[] prefix
networks6[] prefix
peer_groups[] name disable_ipv4_afi disable_ipv6_afi ingress_policy_name egress_policy_name
peer_groups[].bgp_peer_timers hold_time_seconds graceful_restart_seconds
peer_groups[].pre_filter max_routes warning_only
peers[] remote_as_4_byte local_addr peer_addr next_hop4 next_hop6 peer_group_name ingress_policy_name egress_policy_name
peers[].pre_filter max_routes warning_only
policies.bgp_policy_statements[] name result
policies.bgp_policy_statements[].policy_entries[] term_miss_action
policies.bgp_policy_statements[].policy_entries[].policy_matches[] match_logic_type
policies.bgp_policy_statements[].policy_entries[].policy_matches[].match_entries[] type=3|5
policies.bgp_policy_statements[].policy_entries[].policy_matches[].match_entries[].prefix_list prefix_list_name
policies.bgp_policy_statements[].policy_entries[].policy_matches[].match_entries[].community_list community_list_name
policies.bgp_policy_statements[].policy_entries[].policy_action_entries[] type=2|5
policies.bgp_policy_statements[].policy_entries[].policy_action_entries[].action_type route_action=11|12|13
policies.bgp_policy_statements[].policy_entries[].policy_action_entries[].action_type flow_action=1|2
policies.bgp_policy_statements[].policy_entries[].policy_action_entries[].community_list community_list_name
policies.prefix_lists[] name boolean_operator=2
policies.prefix_lists[].prefixes[] base_prefix
policies.prefix_lists[].prefixes[].prefix_len_ranges[] value compare_operator=1|2|3
policies.community_lists[] name
policies.community_lists[].members[].community value type=1
"""

BGP_IDLE = """
networks4[] install_to_fib=false
networks6[] install_to_fib=false
peer_groups[] description
peer_groups[].bgp_peer_timers keep_alive_seconds out_delay_seconds withdraw_unprog_delay_seconds
peer_groups[].pre_filter warning_limit
peers[] description
peers[].pre_filter warning_limit
policies.bgp_policy_statements[] policy_version
policies.bgp_policy_statements[].policy_entries[] name description
policies.bgp_policy_statements[].policy_entries[].policy_matches[] name description
policies.prefix_lists[] description ip_version
policies.prefix_lists[].prefixes[] seq_num
policies.community_lists[] description
policies.community_lists[].members[].community name
"""
"""Fields without influence on any claim: names, keepalive intervals and delays of sessions."""

BGP_EMPTY_LISTS = """
networks4[] communities[]
networks6[] communities[]
"""

QOS, HASH = frozenset({"qos"}), frozenset({"ecmp-hash"})
CLAIMS = {
    **dict.fromkeys(("portPgConfigs", "bufferPoolConfigs", "portQueueConfigs"), QOS),
    **dict.fromkeys(("loadBalancers", "udfConfig"), HASH),
    **dict.fromkeys(("trafficCounters", "switchSettings"), frozenset({"isolation"})),
}
"""The checks that an unknown field in these parts of the switch could touch; elsewhere all that read the file."""
