"""Patches of SONiC's config_db.json: what opens the switch, however it is written, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from clusterwright.rules.isolation.sonic_access import openings

OPEN: list[dict[str, Any]] = [
    {"AAA": {"authentication": {"login": "none"}}},
    {"AAA": {"authorization": {"login": ["tacacs+", "none"]}}},
    {"AAA": {"authentication": {"login": "tacacs+, None"}}},
    {"AAA": {"authentication": {"failthrough": "True"}}},
    {"AAA": {"authentication": {"failthrough": True}}},
    {"AAA": None},
    {"AAA": "gone"},
    {"AAA": {"authentication": []}},
    {"AAA": {"authorization": None}},
    {"AAA": {"authentication": {"failthrough": None}}},
    {"SSH_SERVER": {"POLICIES": {"permit_root_login": "prohibit-password"}}},
    {"SSH_SERVER": {"POLICIES": {"password_authentication": "true"}}},
    {"TACPLUS": {"global": {"passkey": ""}}},
    {"TACPLUS_SERVER": {"10.99.240.49": None}},
    {"GNMI": {"gnmi": {"client_auth": "false"}}},
    {"GNMI": {"gnmi": {"user_auth": "none"}}},
    {"TELEMETRY": {"gnmi": {"client_auth": "false"}}},
    {"RESTAPI": {"config": {"allow_insecure": "true"}}},
    {"SNMP_USER": {"monitoring": {"SNMP_USER_TYPE": "noAuthNoPriv"}}},
    {"SNMP_USER": {"x": {"SNMP_USER_PERMISSION": "RW"}}},
    {"SNMP_COMMUNITY": {"public": {"TYPE": "RO"}}},
    {"MGMT_VRF_CONFIG": {"vrf_global": {"mgmtVrfEnabled": "false"}}},
    {"LOCAL_USER": {"guest": {"role": "admin"}}},
    {"USER": {"guest": {"password": ""}}},
]
CLOSED: list[dict[str, Any]] = [
    {},
    {"AAA": {"authentication": {"login": "tacacs+,local", "failthrough": "False", "debug": "True"}}},
    {"SSH_SERVER": {"POLICIES": {"permit_root_login": "no", "ports": "22"}}},
    {"TACPLUS_SERVER": {"10.99.240.51": {"priority": "3"}}},
    {"GNMI": {"gnmi": {"log_level": "5", "client_auth": "true"}}},
    {"PORT": {"Ethernet0": {"mtu": None}}, "VLAN": None},
    {"LOCAL_USER": {"deploy": {"password": "<secret/deploy>"}, "gone": None}},
]


@pytest.mark.parametrize("patch", OPEN, ids=str)
def test_what_opens_a_switch_is_told(patch: dict[str, Any]) -> None:
    assert list(openings(patch))


@pytest.mark.parametrize("patch", CLOSED, ids=str)
def test_what_opens_nothing_is_not(patch: dict[str, Any]) -> None:
    assert list(openings(patch)) == []
