"""Added lines of EOS: what EOS would read as something else, however it is spelled, and what is sound."""

from __future__ import annotations

import pytest

from clusterwright.rules.spec.extra_config import misleading, opens

SOUND = [
    ["interface Ethernet3/1/1", "   load-interval 30", "no logging console"],
    ["router bgp", "   neighbor RTSW next-hop-self", "   !", "   address-family ipv4", "      neighbor RTSW activate"],
    ["management api gnmi", "   transport grpc default", "      no shutdown"],
    ["ip access-list CONSOLES", "   5 permit ip any any"],
    ["ipv6 route fd00::/64 fd00::1", "logging buffered 1000", "! by the owner of the room"],
    ["username deploy privilege 15 secret <secret deploy as eos-sha512>", "no aaa root"],
    ["username deploy ssh-key ssh-ed25519 AAAAC3Nz deploy", "username deploy role network-admin secret sha512 $6$x"],
    ["daemon TerminAttr", "   exec /usr/bin/TerminAttr -disableaaa", "   no shutdown"],
    ["interface Ethernet3/1/1", "   spanning-tree portfast", "   qos trust dscp", "   service-profile P"],
    ["monitor connectivity", "   host spine", "      ip 10.0.0.1"],
    ["vrf instance X", "ip routing vrf X", "router bgp", "   vrf X", "      rd 1:1"],
    ["no logging monitor", "clock timezone UTC", "errdisable recovery interval 60", "event-monitor"],
]
MISLEADING = [
    ["banner motd", "hello"],
    ["banner login"],
    ["BANNER motd"],
    ["ban motd"],
    ["interface Ethernet3/1/1", "   comment"],
    ["interface Ethernet3/1/1", "   exit", "   no shutdown"],
    ["end"],
    ["exi"],
    ["EOF"],
    ["default interface Ethernet3/1/1"],
    ["interface Ethernet3/1/1", "   default ip access-group X in"],
    ["no interface Ethernet3/1/1"],
    ["no router bgp"],
    ["no ip access-list HOSTS"],
    ["no ipv6 prefix-list FABRIC"],
    ["no username admin"],
    ["no ip routing"],
    ["!", "   shutdown"],
    ["!! joined"],
    ["interface Ethernet3/1/1", "   router bgp 65001"],
    ["interface Ethernet3/1/1", "   interface Ethernet3/2/1"],
    ["interface Ethernet3/1/1", "   username a secret b"],
    ["int Ethernet3/1/1", "   shutdown"],
    ["rout bgp"],
    ["event-handler X", "   action bash", "   rm -rf /", "   EOF"],
    ["configure replace flash:x"],
    ["bash timeout 1 id"],
    ["write erase"],
]
OPEN = [
    ["username guest privilege 15 nopassword"],
    ["username guest nopassword"],
    ["user guest priv 15 nopass"],
    ["USERNAME guest NOPASSWORD"],
    ["username guest privilege 15"],
    ["username guest role network-admin"],
    ["interface Ethernet3/1/1", "   username guest nopassword"],
    ["username guest role secret"],
    ["username guest privilege 1 role secret shell secret"],
    ["aaa root nopassword"],
    ["aaa authentication login default none"],
    ["aaa authorization exec default none"],
    ["management ssh", "   authentication empty-passwords permit"],
]


@pytest.mark.parametrize("lines", SOUND, ids=lambda lines: lines[0])
def test_what_says_what_it_means_is_left_alone(lines: list[str]) -> None:
    assert list(misleading(lines)) == []
    assert list(opens(lines)) == []


@pytest.mark.parametrize("lines", MISLEADING, ids=" / ".join)
def test_what_changes_the_lines_around_it_is_refused(lines: list[str]) -> None:
    assert list(misleading(lines))


@pytest.mark.parametrize("lines", OPEN, ids=" / ".join)
def test_an_account_without_a_password_is_refused(lines: list[str]) -> None:
    assert list(opens(lines))
