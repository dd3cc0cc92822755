"""The Linux under FBOSS: time, logs, logins, monitoring and its firewall say what the spec says."""

from __future__ import annotations

import subprocess
from pathlib import Path
from xml.etree import ElementTree

from tests.plans import plan_of, plan_with

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.host_firewall import firewall_faults
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.tree import tree_of
from clusterwright.rules.engine import lint_path

NAME = "rtsw-p00r00"


def files(plan: Plan) -> dict[str, Artifact]:
    return {artifact.path: artifact for artifact in Rendering(plan).of_device(NAME)}


def text(plan: Plan, path: str) -> str:
    return files(plan)[path].content.decode()


def test_time_and_logs_come_and_go_over_the_management_network() -> None:
    plan = plan_of("lab-roce")
    assert "server 10.99.240.123 iburst\n" in text(plan, "etc/chrony.conf")
    assert 'target="10.99.240.14" port="514"' in text(plan, "etc/rsyslog.d/90-clusterwright.conf")


def test_rsyslog_reads_the_forwarding(tmp_path: Path) -> None:
    file = tmp_path / "forward.conf"
    file.write_text(text(plan_of("lab-roce"), "etc/rsyslog.d/90-clusterwright.conf"))
    checked = subprocess.run(["rsyslogd", "-N1", "-f", str(file)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert "error" not in checked.stderr.lower(), checked.stderr


def test_snmp_is_version_3_on_the_management_address_alone() -> None:
    file = files(plan_of("lab-roce"))["etc/snmp/snmpd.conf"]
    lines = file.content.decode().splitlines()
    assert "createUser monitoring SHA <secret snmp-auth> AES <secret snmp-privacy>" in lines
    assert "rouser monitoring priv" in lines
    assert [line for line in lines if line.startswith("agentaddress")] == ["agentaddress udp:10.99.0.13:161"]
    assert not [line for line in lines if "community" in line]
    assert file.mode == 0o600


def test_central_logins_are_asked_in_the_order_of_the_spec(tmp_path: Path) -> None:
    tacacs = files(plan_of("lab-roce"))["etc/pam.d/sshd"]
    first = next(line for line in tacacs.content.decode().splitlines() if line.startswith("auth"))
    assert first.split()[1:3] == ["sufficient", "pam_tacplus.so"]
    assert [word for word in first.split() if word.startswith("server=")] == [
        "server=10.99.240.49",
        "server=10.99.240.50",
    ]
    assert tacacs.mode == 0o600
    plan = plan_with(tmp_path, "lab-roce", "site:\n  aaa: {protocol: radius, secret: radius-key}\n")
    assert "pam_radius_auth.so" in text(plan, "etc/pam.d/sshd")
    assert "10.99.240.49 <secret radius-key> 5\n" in text(plan, "etc/pam_radius.conf")
    assert files(plan)["etc/pam_radius.conf"].mode == 0o600


def test_the_firewall_lets_in_what_the_flows_let_in() -> None:
    plan = plan_of("lab-roce")
    zone = ElementTree.fromstring(text(plan, "etc/firewalld/zones/management.xml"))
    assert zone.get("target") == "DROP"
    found = set()
    for rule in zone.iter("rule"):
        source, port = rule.find("source"), rule.find("port")
        assert source is not None
        assert port is not None
        assert rule.find("accept") is not None
        found.add((source.get("address"), port.get("protocol"), port.get("port")))
    wanted = {("tcp", "22"), ("tcp", "443"), ("tcp", "6030"), ("tcp", "5908"), ("udp", "161"), ("udp", "623")}
    assert found == {("10.99.240.0/24", *each) for each in wanted}
    assert "zone=management\n" in text(plan, "etc/NetworkManager/system-connections/eth0.nmconnection")


def test_the_agent_publishes_to_fsdb_where_the_spec_wants_telemetry() -> None:
    assert '"publish_stats_to_fsdb": "true"' in text(plan_of("lab-roce"), "etc/coop/agent.conf")


PORTLESS = """flows:
  - {name: ping, from: operations, to: management, protocol: icmp, reason: "is it there", owner: netops}
  - {name: all-udp, from: operations, to: management, protocol: udp, reason: "probes of any port", owner: netops}
"""
EVERYTHING = """flows:
  - {name: scan, from: operations, to: management, protocol: any, reason: "scans of everything", owner: netops}
"""


def zone_rules(plan: Plan) -> list[list[tuple[str, ...]]]:
    zone = ElementTree.fromstring(text(plan, "etc/firewalld/zones/management.xml"))
    return [[(part.tag, *part.attrib.values()) for part in rule] for rule in zone.iter("rule")]


def test_the_firewall_lets_in_flows_without_ports(tmp_path: Path) -> None:
    """They pass the switch in front, and were stopped here; the proof did not look at them."""
    plan = plan_with(tmp_path, "lab-roce", PORTLESS)
    assert not lint_path(tmp_path / "overlay.yaml").errors
    for element in (("icmp-type", "echo-request"), ("protocol", "udp")):
        assert [("source", "10.99.240.0/24"), element, ("accept",)] in zone_rules(plan)
    open_to = zone_rules(plan_with(tmp_path, "lab-roce", EVERYTHING))
    assert [("source", "10.99.240.0/24"), ("accept",)] in open_to

    tree = tree_of(plan.name, Rendering(plan).of_kinds(ISOLATION.kinds), Declaration(plan))
    assert tree.declaration is not None
    assert tree.declaration.isolation is not None
    assert not list(firewall_faults(tree, tree.declaration.isolation))
    lacking = PORTLESS.splitlines()[:1] + PORTLESS.splitlines()[2:]
    fewer = plan_with(tmp_path, "lab-roce", "\n".join(lacking) + "\n")
    mixed = tree_of(plan.name, Rendering(fewer).of_kinds(ISOLATION.kinds), Declaration(plan))
    assert any("is stopped" in str(each) for each in firewall_faults(mixed, tree.declaration.isolation))
