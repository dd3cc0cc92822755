"""The known lines of EOS: those readers understand, and those without effect on any claim, with the reason.

Each section has its patterns, line by line without the section's own indentation: deeper lines keep three spaces for
each further level. A shortened word, or one in capitals, matches none of these.

In ``READ``, capturing groups tell lines of one pattern apart: of two lines with equal groups in one section, or at the
margin, EOS keeps the last. A reader may keep the first, so such a pair counts as unread.
"""

from __future__ import annotations

# Addresses, prefixes, names and secrets are judged by the readers that take them; here they are any word.
_GROUP = r"neighbor ([^\s:.]+)"
NEIGHBOUR = r"neighbor ([^\s%]+)"  # an address of one link (fe80::1%Et1) is read by none
QOS = r"""
qos trust dscp
priority-flow-control on
priority-flow-control priority ([0-7]) no-drop
priority-flow-control pause watchdog
((?:uc-)?tx-queue \d+)
   (?:no priority|priority strict)
   bandwidth percent \d+
   random-detect ecn minimum-threshold \d+ \w+ maximum-threshold \d+ \w+(?: max-mark-probability \d+)?
   random-detect ecn count
"""
ADDRESS = r"ip(?:v6)? address [0-9a-f.:]+/\d+"  # readers know one of an interface
_PORT = rf"""
description .*
(?:no )?shutdown
mtu \d+
{ADDRESS}
ipv6 enable
ipv6 nd managed-config-flag
ipv6 dhcp relay destination (\S+) source-address \S+
ip helper-address (\S+) source-interface Vlan\d+
vrf MGMT
(ip|ipv6) access-group \S+ (in|out)
"""
_SERVICE = r"""
(?:no )?shutdown
vrf (MGMT|default)
   (?:no )?shutdown
"""

READ: tuple[tuple[str, str], ...] = (
    # of what a router is made: ports, sessions, policies, classes, hashing
    (
        r"interface (Ethernet\d+(?:/\d+)*)",
        _PORT
        + r"""
speed (?:forced )?\d+(?:g(?:-\d)?|full)
error-correction encoding (?:reed-solomon|fire-code)
(?:no )?switchport
switchport mode access
switchport access vlan \d+
mac security profile \S+
service-profile \S+
channel-group \d+ mode (?:active|passive|on)
lacp timer (?:fast|normal)
""",
    ),
    (
        r"interface (Port-Channel\d+)",
        _PORT
        + r"""
(?:no )?switchport
switchport mode access
switchport access vlan \d+
service-profile \S+
""",
    ),
    (r"interface (Loopback\d+|Vlan\d+|Management\d+(?:/\d+)?)", _PORT),
    (r"(ip routing|ipv6 unicast-routing|no ip routing vrf MGMT|vrf instance MGMT)", ""),
    (r"ip route ((?:vrf MGMT )?[0-9.]+/\d+ (?:[0-9.]+|Null0))", ""),
    (r"ipv6 route ((?:vrf MGMT )?[0-9a-f:]+/\d+ (?:[0-9a-f:]+|Null0))", ""),
    (r"ip community-list ([^\s]+ permit \d+:\d+)", ""),
    (r"ip prefix-list (\S+)", r"seq (\d+) (?:permit|deny) [0-9.]+/\d+(?: (?:eq|ge|le) \d+){0,2}"),
    (r"ipv6 prefix-list (\S+)", r"seq (\d+) (?:permit|deny) [0-9a-f:]+/\d+(?: (?:eq|ge|le) \d+){0,2}"),
    (
        r"route-map (\S+) (?:permit|deny) (\d+)",
        r"""
description .*
match ip(?:v6)? address prefix-list \S+
match community \S+
set community (?:none|\d+:\d+(?: \d+:\d+)*(?: additive| delete)?)
""",
    ),
    (
        r"router bgp \d+",
        rf"""
router-id [0-9.]+
maximum-paths \d+ ecmp \d+
graceful-restart
graceful-restart restart-time \d+
{_GROUP} peer group
{NEIGHBOUR} peer group \S+
{NEIGHBOUR} remote-as \d+
{NEIGHBOUR} route-map \S+ (in|out)
{NEIGHBOUR} shutdown
{NEIGHBOUR} timers \d+ \d+
{NEIGHBOUR} bfd
{NEIGHBOUR} password (?:[07] <secret [^>]+>|shared-secret profile \S+ algorithm \S+)
{NEIGHBOUR} maximum-routes \d+(?: warning-limit \d+(?: percent)?)?(?: warning-only)?
address-family (ipv[46])
   {NEIGHBOUR} activate
   network ([0-9a-f.:]+/\d+)
""",
    ),
    (
        r"load-balance policies",
        r"""
load-balance sand profile (\S+)
   fields udp dst-port (\d+)
      payload bytes \d+-\d+
""",
    ),
    (r"port-channel load-balance sand profile \S+", ""),
    (r"ip load-sharing (?:arad|fm6000|petraA|sand|trident) \S+", ""),
    (r"qos map (dscp \d+(?: \d+)* to traffic-class [0-7]|traffic-class [0-7] to (?:uc-)?tx-queue [0-7])", ""),
    (r"qos profile (\S+)", QOS),
    (r"priority-flow-control pause watchdog default (timeout|recovery-time|polling-interval) [\d.]+", ""),
    (r"priority-flow-control pause watchdog action (?:drop|notify-only)", ""),
    # of what isolation is made: lists of ports and of services, and who may log in
    (
        r"(ip|ipv6) access-list (?:standard )?(\S+)",
        r"""
(?:counters|statistics) per-entry
(\d+) (?:(?:permit|deny) .*|remark(?: .*)?)
""",
    ),
    (
        r"management ssh",
        r"""
authentication protocol public-key(?: keyboard-interactive)?
(ip|ipv6) access-group \S+ vrf MGMT in
"""
        + _SERVICE,
    ),
    (
        r"management api http-commands",
        r"""
protocol https
no protocol http
   (ip|ipv6) access-group \S+
"""
        + _SERVICE,
    ),
    (
        r"management api gnmi",
        r"""
transport grpc (\S+)
   ssl profile \S+
   port \d+
   vrf MGMT
   ip access-group \S+
   authorization requests
provider eos-native
""",
    ),
    (r"snmp-server (ipv[46]) access-list \S+ vrf MGMT", ""),
    (r"(?:no )?snmp-server vrf (MGMT|default)", ""),
    (r"username (\S+) privilege \d+ role \S+ (?:nopassword|secret \S+ .+)", ""),
    (r"username (\S+ ssh-key secondary) .*", ""),
    (r"username (\S+) (?:ssh-key|sshkey) .*", ""),
    (r"no aaa root", ""),
    (r"aaa (authentication login|authorization (?:exec|commands all)) default (?:group \S+ )?local", ""),
    # of what encryption and authentication are made
    (
        r"mac security",
        r"""
profile (\S+)
   cipher \S+
   key ([0-9a-f]+) 7 \S.*
   mka session rekey-period \d+
   traffic unprotected (?:drop|allow.*)
""",
    ),
    (
        r"management security",
        r"""
session shared-secret profile (\S+)
   secret (\d+) 7 \S.* receive-lifetime infinite transmit-lifetime infinite
ssl profile (\S+)
   tls versions 1\.2 1\.3
   certificate \S+ key \S+
   trust certificate (\S+)
""",
    ),
)

_SAID = "names the switch, or says something about it, and no packet or session heeds it"
_ASKED = "asks servers for time, names, records or logins, and serves no client; the lists and flows name the servers"
_SHOWN = "is about what is shown to people and counted, not about what is done"
_USUAL = "states what EOS does by itself"
_PACE = "is about how soon a loss is seen, not about whether packets pass"

IDLE: tuple[tuple[str, str, str], ...] = (
    (r"(?:hostname|dns domain|prompt) \S+", "", _SAID),
    (r"snmp-server (?:contact|location|chassis-id) .*|alias \S+ .*", "", _SAID),
    (r"lldp run|lldp (?:timer|hold-time) \d+", "", _SAID),
    (r"vlan \d+", r"name \S+", _SAID),
    (r"end", "", "ends the file"),
    (r"ip name-server vrf \S+ \S+|ntp local-interface (?:vrf \S+ )?\S+|clock timezone \S+", "", _ASKED),
    (r"ntp server (?:vrf \S+ )?\S+(?: (?:prefer|iburst|version \d|local-interface \S+))*", "", _ASKED),
    (
        r"logging (?:vrf \S+ )?host \S+|(?:no )?logging (?:console|monitor|buffered|trap|format|facility)(?: .*)?",
        "",
        _ASKED,
    ),
    (r"no logging event .*|logging event .*", "", _SHOWN),
    (r"(?:tacacs|radius)-server host \S+ (?:vrf \S+ )?key \d \S.*", "", _ASKED),
    (r"aaa group server (?:tacacs\+|radius) \S+", r"server \S+(?: vrf \S+)?", _ASKED),
    (r"aaa accounting (?:exec|commands all) default start-stop group \S+", "", _ASKED),
    (r"ip (?:tacacs|radius|domain lookup) (?:vrf \S+ )?source-interface \S+", "", _ASKED),
    (r"logging (?:vrf \S+ )?source-interface \S+", "", _ASKED),
    (r"snmp-server vrf MGMT local-interface \S+", "", _ASKED),
    (r"snmp-server group \S+ v3 priv|snmp-server user \S+ \S+ v3 auth sha \S.* priv aes \S.*", "", _ASKED),
    (
        r"service routing protocols model multi-agent",
        "",
        "names the process that runs BGP, the only one of new releases",
    ),
    (
        r"queue-monitor length(?: .*)?|hardware counter feature \S+(?: (?:in|out))?|terminal (?:length|width) \d+",
        "",
        _SHOWN,
    ),
    (
        r"interface (?:Ethernet\d+(?:/\d+)*|Port-Channel\d+|Loopback\d+|Vlan\d+|Management\d+(?:/\d+)?)",
        r"load-interval \d+|(?:no )?(?:logging event|snmp trap) .*|lldp (?:transmit|receive)",
        _SHOWN,
    ),
    (
        r"interface Port-Channel\d+",
        r"port-channel lacp fallback static",
        "a host that does not speak LACP yet is served by one port of its channel, under the channel's lists",
    ),
    (
        r"interface (?:Ethernet\d+(?:/\d+)*|Port-Channel\d+)",
        r"spanning-tree portfast",
        "a host's port forwards at once; loops are judged by the cables",
    ),
    (
        r"router bgp \d+",
        rf"""
no bgp default ipv4-unicast
{NEIGHBOUR} description .*
bgp log-neighbor-changes
""",
        _USUAL,
    ),
    (r"router bgp \d+", r"neighbor \S+ bfd interval \d+ min-rx \d+ multiplier \d+", _PACE),
    (
        r"router bgp \d+",
        r"update wait-install",
        "holds a route back until the chip has it: later, and never another one",
    ),
)

# What the lines of a section could touch, where that is not everything that is proven of the switch.
CLAIMS: tuple[tuple[str, frozenset[str]], ...] = (
    (
        r"(?:no )?(?:aaa|username|snmp-server|management|ntp|logging|clock|dns|(?:tacacs|radius)-server|ip ssh) ?.*",
        frozenset({"isolation", "management"}),
    ),
)
