"""Ends of flows at switches: a management port without its address or a route back, and hosts' ports in no network."""

from __future__ import annotations

import re

import pytest
from tests.golden_files import assert_golden
from tests.proofs.isolation import test_managed_switches
from tests.proofs.isolation.test_isolation import replaced, told
from tests.proofs.isolation.trees import EOS, SONIC, Edit

NVUE = "etc/clusterwright/nvue.yaml"
SSW, RTSW, MGMT = "ssw-00", "rtsw-p00r00", "mgmt-00"
ROUTE = "ip route vrf MGMT 10.99.240.0/24 10.99.0.1"
TO_BMC = "   description to gpu-p00r00n0 bmc\n   no shutdown\n"


def dropped(pattern: str) -> Edit:
    """Drops the first match of a pattern."""

    def edit(text: str) -> str:
        assert re.search(pattern, text, re.M), pattern
        return re.sub(pattern, "", text, count=1, flags=re.M)

    return edit


CASES: dict[str, tuple[str, str, str, Edit]] = {
    "EOS: no route to operations": ("lab-border", SSW, EOS, replaced(f"{ROUTE}\n", "")),
    "EOS: a route through another hop": ("lab-border", SSW, EOS, replaced(ROUTE, f"{ROUTE[:-1]}2")),
    "EOS: a route to a part": ("lab-border", SSW, EOS, replaced(ROUTE, ROUTE.replace("/24", "/25"))),
    "EOS: a route that does not read": ("lab-border", SSW, EOS, replaced(ROUTE, ROUTE.replace("/24", "/34"))),
    "EOS: no address": ("lab-border", SSW, EOS, dropped(r"^   ip address 10\.99\.0\.\d+/25\n")),
    "EOS: the port is shut": (
        "lab-border",
        SSW,
        EOS,
        lambda text: re.sub(r"(interface Management1/1\n(?:   .*\n)*?   )no shutdown", r"\1shutdown", text),
    ),
    "SONiC: no route to operations": ("lab-sonic", RTSW, SONIC, dropped(r'^ *"mgmt\|10\.99\.240\.0/24": .*\n')),
    "SONiC: no address": (
        "lab-sonic",
        RTSW,
        SONIC,
        dropped(r'(?<="MGMT_INTERFACE": \{)\s*"eth0\|10\.99\.0\.\d+/25": \{[^}]*\}\s*'),
    ),
    "NVUE: no route to operations": (
        "lab-nvue",
        RTSW,
        NVUE,
        lambda text: re.sub(r'( +static:\n(?:.*\n)*? *)"10\.98\.240\.0/24"', r'\1"10.98.240.0/25"', text),
    ),
    "NVUE: no address": ("lab-nvue", RTSW, NVUE, dropped(r'^ +address:\n +"10\.98\.0\.\d+/25": \{\}\n')),
    "a host's port in no VLAN": (
        "lab-border",
        MGMT,
        EOS,
        replaced(f"{TO_BMC}   switchport access vlan 100\n", TO_BMC),
    ),
    "a host's port in another VLAN": (
        "lab-border",
        MGMT,
        EOS,
        replaced(f"{TO_BMC}   switchport access vlan 100", f"{TO_BMC}   switchport access vlan 101"),
    ),
    "a host's port that is shut": (
        "lab-border",
        MGMT,
        EOS,
        replaced(TO_BMC, TO_BMC.replace("no shutdown", "shutdown")),
    ),
    "a VLAN that is not there": ("lab-border", MGMT, EOS, replaced("\nvlan 100\n", "\nvlan 101\n")),
    "the gateway of another VLAN": (
        "lab-border",
        MGMT,
        EOS,
        replaced("\ninterface Vlan100\n", "\ninterface Vlan101\n"),
    ),
    "another gateway": ("lab-border", MGMT, EOS, replaced("10.99.0.1/25", "10.99.0.100/25")),
}
MANAGED: dict[str, tuple[str, Edit]] = {
    "MLNX-OS: no route to operations": ("mlnx-os", dropped(r"^ip route 10\.0\.8\.0 .*\n")),
    "MLNX-OS: a route through another hop": (
        "mlnx-os",
        replaced("ip route 10.0.8.0 255.255.254.0 10.0.0.1", "ip route 10.0.8.0 255.255.254.0 10.0.0.126"),
    ),
    "MLNX-OS: no address": ("mlnx-os", dropped(r"^interface mgmt0 ip address .*\n")),
    "NVOS: no gateway": ("nvos", dropped(r'^ +gateway:\n +"10\.0\.0\.1": \{\}\n')),
    "NVOS: another gateway": ("nvos", replaced('"10.0.0.1": {}', '"10.0.0.126": {}')),
}


def test_each_end_is_told() -> None:
    lines = []
    for case, parts in CASES.items():
        found = told(*parts)
        assert found, case
        lines.append(f"{case}:\n  {found[0]}\n")
    for case, (system, edit) in MANAGED.items():
        faults = test_managed_switches.verdict(system, edit).counterexamples
        assert faults, case
        lines.append(f"{case}:\n  {faults[0]}\n")
    assert_golden("isolation/ends.txt", "\n".join(lines).encode())


@pytest.mark.parametrize(
    "edit",
    [
        replaced(ROUTE, "ip route vrf MGMT 10.99.240.0/25 10.99.0.1\nip route vrf MGMT 10.99.240.128/25 10.99.0.1"),
        replaced(f"{ROUTE}\n", f"{ROUTE}\n{ROUTE}\n"),
    ],
)
def test_the_same_in_other_words_is_proven(edit: Edit) -> None:
    assert not told("lab-border", SSW, EOS, edit)
