"""A SONiC switch that prints what it runs in its own way shows no difference, and one that runs something else does."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from tests.plans import plan_of
from tests.switches.test_sonic import config

from clusterwright.switches.sonic.drift import compare_sonic

Tables = dict[str, Any]
SEED, PLANTED = 7, 200


def shuffled(tables: Tables) -> None:
    """Another order everywhere."""
    order = random.Random(SEED)
    for name in order.sample([*tables], len(tables)):
        rows = tables.pop(name)
        tables[name] = {key: rows[key] for key in order.sample([*rows], len(rows))}
    for row in tables["ACL_TABLE"].values():
        row.get("ports", []).reverse()


def with_the_images_own(tables: Tables) -> None:
    """What init_cfg.json.j2 brings along."""
    tables["DEVICE_METADATA"]["localhost"] |= {
        "mac": "94:6d:ae:00:00:01",
        "timezone": "UTC",
        "default_bgp_status": "up",
    }
    tables["CRM"] = {"Config": {"polling_interval": "300", "acl_table_low_threshold": "70"}}
    tables["BGP_DEVICE_GLOBAL"] = {"STATE": {"tsa_enabled": "false", "wcmp_enabled": "false"}}
    tables["AUTO_TECHSUPPORT"] = {"GLOBAL": {"state": "enabled", "max_core_limit": "5.0"}}
    tables["KDUMP"] = {"config": {"enabled": "false", "num_dumps": "3"}}
    tables["VERSIONS"] = {"DATABASE": {"VERSION": "version_202411_01"}}
    tables["FLEX_COUNTER_TABLE"]["ACL"] = {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "10000"}
    extra = {"has_global_scope": "False", "has_per_asic_scope": "True", "delayed": "False", "set_owner": "local"}
    for name in ("swss", "syncd", "database", "teamd", "pmon"):
        tables["FEATURE"][name] = {"state": "enabled", "auto_restart": "enabled", **extra}
    tables["FEATURE"]["nat"] = {"state": "disabled", **extra}
    for row in tables["FEATURE"].values():
        row |= {"high_mem_alert": "disabled", "support_syslog_rate_limit": "true"}


def with_defaults(tables: Tables) -> None:
    """Defaults of the yang models written out, and left out where the file has them."""
    for row in tables["PORT"].values():
        row |= {"pfc_asym": "off", "tpid": "0x8100", "mode": "routed", "subport": "0"}
        row.pop("autoneg")
    for row in tables["SYSLOG_SERVER"].values():
        row.pop("port")
        row["format"] = "standard"
    for key, row in tables["INTERFACE"].items():
        if "|" not in key:
            row |= {"ipv6_use_link_local_only": "disable", "nat_zone": "0"}
    tables["MGMT_PORT"]["eth0"]["mtu"] = "1500"


def with_aliases(tables: Tables) -> None:
    """Ports by their aliases, as with `show` in its alias mode."""
    alias = {port: row["alias"] for port, row in tables["PORT"].items()}
    for name in ("PORT", "INTERFACE", "BUFFER_PG", "QUEUE", "PORT_QOS_MAP", "DEVICE_NEIGHBOR", "PFC_WD"):
        tables[name] = {
            "|".join(alias.get(part, part) for part in key.split("|")): row for key, row in tables[name].items()
        }
    for row in tables["DEVICE_NEIGHBOR"].values():
        row["local_port"] = alias[row["local_port"]]
    for row in tables["ACL_TABLE"].values():
        row.update({"ports": [alias.get(port, port) for port in row["ports"]]} if "ports" in row else {})
    tables["CABLE_LENGTH"] = {
        key: {alias.get(port, port): length for port, length in row.items()}
        for key, row in tables["CABLE_LENGTH"].items()
    }


def in_older_forms(tables: Tables) -> None:
    """References in brackets, a field that stands for none, addresses in capitals, numbers and ranges."""
    for row in tables["BUFFER_PROFILE"].values():
        row["pool"] = f"[BUFFER_POOL|{row['pool']}]"
    for name in ("INTERFACE", "ROUTE_MAP_SET", "VLAN_INTERFACE"):
        for row in tables.get(name, {}).values():
            row.update({} if row else {"NULL": "NULL"})
    tables["BGP_NEIGHBOR"] = {key.replace("fd00", "FD00"): row for key, row in tables["BGP_NEIGHBOR"].items()}
    for row in tables["BGP_NEIGHBOR"].values():
        row["asn"] = int(row["asn"])
    groups: dict[tuple[str, str], list[int]] = {}
    for key, row in tables["BUFFER_QUEUE"].items():
        port, number = key.split("|")
        groups.setdefault((port, json.dumps(row)), []).append(int(number))
    tables["BUFFER_QUEUE"] = {}
    for (port, row), numbers in groups.items():
        together = len(numbers) > 1 and numbers == [*range(numbers[0], numbers[-1] + 1)]
        for name in [f"{numbers[0]}-{numbers[-1]}"] if together else map(str, numbers):
            tables["BUFFER_QUEUE"][f"{port}|{name}"] = json.loads(row)
    tables["AAA"]["authentication"]["failthrough"] = False


FORMS = (shuffled, with_the_images_own, with_defaults, with_aliases, in_older_forms)


def differences(runs: Tables) -> list[str]:
    planned = json.dumps(config(plan_of("lab-sonic")))
    return [f"{found[0]} {found[1]} {found[2]} {found[3]}" for found in compare_sonic(planned, json.dumps(runs))]


@pytest.mark.parametrize("form", FORMS)
def test_another_form_is_no_difference(form: Callable[[Tables], None]) -> None:
    runs = config(plan_of("lab-sonic"))
    form(runs)

    assert differences(runs) == []


def test_all_forms_together_are_no_difference() -> None:
    runs = config(plan_of("lab-sonic"))
    for form in (with_the_images_own, with_defaults, in_older_forms, with_aliases, shuffled):
        form(runs)

    assert differences(runs) == []


def test_every_planted_difference_is_found() -> None:
    base = config(plan_of("lab-sonic"))
    chosen = random.Random(SEED)
    missed = []
    for number in range(PLANTED):
        runs = deepcopy(base)
        table = chosen.choice([name for name, rows in runs.items() if rows])
        row = chosen.choice([*runs[table]])
        fields = runs[table][row]
        kind = number % 3
        if kind == 0 or not fields:
            del runs[table][row]
        elif kind == 1:
            field = chosen.choice([*fields])
            fields[field] = "12345" if isinstance(fields[field], str) else ["12345"]
        else:
            runs[table][f"{row}9"] = deepcopy(fields)
        if kind == 1 and "<secret" in json.dumps(base[table][row]):
            continue  # whatever runs in a secret's place counts as right
        for form in (with_the_images_own, shuffled):
            if {"FEATURE", "FLEX_COUNTER_TABLE", "ACL_TABLE", "DEVICE_METADATA"} & {table}:
                break
            form(runs)
        if not differences(runs):
            missed.append((table, row, kind))
    assert missed == []


@pytest.mark.parametrize("name", ["bgp", "dhcp_relay", "lldp", "pmon", "radv", "swss", "syncd", "teamd"])
def test_a_program_that_the_image_runs_and_the_switch_does_not_is_a_difference(name: str) -> None:
    runs = config(plan_of("lab-sonic"))
    with_the_images_own(runs)
    runs["FEATURE"][name] = {"state": "disabled"}

    assert any(f"/FEATURE/{name}" in each for each in differences(runs))


@pytest.mark.parametrize(("name", "state"), [("dhcp_relay", "disabled"), ("eventd", "enabled"), ("nat", "disabled")])
def test_a_program_that_rests_or_runs_by_itself_is_no_difference(name: str, state: str) -> None:
    """dhcp_relay rests on a switch that is no ToRRouter, and this one relays nothing."""
    planned = config(plan_of("lab-sonic"))
    planned["DEVICE_METADATA"]["localhost"]["type"] = "LeafRouter"
    runs = deepcopy(planned)
    runs["FEATURE"][name] = {"state": state}

    assert list(compare_sonic(json.dumps(planned), json.dumps(runs))) == []


@pytest.mark.parametrize("text", ["[]", "{", '{"PORT": 7}'])
def test_what_is_no_configuration_cannot_be_compared(text: str) -> None:
    with pytest.raises(ValueError, match=r"object of tables|Expecting"):
        list(compare_sonic("{}", text))
