"""The same proofs about the files of NVIDIA's subnet manager."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.plans import plan_with

from clusterwright import data_files
from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.manager_options import UFM_FOLDER
from clusterwright.proofs.infiniband.subnet import KINDS, subnets
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of
from clusterwright.spec.load import load_spec


def test_ufm_is_proven_and_counts_aggregation_nodes(tmp_path: Path) -> None:
    manager = {"kind": "ufm", "routing_engine": "ar_updn", "adaptive_routing": True, "sharp": True}
    overlay = {
        "version": 1,
        "extends": str(data_files.folder("inventory") / "lab-ib.yaml"),
        "name": "lab-ufm",
        "fabrics": [{"name": "backend", "subnet_manager": manager}],
    }
    path = tmp_path / "lab-ufm.yaml"
    path.write_text(yaml.safe_dump(overlay))
    plan = build_plan(load_spec(path))
    tree = tree_of(plan.name, Rendering(plan).of_devices(), Declaration(plan))
    (subnet,) = subnets(tree)
    assert subnet.folder == UFM_FOLDER
    for check in CHECKS:
        if check.name.startswith("ib-"):
            verdict = check.run(tree)
            assert verdict.counterexamples == (), check.name
            if check.name == "ib-lid-space":
                assert verdict.facts[0].value == 128 + 2 * 20


GLOBAL, SHARP = "opt/ufm/files/conf/gv.cfg", "opt/ufm/files/conf/sharp/sharp_am.cfg"
EXTENSION = "opt/ufm/files/conf/partitions.conf.user_ext"


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[Artifact, ...], Declaration]:
    manager = "kind: ufm, routing_engine: ar_updn, adaptive_routing: true, sharp: true"
    overlay = f"fabrics:\n  - name: backend\n    subnet_manager: {{{manager}}}\n"
    plan = plan_with(tmp_path_factory.mktemp("ufm"), "lab-ib", overlay)
    return tuple(Rendering(plan).of_kinds(KINDS)), Declaration(plan)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (GLOBAL, "sharp_enabled = true", "sharp_enabled = false"),
        (GLOBAL, "[Sharp]\n", ""),
        (GLOBAL, "[Sharp]\n", "[Server]\n"),
        (GLOBAL, "[MngNetwork]\n", ""),
        (GLOBAL, "default_membership = limited", "default_membership = full"),
        (GLOBAL, "default_membership = limited", "default_membership = limited\nDefault_Membership: full"),
        (EXTENSION, "training=0x0001", "training=0x0002"),
        (EXTENSION, "training=0x0001, ", "training=0x0001, ipoib, "),
        (EXTENSION, "0x02c1a58000000000=full,", ""),
        (EXTENSION, "0x02c1a58000000000=full,", "0x02c1a58000000000=limited,"),
        (EXTENSION, "0x02c1a58000000000=full,", "0x02c1a58000000000=full, ALL=full,"),
        (EXTENSION, "# training", "Default=0x7fff : ALL=full;"),
        (EXTENSION, "=full;", "=full"),
        (SHARP, "ib_qpc_sl ", "ib_qpc_sl 1"),
        (SHARP, "max_trees_to_build ", "max_trees_to_build 1"),
        (SHARP, "tree_radix ", "tree_radix 1"),
        (SHARP, "fabric_update_interval 10", "fabric_update_interval 0"),
        (SHARP, "fabric_update_interval 10", "fabric_update_interval 10\nlst_file_path /tmp/x"),
    ],
)
def test_every_line_of_ufms_own_files_is_read(
    rendered: tuple[tuple[Artifact, ...], Declaration], path: str, old: str, new: str
) -> None:
    artifacts, declaration = rendered
    edited = [
        Artifact(artifact.device, artifact.path, artifact.content.replace(old.encode(), new.encode()), artifact.kind)
        if artifact.path == path
        else artifact
        for artifact in artifacts
    ]
    assert edited != list(artifacts)
    check = next(check for check in CHECKS if check.name == "ib-managers")
    counterexamples = check.run(tree_of("lab-ufm", edited, declaration)).counterexamples
    assert path in {example.file for example in counterexamples}
    gone = [artifact for artifact in artifacts if artifact.path != path]
    assert path in {example.file for example in check.run(tree_of("lab-ufm", gone, declaration)).counterexamples}


# What a real gv.cfg says beside: it watches more slowly than UFM does by itself, as large fabrics want it.
WATCHING = """
[Server]
report_events = security
dashboard_interval = 300
monitoring_mode = no
[FabricAnalysis]
ibdiagnet_timeout = 600
[UFMAgent]
enable_ufma = no
[UnhealthyPorts]
enable_ibdiagnet = false
[Logging]
syslog_addr = 192.0.2.1:514
"""


def _beside(rendered: tuple[tuple[Artifact, ...], Declaration], more: str, check_name: str) -> Verdict:
    artifacts, declaration = rendered
    edited = [
        Artifact(artifact.device, artifact.path, artifact.content + more.encode(), artifact.kind)
        if artifact.path == GLOBAL
        else artifact
        for artifact in artifacts
    ]
    check = next(check for check in CHECKS if check.name == check_name)
    return check.run(tree_of("lab-ufm", edited, declaration))


def test_what_ufm_watches_and_reports_is_no_business_of_the_subnet(
    rendered: tuple[tuple[Artifact, ...], Declaration],
) -> None:
    verdict = _beside(rendered, WATCHING, "ib-managers")
    assert verdict.word == "proven"
    (note,) = {note.partition(": ")[2] for note in verdict.notes}
    assert note == (
        "not checked of /opt/ufm/files/conf/gv.cfg: 7 settings of monitoring, such as report_events of [Server]."
    )


@pytest.mark.parametrize(
    "more",
    [
        "[Server]\nmonitoring_mode = yes\n",
        "[Server]\nmanagement_mode = sm_only\n",
        "[UnhealthyPorts]\nenable_ibdiagnet = true\n",
        "[Multisubnet]\nmultisubnet_enabled = true\n",
        "[Sharp]\nignore_sm_guids = all\n",
        "[Logging]\nsyslog = true\n  and on\n",
        "[logging]\nsyslog = true\n",
    ],
)
@pytest.mark.parametrize("check_name", ["ib-managers", "ib-partitions", "ib-up-down"])
def test_settings_that_nobody_knows_leave_claims_not_proven(
    rendered: tuple[tuple[Artifact, ...], Declaration], more: str, check_name: str
) -> None:
    verdict = _beside(rendered, more, check_name)
    assert verdict.word.startswith("not proven, because no reader knows")
    assert GLOBAL in verdict.word
