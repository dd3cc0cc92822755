"""NVUE's objects: the schema written from its model takes them, every name leads somewhere, FRR takes the routing."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from tests.golden_files import assert_golden
from tests.plans import plan_of, plan_with
from tests.proofs.ethernet_trees import tree, verdict
from tests.switches.bonded import bonded
from tests.switches.nvue_in_frr import Objects, at, frr_conf

from clusterwright import data_files
from clusterwright.device_files.effect import Effect
from clusterwright.output.rendering import Rendering
from clusterwright.packets.tokens import Unreadable
from clusterwright.plan.model import Plan, format_address
from clusterwright.switches.nvue.drift import compare_nvue
from clusterwright.switches.nvue.effects import effect
from clusterwright.switches.nvue.reader.known import KNOWN
from clusterwright.switches.nvue.reader.yaml_text import read_objects
from clusterwright.switches.nvue.writer.qos import shares
from clusterwright.switches.nvue.writer.yaml_lines import dump

NAME = "rtsw-p00r00"
PATH = "etc/clusterwright/nvue.yaml"
VTYSH = Path("/usr/bin/vtysh")
MARKING = """
fabrics:
  - name: backend
    classes:
      - name: rdma
        ecn: mark
        marking: {min_kbytes: 1000, max_kbytes: 3000, percent: 10, assumed: "figures of a test"}
"""
NEIGHBOUR = ("vrf", "default", "router", "bgp", "neighbor", "fd00:2ab:b:fffe::3")


def text_of(plan: Plan, name: str = NAME) -> str:
    (content,) = (artifact.content for artifact in Rendering(plan).of_device(name) if artifact.path == PATH)
    return content.decode()


def config(plan: Plan, name: str = NAME) -> list[Objects]:
    document: list[Objects] = yaml.safe_load(text_of(plan, name))
    return document


def switches(plan: Plan) -> Iterator[str]:
    for device in plan.devices:
        if device.kind == "switch" and plan.spec.catalogue[device.model].network_os == "nvue":
            yield device.name


@cache
def validator() -> Draft202012Validator:
    schema = json.loads((data_files.folder("inventory") / "schema" / "nvue.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def missing(own: Objects) -> Iterator[str]:
    """Names that lead nowhere: lists of ports, route maps, prefix lists, peer groups, addresses, VLANs, cages."""
    yield from _missing_of_ports(own)
    yield from _missing_of_policies(own)
    bgp = at(own, "vrf", "default", "router", "bgp")
    mine = {each.partition("/")[0] for port in own["interface"].values() for each in at(port, "ip", "address")}
    for peer, each in at(bgp, "neighbor").items():
        if each["peer-group"] not in bgp["peer-group"]:
            yield f"{peer}: no peer group {each['peer-group']}"
        if each["update-source"] not in mine:
            yield f"{peer}: no interface has {each['update-source']}"
    queues = at(own, "qos", "egress-scheduler", "default-global", "traffic-class")
    percent = sum(each.get("bw-percent", 0) for each in queues.values())
    if percent not in {0, 100}:
        yield f"queues share {percent} percent"


def _missing_of_ports(own: Objects) -> Iterator[str]:
    for name, port in own["interface"].items():
        yield from (f"{name}: no list {each}" for each in port.get("acl", {}) if each not in own.get("acl", {}))
        for domain, each in at(port, "bridge", "domain").items():
            if str(each["access"]) not in at(own, "bridge", "domain", domain, "vlan"):
                yield f"{name}: no VLAN {each['access']} in {domain}"
        if name.startswith("swp") and "s" in name[3:] and name.rpartition("s")[0] not in own["interface"]:
            yield f"{name}: no cage is split into it"


def _missing_of_policies(own: Objects) -> Iterator[str]:
    policy = at(own, "router", "policy")
    for name, group in at(own, "vrf", "default", "router", "bgp", "peer-group").items():
        ways = [way for family in group["address-family"].values() for way in family.get("policy", {}).values()]
        yield from (f"{name}: no {way['route-map']}" for way in ways if way["route-map"] not in policy["route-map"])
    for name, each in at(policy, "route-map").items():
        for match in (rule.get("match", {}) for rule in each["rule"].values()):
            for word, kind in (("ip-prefix-list", "prefix-list"), ("community-list", "community-list")):
                if word in match and match[word] not in policy[kind]:
                    yield f"{name}: no {kind} {match[word]}"


def objections(document: list[Objects]) -> list[str]:
    found = [f"{error.json_path}: {error.message}" for error in validator().iter_errors(document)]
    return found or list(missing(document[0]["set"]))


def test_a_switch_is_rendered_as_reviewed() -> None:
    for artifact in Rendering(plan_of("lab-nvue")).of_device(NAME):
        assert_golden(f"lab-nvue/{NAME}/{artifact.path}", artifact.content)


def test_every_switch_passes_the_schema_and_nothing_in_it_is_unread() -> None:
    plan = plan_of("lab-nvue")
    names = list(switches(plan))
    assert len(names) == 18
    for name in names:
        assert objections(config(plan, name)) == []
        assert not list(KNOWN.unread(text_of(plan, name)))


def test_bonds_pass_the_schema_and_nothing_in_them_is_unread() -> None:
    plan = bonded("nvue")
    for name in switches(plan):
        document = config(plan, name)
        assert objections(document) == []
        assert not list(KNOWN.unread(text_of(plan, name)))
        if not name.startswith("rsw"):
            continue
        ports = at(document[0], "set", "interface")
        bonds = [port for port in ports.values() if port["type"] == "bond"]
        assert bonds
        assert all("bridge" not in ports[member] for bond in bonds for member in bond["bond"]["member"])


@pytest.mark.parametrize(
    ("overlay", "path"),
    [
        ("site:\n  aaa: {protocol: radius}\n", ("system", "aaa", "radius", "server")),
        (MARKING, ("qos", "congestion-control", "default-global", "traffic-class", "2", "max-threshold")),
        (
            f'exceptions:\n  - {{device: {NAME}, state: drained, reason: "a test"}}\n',
            ("router", "policy", "route-map", "TO-UP", "rule", "10", "action"),
        ),
    ],
)
def test_other_choices_pass_too(overlay: str, path: tuple[str, ...], tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-nvue", overlay)
    document = config(plan)
    assert at(document[0]["set"], *path)
    assert objections(document) == []
    assert not list(KNOWN.unread(text_of(plan)))


def test_a_switch_without_neighbours_has_nothing_unread(tmp_path: Path) -> None:
    plan = plan_with(
        tmp_path, "lab-nvue", f"exceptions:\n  - {{device: {NAME}, state: out-of-service, reason: a test}}\n"
    )
    bgp = at(config(plan)[0]["set"], "vrf", "default", "router", "bgp")
    assert bgp["neighbor"] == {}
    assert not list(KNOWN.unread(text_of(plan)))
    # of another table no entries may mean everything
    entry = r'(?m)^( +match:)\n +"fd00[^"]*": \{\}$'
    assert list(KNOWN.unread(re.sub(entry, r"\1 {}", text_of(plan), count=1)))


@pytest.mark.parametrize(
    ("where", "value", "complaint"),
    [
        (("interface", "swp1s0", "link", "fec"), "auto", "not one of"),
        (("interface", "swp1s0", "link", "mtu"), 9300, "maximum"),
        (("interface", "swp1s0", "link", "speeed"), "400G", "unexpected"),
        (("interfaces",), {}, "unexpected"),
        (("qos", "mapping", "default-global", "dscp", "64"), {"switch-priority": 0}, "not match"),
        (("qos", "mapping", "default-global", "trust"), "dscp", "not one of"),
        (("qos", "pfc-watchdog", "polling-interval"), 50, "minimum"),
        (("qos", "roce", "mode"), "on", "not one of"),
        (("qos", "egress-scheduler", "default-global", "traffic-class", "0"), {"mode": "dwrr"}, "not valid"),
        (("qos", "egress-scheduler", "default-global", "traffic-class", "0", "bw-percent"), 17, "share 99 percent"),
        (("system", "forwarding", "hash-seed"), -1, "minimum"),
        (("system", "aaa", "user", "netops", "hashed-password"), "letmein", "not match"),
        (
            ("vrf", "default", "router", "bgp", "neighbor", "fd00:2ab:b:fffe::3", "peer-group"),
            "NOBODY",
            "no peer group",
        ),
        (("vrf", "default", "router", "bgp", "neighbor", "fd00:2ab:b:fffe::3", "update-source"), "::1", "no interface"),
        (("router", "policy", "route-map", "TO-UP", "rule", "10", "match", "ip-prefix-list"), "NONE", "no prefix-list"),
        (("interface", "swp1s0", "acl", "OTHER"), {"inbound": {}}, "no list OTHER"),
    ],
)
def test_what_the_model_refuses_is_refused(where: tuple[str, ...], value: Any, complaint: str) -> None:
    document = config(plan_of("lab-nvue"))
    here: Any = document[0]["set"]
    for part in where[:-1]:
        here = here[part]
    here[where[-1]] = value
    assert any(complaint in text for text in objections(document))


def test_neighbours_are_those_of_the_plan() -> None:
    plan = plan_of("lab-nvue")
    neighbours = at(config(plan)[0]["set"], "vrf", "default", "router", "bgp", "neighbor")
    uplinks = [cable for cable in plan.cables_of[NAME] if cable.a.device == NAME and cable.a.side == "up"]
    assert {address: each["remote-as"] for address, each in neighbours.items()} == {
        format_address(cable.b.address or 0, 6): plan.by_name[cable.b.device].asn for cable in uplinks
    }


@pytest.mark.parametrize(
    ("weights", "percents"),
    [((1, 1, 1), [34, 33, 33]), ((50, 200, 1), [20, 79, 1]), ((1000, 1, 1), [98, 1, 1]), ((7,), [100]), ((), [])],
)
def test_weights_become_whole_percents_that_make_a_hundred(weights: tuple[int, ...], percents: list[int]) -> None:
    assert shares(weights) == percents


def test_what_is_written_reads_back_as_it_was() -> None:
    plan = plan_of("lab-nvue")
    for name in switches(plan):
        text = text_of(plan, name)
        document = yaml.safe_load(text)
        assert dump(document[0]["set"]) == text.encode()


RANGES = """- header:
    model: MSN4700
    version: Cumulus Linux 5.10.1
- set:
    interface:
      swp1-2,swp5s0-1:
        type: swp
      swp2:
        link:
          mtu: 9000
"""


def test_ranges_are_the_ports_that_they_stand_for_and_places_are_lines() -> None:
    root = read_objects(RANGES)
    ports = dict(root.items("interface"))
    assert sorted(ports) == ["swp1", "swp2", "swp5s0", "swp5s1"]
    assert ports["swp2"].text("type") == "swp"
    assert ports["swp2"].number("link", "mtu") == 9000
    assert ports["swp2"].at("link", "mtu").line == 10


def test_what_nvue_prints_of_the_same_configuration_is_no_drift() -> None:
    planned = text_of(plan_of("lab-nvue"))
    printed = planned.replace(': "on"', ": enabled").replace('"<secret tacacs-key>"', "$nvsec$0123456789abcdef")
    printed = printed.replace('"<secret netops-hash as crypt>"', "'*'").replace('"<secret snmp-auth>"', "$nvsec$aa")
    printed = printed.replace('"<secret snmp-privacy>"', "$nvsec$bb")
    assert list(compare_nvue(planned, f"- header:\n    model: SN5600\n{printed}")) == []
    changed = printed.replace("hash-seed: 1", "hash-seed: 7").replace("  tx-interval: 30\n", "  tx-multiplier: 4\n")
    assert [(found[0].value, found[1], found[2], found[3]) for found in compare_nvue(planned, changed)] == [
        ("missing", "service lldp tx-interval", "30", ""),
        ("unexpected", "service lldp tx-multiplier", "", "4"),
        ("changed", "system forwarding hash-seed", "1", "7"),
    ]


def test_a_change_of_services_alone_is_live() -> None:
    was = text_of(plan_of("lab-nvue")).encode()
    assert max(each.effect for each in effect(PATH, was, was.replace(b"10.98.240.14", b"10.98.240.15"))) is Effect.LIVE
    assert (
        max(each.effect for each in effect(PATH, was, was.replace(b"hash-seed: 1", b"hash-seed: 7"))) is Effect.RESTART
    )
    assert (
        max(each.effect for each in effect(PATH, was, was.replace(b"mode: lossless", b"mode: lossy"))) is Effect.RESTART
    )
    assert max(each.effect for each in effect(PATH, None, was)) is Effect.RESTART


@pytest.mark.skipif(not VTYSH.exists(), reason="FRR is not installed")
@pytest.mark.parametrize("name", ["rtsw-p00r00", "ctsw-p00-00", "atsw-00", "rsw-p00r00"])
def test_frr_takes_the_routing(name: str, tmp_path: Path) -> None:
    written = frr_conf(config(plan_of("lab-nvue"), name)[0]["set"])
    assert complaints_of_frr(written, tmp_path) == []
    (complaint,) = complaints_of_frr(written.replace(" route-map FROM-", " route-maps FROM-", 1), tmp_path)
    assert "Unknown command" in complaint


def complaints_of_frr(text: str, folder: Path) -> list[str]:
    """What FRR's shell says of a configuration that it only reads."""
    path = folder / "frr.conf"
    path.write_text(text)
    done = subprocess.run([VTYSH, "-C", "-f", path], capture_output=True, text=True, timeout=60, check=False)
    assert bool(done.returncode) == bool(done.stdout + done.stderr)
    return f"{done.stdout}{done.stderr}".splitlines()


def test_a_port_of_a_bridge_has_no_address_of_its_own() -> None:
    """What comes in by it is the bridge's: the link that its address is for is down."""
    link = '        description: "to ctsw'
    bridge = "        bridge:\n          domain:\n            br_default:\n              access: 100\n"

    def edit(text: str) -> str:
        return text.replace(link, bridge + link, 1)

    result = verdict("bgp-sessions", tree("lab-nvue", {(NAME, PATH): edit}))
    assert any(example.device == NAME for example in result.counterexamples)


@pytest.mark.parametrize(
    "line",
    [
        "a: 010",
        "a: 1_0",
        "no: {}",
        "~: b",
        "a: !!binary aGk=",
        "a: {b: c, b: d}",
        "a: &a {b: *a}",
        "<<: {a: b}",
    ],
)
def test_what_yaml_reads_as_something_else_than_stands_there_is_not_read(line: str) -> None:
    with pytest.raises(Unreadable):
        read_objects(f"- set:\n    {line}\n")


def test_an_object_that_stands_twice_is_not_one() -> None:
    with pytest.raises(Unreadable):
        read_objects("- set:\n    a:\n      b: c\n    a:\n      d: e\n")
