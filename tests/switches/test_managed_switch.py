"""Managed InfiniBand switches get what their own CPU needs, no secret among it, and unmanaged ones get nothing."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from tests.golden_files import assert_golden
from tests.plans import plan_of

from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec
from clusterwright.switches.managed import writer as managed_switch

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
SPEC = """
version: 1
name: managed
site:
  domain: example.net
  dns: ["10.0.9.53"]
  ntp: ["10.0.9.123"]
  syslog: ["10.0.9.14"]
  operators: [{{name: netops, role: admin, keys: ["{key} netops@example.net"]}}]
  snmp: {{user: monitoring, authentication: snmp-auth, privacy: snmp-privacy}}
nodes:
  - {{name: compute, model: {node}, role: node, count: 4, levels: [{{name: rack, of: 4}}]}}
fabrics:
  - name: backend
    technology: infiniband
    mtu: 4096
    attach: [{{nodes: compute, nics: backend}}]
    tiers:
      - {{role: leaf, model: {model}, per: cluster, down: {{medium: dac, length_m: 3}}}}
    subnet_manager: {{nodes: compute, count: 1, routing_engine: updn}}
  - name: management
    technology: ethernet
    mtu: 1500
    attach: [{{management: true}}]
    tiers:
      - {{role: mgmt, model: dcs-7010tx-48, per: cluster, asn: {{base: 4200000300, per: tier}}}}
    addressing:
      loopbacks: "10.0.255.0/25"
      links: "10.0.255.128/25"
      hosts: "10.0.0.0/23"
      hosts_per_switch: 25
      host_links: shared
"""


def managed_plan(folder: Path, model: str, node: str = "dgx-h100") -> Plan:
    (folder / "managed.yaml").write_text(SPEC.format(model=model, node=node, key=KEY))
    return build_plan(load_spec(folder / "managed.yaml"))


def _text(plan: Plan, name: str) -> str:
    (artifact,) = Rendering(plan).of_device(name)
    return artifact.content.decode()


def test_a_director_of_rsc_is_configured() -> None:
    assert_golden("managed-switch/director-00", _text(plan_of("rsc-phase1"), "director-00").encode())


def test_fixed_switches_of_both_generations_are_configured_alike(tmp_path: Path) -> None:
    hdr = _text(managed_plan(tmp_path, "qm8700", "dgx-a100"), "leaf-00").splitlines()
    ndr = _text(managed_plan(tmp_path, "qm9700"), "leaf-00").splitlines()
    assert hdr[1:] == ndr[1:]


def test_mlnxos_listens_to_nothing_in_clear_and_runs_no_subnet_manager(tmp_path: Path) -> None:
    lines = _text(managed_plan(tmp_path, "qm9700"), "leaf-00").splitlines()
    for line in ("no telnet-server enable", "no web http enable", "no snmp-server communities enable", "no ib sm"):
        assert line in lines
    assert "hostname leaf-00" in lines
    assert any(re.fullmatch(r"interface mgmt0 ip address 10\.0\.0\.\d+ /25", line) for line in lines)
    assert f'ssh client user netops authorized-key sshv2 "{KEY}"' in lines
    assert "username netops disable password" in lines


def test_an_snmp_password_that_nobody_filled_in_is_no_password(tmp_path: Path) -> None:
    """A word with a blank in it is two words to the switch's parser, which then refuses the line."""
    text = _text(managed_plan(tmp_path, "qm9700"), "leaf-00")
    assert "auth sha <secret snmp-auth> priv aes-128 <secret snmp-privacy>" in text
    assert all(" " in slot for slot in re.findall(r"<([^>]*)>", text.split("refused.")[1]))


def test_nvos_configuration_is_yaml_that_says_the_same(tmp_path: Path) -> None:
    plan = managed_plan(tmp_path, "q3400")
    (document,) = yaml.safe_load(_text(plan, "leaf-00"))
    system = document["set"]["system"]
    assert system["hostname"] == "leaf-00"
    assert system["snmp-server"] == {"state": "disabled"}
    assert list(system["ntp"]["server"]) == ["10.0.9.123"]
    assert list(system["syslog"]["server"]) == ["10.0.9.14"]
    key = system["aaa"]["user"]["netops"]["ssh"]["authorized-key"]["key0"]
    assert f"{key['type']} {key['key']}" == KEY
    port = document["set"]["interface"]["eth0"]["ip"]
    assert next(iter(port["address"])).endswith("/25")
    assert list(port["gateway"]) == ["10.0.0.1"]


def test_unmanaged_switches_get_no_file(tmp_path: Path) -> None:
    plan = managed_plan(tmp_path, "qm9790")
    assert not managed_switch.applies(plan, plan.by_name["leaf-00"])
    assert Rendering(plan).of_device("leaf-00") == ()
