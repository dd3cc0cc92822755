"""Statements of EOS that readers know, each with the forms of its arguments in Arista's user manual.

By the line that opens the section, "" for the margin. ``NEIGHBOUR`` stands for a neighbour of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

PORT = "interface Ethernet3/1/1"
MANAGEMENT = "interface Management1/1"
LOOPBACK = "interface Loopback0"
BGP = "router bgp"
ACCESS_LIST = "ip access-list MANAGEMENT"
NEIGHBOUR = "fd00:1ab:b:fffe::2"

_ON_INTERFACES: tuple[tuple[str, Sequence[str]], ...] = (
    (
        "ip address",
        (
            "10.1.1.1/24",
            "10.1.1.1 255.255.255.0",
            "10.1.1.1/24 secondary",
            "dhcp",
            "unnumbered Loopback0",
            "virtual 10.1.1.1/24",
            "virtual 10.1.1.1/24 secondary",
        ),
    ),
    (
        "ipv6 address",
        (
            "fd00:9::1/64",
            "fd00:9::/64 eui-64",
            "fe80::1/64 link-local",
            "auto-config",
            "dhcp",
            "virtual fd00:9::1/64",
            "FD00:9::1/64",
        ),
    ),
    ("ipv6 enable", ("",)),
    ("mtu", ("1500", "9214", "68")),
    ("shutdown", ("",)),
    ("description", ("to somewhere", "shutdown", "ip address dhcp")),
    ("vrf", ("MGMT", "RED")),
    ("ip access-group", ("MANAGEMENT in", "MANAGEMENT out", "ABSENT in")),
    ("ipv6 access-group", ("MANAGEMENT in",)),
    ("mac access-group", ("ANY in",)),
    (
        "ip helper-address",
        ("10.9.9.9", "10.9.9.9 source-interface Loopback0", "10.9.9.9 vrf MGMT source-interface Vlan1"),
    ),
    ("ipv6 dhcp relay destination", ("fd00::9", "fd00::9 source-address fd00:9::1", "fd00::9 link-address fd00:9::1")),
    (
        "ipv6 nd",
        ("managed-config-flag", "other-config-flag", "ra disabled", "ra interval 200", "prefix fd00:9::/64 infinite"),
    ),
)
_ON_PORTS: tuple[tuple[str, Sequence[str]], ...] = (
    ("speed", ("400g-8", "400g", "forced 100gfull", "auto", "auto 100gfull", "100full", "sfp-1000baset auto 100full")),
    ("error-correction encoding", ("reed-solomon", "fire-code", "reed-solomon fire-code")),
    ("no error-correction encoding", ("", "reed-solomon")),
    ("no switchport", ("",)),
    (
        "switchport",
        (
            "",
            "mode access",
            "mode trunk",
            "mode dot1q-tunnel",
            "access vlan 100",
            "trunk allowed vlan 1-10",
            "trunk native vlan 7",
        ),
    ),
    ("channel-group", ("7 mode active", "7 mode passive", "7 mode on", "recirculation 7")),
    ("lacp", ("timer fast", "timer normal", "rate fast", "port-priority 7")),
    ("service-profile", ("BACKEND", "ABSENT")),
    ("mac security profile", ("ABSENT",)),
    ("qos trust", ("dscp", "cos")),
    ("qos", ("dscp 7", "cos 3")),
    (
        "priority-flow-control",
        ("on", "priority 3 no-drop", "priority 3 drop", "pause watchdog", "pause watchdog disable"),
    ),
    ("tx-queue", ("3",)),
    (
        "spanning-tree",
        ("portfast", "portfast edge", "portfast network", "bpduguard enable", "bpdufilter enable", "guard root"),
    ),
    ("storm-control", ("broadcast level 1",)),
)
_OF_BGP: tuple[tuple[str, Sequence[str]], ...] = (
    ("router-id", ("10.0.0.9", "interface Loopback0")),
    ("maximum-paths", ("4", "4 ecmp 4", "64 ecmp 128")),
    ("graceful-restart", ("", "restart-time 120", "stalepath-time 300")),
    ("graceful-restart-helper", ("", "long-lived")),
    ("timers bgp", ("10 30", "10 30 min-hold-time 3")),
    ("distance bgp", ("20 200 200",)),
    (
        "bgp",
        (
            "listen range fd00::/64 peer-group RTSW remote-as 7",
            "asn notation asdot",
            "bestpath as-path multipath-relax",
            "log-neighbor-changes",
            "default ipv4-unicast",
            "convergence time 3",
        ),
    ),
    (
        "neighbor RTSW",
        (
            "peer group",
            "peer-group",
            "bfd",
            "bfd interval 300 min-rx 300 multiplier 3",
            "ebgp-multihop 3",
            "send-community",
            "send-community extended",
            "update-source Loopback0",
            "allowas-in 1",
            "weight 7",
            "password 7 abc",
            "maximum-routes 0",
            "maximum-routes 9 warning-only",
            "maximum-routes 9",
            "maximum-routes 9 warning-limit 80 percent",
            "timers 3 9",
            "timers 3 9 min-hold-time 3",
            "route-map FROM-UP in",
            "rib-in pre-policy retain",
            "idle-restart-timer 60",
            "default-originate",
            "remote-as 65000",
            "remote-as 65000.1",
            "passive",
            "local-as 7 no-prepend replace-as",
            "auto-local-addr",
        ),
    ),
    (
        f"neighbor {NEIGHBOUR}",
        (
            "peer group RTSW",
            "peer-group RTSW",
            "remote-as 4200100000",
            "remote-as 64087.4368",
            "shutdown",
            "shutdown reason moved",
            "description to somebody",
            "bfd c-bit",
            "timers 3 9",
            "next-hop-self",
        ),
    ),
    (
        "neighbor",
        (
            "interface Et3/1/1 peer-group RTSW remote-as 7",
            "fe80::1%Et1 peer group RTSW",
            "FD00:1AB:B:FFFE::2 bfd",
            "10.1.1.1 remote-as 7",
        ),
    ),
    ("network", ("10.0.0.0/8", "fd00::/64", "10.0.0.0/8 route-map FROM-UP")),
    ("redistribute", ("connected", "static route-map FROM-UP", "attached-host")),
    ("aggregate-address", ("10.0.0.0/8", "fd00::/32 summary-only")),
    ("vrf", ("RED",)),
    ("address-family", ("ipv4", "ipv6", "evpn", "ipv4 multicast")),
)
_AT_THE_MARGIN: tuple[tuple[str, Sequence[str]], ...] = (
    ("ip routing", ("", "vrf RED", "ipv6 interfaces")),
    ("ipv6 unicast-routing", ("", "vrf RED")),
    (
        "ip route",
        (
            "10.0.0.0/8 10.1.1.1",
            "10.0.0.0 255.0.0.0 10.1.1.1",
            "10.0.0.0/8 Null0",
            "vrf MGMT 10.0.0.0/8 10.1.1.1",
            "10.0.0.0/8 10.1.1.1 200 tag 7 name x",
            "10.0.0.0/8 Ethernet1 10.1.1.1",
            "0.0.0.0/0 10.1.1.1 track bfd",
        ),
    ),
    (
        "ipv6 route",
        (
            "fd00::/32 fd00::1",
            "fd00::/32 Null0",
            "vrf MGMT fd00::/32 fd00::1",
            "fd00::/32 Ethernet1 fe80::1",
            "::/0 FD00::1",
        ),
    ),
    (
        "ip prefix-list",
        ("FABRIC seq 10 permit 10.0.0.0/8 le 24", "FABRIC permit 10.0.0.0/8", "FABRIC seq 10 permit any"),
    ),
    (
        "ip community-list",
        ("FROM-BELOW permit 64512:1", "regexp X permit 1.*", "FROM-BELOW permit GSHUT", "FROM-BELOW deny 1:1"),
    ),
    ("ip load-sharing", ("arad 1", "trident fields ip", "sand fields", "fm6000 7")),
    ("ip access-list", ("standard X", "X")),
    (
        "qos map",
        (
            "dscp 7 to traffic-class 3",
            "dscp 7 8 to traffic-class 3",
            "dscp 1-7 to traffic-class 3",
            "cos 3 to traffic-class 3",
            "traffic-class 3 to tx-queue 3",
            "traffic-class 3 to uc-tx-queue 3",
            "traffic-class 3 to dscp 7",
        ),
    ),
    (
        "priority-flow-control pause watchdog default",
        ("timeout 0.2", "recovery-time 1", "polling-interval auto", "recovery-time 1 forced"),
    ),
    (
        "priority-flow-control pause watchdog",
        ("action drop", "action notify-only", "action errdisable", "override action drop"),
    ),
    ("port-channel load-balance", ("sand profile ROCE", "trident fields ip", "")),
    (
        "username",
        (
            "x privilege 15 role network-admin nopassword",
            "x nopassword",
            "x secret sha512 y",
            "x ssh-key ssh-ed25519 AAAA y",
        ),
    ),
    (
        "snmp-server",
        ("community x ro", "community x view y rw", "host 10.1.1.1 version 3 priv x", "vrf default", "location x"),
    ),
    ("ntp server", ("10.1.1.1", "vrf MGMT 10.1.1.1 iburst", "pool.example.net", "10.1.1.1 minpoll 4 maxpoll 6 key 1")),
    ("logging host", ("10.1.1.1", "10.1.1.1 514 protocol tcp")),
    ("route-map", ("X permit 10", "X permit", "X")),
    ("vlan", ("100", "100-110", "100,200")),
    ("monitor session", ("x source Ethernet1",)),
    ("mac address-table", ("aging-time 300",)),
)
_OF_ACCESS_LISTS: tuple[tuple[str, Sequence[str]], ...] = (
    (
        "5 permit",
        (
            "tcp any any eq ssh",
            "tcp any any eq 22 443",
            "tcp any any eq ssh https",
            "tcp any any range ftp ssh",
            "tcp any any gt 1024",
            "tcp any any lt 7",
            "tcp any any neq 7",
            "tcp any any established",
            "tcp any any syn",
            "ip any any",
            "ip any any log",
            "ip host 10.1.1.1 any",
            "ip 10.0.0.0 0.255.255.255 any",
            "udp any eq bootpc any eq bootps",
            "icmp any any echo",
            "icmp any any unreachable",
            "icmp any any 3 4",
            "icmp any any ttl eq 7",
            "47 any any",
            "gre any any",
            "ospf any any",
            "vlan 7 0xFFF ip any any",
            "ip any any fragments",
            "ip any any dscp 7",
            "tcp any any eq nosuchport",
            "ip any any tracked",
        ),
    ),
    ("5 deny", ("ip any any", "ip any any log")),
    ("5 remark", ("", "eq ssh", "a remark")),
    ("remark", ("without a number",)),
    ("permit", ("ip any any",)),
    ("statistics", ("per-entry",)),
)

STATEMENTS: Mapping[str, tuple[tuple[str, Sequence[str]], ...]] = {
    PORT: (*_ON_INTERFACES, *_ON_PORTS),
    MANAGEMENT: _ON_INTERFACES,
    LOOPBACK: _ON_INTERFACES,
    BGP: _OF_BGP,
    ACCESS_LIST: _OF_ACCESS_LISTS,
    "": _AT_THE_MARGIN,
}


def statements() -> Iterator[tuple[str, str]]:
    """Every section with every statement and form of its arguments."""
    for section, own in STATEMENTS.items():
        for words, forms in own:
            for form in forms:
                yield section, f"{words} {form}".rstrip()


def with_statement(text: str, section: str, statement: str) -> str:
    """A text with a statement first in a section, or at the margin."""
    lines = text.split("\n")
    if not section:
        return "\n".join([statement, *lines])
    at = next(number for number, line in enumerate(lines) if line.startswith(section))
    return "\n".join([*lines[: at + 1], f"   {statement}", *lines[at + 1 :]])
