"""The words of NVUE by release: names of objects and the release of each change, for writers and readers.

The program knows the words of 5.10, the oldest written release. Names of later releases stand here, each change with
its page of NVIDIA's documentation (github CumulusNetworks/docs, below content/).
"""

from __future__ import annotations

from dataclasses import dataclass

Release = tuple[int, ...]
_WHATS_NEW = "cumulus-linux-{}/Whats-New/_index.md"
_CHANGED_515 = "cumulus-linux-515/Whats-New/New-and-Changed-NVUE-Commands.md"
_REFERENCE = "nvue-reference/Set-and-Unset-Commands/{}.md"
ON_OFF = {"on": "enabled", "off": "disabled"}
BFD_PROFILE = "fabric"
V4, V6 = "<v4>", "<v6>"  # addresses of one version


@dataclass(frozen=True, slots=True)
class MovedObject:
    """An object with another path ``since`` a release. Words in ``<>`` stand for names in both paths.

    ``kept`` is the path of the value with the name in ``<>`` missing in the new path, ``lifted`` that of the value used
    as a name in the new path. ``otherwise`` is that name if nothing holds it.
    """

    since: Release
    was: str
    now: str
    page: str
    kept: str = ""
    lifted: str = ""
    otherwise: str = "default"


@dataclass(frozen=True, slots=True)
class RewordedValue:
    """A value of ``on`` or ``off`` before a release, and ``enabled`` or ``disabled`` since."""

    since: Release
    was: str
    now: str
    page: str


@dataclass(frozen=True, slots=True)
class RemovedValue:
    """A value without a place in later releases, since everything with the object is ``on`` there."""

    since: Release
    was: str
    page: str


PROFILES_SINCE = _515 = (5, 15)
MOVES = (
    MovedObject(
        since=(5, 11), was="service snmp-server", now="system snmp-server", page=_REFERENCE.format("SNMP-Server")
    ),
    MovedObject(
        since=(5, 11),
        was="vrf <vrf> router rib <family> protocol <protocol> fib-filter",
        now="vrf <vrf> router rib <family> fib-filter protocol <protocol> route-map",
        page=_REFERENCE.format("RIB"),
    ),
    MovedObject(
        since=(5, 12),
        was="system aaa tacacs server <number>",
        now="system aaa tacacs server <host>",
        page=_WHATS_NEW.format("512"),
        kept="system aaa tacacs server <host> priority",
        lifted="system aaa tacacs server <number> host",
    ),
    MovedObject(
        since=(5, 13),
        was="service syslog <vrf> server <server>",
        now="system syslog server <server>",
        page=_WHATS_NEW.format("513"),
        kept="system syslog server <server> vrf",
    ),
    MovedObject(
        since=_515,
        was="service dns <vrf> server <server>",
        now="system dns server <server>",
        page=_CHANGED_515,
        kept="system dns server <server> vrf",
    ),
    MovedObject(
        since=_515,
        was="service dns <vrf> search <domain>",
        now="system dns search <domain>",
        page=_CHANGED_515,
        otherwise="mgmt",
    ),
    MovedObject(
        since=_515,
        was="service ntp <vrf> server <server>",
        now="system ntp server <server>",
        page=_CHANGED_515,
        kept="system ntp vrf",
    ),
    MovedObject(since=_515, was="service lldp", now="system lldp", page=_CHANGED_515),
    MovedObject(
        since=_515,
        was=f"interface <name> ip address {V4}",
        now=f"interface <name> ipv4 address {V4}",
        page=_CHANGED_515,
    ),
    MovedObject(
        since=_515,
        was=f"interface <name> ip address {V6}",
        now=f"interface <name> ipv6 address {V6}",
        page=_CHANGED_515,
    ),
    MovedObject(
        since=_515,
        was=f"interface <name> ip gateway {V4}",
        now=f"interface <name> ipv4 gateway {V4}",
        page=_CHANGED_515,
    ),
    MovedObject(
        since=_515,
        was=f"interface <name> ip gateway {V6}",
        now=f"interface <name> ipv6 gateway {V6}",
        page=_CHANGED_515,
    ),
    MovedObject(
        since=_515,
        was="interface <name> ip neighbor-discovery",
        now="interface <name> ipv6 neighbor-discovery",
        page=_CHANGED_515,
    ),
    MovedObject(since=_515, was="interface <name> ip vrf", now="interface <name> vrf", page=_CHANGED_515),
)


def _renamed(path: str) -> RewordedValue:
    """``enable on`` of an object, ``state enabled`` since 5.15."""
    return RewordedValue(since=_515, was=f"{path} enable", now=f"{path} state", page=_CHANGED_515)


def _reworded(path: str) -> RewordedValue:
    return RewordedValue(since=_515, was=path, now=path, page=_CHANGED_515)


_BGP = "vrf <vrf> router bgp"
SWITCHES = (
    RewordedValue(
        since=(5, 11),
        was="system snmp-server enable",
        now="system snmp-server state",
        page=_REFERENCE.format("SNMP-Server"),
    ),
    *map(
        _renamed,
        (
            "interface <name> ipv6 neighbor-discovery router-advertisement",
            "interface <name> router adaptive-routing",
            "qos roce",
            "router adaptive-routing",
            "router bgp",
            _BGP,
            f"{_BGP} address-family <family>",
            f"{_BGP} address-family <family> redistribute <protocol>",
            f"{_BGP} neighbor <peer>",
            f"{_BGP} neighbor <peer> address-family <family>",
            f"{_BGP} neighbor <peer> address-family <family> default-route-origination",
            f"{_BGP} peer-group <group> address-family <family>",
            f"{_BGP} peer-group <group> address-family <family> default-route-origination",
        ),
    ),
    *map(
        _reworded,
        (
            "interface <name> bond lacp-bypass",
            "interface <name> ipv6 neighbor-discovery router-advertisement managed-config",
            "interface <name> link auto-negotiate",
            "router bgp wait-for-install",
            "system forwarding ecmp-hash <field>",
            "system ntp server <server> iburst",
            f"{_BGP} neighbor <peer> address-family <family> community-advertise <kind>",
            f"{_BGP} neighbor <peer> address-family <family> prefix-limits inbound warning-only",
            f"{_BGP} neighbor <peer> shutdown",
            f"{_BGP} path-selection multipath aspath-ignore",
            f"{_BGP} peer-group <group> address-family <family> community-advertise <kind>",
            f"{_BGP} peer-group <group> address-family <family> prefix-limits inbound warning-only",
            f"{_BGP} peer-group <group> shutdown",
        ),
    ),
)
GONE = (
    RemovedValue((5, 12), "system aaa radius enable", _WHATS_NEW.format("512")),
    RemovedValue((5, 12), "system aaa tacacs enable", _WHATS_NEW.format("512")),
)
# The methods of authentication are objects since 5.13: exported so by NVIDIA/enterprise-ras, spectrum-era.
ORDER, ORDER_SINCE = "system aaa authentication-order <number>", (5, 13)
# A relay has groups of servers, each with its upstream interfaces: IPv4 alone (_REFERENCE.format("DHCP-Relay")).
RELAY_GROUPS_SINCE: Release = (5, 14)
# BFD of a neighbour or group is a profile's (_REFERENCE.format("BFD"), _CHANGED_515).
PROFILE, BFD_TIMES = "router bfd profile <profile>", ("detect-multiplier", "min-rx-interval", "min-tx-interval")
BFD_PLACES = (f"{_BGP} peer-group <group> bfd", f"{_BGP} neighbor <peer> bfd")


def parsed_release(text: str) -> Release:
    """A release's numbers: major and minor. Raises ValueError for text without them at its beginning."""
    major, minor, *_ = text.split(".")
    return int(major), int(minor)


def dotted(release: Release) -> str:
    """A release as people write it."""
    return ".".join(map(str, release))
