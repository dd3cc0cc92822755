"""A SONiC switch that prints what it runs in its own way shows no difference, and one that runs something else does."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from tests.plans import plan_of
from tests.switches.running_forms import in_older_forms, shuffled, with_defaults, with_the_images_own
from tests.switches.test_sonic import config

from clusterwright.switches.sonic.drift import compare_sonic

Tables = dict[str, Any]
SEED, PLANTED = 7, 200


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
