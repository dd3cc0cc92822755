"""What lint says of a fabric that is one switch, where nothing of the cabling can fail and leave the rest."""

from __future__ import annotations

from pathlib import Path

from tests.rules.overlays import findings_of
from tests.rules.test_rules_legitimate import INFINIBAND_ONLY


def test_an_accepted_failure_of_one_switch_is_not_said_to_cut_off_nobody(tmp_path: Path) -> None:
    accepted = "    mtu: 4096\n    accepts_single_failures: one is enough\n"
    (finding,) = findings_of(tmp_path, INFINIBAND_ONLY.replace("    mtu: 4096\n", accepted))
    assert finding.code == "CW252"
    meet = "Nodes of backend meet in one switch, which fails with all of them"
    assert finding.message == f"{meet}: that needs no acceptance: one is enough"


def test_sockets_over_ip_for_lustre_are_refused_for_what_they_are(tmp_path: Path) -> None:
    carried = "{interface: ib0, network: 10.96.0.0/22, addresses: 10.96.2.0/23, hosts: [{nodes: compute, nic: be0}]}"
    partition = f"{{name: lustre, pkey: 2, zones: [compute], membership: full, ipoib: {carried}}}"
    text = f"fabrics:\n  - {{name: backend, partitions: [{partition}]}}\nnccl: {{sockets: backend}}\n"
    (findings,) = [finding for finding in findings_of(tmp_path, text, "lab-ib") if finding.code == "CW406"]
    assert findings.message == "backend has IP for Lustre alone: nodes let no packet of it through their filter."


def test_nodes_on_infiniband_alone_need_no_flow_that_nothing_could_carry(tmp_path: Path) -> None:
    """CW507 asked for a flow, and CW524 refused it."""
    text = INFINIBAND_ONLY.replace("count: 8", "count: 8\n    image: node\n    zone: compute") + (
        "zones: [{name: compute, kind: compute, isolated: true, nodes: [compute]}]\n"
        'images: [{name: node, distribution: "Debian 13", kernel_parameters: ["iommu=pt"]}]\n'
    )
    assert not {"CW507", "CW524"} & {finding.code for finding in findings_of(tmp_path, text)}
