"""Patches of NVUE and SONiC that announce a default route or change rendered filters, and patches that do neither."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.rules import overlays

NVUE = "etc/clusterwright/nvue.yaml"
SONIC = "etc/sonic/config_db.json"


def nvue_neighbour(value: Any) -> dict[str, Any]:
    """A patch with NVUE's origination of a default route to a neighbour."""
    family = {"ipv6-unicast": {"default-route-origination": value}}
    return {"vrf": {"default": {"router": {"bgp": {"neighbor": {"swp1": {"address-family": family}}}}}}}


def sonic_neighbour(value: str) -> dict[str, Any]:
    """A patch with the same of SONiC's frrcfgd."""
    return {"BGP_NEIGHBOR_AF": {"default|fd00::1|ipv6_unicast": {"send_default_route": value}}}


def codes_of(folder: Path, base: str, role: str, file: str, patch: dict[str, Any]) -> list[str]:
    """The codes of lint for a base whose switches of a role get the patch."""
    item = {"role": role, "file": file, "merge": patch, "reason": "tried here"}
    spec = f"extends: {overlays.INVENTORY}/{base}.yaml\nextra_config: [{json.dumps(item)}]\n"
    return overlays.codes(overlays.findings_of(folder, spec))


@pytest.mark.parametrize(
    "value", ["on", True, {"enable": "on"}, {"enable": {"on": {}}}, {"on": {}}, {"state": "enabled"}], ids=str
)
def test_a_default_route_announced_by_nvue_is_refused(tmp_path: Path, value: Any) -> None:
    assert "CW528" in codes_of(tmp_path, "lab-nvue", "rsw", NVUE, nvue_neighbour(value))


@pytest.mark.parametrize(
    "value", ["off", False, None, {"enable": "off"}, {"enable": {"off": {}}}, {"state": "disabled"}], ids=str
)
def test_a_default_route_that_nvue_does_not_announce_passes(tmp_path: Path, value: Any) -> None:
    assert codes_of(tmp_path, "lab-nvue", "rsw", NVUE, nvue_neighbour(value)) == []


@pytest.mark.parametrize(("value", "is_refused"), [("true", True), ("false", False)])
def test_a_default_route_announced_by_sonic_is_refused(tmp_path: Path, value: str, *, is_refused: bool) -> None:
    codes = codes_of(tmp_path, "lab-sonic", "rtsw", SONIC, sonic_neighbour(value))
    assert codes == ["CW528"] * is_refused


@pytest.mark.parametrize(
    "patch",
    [
        {"acl": {"HOSTS-V4": {"rule": {"5": {"action": {"permit": {}}}}}}},
        {"acl": {"MANAGEMENT-V6": None}},
        {"acl": None},
        {"interface": {"swp1": {"acl": None}}},
        {"interface": {"swp1": {"acl": {"HOSTS-V6": None}}}},
    ],
    ids=str,
)
def test_a_changed_filter_of_nvue_is_refused(tmp_path: Path, patch: dict[str, Any]) -> None:
    assert "CW529" in codes_of(tmp_path, "lab-nvue", "rsw", NVUE, patch)


@pytest.mark.parametrize(
    "patch",
    [
        {"acl": {"CONSOLES": {"type": "ipv4", "rule": {"5": {"action": {"permit": {}}}}}}},
        {"interface": {"swp1": {"acl": {"CONSOLES": {"inbound": {}}}}}},
    ],
    ids=str,
)
def test_another_filter_of_nvue_passes(tmp_path: Path, patch: dict[str, Any]) -> None:
    assert codes_of(tmp_path, "lab-nvue", "rsw", NVUE, patch) == []
