"""NVUE's words by release: what is written for one has its words alone, reads as any other, and mixes with none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with
from tests.switches.nvue_pages import WRITTEN, page_of
from tests.switches.test_nvue import NAME, objections, text_of
from yaml import safe_load

from clusterwright.facts.router import Port, Session
from clusterwright.plan.model import Plan
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.nvue.drift import compare_nvue
from clusterwright.switches.nvue.reader.configuration import read_nvue
from clusterwright.switches.nvue.reader.known import KNOWN
from clusterwright.switches.nvue.reader.logins import logins
from clusterwright.switches.nvue.reader.openings import servers, silent
from clusterwright.switches.nvue.words.renaming import in_oldest_words
from clusterwright.switches.nvue.words.table import GONE, MOVES, SWITCHES, parsed_release
from clusterwright.switches.nvue.writer.releases import TREE

RELEASES = systems()["nvue"].releases
KNOWN_RELEASES = () if RELEASES is None else RELEASES.known
RACK_SWITCH = "rsw-p00r00"
# Commands of which a rendered file says the same, with the releases that have them: from the pages that the table of
# words names, written here anew.
SPELLINGS = {
    "service snmp-server enable on": ("5.10", "5.10"),
    "system snmp-server state enabled": ("5.11", "5.16"),
    "system aaa tacacs server 1 host 10.98.240.49": ("5.10", "5.11"),
    "system aaa tacacs enable on": ("5.10", "5.11"),
    "system aaa tacacs server 10.98.240.49 priority 1": ("5.12", "5.16"),
    "system aaa authentication-order 10 tacacs": ("5.10", "5.16"),
    "service syslog mgmt server 10.98.240.14 port 514": ("5.10", "5.12"),
    "system syslog server 10.98.240.14 port 514": ("5.13", "5.16"),
    "system syslog server 10.98.240.14 vrf mgmt": ("5.13", "5.16"),
    "service dns mgmt server 10.98.240.53": ("5.10", "5.14"),
    "service dns mgmt search lab.example.net": ("5.10", "5.14"),
    "system dns server 10.98.240.53 vrf mgmt": ("5.15", "5.16"),
    "system dns search lab.example.net": ("5.15", "5.16"),
    "service ntp mgmt server 10.98.240.123 iburst on": ("5.10", "5.14"),
    "system ntp server 10.98.240.123 iburst enabled": ("5.15", "5.16"),
    "system ntp vrf mgmt": ("5.15", "5.16"),
    "service lldp tx-interval 30": ("5.10", "5.14"),
    "system lldp tx-interval 30": ("5.15", "5.16"),
    "interface lo ip address fd00:2ab:b:ffff::1/128": ("5.10", "5.14"),
    "interface lo ipv6 address fd00:2ab:b:ffff::1/128": ("5.15", "5.16"),
    "interface eth0 ip address 10.98.0.13/25": ("5.10", "5.14"),
    "interface eth0 ipv4 address 10.98.0.13/25": ("5.15", "5.16"),
    "interface eth0 ip vrf mgmt": ("5.10", "5.14"),
    "interface eth0 vrf mgmt": ("5.15", "5.16"),
    "interface swp1s0 link auto-negotiate off": ("5.10", "5.14"),
    "interface swp1s0 link auto-negotiate disabled": ("5.15", "5.16"),
    "interface swp1s0 qos pfc-watchdog state enable": ("5.10", "5.16"),
    "system forwarding ecmp-hash source-ip on": ("5.10", "5.14"),
    "system forwarding ecmp-hash source-ip enabled": ("5.15", "5.16"),
    "qos roce enable on": ("5.10", "5.14"),
    "qos roce state enabled": ("5.15", "5.16"),
    "router bgp enable on": ("5.10", "5.14"),
    "router bgp state enabled": ("5.15", "5.16"),
    "router bgp wait-for-install enabled": ("5.15", "5.16"),
    "vrf default router bgp enable on": ("5.10", "5.14"),
    "vrf default router bgp address-family ipv6-unicast state enabled": ("5.15", "5.16"),
    "vrf default router bgp path-selection multipath aspath-ignore enabled": ("5.15", "5.16"),
    "vrf default router bgp peer-group UP address-family ipv6-unicast community-advertise regular off": (
        "5.10",
        "5.14",
    ),
    "vrf default router bgp peer-group UP bfd enable on": ("5.10", "5.14"),
    "vrf default router bgp peer-group UP bfd detect-multiplier 3": ("5.10", "5.14"),
    "vrf default router bgp peer-group UP bfd profile fabric": ("5.15", "5.16"),
    "router bfd profile fabric detect-multiplier 3": ("5.15", "5.16"),
    "router bfd state enabled": ("5.15", "5.16"),
}

OUT_OF_BAND_MODEL = """
version: 1
kind: hardware
models:
  - name: out-of-band
    kind: switch
    manufacturer: NVIDIA
    part: SN2201
    technology: [ethernet]
    network_os: nvue
    platform: SN2201
    asic: spectrum-1
    units: {value: 1, assumed: "A model of a test."}
    power_w: {value: 150, assumed: "A model of a test."}
    weight_kg: {value: 8, assumed: "A model of a test."}
    management: {name: eth0, speed_gbps: 1, assumed: "A model of a test."}
    ports:
      - block: copper
        cages: "swp[1-48]"
        connector: rj45
        assumed: "A model of a test."
        modes: [{name: 1x1, speed_gbps: 1, subports: [""]}]
"""


def commands(node: object, path: str = "") -> Iterator[str]:
    """What `nv set` would be told."""
    if not isinstance(node, dict) or not node:
        yield path.strip() if isinstance(node, dict) else f"{path} {node}".strip()
        return
    for name, below in node.items():
        yield from commands(below, f"{path} {name}")


def plan_for(folder: Path, release: str) -> Plan:
    overlay = "fabrics:\n"
    for fabric, roles in (("backend", ("rtsw", "ctsw", "atsw")), ("frontend", ("rsw", "ssw"))):
        overlay += f"  - name: {fabric}\n    tiers:\n"
        overlay += "".join(f'      - {{role: {role}, release: "{release}"}}\n' for role in roles)
    return plan_with(folder, "lab-nvue", overlay)


@pytest.mark.parametrize("release", [*KNOWN_RELEASES, "5.13.1"])
def test_a_release_is_written_in_its_words(release: str, tmp_path: Path) -> None:
    written = set(commands(safe_load(text_of(plan_for(tmp_path, release)))[0]["set"]))
    for command, (first, last) in SPELLINGS.items():
        is_there = parsed_release(first) <= parsed_release(release) <= parsed_release(last)
        assert (command in written) == is_there, command
    if parsed_release(release) >= (5, 15):
        words = {command.rpartition(" ")[2] for command in written if " link fec " not in command}
        assert words.isdisjoint({"on", "off"})


@pytest.mark.parametrize("release", KNOWN_RELEASES)
@pytest.mark.parametrize("name", [NAME, RACK_SWITCH])
def test_every_release_reads_as_the_oldest_does(release: str, name: str, tmp_path: Path) -> None:
    oldest, text = text_of(plan_of("lab-nvue"), name), text_of(plan_for(tmp_path, release), name)
    assert KNOWN.unread(text) == ()
    assert list(compare_nvue(oldest, text)) == []
    one, other = read_nvue(name, oldest), read_nvue(name, text)
    assert list(map(without_places, other.sessions)) == list(map(without_places, one.sessions))
    assert list(map(without_places, other.ports)) == list(map(without_places, one.ports))
    assert (other.own_addresses, other.max_paths, other.advertised, other.relayed, other.spreads_by) == (
        one.own_addresses,
        one.max_paths,
        one.advertised,
        one.relayed,
        one.spreads_by,
    )
    asked = sorted((server.what, server.address, server.is_asked) for server in servers(text))
    assert asked == sorted((server.what, server.address, server.is_asked) for server in servers(oldest))
    assert all(is_asked for *_, is_asked in asked)
    assert list(silent(text)) == []
    assert [login._replace(at=0) for login in logins("", text)] == [
        login._replace(at=0) for login in logins("", oldest)
    ]


def without_places(facts: Session | Port) -> dict[str, object]:
    """What is said, without where: that differs between files that say the same."""
    said = {name: value for name, value in facts._asdict().items() if not name.endswith(("mark", "start"))}
    return said | ({"qos": facts.qos._replace(places=())} if isinstance(facts, Port) else {})


@pytest.mark.parametrize("release", KNOWN_RELEASES)
def test_named_as_the_oldest_names_them_the_objects_are_of_its_model(release: str, tmp_path: Path) -> None:
    document = safe_load(text_of(plan_for(tmp_path, release)))
    in_oldest_words(TREE, document[0]["set"])
    assert objections(document) == []


def test_words_of_two_releases_in_one_file_are_unread(tmp_path: Path) -> None:
    text = text_of(plan_for(tmp_path, "5.15"), RACK_SWITCH)
    for new, old in (
        ("auto-negotiate: disabled", 'auto-negotiate: "off"'),
        ("          state: enabled\n          username", '          enable: "on"\n          username'),
        ("regular: disabled", 'regular: "off"'),
    ):
        mixed = text.replace(new, old, 1)
        if mixed == text:
            continue
        (unread,) = KNOWN.unread(mixed)
        assert unread.text == "words of two releases in one file"
        assert mixed.splitlines()[unread.line - 1].strip() == old.splitlines()[0].strip()
        assert unread.claims == frozenset()


def test_words_of_another_release_than_the_header_states_are_unread(tmp_path: Path) -> None:
    text = text_of(plan_for(tmp_path, "5.14"), RACK_SWITCH)
    header = (
        "- header:\n    model: SN4700\n    nvue-api-version: nvue_v1\n    rev-id: 1.0\n    version: Cumulus Linux {}\n"
    )
    assert KNOWN.unread(header.format("5.14.0") + text) == ()
    assert len(KNOWN.unread(header.format("5.15.0") + text)) > 10
    assert len(KNOWN.unread(header.format("5.11.0") + text)) > 1


def test_a_running_switch_of_another_release_is_a_difference(tmp_path: Path) -> None:
    planned = text_of(plan_of("lab-nvue"), RACK_SWITCH)
    runs = text_of(plan_for(tmp_path, "5.15"), RACK_SWITCH)
    header = "- header:\n    version: Cumulus Linux 5.15.1\n"
    ((kind, name, wanted, found, _, _),) = compare_nvue(planned, header + runs)
    assert (kind.value, name, wanted, found) == ("changed", "header version", "before 5.11", "5.15")


def test_every_change_of_words_names_its_page() -> None:
    changes = [(each.page, each.since) for each in MOVES]
    changes += [(each.page, each.since) for each in SWITCHES]
    changes += [(each.page, each.since) for each in GONE]
    for page, since in changes:
        assert page.endswith(".md")
        assert (5, 10) < since <= (5, 16)


def test_the_domain_is_written_where_servers_of_names_are(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-nvue", "site: {domain: changed.example.org}\n")
    written = set(commands(safe_load(text_of(plan))[0]["set"]))
    assert "service dns mgmt search changed.example.org" in written


OUT_OF_BAND = """
hardware: [hw.yaml]
fabrics:
  - name: management
    tiers:
      - {role: mgmt, model: out-of-band}
"""


def test_a_switch_without_a_management_port_asks_for_logins_over_the_fabric(tmp_path: Path) -> None:
    (tmp_path / "hw.yaml").write_text(OUT_OF_BAND_MODEL)
    plan = plan_with(tmp_path, "lab-nvue", OUT_OF_BAND)
    text = text_of(plan, "mgmt-00")
    assert "system aaa tacacs vrf default" in set(commands(safe_load(text)[0]["set"]))
    assert all(server.is_asked for server in servers(text))


@pytest.mark.parametrize("release", KNOWN_RELEASES)
def test_every_path_that_is_written_has_a_page_in_its_release(release: str, tmp_path: Path) -> None:
    plan = plan_for(tmp_path, release)
    for name in (NAME, RACK_SWITCH, "ctsw-p00-00"):
        document = safe_load(text_of(plan, name))[0]["set"]
        lacking = [path for path in paths(document) if not page_of(list(path), parsed_release(release))]
        is_relay = [path for path in lacking if path[:2] == ("service", "dhcp-relay6")]
        assert lacking == is_relay  # which CW352 refuses from 5.14 on
        assert not lacking or parsed_release(release) >= (5, 14)


def test_a_row_of_the_pages_has_a_first_and_a_last_release() -> None:
    for words, first, last, page in WRITTEN:
        assert first <= last, words
        assert page.endswith(".md"), words


def paths(node: object, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if not isinstance(node, dict) or not node:
        yield above
        return
    for name, below in node.items():
        yield from paths(below, (*above, str(name)))
