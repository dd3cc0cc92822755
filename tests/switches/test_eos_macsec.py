"""MACsec on EOS: pyavd writes the same text, hier-config reads both, and both ends of a link carry one profile."""

from __future__ import annotations

import re
from typing import Any

import pyavd
import pytest
from hier_config import Platform, get_hconfig
from tests.plans import plan_with
from tests.switches.eos_intent import structured_config

from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan

OVERLAY = """
keys:
  - {name: building-cak, kind: macsec, owner: network, rotate_days: 30, delete_days: 60, wrapped_by: storage-kek}
encryption:
  macsec:
    - name: buildings
      key: building-cak
      rekey_s: 1800
      primary: {ckn: "0a01", secret: cak-buildings}
      fallback: {ckn: "0a02", secret: cak-buildings-fallback}
fabrics:
  - name: backend
    tiers:
      - {role: ctsw, model: dcs-7804r3-macsec, up: {leaves_building: true, macsec: buildings}}
      - {role: atsw, model: dcs-7804r3-macsec}
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_with(tmp_path_factory.mktemp("spec"), "lab-roce", OVERLAY)


def text_of(plan: Plan, name: str) -> str:
    (found,) = Rendering(plan).of_device(name)
    return found.content.decode()


def tree(text: str) -> dict[str, Any]:
    def walk(node: Any) -> dict[str, Any]:
        return {child.text: walk(child) for child in node.children}

    return walk(get_hconfig(Platform.ARISTA_EOS, text))


@pytest.mark.parametrize(("name", "side"), [("ctsw-p01-01", "up"), ("atsw-00", "down")])
def test_pyavd_writes_the_same_link_encryption(plan: Plan, name: str, side: str) -> None:
    ours = tree(text_of(plan, name))
    intent = structured_config(plan, plan.by_name[name])
    ports = {
        end.port
        for cable in plan.cables_of[name]
        for end in (cable.a, cable.b)
        if end.device == name and end.side == side
    }
    assert ports
    for entry in intent["ethernet_interfaces"]:
        if entry["name"] in ports:
            entry["mac_security"] = {"profile": "buildings"}
    keys = [
        {"id": "0a01", "encrypted_key": "<secret cak-buildings as eos-cak>"},
        {"id": "0a02", "encrypted_key": "<secret cak-buildings-fallback as eos-cak>", "fallback": True},
    ]
    profile = {
        "name": "buildings",
        "cipher": "aes256-gcm-xpn",
        "connection_keys": keys,
        "mka": {"session": {"rekey_period": 1800}},
        "traffic_unprotected": {"action": "drop"},
    }
    intent["mac_security"] = {"profiles": [profile]}
    verdict = pyavd.validate_structured_config(intent).validation_result
    assert not verdict.violations, [f"{v.path}: {v.message}" for v in verdict.violations]
    theirs = tree(pyavd.get_device_config(intent))
    assert ours["mac security"] == theirs["mac security"]
    interfaces = {key: value for key, value in theirs.items() if key.startswith("interface Ethernet")}
    assert {key: ours[key] for key in interfaces} == interfaces


def test_both_ends_of_every_link_carry_the_profile_and_no_other_port_does(plan: Plan) -> None:
    carrying = {
        (device.name, port)
        for device in plan.devices
        if device.role in ("ctsw", "atsw")
        for port in re.findall(
            r"^interface (\S+)\n(?:   .*\n)*?   mac security profile buildings$",
            text_of(plan, device.name),
            re.MULTILINE,
        )
    }
    links = [cable for cable in plan.cables if plan.by_name[cable.b.device].role == "atsw" and cable.a.side == "up"]
    assert carrying == {(end.device, end.port) for cable in links for end in (cable.a, cable.b)}


def test_a_switch_without_encrypted_links_has_no_profile(plan: Plan) -> None:
    assert "mac security" not in text_of(plan, "ssw-00")


def test_no_key_stands_in_the_text(plan: Plan) -> None:
    text = text_of(plan, "atsw-00")
    assert "key 0a01 7 <secret cak-buildings as eos-cak>\n" in text
