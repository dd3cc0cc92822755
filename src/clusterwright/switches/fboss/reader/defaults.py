"""Fields printed by FBOSS of a running switch without being in its files: those its structures require.

``show config running`` prints the structures themselves (facebook/fboss, CmdShowConfigRunningAgent.cpp), with every
such field at the default of its IDL: agent_config.thrift, switch_config.thrift, bgp_config.thrift, bgp_policy.thrift.
Each line is a structure, written as in known_fields, and its fields with their defaults in JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

AGENT_DEFAULTS = """
top defaultCommandLineArgs={} thriftApiToRateLimitInQps={} platform={}
platform chip={} switchIndexToSwitchId={} switchIndexToChipConfigs={} switchIndexToPlatformSettings={}
sw version=0 vlans=[] vlanPorts=[] interfaces=[] arpTimeoutSeconds=60 arpRefreshSeconds=20 arpAgerInterval=5
sw proactiveArp=false staticRoutesWithNhops=[] staticRoutesToNull=[] staticRoutesToCPU=[] acls=[]
sw maxNeighborProbes=300 staleEntryInterval=10 aggregatePorts=[] sFlowCollectors=[] cpuQueues=[] loadBalancers=[]
sw mirrors=[] trafficCounters=[] qosPolicies=[] defaultPortQueues=[] staticMplsRoutesWithNhops=[]
sw staticMplsRoutesToNull=[] staticMplsRoutesToCPU=[] staticIp2MplsRoutes=[] portQueueConfigs={} switchSettings={}
sw dsfNodes={} defaultVoqConfig=[] mirrorOnDropReports=[] clientIdToAdminDistance={}
sw.clientIdToAdminDistance 0=20 1=1 2=0 3=0 4=0 700=255 786=10 800=2
sw.ports[] minFrameSize=64 parserType=0 speed=0 queues_DEPRECATED=[] pause={} sFlowIngressRate=0 sFlowEgressRate=0
sw.ports[] loopbackMode=0 expectedLLDPValues={} lookupClasses=[] portType=0 expectedNeighborReachability=[]
sw.ports[] drainState=0 scope=0 conditionalEntropyRehash=false
sw.ports[].pause tx=false rx=false
sw.ports[].pfc tx=false rx=false
sw.ports[].pfc.watchdog recoveryAction=0
sw.vlans[] recordStats=true routable=false ipAddresses=[]
sw.vlanPorts[] emitTags=false emitPriorityTags=false
sw.interfaces[] routerID=0 isVirtual=false isStateSyncDisabled=false type=1 scope=0
sw.interfaces[].ndp routerAdvertisementSeconds=0 curHopLimit=255 routerLifetime=1800 prefixValidLifetimeSeconds=2592000
sw.interfaces[].ndp prefixPreferredLifetimeSeconds=604800 routerAdvertisementManagedBit=false
sw.interfaces[].ndp routerAdvertisementOtherBit=false
sw.aggregatePorts[] aggregatePortType=0 extendedKey=0
sw.aggregatePorts[].memberPorts[] rate=1 activity=1 holdTimerMultiplier=3
sw.staticRoutesToNull[] routerID=0
sw.staticRoutesWithNhops[] routerID=0
sw.aclTableGroup stage=0
sw.aclTableGroup.aclTables[] actionTypes=[] qualifiers=[] udfGroups=[]
sw.cpuQueues[] streamType=0
sw.portQueueConfigs.*[] streamType=0
sw.portQueueConfigs.*[].aqms[].detection.linear probability=100
sw.qosPolicies[] rules=[]
sw.qosPolicies[].qosMap expMaps=[]
sw.dataPlaneTrafficPolicy matchToAction=[]
sw.trafficCounters[] types=[0]
sw.loadBalancers[].fieldSelection mplsFields=[] udfGroups=[]
sw.udfConfig.udfPacketMatcher.* l2PktType=0 l3pktType=0 l4PktType=0
sw.switchSettings l2LearningMode=0 qcmEnable=false ptpTcEnable=false l2AgeTimerSeconds=300 switchType=0
sw.switchSettings maxRouteCounterIDs_DEPRECATED=0 blockNeighbors=[] macAddrsToBlock=[] exactMatchTableConfigs=[]
sw.switchSettings switchIdToSwitchType_DEPRECATED={} switchDrainState=0 vendorMacOuis=[] metaMacOuis=[]
sw.switchSettings.switchIdToSwitchInfo.* switchType=0 switchIndex=0 firmwareNameToFirmwareInfo={}
sw.switchSettings.switchIdToSwitchInfo.* systemPortRanges={} localSystemPortRanges={}
sw.switchSettings.switchIdToSwitchInfo.*.systemPortRanges systemPortRanges=[]
sw.switchSettings.switchIdToSwitchInfo.*.localSystemPortRanges systemPortRanges=[]
"""

BGP_DEFAULTS = """
top networks4=[] networks6=[] listen_port=179 listen_addr="::" communities=[] localprefs=[] eor_time_s=120
top ucmp_width=65636 enable_vip_service=false defaultCommandLineArgs={} drain_state=0 drained_interfaces=[]
peer_groups[].pre_filter warning_only=false warning_limit=0
peers[].pre_filter warning_only=false warning_limit=0
policies community_lists=[] aspath_lists=[] prefix_lists=[] as_paths=[] communities=[]
policies.bgp_policy_statements[].policy_entries[] description="" match_logic_type=1
policies.bgp_policy_statements[].policy_entries[].policy_matches[] name="" description=""
policies.prefix_lists[] description="" prefix_list_names=[] boolean_operator=2
policies.prefix_lists[].prefixes[] prefix_len_ranges=[] match_logic=0
policies.community_lists[] description="" boolean_operator=2
"""
_ENTRY, _ANY_KEY, _TOP = "[]", "*", "top"
_NONE = object()


@dataclass(slots=True)
class Defaults:
    """The default of a value: its ``default``, and the defaults of its children, by key."""

    default: Any = _NONE
    below: dict[str, Defaults] = field(default_factory=dict)

    def at(self, key: str) -> Defaults:
        """The defaults below a key, those of any name without an entry for this one."""
        return self.below.get(key) or self.below.get(_ANY_KEY) or _UNKNOWN


_UNKNOWN = Defaults()


def defaults_of(table: str) -> Defaults:
    """The defaults in a table above."""
    root = Defaults()
    for line in table.strip().splitlines():
        path, *fields = line.split()
        node = root
        parts = [] if path == _TOP else path.replace(_ENTRY, f".{_ENTRY}").split(".")
        for part in parts:
            node = node.below.setdefault(part, Defaults())
        for text in fields:
            name, _, value = text.partition("=")
            node.below.setdefault(name, Defaults()).default = json.loads(value)
    return root


def without_defaults(value: Any, defaults: Defaults) -> Any:
    """A file's value without its default fields."""
    if isinstance(value, Mapping):
        kept = {}
        for key, entry in value.items():
            below = defaults.at(key)
            bare = without_defaults(entry, below)
            if bare != below.default or type(bare) is not type(below.default):
                kept[key] = bare
        return kept
    if isinstance(value, list):
        return [without_defaults(entry, defaults.at(_ENTRY)) for entry in value]
    return value
