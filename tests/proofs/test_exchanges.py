"""What switches ask and are asked comes there and back: every word on the way, taken out of text, is missed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.plans import plan_of, plan_with
from tests.switches.test_managed_switch import managed_plan

from clusterwright.artifact import Artifact
from clusterwright.facts.reader import LEASES, LOGS, NAMES, TIME
from clusterwright.finding import Finding
from clusterwright.intent.switch import view_switch
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.operation.exchanges import EXCHANGES
from clusterwright.proofs.tree import tree_of
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec
from clusterwright.switches.nvue.writer.configuration import configuration
from clusterwright.switches.sonic.reader.openings import servers
from clusterwright.switches.sonic.writer.configuration import config_db

EOS, SONIC, NVUE = "mnt/flash/startup-config", "etc/sonic/config_db.json", "etc/clusterwright/nvue.yaml"
PROFILE, ZONE = "etc/NetworkManager/system-connections/eth0.nmconnection", "etc/firewalld/zones/management.xml"
BORDER = """
borders:
  - {name: operations, device: mgmt-00, port: Ethernet48, speed_gbps: 1, address: "10.9%s.250.0/31",
     neighbour: "10.9%s.250.1", asn: 64602, zones: [operations]}
"""
TOP_BORDER = """
borders:
  - {name: operations, device: mgmtagg-00, port: Ethernet40/1, speed_gbps: 100, address: "10.99.250.0/31",
     neighbour: "10.99.250.1", asn: 64602, zones: [operations]}
"""
# Without a management network: switches ask a node over the frontend, from gateways, and from loopbacks of no zone.
INBAND = """
site:
  management: {dns: ["fd00:1ab:f:5::2"], ntp: ["fd00:1ab:f:5::2"], syslog: ["fd00:1ab:f:5::2"]}
  aaa: {servers: ["fd00:1ab:f:5::2", "fd00:1ab:f:5::3"]}
fabrics:
  - {name: management, remove: true}
  - name: frontend
    tiers:
      - {role: rsw, model: MODEL}
zones:
  - {name: management, remove: true}
  - {name: operations, remove: true}
borders:
  - {name: operations, remove: true}
flows:
  - {name: operate, remove: true}
  - {name: monitor, remove: true}
  - {name: management-services, remove: true}
  - {name: management-aaa, remove: true}
  - {name: switch-services, from: compute, to: services, protocol: udp, ports: [53, 123, 514],
     reason: "switches", owner: netops}
  - {name: switch-aaa, from: compute, to: services, protocol: tcp, ports: [49], reason: "switches", owner: netops}
  - {name: own-services, from: services, to: services, protocol: udp, ports: [53, 123, 514], reason: "switches",
     owner: netops}
  - {name: own-aaa, from: services, to: services, protocol: tcp, ports: [49], reason: "switches", owner: netops}
"""
RACK = {
    "eos": "dcs-7804r3, down: {medium: mmf, blocks: [card4]}, up: {speed_gbps: 200, blocks: [card3], medium: mmf}",
    "sonic": "sn4700-sonic, down: {medium: mmf, blocks: [cages]}, up: {speed_gbps: 200, blocks: [cages], medium: mmf}",
    "nvue": "sn4700, down: {medium: mmf, blocks: [cages]}, up: {speed_gbps: 200, blocks: [cages], medium: mmf}",
}
ASKING, NODE = ("rsw-p00r00", "rsw-v00"), "svc-v00n0"
NFTABLES = "etc/nftables.conf"
# By name: the spec, the device that is changed, and those that its exchanges meet.
LABS = {
    "gateway": ("lab-border", "", "mgmt-00", ()),
    "eos": ("lab-border", "", "ctsw-p00-00", ("mgmt-00",)),
    "fboss": ("lab-border", "", "rsw-p00r00", ("mgmt-00",)),
    "sonic": ("lab-sonic", BORDER % (9, 9), "rtsw-p00r00", ("mgmt-00",)),
    "nvue": ("lab-nvue", BORDER % (8, 8), "rtsw-p00r00", ("mgmt-00",)),
    "loopback": ("lab-tenants", TOP_BORDER, "mgmtagg-00", ("mgmt-00", "mgmt-01")),
    **{f"{system}, node": ("lab-border", INBAND.replace("MODEL", RACK[system]), NODE, ASKING) for system in RACK},
    **{
        f"{system} in band": ("lab-border", INBAND.replace("MODEL", RACK[system]), ASKING[0], (ASKING[1], NODE))
        for system in RACK
    },
    "mlnx-os": ("qm9700", "", "leaf-00", ("mgmt-00",)),
    "nvos": ("q3400", "", "leaf-00", ("mgmt-00",)),
}


@cache
def plan(lab: str) -> Plan:
    spec, overlay, _, _ = LABS[lab]
    with TemporaryDirectory() as folder:
        if not spec.startswith("lab-"):
            return managed_plan(Path(folder), spec)
        return plan_with(Path(folder), spec, overlay) if overlay else plan_of(spec)


@cache
def files(lab: str) -> tuple[Artifact, ...]:
    _, _, device, others = LABS[lab]
    rendering = Rendering(plan(lab))
    return tuple(
        file for name in (device, *others) for file in rendering.of_device(name) if file.kind in EXCHANGES.kinds
    )


def judged(lab: str, *edits: tuple[str, str, str]) -> Verdict:
    """The verdict on the changed device with what it meets; each edit is a path, a pattern and what stands instead."""
    changed: list[Artifact] = []
    device = LABS[lab][2]
    for file in files(lab):
        content = file.content
        for path, old, new in edits:
            if (file.device, file.path) == (device, path):
                content = re.sub(old, new, content.decode(), flags=re.M).encode()
                assert content != file.content, f"{old} changes nothing"
        changed.append(Artifact(file.device, file.path, content, file.kind))
    return EXCHANGES.run(tree_of(plan(lab).spec.name, changed, Declaration(plan(lab))))


# Over IPv6 NVUE's routes have the loopback as their source, which no zone holds: CW360 says so.
OUT_OF_REACH = {"nvue, node", "nvue in band"}


@pytest.mark.parametrize("lab", [lab for lab in LABS if lab not in OUT_OF_REACH])
def test_what_is_rendered_comes_there_and_back(lab: str) -> None:
    verdict = judged(lab)
    assert verdict.is_proven, (verdict.word, verdict.counterexamples)


LOST = {
    # The switch that the others are managed by asks from its own gateway's address, over a border.
    "its source": (
        "gateway",
        EOS,
        r"^(logging source-interface) Vlan100",
        r"\1 Loopback0",
        "is asked from 10.99.255.1",
    ),
    "the request at the border": (
        "gateway",
        EOS,
        r"^   \d+ permit udp .* 10.99.240.0/24 eq 123$",
        "",
        "stops the request",
    ),
    "the answer at the border": (
        "gateway",
        EOS,
        r"^   \d+ permit udp 10.99.240.0/24 eq 514 .*$",
        "",
        "stops the answer",
    ),
    "logins' answer at the border": (
        "gateway",
        EOS,
        r"^   \d+ permit tcp 10.99.240.0/24 eq 49 .*$",
        "",
        "stops the answer",
    ),
    "the prefix at the border": ("gateway", EOS, r"^   seq 10 permit 10.99.0.0/25 eq 25\n", "", "does not announce"),
    "another prefix at the border": (
        "gateway",
        EOS,
        r"permit 10.99.0.0/25 eq 25",
        "permit 10.99.0.0/25 eq 26",
        "not announce",
    ),
    "the prefix in BGP": ("gateway", EOS, r"^      network 10.99.0.0/25\n", "", "find no way"),
    "the way to servers": ("gateway", EOS, r"^   seq 10 permit 10.99.240.0/24 eq 24\n", "", "no border's route"),
    "gNMI at the border": ("gateway", EOS, r"^   \d+ permit tcp 10.99.240.0/24 .* eq 6030$", "", "stops the request"),
    "gNMI's answer at the border": (
        "gateway",
        EOS,
        r"^   \d+ permit tcp .* eq 6030 10.99.240.0/24 established$",
        "",
        "stops the answer",
    ),
    # One above those with hosts, which asks from its loopback.
    "loopback: its source": ("loopback", EOS, r"^ntp local-interface .*\n", "", "whichever port"),
    "loopback: the request": (
        "loopback",
        EOS,
        r"^   \d+ permit udp 10.98.0.4/31 10.99.240.0/24 eq 123$",
        "",
        "stops the request",
    ),
    "loopback: the answer": (
        "loopback",
        EOS,
        r"^   \d+ permit udp 10.99.240.0/24 eq 123 10.98.0.4/31$",
        "",
        "stops the answer",
    ),
    "loopback: at the border": ("loopback", EOS, r"^   seq \d+ permit \S+ eq 32$", "", "does not announce"),
    "loopback: in BGP": ("loopback", EOS, r"^      network \S+/32\n", "", "find no way"),
    # Over the frontend, from a server that is a node of the cluster.
    **{
        f"{system}, node: the request": (f"{system}, node", NFTABLES, r"\b514\b", "515", "stops the request")
        for system in RACK
    },
    "EOS in band: its source": ("eos in band", EOS, r"^logging source-interface .*\n", "", "whichever port"),
    "SONiC in band: its source": ("sonic in band", SONIC, r', "src_intf": \["Vlan100"\]', "", "whichever port"),
    "NVUE in band: its source": ("nvue in band", NVUE, r"fib-filter: SOURCE", "fib-filter: FROM-UP", "whichever port"),
    "EOS in band: the prefix": ("eos in band", EOS, r"^      network \S+/64\n", "", "find no way"),
    # Switches with a port on a management network.
    "EOS: an interface of the fabric": (
        "eos",
        EOS,
        r"(vrf MGMT source-interface) \S+",
        r"\1 Loopback0",
        "whichever port",
    ),
    "EOS: the port's address": ("eos", EOS, r"ip address 10.99.0.17/25", "ip address 10.99.0.99/25", "answers come to"),
    "EOS: the answer at the port": (
        "eos",
        EOS,
        r"^   \d+ permit udp 10.99.240.0/24 eq 53 any$",
        "",
        "stops the answer",
    ),
    "EOS: logins' answer": (
        "eos",
        EOS,
        r"^   \d+ permit tcp 10.99.240.0/24 eq 49 any established$",
        "",
        "stops the answer",
    ),
    "EOS: the route": ("eos", EOS, r"^ip route vrf MGMT 10.99.240.0/24 .*\n", "", "no route of the management port"),
    "EOS: gNMI at the port": ("eos", EOS, r"^   \d+ permit tcp 10.99.240.0/24 any eq 6030$", "", "stops the request"),
    "EOS: gNMI's list": (
        "eos",
        EOS,
        r"(?<=access-list standard GNMI-SOURCES\n)   counters per-entry\n   10 permit .*",
        "   10 deny any",
        "refuses it",
    ),
    "SONiC: the route": ("sonic", SONIC, r'^ +"mgmt\|10.99.240.0/24": .*\n', "", "no route of the management port"),
    "SONiC: the port's address": ("sonic", SONIC, r"eth0\|10.99.0.13/25", "eth0|10.99.0.99/25", "answers come to"),
    "SONiC: gNMI's list": (
        "sonic",
        SONIC,
        r'("GNMI_SOURCES\|RULE_1": .*)10.99.240.0/24',
        r"\g<1>10.99.241.0/24",
        "refuses it",
    ),
    "NVUE: the route": ("nvue", NVUE, r'"?10.98.240.0/24"?:\n', "10.98.241.0/24:\n", "no route of the management port"),
    "NVUE: the port's address": ("nvue", NVUE, r"10.98.0.13/25", "10.98.0.99/25", "answers come to"),
    "FBOSS: the route": (
        "fboss",
        PROFILE,
        r"^(route\d+)=10.99.240.0/24",
        r"\1=10.99.241.0/24",
        "no route of the management",
    ),
    "FBOSS: the port's address": (
        "fboss",
        PROFILE,
        r"^address1=10.99.0.23/25",
        "address1=10.99.0.99/25",
        "answers come to",
    ),
    "FBOSS: the firewall": ("fboss", ZONE, r'port="161"', 'port="162"', "the firewall of the management port stops it"),
    "MLNX-OS: the port's address": (
        "mlnx-os",
        "var/opt/tms/text-configs/clusterwright",
        r"ip address (\S+)\.\d+ ",
        r"ip address \1.99 ",
        "answers come to",
    ),
    "NVOS: the port's address": (
        "nvos",
        "etc/nvue.d/startup.yaml",
        r"10.0.0.(\d+)/25",
        "10.0.0.99/25",
        "answers come to",
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_what_is_lost_on_the_way_is_missed(name: str) -> None:
    lab, path, old, new, message = LOST[name]
    verdict = judged(lab, (path, old, new))
    assert any(message in example.message for example in verdict.counterexamples), (
        verdict.word,
        verdict.counterexamples,
    )


SOURCES = ("ip tacacs source", "logging source", "ip domain lookup source", "ntp local")


@pytest.mark.parametrize("words", SOURCES)
def test_without_a_management_port_a_switch_asks_from_an_address_that_answers_find(words: str) -> None:
    """The out-of-band switch itself: its hosts' gateway is an address of the zone that flows to servers name."""
    counterexamples = judged("gateway", (EOS, rf"^{words}-interface Vlan100\n", "")).counterexamples
    assert counterexamples
    assert all(
        "is asked from the address of whichever port leads there" in example.message for example in counterexamples
    )


def test_sonic_without_a_management_port_names_its_sources_where_it_has_a_word(tmp_path: Path) -> None:
    model = "{role: rsw, model: sn4700-sonic, down: {medium: mmf}}"
    plan = plan_with(tmp_path, "lab-ib", f"fabrics:\n  - {{name: frontend, tiers: [{model}]}}\n")
    view = replace(view_switch(plan, plan.by_name["rsw-00"]), management=None)
    tables = config_db(plan, view)
    asked = {server.what: server.source for server in servers(json.dumps(tables))}
    assert asked == {TIME: view.fabric_source, LOGS: view.fabric_source, NAMES: "", LEASES: ""}
    del tables["NTP"]["global"]["src_intf"]
    assert not {server.what: server.source for server in servers(json.dumps(tables))}[TIME]


def test_what_names_no_source_is_noted() -> None:
    """SONiC looks names up in the VRF of the program that asks."""
    (note,) = (note for note in judged("sonic").notes if "names" in note)
    assert "1 switch with SONiC, as rtsw-p00r00: nothing sets the source address of requests to servers for" in note


def test_nvue_without_a_management_port_takes_the_source_of_the_route() -> None:
    plan = plan_of("lab-nvue")
    view = replace(view_switch(plan, plan.by_name["rtsw-p00r00"]), management=None)
    written = configuration(plan, view)
    assert written["vrf"]["default"]["router"]["rib"] == {"ipv6": {"protocol": {"bgp": {"fib-filter": "SOURCE"}}}}
    (rule,) = written["router"]["policy"]["route-map"]["SOURCE"]["rule"].values()
    assert rule["set"] == {"source-ip": view.loopback}


def test_nvue_that_relays_over_ipv6_asks_from_an_address_of_no_zone() -> None:
    counterexamples = judged("nvue, node").counterexamples
    assert any("stops the request" in example.message for example in counterexamples), counterexamples
    assert any("rsw of frontend (from its loopback)" in finding.message for finding in findings("nvue, node"))


def findings(lab: str) -> list[Finding]:
    """What lint says of servers that a lab's switches cannot reach."""
    with TemporaryDirectory() as folder:
        plan_with(Path(folder), LABS[lab][0], LABS[lab][1])
        return [found for found in lint_path(Path(folder) / "overlay.yaml").findings if found.code == "CW360"]


ONE_SWITCH = """
extends: {base}
site: {{dns: ["10.20.0.53"]}}
fabrics:
  - {{name: frontend, tiers: [{{role: tor, model: {model}}}]}}
flows:
  - {{name: names, from: compute, to: campus, protocol: udp, ports: [53], owner: us, reason: "names"}}
"""


@pytest.mark.parametrize(("model", "is_noted"), [("sn4700", True), ("dcs-7280dr3-24", False)])
def test_a_single_switch_without_a_route_to_its_server_is_not_refuted(
    tmp_path: Path, model: str, is_noted: bool
) -> None:
    """NVUE takes the source of the route, and no border leads to the server; EOS has its source in its own words."""
    file = tmp_path / "one.yaml"
    base = Path(__file__).parents[1] / "small" / "specs" / "existing.yaml"
    file.write_text(ONE_SWITCH.format(base=base, model=model))
    assert [finding.code for finding in lint_path(file).errors] == []
    plan = build_plan(load_spec(file))
    verdict = EXCHANGES.run(tree_of(plan.name, Rendering(plan).of_kinds(EXCHANGES.kinds), Declaration(plan)))
    assert not verdict.is_refuted, verdict.counterexamples
    assert any("nothing sets the source address" in note for note in verdict.notes) is is_noted, verdict.notes
