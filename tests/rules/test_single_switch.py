"""What lint says of a fabric that is one switch, where nothing of the cabling can fail and leave the rest."""

from __future__ import annotations

from pathlib import Path

from tests.rules.overlays import findings_of
from tests.rules.test_rules_legitimate import INFINIBAND_ONLY


def test_an_accepted_failure_of_one_switch_is_not_said_to_cut_off_nobody(tmp_path: Path) -> None:
    accepted = "    mtu: 4096\n    accepts_single_failures: one is enough\n"
    (found,) = findings_of(tmp_path, INFINIBAND_ONLY.replace("    mtu: 4096\n", accepted))
    assert found.code == "CW252"
    meet = "Nodes of backend meet in one switch, which fails with all of them"
    assert found.message == f"{meet}: that needs no acceptance: one is enough"


def test_nodes_on_infiniband_alone_need_no_flow_that_nothing_could_carry(tmp_path: Path) -> None:
    """CW507 asked for a flow, and CW524 refused it."""
    text = INFINIBAND_ONLY.replace("count: 8", "count: 8\n    image: node\n    zone: compute") + (
        "zones: [{name: compute, kind: compute, isolated: true, nodes: [compute]}]\n"
        'images: [{name: node, distribution: "Debian 13", kernel_parameters: ["iommu=pt"]}]\n'
    )
    assert not {"CW507", "CW524"} & {finding.code for finding in findings_of(tmp_path, text)}
