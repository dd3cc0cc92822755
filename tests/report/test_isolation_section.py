"""The report's chapter on zones says of each who enforces it, as the proof does of what is rendered."""

from __future__ import annotations

import pytest
from tests.proofs.isolation.trees import tree
from tests.report.handmade import handmade_plan
from tests.report.specs import plan_of, report_of

from clusterwright.plan.zone_addresses import zone_enforcement
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.enforcement import enforcement_notes
from clusterwright.report.html import report_files
from clusterwright.report.sections.network import enforced_by


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib"])
def test_the_plan_says_who_enforces_a_zone_as_the_proof_reads_it_in_rendered_files(name: str) -> None:
    plan = plan_of(name)
    declared = Declaration(plan).isolation
    assert declared is not None
    nodes = [device.name for device in plan.devices if device.kind == "node"]

    proven = [note for note in enforcement_notes(tree(name, *nodes), declared) if ": enforced by " in note]

    planned = {each.zone: enforced_by(each) for each in zone_enforcement(plan)}
    assert proven
    assert [f"{zone}: enforced by {who}." for zone, who in planned.items() if who] == proven


def test_hosts_without_an_image_are_named() -> None:
    page = report_of("lab-roce")["index.html"]
    assert "<td>edges alone (2 hosts without an image, as st-s00n0)</td>" in page
    assert "without an image, as" not in report_files(handmade_plan(), ())["index.html"]
