"""The known objects of NVUE: read by a fact, or without influence on any claim.

A `*` stands for any name. An object on neither list is unread, and the claims it could touch are not proven.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from clusterwright.switches.nvue.reader.arguments import unfit
from clusterwright.switches.nvue.reader.classes import oversubscribed
from clusterwright.switches.nvue.reader.configuration import PATH
from clusterwright.switches.nvue.reader.interfaces import enabled_beside, unknown_interfaces
from clusterwright.switches.nvue.reader.lists import LIST_OBJECTS
from clusterwright.switches.nvue.reader.logins import hidden_passwords
from clusterwright.switches.nvue.reader.objects import Object
from clusterwright.switches.nvue.reader.openings import unknown_methods
from clusterwright.switches.nvue.reader.policies import unknown_rules
from clusterwright.switches.nvue.reader.relays import unknown_filters
from clusterwright.switches.nvue.reader.releases import all_nvue_objects, mixed_words, read_nvue_objects
from clusterwright.switches.nvue.reader.unread import KnownObjects

# Read by `lists`, `configuration`, `policies`, `classes` or `switch`.
_READ = """
bridge domain * vlan *
interface * acl * inbound
interface * acl * inbound control-plane
interface * bond lacp-rate
interface * bond member *
interface * bond mode
interface * bridge domain * access
interface * description
interface * ip address *
interface * ip gateway *
interface * ip vrf
interface * link breakout *
interface * link breakout * lanes-per-port
interface * link fec
interface * link lanes
interface * link mtu
interface * link speed
interface * link state *
interface * qos pfc-watchdog state
interface * router adaptive-routing enable
interface * type
interface * vlan
qos congestion-control default-global traffic-class * ecn
qos congestion-control default-global traffic-class * max-threshold
qos congestion-control default-global traffic-class * min-threshold
qos congestion-control default-global traffic-class * probability
qos congestion-control default-global traffic-class * red
qos egress-queue-mapping default-global switch-priority * traffic-class
qos egress-scheduler default-global traffic-class * bw-percent
qos egress-scheduler default-global traffic-class * mode
qos mapping default-global dscp * switch-priority
qos mapping default-global trust
qos pfc default-global cable-length
qos pfc default-global rx
qos pfc default-global switch-priority *
qos pfc default-global tx
qos pfc-watchdog polling-interval
qos pfc-watchdog robustness
interface * ip neighbor-discovery router-advertisement enable
interface * ip neighbor-discovery router-advertisement managed-config
qos roce enable
qos roce mode
router adaptive-routing enable
router bgp autonomous-system
router bgp enable
router bgp graceful-restart mode
router bgp graceful-restart restart-time
router bgp router-id
router policy community-list * rule * action
router policy community-list * rule * community *
router policy prefix-list * rule * action
router policy prefix-list * rule * match *
router policy prefix-list * rule * match * max-prefix-len
router policy prefix-list * rule * match * min-prefix-len
router policy prefix-list * type
router policy route-map * rule * action deny
router policy route-map * rule * action permit
router policy route-map * rule * match community-list
router policy route-map * rule * match ip-prefix-list
router policy route-map * rule * match type
router policy route-map * rule * set community *
router policy route-map * rule * set source-ip
service dhcp-relay default downstream-interface * server-group-name
service dhcp-relay default server *
service dhcp-relay default server-group * server *
service dhcp-relay default server-group * upstream-interface *
service dhcp-relay default source-ip
service dhcp-relay6 default interface upstream * server-address
service snmp-server listening-address *
service snmp-server listening-address * vrf
service snmp-server readonly-community *
service snmp-server username *
service snmp-server username * auth-none
service snmp-server username * auth-sha * encrypt-aes *
system api listening-address *
system aaa user * hashed-password
system aaa user * password
system aaa user * role
system aaa user * ssh authorized-key * key
system aaa user * ssh authorized-key * type
system forwarding ecmp-hash *
system forwarding hash-seed
system hostname
system ssh-server permit-root-login
system ssh-server state
system ssh-server vrf *
vrf * router static * address-family
vrf default router rib * protocol bgp fib-filter
vrf * router static * via * type
vrf default router bgp address-family * enable
vrf default router bgp address-family * aggregate-route *
vrf default router bgp address-family * multipaths ebgp
vrf default router bgp address-family * network *
vrf default router bgp address-family * redistribute * enable
vrf default router bgp autonomous-system
vrf default router bgp dynamic-neighbor listen-range *
vrf default router bgp enable
vrf default router bgp neighbor
vrf default router bgp neighbor * address-family * enable
vrf default router bgp neighbor * enable
vrf default router bgp neighbor * password
vrf default router bgp neighbor * peer-group
vrf default router bgp neighbor * remote-as
vrf default router bgp neighbor * shutdown
vrf default router bgp neighbor * type
vrf default router bgp neighbor * update-source
vrf default router bgp path-selection multipath aspath-ignore
vrf default router bgp peer-group * address-family * community-advertise regular
vrf default router bgp peer-group * address-family * enable
vrf default router bgp peer-group * address-family * policy inbound route-map
vrf default router bgp peer-group * address-family * policy outbound route-map
vrf default router bgp peer-group * address-family * prefix-limits inbound maximum
vrf default router bgp peer-group * bfd enable
vrf default router bgp peer-group * timers hold
vrf default router bgp router-id
"""
# Without influence on any claim, and why.
_IDLE = {
    "whether `nv config apply` saves as well: the role saves by a step of its own": "system config auto-save state",
    "words for people": (
        "acl * rule * remark|vrf default router bgp neighbor * description|system message *|system timezone"
    ),
    "a host that does not speak LACP yet is served by its port, under the bond's lists": "interface * bond lacp-bypass",
    "links of this speed are not negotiated, whatever stands here": "interface * link auto-negotiate",
    "communities of these kinds are matched nowhere": (
        "vrf default router bgp peer-group * address-family * community-advertise extended"
        "|vrf default router bgp peer-group * address-family * community-advertise large"
    ),
    "it warns, and ends nothing": (
        "vrf default router bgp peer-group * address-family * prefix-limits inbound warning-threshold"
    ),
    "how soon a loss is seen, below the hold time that is judged": (
        "vrf default router bgp peer-group * bfd detect-multiplier"
        "|vrf default router bgp peer-group * bfd min-rx-interval"
        "|vrf default router bgp peer-group * bfd min-tx-interval"
        "|vrf default router bgp peer-group * timers keepalive"
    ),
    "it delays what is announced until the chip has it": "router bgp wait-for-install",
    "the switch asks; what answers is judged at the management port": (
        "service dns * server *|service dns * search *|service lldp tx-interval"
        "|service ntp * server *|service ntp * server * iburst"
        "|service syslog * server * port|service syslog * server * protocol"
        "|service dhcp-relay default interface *|service dhcp-relay6 default interface downstream *"
        "|system aaa authentication-order *|system aaa tacacs enable|system aaa tacacs server * *"
        "|system aaa tacacs timeout|system aaa tacacs vrf|system aaa radius enable|system aaa radius server * *"
        "|system aaa radius timeout|system aaa radius vrf"
    ),
    "who reaches it is judged at the management port, and where it answers among the openings": (
        "service snmp-server enable|system api state|system ssh-server authentication-retries"
        "|system ssh-server inactive-timeout|system ssh-server login-timeout"
    ),
}
# Claims that an unknown object could touch, by its first words; every claim for other first words.
_TOUCHES = {
    "qos": "qos",
    "interface * qos": "qos",
    "acl": "isolation",
    "service": "isolation management",
    "system aaa": "isolation management",
    "system ssh-server": "isolation management",
    "system gnmi-server": "isolation management",
    "system telemetry": "isolation management",
}


def _unknown(root: Object, text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    yield from unknown_interfaces(root)
    yield from mixed_words(text)
    yield from unknown_filters(root)
    yield from oversubscribed(root)
    yield from enabled_beside(root)
    whole = all_nvue_objects(text)
    for path in unfit(whole):
        yield whole.at(*path).line, path
    for name, _, password in hidden_passwords(root, text):
        yield password.line, ("system", "aaa", "user", name, "a password that NVUE does not show")
    yield from unknown_rules(root)
    yield from unknown_methods(root)


KNOWN = KnownObjects(
    PATH,
    (
        *LIST_OBJECTS,
        *filter(None, _READ.splitlines()),
        *chain.from_iterable(paths.split("|") for paths in _IDLE.values()),
    ),
    {words: frozenset(claims.split()) for words, claims in _TOUCHES.items()},
    _unknown,
    read_nvue_objects,
)
