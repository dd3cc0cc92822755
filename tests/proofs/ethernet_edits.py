"""Edits of rendered Ethernet text: named ones that change behaviour, and blind ones with why some are harmless."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

from tests.proofs.ethernet_trees import AGENT, BGP, EOS, NCCL, NETWORK_BE0, SCRIPT

SONIC = "etc/sonic/config_db.json"
NVUE = "etc/clusterwright/nvue.yaml"

# file: what happens, pattern, replacement; every place that the pattern finds is one to choose from
NAMED: dict[str, tuple[tuple[str, str, str], ...]] = {
    EOS: (
        ("drop a neighbour", r"^   neighbor [0-9a-f:]+ (peer group|remote-as) \S+\n", ""),
        ("wrong AS", r"(?<=remote-as 42000)\d", "9"),
        ("own AS", r"(?<=router bgp )42", "43"),
        ("no equal paths", r"^   maximum-paths .*\n", ""),
        ("fewer equal paths", r"(?<=maximum-paths )\d+ ecmp \d+", "1 ecmp 1"),
        ("DSCP to another class", r"(?<=to traffic-class )\d$", "5"),
        ("a DSCP dropped", r"(?<=qos map dscp )\d+ ", ""),
        ("class to another queue", r"(?<=to tx-queue )\d", "1"),
        ("no PFC", r"^   priority-flow-control (on|priority 2 no-drop)\n", ""),
        ("PFC drops", r"(?<=priority 2 )no-drop", "drop"),
        ("no trust", r"^   qos trust dscp\n", ""),
        ("no watchdog", r"^   priority-flow-control pause watchdog\n", ""),
        ("marks not counted", r"^      random-detect ecn count\n", ""),
        (
            "marking",
            r"(?=^      random-detect ecn count)",
            "      random-detect ecn minimum-threshold 100 kbytes maximum-threshold 200 kbytes\n",
        ),
        ("stuck queues found later", r"(?<=watchdog default timeout )\S+", "5.00"),
        ("stuck queues given back sooner", r"(?<=watchdog default recovery-time )\S+", "0.20"),
        ("no time to give queues back", r"^priority-flow-control pause watchdog default recovery-time .*\n", ""),
        ("watchdog looks rarely", r"(?<=watchdog default polling-interval )\S+", "1.00"),
        ("watchdog that only tells", r"(?<=watchdog action )drop", "notify-only"),
        ("no profile on a port", r"^   service-profile \S+\n", ""),
        ("strict queue made fair", r"priority strict", "bandwidth percent 20"),
        ("MTU", r"^   mtu 9000$", "   mtu 1500"),
        ("MTU by a little", r"^   mtu 9000$", "   mtu 8996"),
        ("no MTU", r"^   mtu 9000\n", ""),
        ("speed", r"(?<=speed )400g-8", "200g-4"),
        ("lanes", r"(?<=speed 400g-)8", "4"),
        ("FEC", r"(?<=error-correction encoding )reed-solomon", "fire-code"),
        ("address", r"(?<=fffe::)[0-9a-f]+(?=/127)", "7ffe"),
        ("length", r"(?<=[0-9a-f])/127$", "/126"),
        ("shut", r"(?<=\d\n   )no shutdown(?=\n   mtu)", "shutdown"),
        ("not routed", r"^   no switchport\n", ""),
        ("no routing at all", r"^ipv6 unicast-routing\n", ""),
        ("filter in dropped", r"^   neighbor [A-Z]+ route-map FROM-\w+ in\n", ""),
        ("filter out dropped", r"^   neighbor [A-Z]+ route-map TO-\w+ out\n", ""),
        ("filters exchanged", r"(?<= route-map )TO-DOWN", "TO-UP"),
        ("filter wide open", r"(?<=permit fd00:1ab:b::)/56 eq 64", "/48 le 64"),
        ("foreign prefix let in", r"(?<=   seq 20 permit )fd00:1ab:b::/56", "fd00:1ab:f::/56"),
        ("second range let in", r"(?=^   seq 20 permit fd00:1ab:b)", "   seq 15 permit 2001:db8::/32 le 64\n"),
        ("filter of host prefixes gone", r"^   seq 20 permit fd00:1ab:b::/56 eq 64\n", ""),
        ("loopbacks refused", r"^   seq 10 permit fd00:1ab:b:ffff::/64 eq 128\n", ""),
        ("anything out", r"^   match (community FROM-BELOW|ipv6 address prefix-list FABRIC)\n", ""),
        ("mark from below lost", r"^   set community 64512:1\n(?=(?:.*\n)*route-map FROM-UP)", ""),
        ("other mark", r"(?<=set community 64512:)1(?=\n(?:.*\n)*route-map FROM-UP)", "9"),
        ("terms refuse", r"(?<=^route-map FROM-UP )permit", "deny"),
        ("redistribution", r"(?=^   maximum-paths )", "   redistribute static\n"),
        ("default route out", r"(?=^qos map dscp 48)", "ipv6 route ::/0 fd00:1ab:b:fffe::2\n"),
        ("static route past BGP", r"(?=^qos map dscp 48)", "ipv6 route fd00:1ab:f::/56 fd00:1ab:b:fffe::2\n"),
        ("default originated", r"(?=^   maximum-paths )", "   neighbor RTSW default-originate\n"),
        ("second BGP process", r"^end$", "router bgp 65000\n   router-id 10.9.9.9\n!\nend"),
        ("VRF in BGP", r"(?=^   address-family )", "   vrf MGMT\n"),
        (
            "leak between VRFs",
            r"^end$",
            "router general\n   vrf MGMT\n      leak routes source-vrf default subscribe-policy A\nend",
        ),
        ("management in the fabric", r"(?<=^interface Management1/1\n)(.*\n.*\n)   vrf MGMT\n", r"\1"),
        ("loopback not told", r"^      network \S+\n", ""),
        ("other loopback told", r"(?<=^      network fd00:1ab:b:ffff::)\w+", "77"),
        ("family off", r"^      neighbor \w+ activate\n", ""),
        ("family missing", r"^   address-family ipv6\n", ""),
        ("BFD at one end", r"^   neighbor ATSW bfd\n", ""),
        ("shorter patience", r"(?<= timers )10 30$", "1 3"),
        ("no timers of its own", r"^   neighbor \w+ timers .*\n", ""),
        ("no graceful restart", r"^   graceful-restart\n", ""),
        ("routes forgotten sooner", r"(?<=graceful-restart restart-time )120", "10"),
        ("another restart time", r"^   graceful-restart restart-time .*\n", ""),
        ("limit too low", r"(?<=maximum-routes )\d+", "1"),
        ("no limit", r"^   neighbor \w+ maximum-routes .*\n", ""),
        ("limit that only warns", r"(?<=maximum-routes )(\d+) .*", r"\1 warning-only"),
        ("router id", r"^   router-id \S+\n", ""),
        ("hash without queue pair", r"(?<=payload bytes )5-7", "0-1"),
        ("hash not in use", r"^port-channel load-balance .*\n", ""),
        ("cabled elsewhere", r"(?<=description to )\S+ \S+(?=\n   no shutdown\n   mtu)", "ctsw-p01-00 Ethernet6/1/1"),
    ),
    BGP: (
        ("wrong AS", r'(?<="remote_as_4_byte": 42000100)\d', "9"),
        ("own AS", r'(?<="local_as_4_byte": )42', "43"),
        ("neighbour's address", r'(?<="peer_addr": "fd00:1ab:b:fffe::)\w+', "7ffe"),
        ("own end", r'(?<="local_addr": "fd00:1ab:b:fffe::)\w+', "7ffe"),
        ("next hop", r'(?<="next_hop6": "fd00:1ab:b:fffe::)\w+', "7ffe"),
        ("other prefix told", r'(?<="prefix": "fd00:1ab:b)::/64', ":77::/64"),
        ("shorter patience", r'(?<="hold_time_seconds": )30', "3"),
        ("no graceful restart", r',\s*"graceful_restart_seconds": 120', ""),
        ("routes forgotten sooner", r'(?<="graceful_restart_seconds": )120', "10"),
        ("filter in dropped", r'"ingress_policy_name": "[A-Z-]+",\n', ""),
        ("filter out dropped", r'"egress_policy_name": "[A-Z-]+",\n', ""),
        ("filter out passes all", r'"prefix_list_name": "OWN"', '"prefix_list_name": "FABRIC"'),
        ("filter wide open", r'(?<="base_prefix": "fd00:1ab:b::)/56', "/40"),
        ("filter too narrow", r'(?<="base_prefix": "fd00:1ab:b::)/56', "/63"),
        ("other lengths", r'(?<="value": )64', "65"),
        # the first term: what TO-UP's second lets through comes from below, where a rack switch has no neighbour
        ("refuses", r'^( +"policy_entries".*?"flow_action": )1', r"\g<1>2"),
        ("no limit", r'(?<="warning_only": )false', "true"),
        ("limit too low", r'(?<="max_routes": )\d+', "1"),
        ("family off", r'(?<="disable_ipv6_afi": )false', "true"),
        ("router id", r'(?<="router_id": ")10\.0\.0\.\d', "10.0.0.7"),
    ),
    AGENT: (
        ("port off", r'(?<="state": )2', "1"),
        ("speed", r'(?<="speed": )400000, "profileID": \d+', '200000, "profileID": 25'),
        ("speed without its profile", r'(?<="speed": )400000', "200000"),
        ("other lanes", r'(?<="profileID": )26', "38"),
        ("MTU of the wire", r'(?<="maxFrameSize": )9022', "1522"),
        ("MTU of the router", r'(?<="mtu": )9000(?=\},\n)', "1500"),
        ("no pauses sent", r'(?<="pfc": \{"tx": )true', "false"),
        ("no pauses heeded", r'(?<="rx": )true', "false"),
        ("no watchdog", r', "watchdog": \{[^}]*\}', ""),
        ("stuck queues found later", r'(?<="detectionTimeMsecs": )\d+', "201"),
        ("stuck queues given back sooner", r'(?<="recoveryTimeMsecs": )\d+', "200"),
        ("no time to give queues back", r', "recoveryTimeMsecs": \d+', ""),
        ("watchdog that drops", r'(?<="recoveryAction": )0', "1"),
        (
            "marking",
            r'(?="name": "queue2)',
            '"aqms": [{"behavior": 1, "detection": {"linear": {"minimumLength": 1000, "maximumLength": 2000}}}], ',
        ),
        ("DSCP to another class", r'(?<="internalTrafficClass": )[267]', "1"),
        ("class to another queue", r'(?<="trafficClassToQueueId": \{"0": 0, "2": )2', "1"),
        ("no headroom", r'(?<="headroomLimitBytes": )\d{5,}', "1000"),
        ("no pool", r'(?<="headroomBytes": )\d+', "0"),
        ("queue's weight", r'(?<="weight": )8(?=, "scheduling": 0, "name": "queue2)', "80"),
        (
            "strict queue made fair",
            r'"scheduling": 1, "name": "queue7',
            '"weight": 5, "scheduling": 0, "name": "queue7',
        ),
        ("address", r'(?<=\["fd00:1ab:b:fffe::)\w+', "7ffe"),
        ("hosts' address", r'(?<=\["fd00:1ab:b::)\w+(?=/127)', "ff"),
        ("VLAN of a port", r'(?<="ingressVlan": )\d+', "99"),
        ("tagged", r'"emitTags": false', '"emitTags": true'),
        ("hash without queue pair", r'(?<="udfGroups": )\["dstQueuePair"\]', "[]"),
        ("hash of other bytes", r'(?<="startOffsetInBytes": )13', "8"),
        ("discard route gone", r'\{"routerID": 0, "prefix": "[^"]+"\}', ""),
    ),
    SONIC: (
        ("wrong AS", r'(?<="asn": "42000100)\d', "9"),
        ("own AS", r'(?<="local_asn": ")42', "43"),
        ("drop a neighbour", r'^    "default\|fd00[^|]*": \{"asn".*\},\n', ""),
        ("neighbour off", r'(?<="peer_group_name": "UP", "admin_status": ")up', "down"),
        ("own end", r'(?<="local_addr": "fd00:1ab:b:fffe::)\w+', "7ffe"),
        ("no equal paths", r'(?<="max_ebgp_paths": ")\d+', "1"),
        ("filter in dropped", r'"route_map_in": \["FROM-UP"\], ', ""),
        ("filter out dropped", r'"route_map_out": \["TO-UP"\], ', ""),
        ("filter out passes all", r'(?<="match_prefix_set": )"OWN"', '"FABRIC"'),
        ("filter in a field that nothing reads", r'"match_prefix_set"(?=: "FABRIC")', '"match_ipv6_prefix_set"'),
        ("filter wide open", r"(?<=FABRIC\|40\|fd00:1ab:b::)/56\|56..64", "/40|40..64"),
        ("filter without lower bound", r'^    "FABRIC\|10\|.*\n', ""),
        ("lower bound that SONiC drops", r'"FABRIC\|10\|.*\n.*FABRIC\|20\|(.*)\|64', r'"FABRIC|20|\1|128'),
        ("filter too narrow", r"(?<=FABRIC\|40\|fd00:1ab:b::)/56", "/63"),
        ("filter of another family", r'(?<="FABRIC": \{"mode": ")IPv6', "IPv4"),
        ("refuses", r'(?<="FROM-UP\|10": \{"route_operation": ")permit', "deny"),
        ("limit too low", r'(?<="max_prefix_limit": ")\d+', "1"),
        ("limit that only warns", r'"max_prefix_warning_threshold": "\d+"', '"max_prefix_warning_only": "true"'),
        ("BFD at one end", r'"bfd": "true"', '"bfd": "false"'),
        ("shorter patience", r'(?<="holdtime": ")30(?=", "bfd")', "9"),
        ("no graceful restart", r'(?<="graceful_restart_enable": ")true', "false"),
        ("routes forgotten sooner", r'(?<="gr_restart_time": ")120', "10"),
        ("another restart time", r'"gr_restart_time": "120", ', ""),
        ("DSCP to another class", r'(?<="5[0-3]": ")2', "0"),
        ("class to another queue", r'(?<="TC_TO_QUEUE_MAP": \{\n    "CLASSES": \{"0": "0", "2": ")2', "1"),
        ("no PFC", r'(?<="pfc_enable": ")2', ""),
        ("PFC of another priority", r'(?<="pfc_enable": ")2', "3"),
        ("no map on a port", r'"dscp_to_tc_map": "CLASSES", ', ""),
        ("no watchdog", r'"pfcwd_sw_enable": "2"', '"pfcwd_sw_enable": ""'),
        ("stuck queues found later", r'(?<="detection_time": ")\d+', "5000"),
        ("stuck queues given back sooner", r'(?<="restoration_time": ")\d+', "200"),
        ("no time to give queues back", r', "restoration_time": "\d+"', ""),
        ("watchdog looks rarely", r'(?<="POLL_INTERVAL": ")\d+', "1000"),
        ("watchdog that only tells", r'(?<="action": ")drop', "alert"),
        ("no headroom", r'(?<="xoff": ")\d+', "1000"),
        ("strict queue made fair", r'"type": "STRICT"', '"type": "DWRR", "weight": "5"'),
        ("MTU", r'(?<="mtu": ")9000(?=".*"description": "to )', "1500"),
        ("FEC", r'(?<="fec": ")rs(?=".*"description": "to )', "none"),
        ("speed", r'(?<="speed": ")400000(?=".*"description": "to ctsw)', "200000"),
        ("port off", r'(?<="admin_status": ")up(?="[^\n]*\},?\n    "Ethernet)', "down"),
        ("address", r"(?<=\|fd00:1ab:b:fffe::)\w+(?=/127)", "7ffe"),
        ("interface without a row", r'^    "Ethernet\d+": \{\},\n', ""),
        ("loopback not told", r'^    "default\|ipv6_unicast\|fd00:1ab:b:ffff::\w+/128": \{\},\n', ""),
        ("management in the fabric", r'(?<="mgmtVrfEnabled": ")true', "false"),
        ("BGP not from here", r'(?<="frr_mgmt_framework_config": ")true', "false"),
    ),
    NVUE: (
        ("drop a neighbour", r'^              "fd00[^"]*":\n(?:                .*\n)+', ""),
        ("wrong AS", r"(?<=remote-as: 42000)\d", "9"),
        ("own AS", r"(?<=            autonomous-system: 42)", "9"),
        ("no equal paths", r"(?<=ebgp: )(?:\d{2}|[2-9])$", "1"),
        ("DSCP to another class", r'(?<="5[0-3]":\n              switch-priority: )2', "0"),
        ("a DSCP dropped", r'^            "50":\n              switch-priority: 2\n', ""),
        ("class to another queue", r"(?<=traffic-class: )2", "1"),
        ("no PFC", r'^          switch-priority:\n            "2": \{\}\n', ""),
        ("PFC of another priority", r'(?<=          switch-priority:\n            ")2(?=": \{\})', "3"),
        ("RoCE without pauses", r"(?<=mode: )lossless", "lossy"),
        ("trust of the VLAN", r"(?<=trust: )l3", "l2"),
        ("no watchdog on a port", r"(?<=state: )enable$", "disable"),
        ("stuck queues found later", r"(?<=robustness: )2", "5"),
        ("watchdog looks rarely", r"(?<=polling-interval: )100", "200"),
        ("marking", r'(?<="2":\n              ecn: )disable', "enable"),
        ("strict queue made fair", r"mode: strict", "bw-percent: 5\n              mode: dwrr"),
        ("MTU", r"(?<=mtu: )9000$", "1500"),
        ("MTU by a little", r"(?<=mtu: )9000$", "8996"),
        ("no MTU", r"^          mtu: 9000\n", ""),
        ("speed", r'(?<=speed: )"400G"', '"200G"'),
        ("FEC", r"(?<=fec: )rs", "baser"),
        ("address", r"(?<=fffe::)[0-9a-f]+(?=/127)", "7ffe"),
        ("length", r'(?<=[0-9a-f])/127(?=": \{\})', "/126"),
        ("shut", r"(?<=          state:\n            )up", "down"),
        ("other breakout", r'"2x": \{\}', '"4x": {}'),
        ("filter in dropped", r"^                      inbound:\n                        route-map: .*\n", ""),
        ("filters exchanged", r"(?<=route-map: )TO-DOWN", "TO-UP"),
        ("filter wide open", r'"fd00:2ab:b::/56":\n.*\n.*-len: 64', '"fd00:2ab:b::/48": {max-prefix-len: 64}'),
        ("foreign prefix let in", r'(?<=                  ")fd00:2ab:b::/56', "fd00:2ab:f::/56"),
        ("anything out", r"^                match:\n                  community-list: FROM-BELOW\n", ""),
        (
            "mark from below lost",
            r'(?<=FROM-DOWN:\n)((?:.*\n){9}.*)"64512:1"(?=(?:.*\n)*          FROM-UP:)',
            r'\1"64512:9"',
        ),
        (
            "terms refuse",
            r"(?<=FROM-UP:\n            rule:\n)((?:.*\n){2} +)permit",
            r"\1deny",
        ),
        ("redistribution", r"(?=^                multipaths:)", "                redistribute: {static: {}}\n"),
        ("static route past BGP", r"(?<=type: )blackhole", "ipv6-address"),
        ("management in the fabric", r"^          vrf: mgmt\n(?=        type: eth)", ""),
        ("loopback not told", r'^                  "fd00[^"]*ffff::\w+/128": \{\}\n', ""),
        ("family off", r"(?<=ipv6-unicast:\n                enable: )\"on\"", '"off"'),
        ("BFD at one end", r"(?<=detect-multiplier: 3\n                  enable: )\"on\"", '"off"'),
        ("shorter patience", r"(?<=hold: )30$", "3"),
        ("no graceful restart", r"(?<=mode: )full", "off"),
        ("routes forgotten sooner", r"(?<=restart-time: )120", "10"),
        ("limit too low", r"(?<=maximum: )\d+", "1"),
        ("no limit", r"^                        maximum: .*\n", ""),
        ("secret of one end", r"(?<=password: )\"<secret bgp-backend>\"", '"<secret other>"'),
        ("seed of another tier", r"(?<=hash-seed: )[13]$", "2"),
        ("hash of fewer fields", r"(?<=source-port: )\"on\"", '"off"'),
        ("cabled elsewhere", r'(?<=description: ")to \S+ \S+(?=")', "to ctsw-p01-00 swp6s0"),
        (
            "a list on a port between switches",
            r'(?=^        description: "to ctsw)',
            "        acl:\n          HOSTS-V6:\n            inbound: {}\n",
        ),
        ("objects that nobody knows", r"(?=^        ecmp-hash:)", "        resilient: {size: 64}\n"),
    ),
    SCRIPT: (
        ("no trust", r"--trust dscp", "--trust pcp"),
        ("no PFC", r"(?<=--pfc 0,0,)1", "0"),
        ("PFC of another priority", r"--pfc 0,0,1,0", "--pfc 0,0,0,1"),
        ("DSCP left out", r"(?<=for dscp in )50 ", ""),
        ("DSCPs of another priority", r"(?<=set,\$dscp,)2", "3"),
        ("a NIC left out", r" be7(?=; do)", ""),
        ("DCQCN on at one end", r"echo 0(?= > .*roce_np)", "echo 1"),
        ("DCQCN on", r"echo 0( > .*roce_np.*\n.*)echo 0(?= > .*roce_rp)", r"echo 1\1echo 1"),
        ("no cable", r"(?<=--cable_len )\d+", "0"),
        ("connections in no class", r"-t 200$", "-t 0"),
        ("a device left out", r" mlx5_7(?=; do)", ""),
    ),
    NCCL: (
        ("data without protection", r"^NCCL_IB_TC=\d+", "NCCL_IB_TC=0"),
        ("data without class", r"^NCCL_IB_TC=\d+\n", ""),
        ("clear-to-send with all else", r"^NCCL_IB_FIFO_TC=\d+", "NCCL_IB_FIFO_TC=0"),
        ("clear-to-send with data", r"^NCCL_IB_FIFO_TC=\d+\n", ""),
    ),
    NETWORK_BE0: (
        ("MTU", r"MTUBytes=9000", "MTUBytes=1500"),
        ("address", r"(?<=^Address=fd00:1ab:b:)\S*:(?=\w+/127)", "9:"),
        ("no address", r"^Address=.*\n", ""),
        ("gateway", r"(?<=^Gateway=)\S+", "fd00:1ab:b::ff"),
        ("route too narrow", r"(?<=^Destination=fd00:1ab:b::)/56", "/63"),
        ("default route", r"(?<=^Destination=)\S+", "::/0"),
        ("no rule for the table", r"^From=.*\n", ""),
        ("takes advertisements", r"IPv6AcceptRA=no", "IPv6AcceptRA=yes"),
        ("cabled elsewhere", r"(?<=, to )rtsw-\S+", "rtsw-p00r99"),
    ),
}

_PLANE = "management of the switch itself: it carries no traffic of the fabric, and tests of its own judge it"
_NAME = "a name or remark for people and for LLDP; the cables are judged by the port descriptions"
_PACE = "how fast, not whether: timers, polling and counters"
_WIDER = "still allows all that is needed and nothing foreign"
_DEFAULT = "states what the system does by itself"
_NOTHING = "speaks of something that does not exist below or beside this switch"
_CHIP = "facts of the platform, compared with its vendor's tables where the files are rendered"
_NODE = "NCCL's own tuning, judged by the rules for NCCL"

ELSEWHERE = {_PLANE, _CHIP, _NODE}
"""Reasons of what these proofs do not speak of at all; a blind edit is drawn again until it is none of those."""

HARMLESS: tuple[tuple[str, str], ...] = (
    # EOS: the statement, then the line
    (r"^(!|end|hostname|dns|ip name-server|ntp|logging|snmp|username|no aaa|aaa|tacacs|management|vrf MGMT)", _PLANE),
    (r"^(ip(v6)? access-list|no snmp|lldp|daemon|monitor|no ip routing vrf|ip routing|ip route vrf MGMT)", _PLANE),
    (r"^(event|hardware|platform|radius|banner|clock|telemetry|system|flow|interface Management)", _PLANE),
    (r"^service routing protocols|ipv6 enable|no priority$|no bgp default", _DEFAULT),
    (r"description (unused|router|hosts)|neighbor \S+ description|> *!?$|^$", _NAME),
    (r"timers|bfd interval|update wait-install", _PACE),
    (r"^router bgp \S+ > (maximum-paths|neighbor \w+ maximum-routes)", _WIDER),
    (r"^router bgp \S+ > neighbor \w+ (maximum-routes|bfd)", _WIDER),
    (r"^route-map (TO|FROM)-\w+ permit \d+( > match ipv6 address prefix-list OWN| >)?$", _WIDER),
    (r"^route-map FROM-UP permit \d+ > set community none", "no neighbour sends communities that it could clear"),
    (r"^interface Loopback|bandwidth percent|^interface \S+ > (no shutdown|!)", _DEFAULT),
    (r"^interface (\S+ > shutdown|Ethernet[\d/]+)$", "a port without a cable: any other would be missed"),
    (r"^ipv6 prefix-list FABRIC > seq 10", _WIDER),
    (r"^ipv6 prefix-list OWN > seq 10", "downwards the list FABRIC, which comes next, has this switch's loopback too"),
    (r"router-id \d|router_id$", "any number will do that no other switch has"),
    # FBOSS
    (
        r"^(defaultCommandLineArgs|platform|thriftApi|sw/(version|hostname|switchSettings|acl|cpu|trafficCounters))",
        _CHIP,
    ),
    (r"^sw/(dataPlaneTrafficPolicy/matchToAction|udfConfig/udfPacketMatcher|sFlow|dhcp|arp|snmp|packet)", _PLANE),
    (r"(LLDP|/(name|type)$|description|logicalID|parserType|recordStats|sFlow)", _NAME),
    (r"(hold_time|keep_alive|delay|seconds|listen_port|install_to_fib|Thrift|timers)", _PACE),
    (r"^sw/vlans/.*/(routable|ipAddresses|recordStats|intfID)|^sw/vlans/0", _DEFAULT),
    (
        r"^sw/(vlanPorts/.*emitPriorityTags|defaultVlan|interfaces/.*(isVirtual|isStateSync|name|mtu|routerID|intfID))",
        _DEFAULT,
    ),
    (r"^sw/(ports/.*(maxFrameSize|routable)|portPgConfigs|bufferPoolConfigs|qosPolicies/.*(Pg|expMaps|rules))", _WIDER),
    (r"^sw/(loadBalancers|staticRoutesToNull/.*routerID|portQueueConfigs)", _DEFAULT),
    (
        r"(disable_ipv4_afi|next_hop4|communities|policy_version|seq_num|ip_version|boolean_operator|warning_limit)",
        _NOTHING,
    ),
    (r"(max_routes|community_lists|community_list_name|from-below|warning_only|peer_groups/.*/disable)", _NOTHING),
    (r"^policies/prefix_lists/.*(base_prefix|compare_operator|value)", _WIDER),
    # SONiC
    (r"^(ACL|AAA|TACPLUS|SNMP|NTP|SYSLOG|MGMT|DNS|SSH|LLDP|FEATURE|FLEX|TELEMETRY|GNMI|BREAKOUT|RESTAPI|CRM)", _PLANE),
    (r"^(DEVICE_NEIGHBOR|CABLE_LENGTH|VERSIONS|KDUMP|AUTO|LOGGER|BANNER|PASSW|SYSTEM|CONSOLE|X509|CERT)", _NAME),
    (r"^(STATIC_ROUTE|BGP_\w+|VRF)/mgmt", _PLANE),
    (r"^DEVICE_METADATA|^PORT/\w+/(alias|index|lanes|autoneg|description|admin_status|speed|mtu|fec)", _CHIP),
    (r"^BGP_GLOBALS/default/(load_balance|default_ipv|network_import|log_nbr|keepalive|holdtime)", _DEFAULT),
    (r"^BGP_(GLOBALS_AF/.*paths|PEER_GROUP|NEIGHBOR/.*(name|local_addr|admin_status)|NEIGHBOR_AF)", _DEFAULT),
    (r"^BUFFER_|^COMMUNITY_SET|^SCHEDULER|^SWITCH_HASH|^TC_TO_PRIORITY|^PFC_PRIORITY|^MAP_PFC", _WIDER),
    (
        r"^ROUTE_MAP/(TO-UP\|20|FROM-UP\|10/set_community)|^PREFIX/FABRIC\|10|^WRED|^PORT_QOS_MAP/\w+/pfc_to_pg",
        _NOTHING,
    ),
    # nodes
    (r"^NCCL_|^TORCH_|^GLOO", _NODE),
    (
        r"^#|^\[(Match|Link|Network|Address|Route|RoutingPolicyRule)\]$|^(DHCP|LLMNR|Multicast|LLDP|EmitLLDP|LinkLocal)",
        _DEFAULT,
    ),
    (r"^(Priority|Table|Family|OutgoingInterface|Destination)=", _WIDER),
    (r"^\s*(mlnx_qos.*(cable_len|dscp2prio|dcbx)|set -|#)", _WIDER),
)


def reason(place: str) -> str | None:
    """Why an edit at a place changes nothing that the proofs speak of; None when it should be caught."""
    return next((why for pattern, why in HARMLESS if re.search(pattern, place)), None)


def blind_edit(path: str, text: str, chosen: Random) -> tuple[str, str]:
    """A random place of a file, and the text after a line, a value or a number there was taken out or changed."""
    return _blind_json(text, chosen) if path in {BGP, AGENT, SONIC} else _blind_lines(text, chosen)


def _blind_lines(text: str, chosen: Random) -> tuple[str, str]:
    lines = text.split("\n")
    at = chosen.choice([at for at, line in enumerate(lines) if line.strip() not in {"", "!"}])
    line = lines[at]
    header = next((each for each in reversed(lines[:at]) if each and each[0] not in " !"), "")
    is_inner = line.startswith(" ") and not text.startswith("#")
    numbers = list(re.finditer(r"\d+", line))
    if numbers and chosen.random() < 1 / 2:
        found = chosen.choice(numbers)
        lines[at] = f"{line[: found.start()]}{int(found[0]) + 1}{line[found.end() :]}"
    else:
        del lines[at]
    return f"{header} > {line.strip()}" if is_inner else line, "\n".join(lines)


def _blind_json(text: str, chosen: Random) -> tuple[str, str]:
    document: Any = json.loads(text)
    path: list[str] = []
    node = document
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = chosen.choice(keys)
        path.append(str(key))
        value = node[key]
        if not isinstance(value, dict | list) or not value or chosen.random() < 1 / 10:
            break
        node = value
    if isinstance(value, bool):
        node[key] = not value
    elif isinstance(value, int) and chosen.random() < 1 / 2:
        node[key] = value + 1
    else:
        del node[key]
    return "/".join(path), json.dumps(document)
