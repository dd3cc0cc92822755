"""Where NVIDIA documents what is written: by the words that a path begins with, the releases that have it, and a page.

Pages are those of NVUE's command reference (github CumulusNetworks/docs, content/nvue-reference,
Set-and-Unset-Commands), which names the release that brought each command. 5.10 is the oldest of which all were read.
"""

from __future__ import annotations

from clusterwright.switches.nvue.words.table import Release

_OLDEST: Release = (5, 10)
_ACL, _BGP, _BFD, _QOS, _INTERFACE = "ACL.md", "BGP.md", "BFD.md", "QoS.md", "Interface.md"
_ND, _POLICY, _RELAY = "Neighbor-Discovery.md", "Router-Policy.md", "DHCP-Relay.md"
_SYSTEM, _FORWARDING, _TACACS, _RADIUS = "System-Configuration.md", "System-Forwarding.md", "TACACS.md", "RADIUS.md"
_DNS, _NTP, _LLDP, _SNMP, _SYSLOG, _SSH = "DNS.md", "NTP.md", "LLDP.md", "SNMP-Server.md", "Syslog.md", "SSH-Server.md"
_LATEST: Release = (5, 16)

# Words that a path begins with, a `*` for any name: the first and the last release that has them, and the page.
WRITTEN: tuple[tuple[str, Release, Release, str], ...] = (
    ("acl", _OLDEST, _LATEST, _ACL),
    ("bridge domain * vlan", _OLDEST, _LATEST, "Bridge.md"),
    ("interface * acl", _OLDEST, _LATEST, _ACL),
    ("interface * bond", _OLDEST, _LATEST, _INTERFACE),
    ("interface * bridge domain", _OLDEST, _LATEST, "Bridge.md"),
    ("interface * description", _OLDEST, _LATEST, _INTERFACE),
    ("interface * ip address", _OLDEST, (5, 14), _INTERFACE),
    ("interface * ip neighbor-discovery", _OLDEST, (5, 14), _ND),
    ("interface * ip vrf", _OLDEST, (5, 14), _INTERFACE),
    ("interface * ipv4 address", (5, 15), _LATEST, _INTERFACE),
    ("interface * ipv6 address", (5, 15), _LATEST, _INTERFACE),
    ("interface * ipv6 neighbor-discovery", (5, 15), _LATEST, _ND),
    ("interface * link", _OLDEST, _LATEST, _INTERFACE),
    ("interface * qos pfc-watchdog", _OLDEST, _LATEST, _QOS),
    ("interface * type", _OLDEST, _LATEST, _INTERFACE),
    ("interface * vlan", _OLDEST, _LATEST, _INTERFACE),
    ("interface * vrf", (5, 15), _LATEST, _INTERFACE),
    ("qos", _OLDEST, _LATEST, _QOS),
    ("router bfd", (5, 15), _LATEST, _BFD),
    ("router bgp", _OLDEST, _LATEST, _BGP),
    ("router policy", _OLDEST, _LATEST, _POLICY),
    ("service dhcp-relay * interface", _OLDEST, (5, 13), _RELAY),
    ("service dhcp-relay * server", _OLDEST, (5, 13), _RELAY),
    ("service dhcp-relay * server-group", (5, 14), _LATEST, _RELAY),
    ("service dhcp-relay * downstream-interface", (5, 14), _LATEST, _RELAY),
    ("service dhcp-relay * source-ip", _OLDEST, _LATEST, _RELAY),
    ("service dhcp-relay6", _OLDEST, (5, 13), _RELAY),
    ("service dns", _OLDEST, (5, 14), _DNS),
    ("service lldp", _OLDEST, (5, 14), _LLDP),
    ("service ntp", _OLDEST, (5, 14), _NTP),
    ("service snmp-server", _OLDEST, (5, 10), _SNMP),
    ("service syslog", _OLDEST, (5, 12), _SYSLOG),
    ("system aaa authentication-order", _OLDEST, _LATEST, _TACACS),
    ("system aaa radius", _OLDEST, _LATEST, _RADIUS),
    ("system aaa tacacs", _OLDEST, _LATEST, _TACACS),
    ("system aaa user", _OLDEST, _LATEST, "User-Account.md"),
    ("system api", _OLDEST, _LATEST, "API.md"),
    ("system dns", (5, 15), _LATEST, _DNS),
    ("system forwarding", _OLDEST, _LATEST, _FORWARDING),
    ("system hostname", _OLDEST, _LATEST, _SYSTEM),
    ("system lldp", (5, 15), _LATEST, _LLDP),
    ("system ntp", (5, 15), _LATEST, _NTP),
    ("system snmp-server", (5, 11), _LATEST, _SNMP),
    ("system ssh-server", _OLDEST, _LATEST, _SSH),
    ("system syslog", (5, 13), _LATEST, _SYSLOG),
    ("vrf * router bgp", _OLDEST, _LATEST, _BGP),
    ("vrf * router rib", _OLDEST, _LATEST, "RIB.md"),
    ("vrf * router static", _OLDEST, _LATEST, "Static-Routing.md"),
)


def page_of(path: list[str], release: Release) -> str:
    """The page that documents a path in a release; "" where no row has it."""
    for words, first, last, page in WRITTEN:
        pattern = words.split(" ")
        if not first <= release[:2] <= last or len(path) < len(pattern):
            continue
        if all(word in {"*", name} for word, name in zip(pattern, path, strict=False)):
            return page
    return ""
