"""Borders: pyavd writes the same port, session and filters; what is learnt and announced is what the zones say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyavd
import pytest
from hier_config import Platform, get_hconfig
from tests.plans import plan_with
from tests.switches.eos_filter_intent import entries

from clusterwright.artifact import Artifact
from clusterwright.finding import ClusterwrightError
from clusterwright.intent.borders import border_filter
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.border_routes import border_route_faults
from clusterwright.proofs.tree import tree_of
from clusterwright.switches.eos.reader.sections import PATH as EOS

OVERLAY = """
borders:
  - name: site
    device: {device}
    port: {port}
    speed_gbps: 400
    address: "fd00:1ab:f:fffd::/127"
    neighbour: "fd00:1ab:f:fffd::1"
    asn: 64601
    zones: [site-services]
    authentication: {{secret: bgp-site}}
"""
SITE = "fd00:1ab:f:fff0::/64"


def bordered(folder: Path, device: str = "ssw-00", port: str = "Ethernet6/36/1") -> Plan:
    return plan_with(folder, "lab-roce", OVERLAY.format(device=device, port=port))


def intent(plan: Plan) -> dict[str, Any]:
    """The border alone, as pyavd's structured configuration."""
    (border,) = plan.spec.borders
    passing = border_filter(plan, border)
    both = {"BORDER-IN-SITE": passing.incoming, "BORDER-OUT-SITE": passing.outgoing}
    return {
        "ethernet_interfaces": [
            {
                "name": border.port,
                "description": "border site",
                "shutdown": False,
                "mtu": 9000,
                "speed": "400g-8",
                "error_correction_encoding": {"reed_solomon": True},
                "switchport": {"enabled": False},
                "ipv6_enable": True,
                "ipv6_address": "fd00:1ab:f:fffd::/127",
                "access_group_in": "BORDER-IN-SITE",
                "access_group_out": "BORDER-OUT-SITE",
                "ipv6_access_group_in": "BORDER-IN-SITE",
                "ipv6_access_group_out": "BORDER-OUT-SITE",
            }
        ],
        "ip_access_lists": [
            {"name": name, "counters_per_entry": True, "entries": entries(permits, 4, "ip")}
            for name, permits in both.items()
        ],
        "ipv6_access_lists": [
            {"name": name, "counters_per_entry": True, "entries": entries(permits, 6, "ipv6")}
            for name, permits in both.items()
        ],
        "ipv6_prefix_lists": [
            {"name": "BORDER-IN-SITE", "sequence_numbers": [{"sequence": 10, "action": f"permit {SITE} eq 64"}]},
            {
                "name": "BORDER-OUT-SITE",
                "sequence_numbers": [{"sequence": 10, "action": "permit fd00:1ab:f::/62 eq 64"}],
            },
        ],
        "route_maps": [
            {
                "name": "FROM-BORDER-SITE",
                "sequence_numbers": [
                    {
                        "sequence": 10,
                        "type": "permit",
                        "match": ["ipv6 address prefix-list BORDER-IN-SITE"],
                        "set": ["community 64512:1"],
                    }
                ],
            },
            {
                "name": "TO-BORDER-SITE",
                "sequence_numbers": [
                    {"sequence": 10, "type": "permit", "match": ["ipv6 address prefix-list BORDER-OUT-SITE"]}
                ],
            },
        ],
        "router_bgp": {
            "as": "4200000200",
            "peer_groups": [
                {
                    "name": "BORDER-SITE",
                    "route_map_in": "FROM-BORDER-SITE",
                    "route_map_out": "TO-BORDER-SITE",
                    "timers": "10 30",
                    "password": "<secret bgp-site as eos-bgp BORDER-SITE>",
                    "maximum_routes": 3,
                    "maximum_routes_warning_limit": "2",
                }
            ],
            "neighbors": [
                {
                    "ip_address": "fd00:1ab:f:fffd::1",
                    "peer_group": "BORDER-SITE",
                    "remote_as": "64601",
                    "description": "border site",
                }
            ],
            "address_family_ipv6": {"peer_groups": [{"name": "BORDER-SITE", "activate": True}]},
        },
    }


def lines(text: str) -> set[tuple[str, ...]]:
    """Every line with the sections around it."""
    return {tuple(child.path()) for child in get_hconfig(Platform.ARISTA_EOS, text).all_children()}


def test_pyavd_writes_the_same_border(tmp_path: Path) -> None:
    plan = bordered(tmp_path)
    wanted = intent(plan)
    verdict = pyavd.validate_structured_config(wanted).validation_result
    assert not verdict.violations, [f"{v.path}: {v.message}" for v in verdict.violations]
    theirs = {line for line in lines(pyavd.get_device_config(wanted)) if any("order" in part.lower() for part in line)}
    with_border = lines(Rendering(plan).of_device("ssw-00")[0].content.decode())
    mine = {line for line in with_border if any("order" in part.lower() for part in line)}
    assert theirs
    assert mine == theirs


def test_every_switch_of_the_fabric_takes_the_outside_prefix_and_no_other_does(tmp_path: Path) -> None:
    plan = bordered(tmp_path)
    rack = {artifact.path: artifact.content.decode() for artifact in Rendering(plan).of_device("rsw-p00r00")}
    lists = json.loads(rack["etc/coop/bgpcpp.conf"])["policies"]["prefix_lists"]
    assert SITE in json.dumps(next(item for item in lists if item["name"] == "FABRIC"))
    backend = Rendering(plan).of_device("rtsw-p00r00")
    assert not any(SITE in artifact.content.decode() for artifact in backend if artifact.path.endswith("bgpcpp.conf"))


def test_a_port_with_a_cable_is_an_error_for_people(tmp_path: Path) -> None:
    plan = bordered(tmp_path, port="Ethernet3/1/1")
    with pytest.raises(ClusterwrightError, match="border site: ssw-00 Ethernet3/1/1 is cabled to rsw-"):
        list(Rendering(plan).of_device("ssw-00"))


def test_pyavd_writes_the_same_tcp_ao(tmp_path: Path) -> None:
    method = "{method: tcp-ao, secret: bgp-site, algorithm: hmac-sha-256, key_id: 7}"
    overlay = OVERLAY.format(device="ssw-00", port="Ethernet6/36/1").replace("{secret: bgp-site}", method)
    plan = plan_with(tmp_path, "lab-roce", overlay)
    key = {
        "name": "7",
        "secret_type": "7",
        "secret": "<secret bgp-site as eos-type-7>",
        "receive_lifetime": {"infinite": True},
        "transmit_lifetime": {"infinite": True},
    }
    group = {"name": "BORDER-SITE", "shared_secret": {"profile": "BGP-BGP-SITE-7", "hash_algorithm": "hmac-sha-256"}}
    wanted = {
        "management_security": {"shared_secret_profiles": [{"profile": "BGP-BGP-SITE-7", "secrets": [key]}]},
        "router_bgp": {"as": "4200000200", "peer_groups": [group]},
    }
    verdict = pyavd.validate_structured_config(wanted).validation_result
    assert not verdict.violations, [f"{v.path}: {v.message}" for v in verdict.violations]
    theirs = lines(pyavd.get_device_config(wanted))
    assert theirs
    assert theirs <= lines(Rendering(plan).of_device("ssw-00")[0].content.decode())


def test_prefixes_side_by_side_are_learnt_one_by_one(tmp_path: Path) -> None:
    """The owner announces each; a list with the joined one at its length takes neither."""
    networks = '["fd00:1ab:f:fff0::/64", "fd00:1ab:f:fff1::/64"]'
    beside = f"zones:\n  - {{name: site-services, kind: services, prefixes: {networks}}}\n"
    plan = plan_with(tmp_path, "lab-roce", OVERLAY.format(device="ssw-00", port="Ethernet6/36/1") + beside)
    text = next(artifact.content.decode() for artifact in Rendering(plan).of_device("ssw-00") if artifact.path == EOS)
    assert "permit fd00:1ab:f:fff0::/64 eq 64\n" in text
    assert "permit fd00:1ab:f:fff1::/64 eq 64\n" in text

    joined = text.replace("permit fd00:1ab:f:fff0::/64 eq 64", "permit fd00:1ab:f:fff0::/63 eq 63")
    assert not _border_faults(plan, text)
    assert any(
        "fd00:1ab:f:fff0::/64 is in a zone that should be learnt" in each for each in _border_faults(plan, joined)
    )


def _border_faults(plan: Plan, text: str) -> list[str]:
    file = Artifact("ssw-00", EOS, text.encode(), "eos")
    tree = tree_of(plan.name, [file], Declaration(plan))
    assert tree.declaration is not None
    assert tree.declaration.isolation is not None
    return [str(each) for each in border_route_faults(tree, tree.declaration.isolation)]
