"""The plan of steps: figures that follow from the spec, rounds that share nothing, text that people can follow."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.compare.variants import inventory
from tests.golden_files import assert_golden
from tests.plans import plan_of, plan_with

from clusterwright.extras.bringup.acceptance import acceptance_plans
from clusterwright.extras.bringup.command import bringup
from clusterwright.extras.bringup.rates import counter_limits, payload_rate
from clusterwright.extras.bringup.steps import AcceptanceLimits, tournament
from clusterwright.extras.bringup.text import text_lines
from clusterwright.extras.bringup.unit import unit_of
from clusterwright.finding import ClusterwrightError
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import fabric_of


@pytest.mark.parametrize("count", [0, 1, 2, 3, 8, 31, 32])
def test_everybody_meets_everybody_once_and_nobody_twice_in_a_round(count: int) -> None:
    names = [f"n{number}" for number in range(count)]
    rounds = tournament(names)
    met = [frozenset(pair) for pairs in rounds for pair in pairs]
    assert sorted(map(sorted, met)) == sorted(sorted(pair) for pair in combinations(names, 2))
    for pairs in rounds:
        busy = [name for pair in pairs for name in pair]
        assert len(busy) == len(set(busy))
    assert len(rounds) == (0 if count < 2 else count - 1 + count % 2)


def test_no_switch_port_is_shared_in_a_round() -> None:
    (unit,) = unit_of(plan_of("lab-ib"), "s00")
    for pairs in tournament([node.name for node in unit.nodes]):
        ports = [(nic.switch, nic.switch_port) for pair in pairs for name in pair for nic in unit.nics[name]]
        assert len(ports) == len(set(ports)) == 2 * len(pairs) * 8


def test_payload_rates_follow_from_headers() -> None:
    infiniband = fabric_of(plan_of("lab-ib"), "backend")
    assert payload_rate(infiniband, 400, 0).gbps == pytest.approx(397.477, abs=1e-3)
    assert payload_rate(infiniband, 200, 0).gbps == pytest.approx(198.738, abs=1e-3)
    roce = fabric_of(plan_of("lab-roce"), "backend")
    assert payload_rate(roce, 400, 6).mtu_bytes == 4096
    assert payload_rate(roce, 400, 6).gbps == pytest.approx(400 * 4096 / (4096 + 102))
    assert payload_rate(roce, 400, 4).gbps == pytest.approx(400 * 4096 / (4096 + 82))


def test_error_limits_follow_from_rate_and_time() -> None:
    assert counter_limits(400, 60)["SymbolErrorCounter"].most == 1
    assert counter_limits(400, 24 * 60)["SymbolErrorCounter"].most == 34
    assert counter_limits(100, 60)["SymbolErrorCounter"].most == 360
    assert counter_limits(400, 24 * 60)["LinkDownedCounter"].most == 0


def test_the_unit_of_the_full_size_specs() -> None:
    (unit,) = unit_of(plan_of("rsc"), "p99")
    assert (len(unit.nodes), len(unit.host_cables), len(unit.cables)) == (20, 160, 320)
    assert len(unit.switches) == 8
    steps = {step.key: step for step in acceptance_plans(plan_of("rsc"), "p99", AcceptanceLimits())[0].steps}
    assert "320 links 4x HDR" in steps["cabling"].must_hold
    assert len(steps["bandwidth"].rounds) == 19
    assert steps["bandwidth"].thresholds[0].value == round(198.7384764 * 0.97, 1)


@pytest.mark.parametrize("spec", ["lab-ib", "lab-roce"])
def test_the_text_of_a_lab(spec: str) -> None:
    plan = plan_of(spec)
    group = next(device.pod for device in plan.devices if device.rank is not None)
    (acceptance,) = acceptance_plans(plan, group, AcceptanceLimits())
    text = "\n".join(text_lines(acceptance, markdown=True))
    assert_golden(f"bringup/{spec}.md", f"{text}\n".encode())


def test_commands_name_files_that_the_manager_has(tmp_path: Path) -> None:
    engine = "kind: ufm, routing_engine: ar_updn, adaptive_routing: true, sharp: true"
    ufm = f"fabrics: [{{name: backend, subnet_manager: {{{engine}}}}}]\n"
    for plan in (plan_of("lab-ib"), plan_with(tmp_path, "lab-ib", ufm)):
        named: set[tuple[str, str]] = set()
        for accepted in acceptance_plans(plan, "s00", AcceptanceLimits()):
            for step in accepted.steps:
                for command in step.commands:
                    matches = re.findall(r"--node-name-map /(\S+)", command.line)
                    named |= {(command.where, path) for path in matches}
        assert named
        for host, path in named:
            assert path in {artifact.path for artifact in Rendering(plan).of_device(host)}


def test_json_has_every_command(tmp_path: Path) -> None:
    result = CliRunner().invoke(bringup, [str(inventory("lab-ib")), "--group", "s00", "--format", "json"])
    (acceptance,) = json.loads(result.stdout)
    steps = {step["key"]: step for step in acceptance["steps"]}
    assert list(steps) == [
        "cabling", "firmware", "ports", "bandwidth", "rail-rings", "unit-rings", "ports-after-load",
    ]  # fmt: skip
    assert len(steps["rail-rings"]["commands"]) == 8
    assert len(steps["bandwidth"]["commands"]) == 16


def test_unknown_and_empty_groups_are_refused() -> None:
    with pytest.raises(ClusterwrightError, match='no group "s77"; it has s00, s01'):
        unit_of(plan_of("lab-ib"), "s77")
    with pytest.raises(ClusterwrightError, match="no active GPU node"):
        unit_of(plan_of("lab-ib"), "v00")
