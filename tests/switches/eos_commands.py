"""Commands of EOS as Arista's user manual has them, by the section that they stand in: none of them is rendered."""

from __future__ import annotations

MARGIN = """
agent Rib shutdown
arp vrf default 10.0.0.1 0011.2233.4455 arpa
bash timeout 10 true
bfd interval 50 min-rx 50 multiplier 3 default
class-map type qos match-any VOICE
control-plane
cvx
daemon TerminAttr
dhcp server
dot1x system-auth-control
errdisable recovery cause bpduguard
event-handler X
event-monitor
flow tracking sampled
hardware access-list update default-result permit
hardware counter feature acl out ipv4
hardware port-group 1 select Et32/1-4
hardware speed-group 1 serdes 25g
interface Tunnel0
interface Vxlan1
interface Ethernet3/1/1.100
interface Ethernet1/1/1-2/1/1
ip arp inspection vlan 1
ip as-path access-list A permit ^65000$ any
ip dhcp snooping
ip fabric
ip hardware fib ecmp resilience 10.0.0.0/8 capacity 4 redundancy 2
ip hardware fib optimize prefix-length 64
ip icmp redirect
ip igmp snooping
ip load-sharing trident fields ip-tcp-udp
ip multicast-routing
ip nat pool P prefix-length 24
ip radius source-interface Loopback0 vrf X Y
ip rip version 2
ip route 10.0.0.0/8 10.1.1.1 track T
ip route vrf MGMT 0.0.0.0/0 10.0.0.1 250
ip routing vrf RED
ip verify source
ip virtual-router mac-address 00:1c:73:00:00:99
ipv6 hardware fib nexthop-index direct
ipv6 route ::/0 fd00::1 200
kernel software forwarding ecmp
lacp system-priority 100
link tracking group G
load-interval default 5
logging synchronous level all
mac access-list M
mac address-table aging-time 10
mac address-table static 0011.2233.4455 vlan 1 drop
maintenance
management api netconf
management api restconf
management console
management cvx
management telnet
management tech-support
mcs client
mlag configuration
monitor session S source Ethernet1/1
mpls ip
no ip routing
no lldp run
no priority-flow-control pause watchdog action drop
no qos rewrite dscp
no spanning-tree vlan-id 1
patch panel
peer-filter F
platform sand forwarding mode arad
platform trident forwarding-table partition 3
policy-map type quality-of-service P
port-channel load-balance trident fields ip source-ip
power poll-interval 5
priority-flow-control all off
ptp mode boundary
qos map cos 3 to traffic-class 5
qos map exp 3 to traffic-class 5
qos random-detect ecn global-buffer minimum-threshold 10 kbytes maximum-threshold 20 kbytes
qos rewrite dscp
qos tx-queue shape rate adaptive
queue-monitor streaming
role R
router general
router isis X
router multicast
router ospf 1
router pim sparse-mode
router traffic-engineering
schedule job interval 5 timeout 1 max-log-files 1 command show version
sflow run
snmp-server community public ro
snmp-server host 10.0.0.1 version 2c public
spanning-tree mode none
storm-control burst 1
switch forwarding-mode cut-through
system l1 unsupported speed action error
tap aggregation
tcp mss ceiling ipv4 1000
traffic-policies
transceiver qsfp default-mode 4x10G
tunnel-interface default
username eve
vmtracer session S
vrf instance RED
vxlan vlan 1 vni 1
zerotouch cancel
aaa authentication login default none
aaa root nopassword
IP ROUTING
"""
INTERFACE = """
arp aging timeout 60
bandwidth percent 10
bfd interval 50 min-rx 50 multiplier 3
description
dot1x port-control auto
encapsulation dot1q vlan 100
error-correction encoding none
flowcontrol receive on
flowcontrol send on
hardware access-list qos
ip address virtual 10.0.0.1/24
ip address 10.0.0.1/24 secondary
ip helper-address 10.0.0.1
ip igmp
ip ospf cost 10
ip proxy-arp
ip verify unicast source reachable-via rx
ipv6 nd ra disabled
isis enable X
l2 mtu 1500
l2-protocol forwarding profile P
link-debounce time 100
mac access-group M in
mac-address 0011.2233.4455
mpls ip
no ip address
no ipv6 enable
no mtu
no priority-flow-control
no service-profile BACKEND
phy link training
phy media 50gbase-cr
pim ipv4 sparse-mode
priority-flow-control priority 2 drop
priority-flow-control on
priority-flow-control priority 3 no-drop
ptp enable
qos cos 3
qos dscp 8
qos trust cos
qos trust dscp
no qos trust
random-detect ecn minimum-threshold 10 kbytes maximum-threshold 20 kbytes
service-policy type qos input P
sflow enable
shape rate 1000000
shut
spanning-tree bpduguard enable
speed auto
speed sfp-1000baset auto 100full
storm-control all level 1
switchport mode trunk
switchport trunk allowed vlan 1-10
switchport vlan translation 1 2
traffic-loopback source system device mac
traffic-policy input P
transceiver channel 1
tx-queue 3
uc-tx-queue 3
unidirectional send-only
vrf RED
"""
BGP = """
aggregate-address 10.0.0.0/8 summary-only
bgp additional-paths receive
bgp always-compare-med
bgp asn notation asdot
bgp bestpath as-path multipath-relax
bgp confederation identifier 1
bgp convergence time 30
bgp listen range 10.0.0.0/8 peer-group X remote-as 1
bgp next-hop-unchanged
distance bgp 20 200 200
graceful-restart-helper long-lived
maximum-paths 2
maximum-paths 1 ecmp 1
neighbor RTSW allowas-in 3
neighbor RTSW as-path remote-as replace out
neighbor RTSW default-originate
neighbor RTSW ebgp-multihop 3
neighbor RTSW graceful-restart
neighbor RTSW local-as 1 no-prepend replace-as
neighbor RTSW next-hop-self
neighbor RTSW passive
neighbor RTSW remove-private-as
neighbor RTSW rib-in pre-policy retain
neighbor RTSW route-reflector-client
neighbor RTSW send-community
neighbor RTSW transport connection-mode passive
neighbor RTSW ttl maximum-hops 1
neighbor RTSW update-source Loopback0
neighbor RTSW weight 10
no neighbor RTSW route-map FROM-DOWN in
redistribute connected
router-id 10.9.9.9
shutdown
timers bgp 1 3
update wait-for-convergence
vrf RED
"""
