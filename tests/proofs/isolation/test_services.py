"""Lists on switches' services, their own firewalls and borders' routes: proven as rendered, refuted when edited."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from random import Random

import pytest
from tests.golden_files import assert_golden
from tests.proofs.isolation.test_isolation import replaced, told
from tests.proofs.isolation.trees import AGENT, EOS, SONIC, Edit, left_open, text_of, tree, verdict

from clusterwright.proofs.isolation.proof import ISOLATION

ZONE = "etc/firewalld/zones/management.xml"
PROFILE = "etc/NetworkManager/system-connections/eth0.nmconnection"
RSW, EDGE, BORDER = "ctsw-p00-00", "rtsw-p00r00", "mgmt-00"


def within(start: str, pattern: str, other: str) -> Edit:
    """Changes the first match of a pattern after a line that begins so."""

    def edit(text: str) -> str:
        at = text.index(f"\n{start}")
        return text[:at] + re.sub(pattern, other, text[at:], count=1)

    return edit


SECRET = "      secret 1 7 <secret bgp-operations as eos-type-7> receive-lifetime infinite transmit-lifetime infinite\n"
OF_BORDERS = {
    "a port that only switches": ("   no switchport\n   ip address 10.99.250.0/31\n", "   switchport\n"),
    "a port without its address": ("   ip address 10.99.250.0/31\n", ""),
    "another address": ("   ip address 10.99.250.0/31\n", "   ip address 10.99.250.4/31\n"),
    "a port that is shut": ("border operations\n   no shutdown\n", "border operations\n   shutdown\n"),
    "another neighbour's number": ("remote-as 64602", "remote-as 64603"),
    "no password": (" shared-secret profile BGP-BGP-OPERATIONS-1 algorithm", " shared-secret profile OTHER algorithm"),
    "a key of another name": ("<secret bgp-operations as eos-type-7>", "<secret bgp-others as eos-type-7>"),
    "a profile without a key": (SECRET, ""),
    "no limit": ("   neighbor BORDER-OPERATIONS maximum-routes 3 warning-limit 2\n", ""),
    "a limit that only warns": ("maximum-routes 3 warning-limit 2", "maximum-routes 3 warning-only"),
    "no network has the length": ("permit 10.99.0.0/25 eq 25", "permit 10.99.0.0/25 eq 26"),
    "nothing is announced": ("route-map TO-BORDER-OPERATIONS permit", "route-map TO-BORDER-OPERATIONS deny"),
    "its own network is none of BGP's": ("      network 10.99.0.0/25\n", ""),
    "a neighbour that is alive for ever": ("BORDER-OPERATIONS timers 10 30", "BORDER-OPERATIONS timers 0 0"),
    "a neighbour that is alive for an hour": ("BORDER-OPERATIONS timers 10 30", "BORDER-OPERATIONS timers 1200 3600"),
    "nothing is learnt": ("route-map FROM-BORDER-OPERATIONS permit", "route-map FROM-BORDER-OPERATIONS deny"),
}
CASES: dict[str, tuple[str, str, str, Edit]] = {
    "SSH for everybody": ("lab-roce", RSW, EOS, replaced("   ip access-group SSH-SOURCES vrf MGMT in\n", "")),
    "eAPI for everybody": ("lab-roce", RSW, EOS, replaced("      ip access-group EAPI-SOURCES\n", "")),
    "SNMP for everybody": (
        "lab-roce",
        RSW,
        EOS,
        replaced("snmp-server ipv4 access-list SNMP-SOURCES vrf MGMT\n", ""),
    ),
    "gNMI by a list that is not there": (
        "lab-roce",
        RSW,
        EOS,
        replaced("ip access-group GNMI-SOURCES", "ip access-group G"),
    ),
    "a source of SSH too wide": (
        "lab-roce",
        RSW,
        EOS,
        within("ip access-list standard SSH", r"permit 10\.\S+", "permit 10.0.0.0/8"),
    ),
    "a source of SNMP cut off": ("lab-roce", RSW, EOS, within("ip access-list standard SNMP", "permit", "deny")),
    "a list that ends open": (
        "lab-roce",
        RSW,
        EOS,
        within("ipv6 access-list standard SSH", "deny any", "permit any"),
    ),
    "an entry that is hidden": (
        "lab-roce",
        RSW,
        EOS,
        within("ip access-list standard EAPI", "(   10 permit (.*)\n)", r"\1   15 permit \2\n"),
    ),
    "SONiC: a source of SSH too wide": (
        "lab-sonic",
        EDGE,
        SONIC,
        lambda text: re.sub(r'("SSH_SOURCES\|RULE_1": \{[^}]*"SRC_IP": )"[^"]*"', r'\1"10.0.0.0/8"', text),
    ),
    "SONiC: SSH without a table": ("lab-sonic", EDGE, SONIC, replaced('"services": ["SSH"]', '"services": ["NTP"]')),
    "SONiC: a source refused": (
        "lab-sonic",
        EDGE,
        SONIC,
        lambda text: re.sub(r'("SNMP_SOURCES\|RULE_1": \{[^}]*"PACKET_ACTION": )"ACCEPT"', r'\1"DROP"', text),
    ),
    "FBOSS: a zone that accepts": ("lab-roce", EDGE, ZONE, replaced('target="DROP"', 'target="ACCEPT"')),
    "FBOSS: a port for everybody": (
        "lab-roce",
        EDGE,
        ZONE,
        replaced("  <rule ", '  <port port="8080" protocol="tcp"/>\n  <rule '),
    ),
    "FBOSS: another port": ("lab-roce", EDGE, ZONE, replaced('port="22"', 'port="23"')),
    "FBOSS: a wider source": ("lab-roce", EDGE, ZONE, replaced('address="10.99.240.0/24"', 'address="10.99.240.0/20"')),
    "FBOSS: a port of no zone": ("lab-roce", EDGE, PROFILE, replaced("zone=management\n", "")),
    "border: a longer prefix is learnt": (
        "rsc",
        "mtop-00",
        EOS,
        within("ip prefix-list BORDER-IN", "/24 eq 24", "/24 le 32"),
    ),
    "border: a foreign prefix is learnt": (
        "rsc",
        "mtop-00",
        EOS,
        within("ip prefix-list BORDER-IN", r"10\.66\.240\.0/24 eq 24", "0.0.0.0/0 eq 0"),
    ),
    "border: a prefix is not learnt": (
        "rsc",
        "mtop-00",
        EOS,
        within("ip prefix-list BORDER-IN", "   seq 10 permit .*\n", ""),
    ),
    "border: more is announced": (
        "rsc",
        "mtop-00",
        EOS,
        within("ip prefix-list BORDER-OUT", r"10\.65\.0\.0/20", "10.64.0.0/14"),
    ),
    "border: a rack is not announced": (
        "rsc",
        "mtop-00",
        EOS,
        within("ip prefix-list BORDER-OUT", "   seq 10 permit .*\n", ""),
    ),
    **{f"border: {case}": ("lab-border", BORDER, EOS, replaced(*edit)) for case, edit in OF_BORDERS.items()},
    "border: no route map": (
        "rsc",
        "mtop-00",
        EOS,
        within("router bgp", "   neighbor BORDER-OPERATIONS-A route-map .* out\n", ""),
    ),
    "border: a map that asks no list": (
        "rsc",
        "mtop-00",
        EOS,
        within("route-map FROM-BORDER", "   match ip address prefix-list .*\n", ""),
    ),
}


def test_each_kind_of_counterexample_names_source_and_line() -> None:
    lines = []
    for case, parts in CASES.items():
        found = told(*parts)
        assert found, case
        lines.append(f"{case}:\n  {found[0]}\n")
    assert_golden("isolation/services.txt", "\n".join(lines).encode())


def test_a_list_with_other_ports_counts_by_its_sources() -> None:
    edit = replaced("ip access-group SSH-SOURCES vrf MGMT in", "ip access-group MANAGEMENT vrf MGMT in")
    assert "SSH (TCP 22): " in told("lab-roce", RSW, EOS, edit)[0]


def test_a_list_with_destinations_is_refused() -> None:
    edit = within("ip access-list MANAGEMENT", r"permit tcp (\S+) any", r"permit tcp \1 host 10.99.0.1")
    both = replaced("ip access-group SSH-SOURCES vrf MGMT in", "ip access-group MANAGEMENT vrf MGMT in")
    answer = verdict(tree("lab-roce", RSW, edits={(RSW, EOS): lambda text: both(edit(text))}))
    assert re.search(r"startup-config:\d+: list MANAGEMENT is asked about sources", left_open(answer, RSW))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('family="ipv4"', 'family="ipv6"'),
        ('<rule family="ipv4">', "<rule>"),
        ('port="22"', 'port="ssh"'),
        ('port="22"', 'port="23-22"'),
    ],
)
def test_a_rule_of_a_zone_that_does_not_read_leaves_its_switch_open(old: str, new: str) -> None:
    """Families and ports that firewalld does not take ended the command as a defect of its own."""
    answer = verdict(tree("lab-roce", EDGE, edits={(EDGE, ZONE): replaced(old, new)}))
    assert re.search(rf"{EDGE}:/{ZONE}:0: .* so the passing packets are unknown", left_open(answer, EDGE))


def test_more_entries_than_the_chip_takes_are_refuted() -> None:
    def doubled(text: str) -> str:
        entry = re.search(r'\{"name": "rdma-0"[^}]*\}', text)
        assert entry is not None
        return text.replace(entry[0], ", ".join([entry[0]] * 300), 1)

    result = verdict(tree("lab-roce", EDGE, edits={(EDGE, AGENT): doubled}))
    assert "table flows has 310 entries, and the chip takes 256 in one" in str(result.counterexamples[0])


def test_a_cluster_with_many_permits_has_them_in_several_tables() -> None:
    agent = json.loads(text_of("lab-ib", "rsw-00", AGENT))
    tables = agent["sw"]["aclTableGroup"]["aclTables"]
    sizes = [len(table["aclEntries"]) for table in tables]
    assert len(tables) > 2
    assert max(sizes) <= 256
    assert [table["priority"] for table in tables] == list(range(len(tables), 0, -1))
    assert not verdict(tree("lab-ib", "rsw-00")).counterexamples


ENTRIES = {
    "EOS": ("lab-roce", RSW, EOS, r"   \d+ permit (?:\d\S+|host \S+)\n"),
    "FBOSS": ("lab-roce", EDGE, ZONE, r"  <rule(?:.*\n){5}"),
    "SONiC": ("lab-sonic", EDGE, SONIC, r' *"\w+_SOURCES\|RULE_\d+": .*\},\n'),
    "borders": (
        "rsc",
        "mtop-00",
        EOS,
        r"   seq \d+ permit \S+ eq \d+\n(?=(?:   .*\n)*!\n(?:ip prefix-list BORDER|route-map FROM-BORDER))",
    ),
}


@pytest.mark.parametrize("system", ENTRIES)
def test_every_entry_that_is_taken_out_is_missed(system: str) -> None:
    name, device, path, entry = ENTRIES[system]
    text = text_of(name, device, path)
    places = [found.span() for found in re.finditer(entry, text)]
    assert places
    for start, end in Random(7).sample(places, min(8, len(places))):

        def edit(before: str, start: int = start, end: int = end) -> str:
            return before[:start] + before[end:]

        assert verdict(tree(name, device, edits={(device, path): edit})).counterexamples, text[start:end]


def test_a_file_of_another_system_hides_no_service() -> None:
    """Which of two a switch takes nobody knows: both are judged."""
    edit = replaced("   ip access-group SSH-SOURCES vrf MGMT in\n", "")
    alone = tree("lab-sonic", RSW, EDGE, edits={(RSW, EOS): edit})
    other = replace(alone.files[EDGE, SONIC], device=RSW)
    both = replace(alone, files={**alone.files, (RSW, SONIC): other})
    wanted = {example for example in ISOLATION.run(alone).counterexamples if example.device == RSW}
    assert wanted
    assert wanted <= set(ISOLATION.run(both).counterexamples)
