"""What a change of a SONiC switch does, and that the switch is told the same by the role's steps."""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.plans import plan_of, plan_with
from tests.switches.test_sonic import PATH, config

from clusterwright import data_files
from clusterwright.device_files.effect import Effect, effect_table
from clusterwright.output.rendering import Rendering
from clusterwright.rollout.consequences import effect_of
from clusterwright.switches.sonic.effects import KNOWN_SKUS, RELOAD, changes

sys.path.insert(0, str(data_files.folder("roles") / "device_tree" / "module_utils"))
from clusterwright_patch import patch_of  # type: ignore[import-not-found]

(STEP,) = yaml.safe_load((data_files.folder("roles") / "device_tree/systems/sonic.yml").read_text())
PATCH = STEP["patch"]
"""How the role changes a SONiC switch."""


def edited(*edits: tuple[tuple[str, ...], Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A rack switch's tables before and after ``edits``: keys and the value there, None to remove it."""
    before = config(plan_of("lab-sonic"))
    after = deepcopy(before)
    for keys, value in edits:
        place = after
        for key in keys[:-1]:
            place = place.setdefault(key, {})
        if value is None:
            del place[keys[-1]]
        else:
            place[keys[-1]] = value
    return before, after


def applied(document: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    """The document after a patch of objects (RFC 6902)."""
    found = deepcopy(document)
    for operation in operations:
        *keys, last = [key.replace("~1", "/").replace("~0", "~") for key in operation["path"].split("/")[1:]]
        place = found
        for key in keys:
            place = place[key]
        assert (last in place) is (operation["op"] != "add")
        if operation["op"] == "remove":
            del place[last]
        else:
            place[last] = operation["value"]
    return found


@pytest.mark.parametrize(
    ("edits", "effect", "reloads"),
    [
        ([(("SYSLOG_SERVER", "fd00::514"), {"port": "514"})], Effect.LIVE, False),
        ([(("NTP_SERVER", "fd00::123"), {"iburst": "on"})], Effect.LIVE, False),
        ([(("DEVICE_METADATA", "localhost", "hostname"), "other")], Effect.LIVE, False),
        ([(("DEVICE_METADATA", "localhost", "type"), "LeafRouter")], Effect.RESTART, True),
        ([(("PORT", "Ethernet0", "description"), "to somebody")], Effect.LIVE, False),
        ([(("PORT", "Ethernet0", "mtu"), "1500")], Effect.RESTART, False),
        ([(("PORT", "Ethernet0", "lanes"), "1,2,3,4,5,6,7,8")], Effect.RESTART, True),
        ([(("PORT", "Ethernet504"), None)], Effect.RESTART, True),
        ([(("BUFFER_POOL", "ingress_lossless_pool", "xoff"), "1")], Effect.RESTART, True),
        ([(("PFC_WD", "Ethernet0", "action"), "forward")], Effect.LIVE, False),
        (
            [
                (("PFC_WD", "Ethernet0", "action"), "forward"),
                (("DEVICE_METADATA", "localhost", "hwsku"), "Dell-Z9864f-O64"),
            ],
            Effect.RESTART,
            True,
        ),
        ([(("BGP_GLOBALS", "default", "router_id"), "10.9.9.9")], Effect.RESTART, True),
        ([(("ROUTE_MAP", "TO-UP|20"), None)], Effect.LIVE, False),
        ([(("DSCP_TO_TC_MAP", "AZURE", "3"), "1")], Effect.RESTART, True),
        ([(("NOBODY_KNOWS", "it"), {"a": "b"})], Effect.RESTART, True),
    ],
)
def test_each_table_does_what_its_daemons_do(
    edits: list[tuple[tuple[str, ...], Any]], effect: Effect, reloads: bool
) -> None:
    before, after = edited(*edits)

    found = tuple(changes(before, after))

    assert max(each.effect for each in found) is effect
    assert any(each.reloads for each in found) is reloads
    assert all(each.why for each in found)
    operations, _ = patch_of(json.dumps(before).encode(), json.dumps(after).encode(), PATCH)
    assert bool(operations) is not reloads
    if operations:
        assert applied(before, operations) == after


def test_the_role_patches_what_effects_take_for_patched() -> None:
    patched = [change for change in effect_table("sonic").changes if change.steps != RELOAD]
    assert PATCH["places"] == [each.places for each in patched if not each.only_on_known_skus]
    assert PATCH["known"]["places"] == [each.places for each in patched if each.only_on_known_skus]
    assert PATCH["known"]["value"] == KNOWN_SKUS


@pytest.mark.parametrize("spec", ["lab-sonic", "lab-roce"])
def test_a_drain_and_a_dead_switch_restart_nobody_else(spec: str, tmp_path: Path) -> None:
    plan = plan_of(spec)
    restarted = {}
    for device, state in (("ctsw-p00-00", "drained"), ("rtsw-p00r00", "drained"), ("ctsw-p00-00", "out-of-service")):
        exception = f"exceptions: [{{device: {device}, state: {state}, reason: a test of what a change does}}]\n"
        changed = plan_with(tmp_path, spec, exception)
        effects = {
            device.name: effect_of(
                device, tuple(Rendering(plan).of_device(device.name)), tuple(Rendering(changed).of_device(device.name))
            )
            for device in plan.devices
            if device.kind == "switch"
        }
        restarted[device, state] = {name for name, effect in effects.items() if effect not in (None, Effect.LIVE)}

    assert restarted["ctsw-p00-00", "drained"] == set()
    assert restarted["ctsw-p00-00", "out-of-service"] <= {"ctsw-p00-00"}
    if spec == "lab-sonic":
        assert restarted["rtsw-p00r00", "drained"] == set()


def test_one_more_log_server_restarts_no_switch(tmp_path: Path) -> None:
    plan = plan_of("lab-sonic")
    servers = [*plan.spec.site.management.syslog, "fd00:1ab:f:fff0::99"]
    changed = plan_with(tmp_path, "lab-sonic", f"site: {{management: {{syslog: {json.dumps(servers)}}}}}\n")
    switches = [device for device in plan.devices if device.kind == "switch"]

    effects = {
        effect_of(
            switch, tuple(Rendering(plan).of_device(switch.name)), tuple(Rendering(changed).of_device(switch.name))
        )
        for switch in switches
        if any(file.path == PATH for file in Rendering(plan).of_device(switch.name))
    }

    assert effects == {Effect.LIVE}
