"""Who boots anew for a change, who takes it running, and what the report says that nodes fetch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.plans import plan_of, plan_with

from clusterwright.compare.images import image_changes, image_lines
from clusterwright.output.fleet import fetched, node_images
from clusterwright.output.rendering import Rendering
from clusterwright.plan.boot import booted
from clusterwright.report.html import report_files

SYSCTL = "images:\n  - {name: training, sysctl: {vm.zone_reclaim_mode: 1}}\n"
KERNEL = "images:\n  - {name: training, kernel_parameters: [iommu=pt, quiet]}\n"
CANARY = """
images:
  - {name: canary, distribution: "Debian 13", limits: {memlock: unlimited}, kernel_parameters: [iommu=pt]}
exceptions:
  - {group: p01, image: canary, reason: "the pod that tries what is new"}
"""


def test_a_setting_is_taken_live_and_a_kernel_parameter_asks_for_a_reboot(tmp_path: Path) -> None:
    before = plan_of("lab-roce")
    (live,) = image_changes(before, plan_with(tmp_path, "lab-roce", SYSCTL), {})
    assert not live.needs_reboot
    (reboot,) = image_changes(before, plan_with(tmp_path, "lab-roce", KERNEL), {})
    assert reboot.needs_reboot
    nodes = {pod: tuple(node.name for node in booted(before) if node.pod == pod) for pod in ("p00", "p01")}
    assert dict(live.pods) == dict(reboot.pods) == nodes
    assert list(reboot.pods) == ["p00", "p01"]
    assert any(line.startswith("  REBOOT ") for line in image_lines([reboot]))


def test_only_nodes_whose_image_changes_are_named(tmp_path: Path) -> None:
    (change,) = image_changes(plan_of("lab-roce"), plan_with(tmp_path, "lab-roce", CANARY), {})
    assert list(change.pods) == ["p01"]
    assert change.needs_reboot
    assert change.after.startswith("canary ")
    assert image_changes(plan_of("lab-roce"), plan_of("lab-roce"), {}) == ()


def test_a_node_fetches_what_its_server_offers() -> None:
    plan = plan_of("lab-roce")
    (each,) = fetched(plan)
    files = {artifact.path: artifact for artifact in Rendering(plan).of_device("svc-v00n0")}
    overlays = [len(item.content) for path, item in files.items() if path.startswith("srv/http/nodes/")]
    scripts = [len(item.content) for path, item in files.items() if "/by-mac/" in path]
    assert each.nodes == len(overlays) == 8
    assert each.overlay_bytes == max(overlays)
    assert each.script_bytes == max(scripts)
    assert each.identity == node_images(plan)["gpu-p00r00n0"]
    page = report_files(plan, ())["index.html"]
    assert f"{each.each_bytes:,}" in page
    assert f"{each.identity.name} {each.identity.version}" in page


def test_digests_do_not_depend_on_hash_order() -> None:
    program = (
        "from tests.plans import plan_of\n"
        "from clusterwright.output.fleet import node_images\n"
        "print(sorted({(i.digest, i.boot_digest) for i in node_images(plan_of('lab-roce')).values()}))\n"
    )
    root = Path(__file__).resolve().parents[2]
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=root,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("0", "4711")
    }
    assert len(seen) == 1
