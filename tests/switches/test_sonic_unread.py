"""What nobody knows in config_db.json leaves nothing proven, wherever it stands; all that is written is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.plans import plan_of, plan_with
from tests.switches.test_sonic import config

from clusterwright.switches.sonic.reader.openings import openings, unread


@pytest.mark.parametrize(
    ("keys", "value", "told"),
    [
        (("PORT", "Ethernet0", "learn_mode"), "hardware", "PORT / Ethernet0 / learn_mode"),
        (("PORT", "Ethernet0", "autoneg"), "on", "PORT / Ethernet0 / autoneg"),
        (("PORT_QOS_MAP", "Ethernet0", "tc_to_dscp_map"), "AZURE", "PORT_QOS_MAP / Ethernet0 / tc_to_dscp_map"),
        (
            ("DEVICE_METADATA", "localhost", "docker_routing_config_mode"),
            "separated",
            "DEVICE_METADATA / localhost / docker_routing_config_mode",
        ),
        (("BGP_GLOBALS", "default", "max_delay"), "7", "BGP_GLOBALS / default / max_delay"),
        (("BGP_NEIGHBOR", "Vrf-red|10.0.0.1"), {"asn": "1"}, "BGP_NEIGHBOR / Vrf-red|10.0.0.1"),
        (("SUPPRESS_ASIC_SDK_HEALTH_EVENT", "fatal"), {"max_events": "1"}, "SUPPRESS_ASIC_SDK_HEALTH_EVENT"),
    ],
)
def test_an_unknown_table_row_field_or_value_is_told_with_its_line(
    keys: tuple[str, ...], value: Any, told: str
) -> None:
    document = config(plan_of("lab-sonic"))
    place = document
    for key in keys[:-1]:
        place = place.setdefault(key, {})
    place[keys[-1]] = value
    text = json.dumps(document, indent=2)

    (found,) = unread(text)

    assert found.text == told
    assert f'"{told.rsplit(" / ", maxsplit=1)[-1]}"' in text.splitlines()[found.line - 1]


@pytest.mark.parametrize(
    "overlay",
    [
        "",
        "site: {aaa: {protocol: radius, servers: [10.99.250.12], secret: radius-key}}\n",
        "exceptions: [{device: rtsw-p00r00, state: drained, reason: a test of what is known}]\n",
    ],
)
def test_all_that_is_written_is_known(overlay: str, tmp_path: Path) -> None:
    assert unread(json.dumps(config(plan_with(tmp_path, "lab-sonic", overlay)), indent=2)) == ()


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ({"Ethernet0": "1,2,3,4,5,6,7,8", "Ethernet8": "17,18,19,20,21,22,23,24"}, "Ethernet0 has the lanes 1,2,3"),
        ({"Ethernet0": "18,17,19,20,21,22,23,24"}, "Ethernet0 has the lanes 18,17"),
    ],
)
def test_swapped_lanes_are_told(edits: dict[str, str], told: str) -> None:
    document = config(plan_of("lab-sonic"))
    for port, lanes in edits.items():
        document["PORT"][port]["lanes"] = lanes

    messages = [message for _, message in openings(json.dumps(document, indent=2), "rtsw-p00r00", None)]

    assert len(messages) == len(edits)
    assert messages[0].startswith(told)


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("alias", "etp9a", "Ethernet0 has the alias etp9a"),
        ("index", "9", "Ethernet0 has the index 9"),
        ("subport", "2", "Ethernet0 has the subport 2"),
    ],
)
def test_what_a_vendor_publishes_of_a_port_is_compared(field: str, value: str, told: str) -> None:
    document = config(plan_of("lab-sonic"))
    document["PORT"]["Ethernet0"][field] = value

    messages = [message for _, message in openings(json.dumps(document, indent=2), "rtsw-p00r00", None)]

    assert len(messages) == 1
    assert messages[0].startswith(told)


def test_a_login_that_servers_refuse_and_a_local_password_takes_is_told() -> None:
    document = config(plan_of("lab-sonic"))
    document["AAA"]["authentication"]["failthrough"] = "True"
    (found,) = openings(json.dumps(document, indent=2), "rtsw-p00r00", None)
    assert "failthrough" in found[1]


def test_a_sku_of_another_machine_is_told() -> None:
    document = config(plan_of("lab-sonic"))
    document["DEVICE_METADATA"]["localhost"]["platform"] = "x86_64-somebody_else-r0"
    messages = [message for _, message in openings(json.dumps(document, indent=2), "rtsw-p00r00", None)]
    assert any("the switch takes itself for a x86_64-somebody_else-r0" in message for message in messages)


def test_one_lane_of_two_ports_is_told_on_any_machine() -> None:
    document = config(plan_of("lab-sonic"))
    document["DEVICE_METADATA"]["localhost"]["hwsku"] = "Somebody-S1"
    document["PORT"]["Ethernet8"]["lanes"] = document["PORT"]["Ethernet0"]["lanes"]

    messages = [message for _, message in openings(json.dumps(document, indent=2), "rtsw-p00r00", None)]

    assert messages == ["Ethernet8 and Ethernet0 have the same lane 17"]
