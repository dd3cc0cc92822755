"""Names in EOS text: what a line refers to is defined in the same file, and what is defined is referred to."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.plans import plan_of

from clusterwright.output.rendering import Rendering

PATH = "mnt/flash/startup-config"
# What is named, the line that defines it, and the lines that refer to it.
STRUCTURES = (
    ("community list", r"^ip community-list (\S+) ", r"^   match community (\S+)$"),
    ("prefix list", r"^ip(?:v6)? prefix-list (\S+)$", r"^   match ip(?:v6)? address prefix-list (\S+)$"),
    ("route map", r"^route-map (\S+) (?:permit|deny) ", r"route-map (\S+) (?:in|out)$"),
    ("peer group", r"^   neighbor (\S+) peer group$", r"^   neighbor \S+ peer group (\S+)$"),
    (
        "IPv4 access list",
        r"^ip access-list (?:standard )?(\S+)$",
        r"^ +ip access-group (\S+)|^snmp-server ipv4 access-list (\S+)",
    ),
    (
        "IPv6 access list",
        r"^ipv6 access-list (?:standard )?(\S+)$",
        r"^ +ipv6 access-group (\S+)|^snmp-server ipv6 access-list (\S+)",
    ),
    ("QoS profile", r"^qos profile (\S+)$", r"^   service-profile (\S+)$"),
    ("VRF", r"^vrf instance (\S+)$", r"\bvrf (?!default|instance)(\S+)"),
    (
        "load-balance profile",
        r"^   load-balance sand profile (\S+)$",
        r"^port-channel load-balance sand profile (\S+)$",
    ),
    ("TLS profile", r"^   ssl profile (\S+)$", r"^      ssl profile (\S+)$"),
    ("server group", r"^aaa group server \S+ (\S+)$", r"^aaa .*\bgroup (?!server)(\S+)"),
    ("SNMP group", r"^snmp-server group (\S+) ", r"^snmp-server user \S+ (\S+) "),
    ("VLAN", r"^vlan (\d+)$", r"^   switchport access vlan (\d+)$|^interface Vlan(\d+)$"),
)


def _names(pattern: str, text: str) -> set[str]:
    return {group for found in re.finditer(pattern, text, re.M) for group in found.groups() if group}


def loose_ends(text: str) -> Iterator[str]:
    """What is referred to and not defined, and what is defined and not referred to."""
    for kind, definition, reference in STRUCTURES:
        defined, meant = _names(definition, text), _names(reference, text)
        yield from (f"{kind} {name} is not defined" for name in sorted(meant - defined))
        yield from (f"{kind} {name} is not used" for name in sorted(defined - meant))


@pytest.mark.parametrize("spec", ["lab-roce", "roce-24k", "rsc", "ib-24k"])
def test_every_name_leads_somewhere_and_none_is_idle(spec: str) -> None:
    plan = plan_of(spec)
    first = {(device.fabric, device.role): device.name for device in reversed(plan.devices) if device.kind == "switch"}
    texts = {
        name: artifact.content.decode()
        for name in first.values()
        for artifact in Rendering(plan).of_device(name)
        if artifact.path == PATH
    }
    assert texts
    assert {name: ends for name, text in texts.items() if (ends := list(loose_ends(text)))} == {}


def test_a_loose_end_is_seen() -> None:
    text = "route-map A permit 10\n   match community B\n!\nip community-list C permit 1:1\n"
    assert list(loose_ends(text)) == [
        "community list B is not defined",
        "community list C is not used",
        "route map A is not used",
    ]
