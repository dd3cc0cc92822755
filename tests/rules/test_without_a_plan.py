"""What rules know from bounds, so that no plan is drawn for them: never less than the plan has."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rules.overlays import UNTRIED

from clusterwright.data_files import folder
from clusterwright.intent.filter_entries import subnet_network
from clusterwright.intent.zone_networks import zone_networks
from clusterwright.plan.build import build_plan
from clusterwright.plan.racks.lengths import at_most_m, cables_at_most, longest_cables
from clusterwright.plan.skeleton import build_skeleton
from clusterwright.rules import rule as rules
from clusterwright.rules.engine import lint_path
from clusterwright.rules.nodes import booting
from clusterwright.rules.rule import Subject
from clusterwright.spec.load import load_spec
from clusterwright.spec.zone_reach import members_of

INVENTORY = folder("inventory")


@pytest.mark.parametrize("name", ["roce-24k", "lab-sonic"])
def test_lint_of_a_spec_without_exceptions_draws_no_plan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be most of lint's time: 5 of 9 seconds at 131,072 GPUs."""

    def refuse(*_: object) -> None:
        raise AssertionError("a plan is drawn")

    monkeypatch.setattr(rules, "build_plan", refuse)

    findings = lint_path(INVENTORY / f"{name}.yaml").findings
    assert not [finding for finding in findings if finding.code != UNTRIED]


@pytest.mark.parametrize("overlay", ["title: as it is\n", "site: {rack_units: 36}\n", "site: {rack_units: 60}\n"])
@pytest.mark.parametrize("base", ["lab-roce", "lab-ib", "lab-nvue", "lab-border"])
def test_no_cable_is_longer_than_its_bound(base: str, overlay: str, tmp_path: Path) -> None:
    spec = load_spec(_written(base, overlay, tmp_path))
    skeleton = build_skeleton(spec)
    bounds, longest = cables_at_most(spec, skeleton.fabrics), longest_cables(build_plan(spec, skeleton))

    cables = {key: metres for key, metres in longest.items() if key[2] in {"down", "up"}}
    assert cables
    assert all(metres <= bounds[key] for key, metres in cables.items())


def test_a_rack_that_overflows_has_no_bound(tmp_path: Path) -> None:
    spec = load_spec(_written("lab-roce", "site: {rack_units: 10}\n", tmp_path))

    assert at_most_m(spec, 2) == float("inf")


@pytest.mark.parametrize("base", ["roce-24k", "lab-roce", "lab-tenants", "lab-border", "lab-ib"])
def test_a_subnet_that_is_said_to_be_one_zones_is_so_in_the_plan(base: str) -> None:
    subject = Subject(load_spec(INVENTORY / f"{base}.yaml"))
    spec, plan = subject.spec, subject.plan
    fabric = next(fabric for fabric in spec.fabrics if spec.boot and fabric.name == spec.boot.fabric)
    skeleton = next(each for each in subject.skeleton.fabrics if each.fabric is fabric)
    judged = subject.filter_bound.tenants[fabric.name]
    assert judged
    for at, own in judged.items():
        if booting._is_one_zones(spec, fabric, frozenset(own)):
            subnet = plan.host_subnet_of[fabric.name, skeleton.seats[at].name]
            whole = subnet_network(subnet.network, subnet.prefix_length, subnet.version)
            for group in own:
                zones = [zone.name for zone in spec.zones if group in members_of(spec, zone)]
                nets = [each.network for zone in zones for each in zone_networks(plan, zone)]
                assert not zones or any(booting._holds(net, whole) for net in nets)


def _written(base: str, overlay: str, place: Path) -> Path:
    spec = place / "spec.yaml"
    spec.write_text(f"version: 1\nextends: {INVENTORY / base}.yaml\n{overlay}")
    return spec
