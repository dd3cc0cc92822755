"""Previews of five changes of the lab as people read them, and what they say beyond that."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.golden_files import assert_golden
from tests.rollout.deployments import Edit, Site, deploy

from clusterwright.rollout.gates.health import SiteProbe
from clusterwright.rollout.gates.selection import Gates
from clusterwright.rollout.preview.document import document
from clusterwright.rollout.preview.text import text_lines
from clusterwright.rollout.running_jobs import RunningJob

CANARY_IMAGE = (
    "\nboot: {servers",
    (
        '  - name: canary\n    distribution: "Debian 13"\n    modules: [ib_uverbs, mlx5_ib]\n'
        "    sysctl: {net.core.netdev_max_backlog: 300000}\n    limits: {memlock: unlimited, nofile: 1048576}\n"
        "\nboot: {servers"
    ),
)


def exception(text: str) -> Edit:
    return "\nexpect:\n", f"\nexceptions:\n  - {{{text}}}\n\nexpect:\n"


SYSCTL: Edit = ("vm.zone_reclaim_mode: 0", "vm.zone_reclaim_mode: 1")
DRAIN = exception('device: ctsw-p00-00, state: drained, reason: "line card swap"')
PORT = exception('device: rtsw-p00r00, port: eth8/1/1, state: drained, reason: "CRC errors"')
FLOW: Edit = (
    "\nimages:\n",
    (
        "  - {name: metrics, from: services, to: compute, protocol: tcp, ports: [9100], "
        'reason: "node exporter", owner: systems}\n\nimages:\n'
    ),
)

CHANGES: dict[str, tuple[Edit, ...]] = {
    "sysctl": (SYSCTL,),
    "rack-exception": (CANARY_IMAGE, exception('group: p00r01, image: canary, reason: "tried here first"')),
    "drain": (DRAIN,),
    "flow": (FLOW,),
    "uplink": (PORT,),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The lab, deployed completely."""
    return deploy(tmp_path_factory.mktemp("deployment"))


def shown(site: Site, *edits: Edit) -> str:
    site.edit(*edits)
    return "".join(f"{line}\n" for line in text_lines(site.preview()))


def settled(text: str) -> str:
    """Without what moves with every template: versions of images, numbers of lines, counts of files."""
    text = re.sub(r"(?<![0-9a-f])[0-9a-f]{12}(?![0-9a-f])", "IMAGE-VERSION", text)
    text = re.sub(r"@@ -[0-9,]+ \+[0-9,]+ @@", "@@", text)
    text = re.sub(r"(startup-config|\.conf|spec\.yaml):\d+", r"\1:LINE", text)
    return re.sub(r"\b\d+ (more )?(files|lines)", r"N \1\2", text)


@pytest.mark.parametrize("name", CHANGES)
def test_a_preview_reads_like_this(site: Site, name: str) -> None:
    assert_golden(f"preview/{name}.txt", settled(shown(site, *CHANGES[name])).encode())


def test_nothing_changes_when_the_spec_does_not(site: Site) -> None:
    text = shown(site)

    assert text.startswith("lab-roce, upper, pod0, pod1, storage-rack0, services-rack0: nothing changes (compared with")
    assert "wave" not in text


def test_a_new_uplink_is_told_by_both_ends(tmp_path: Path) -> None:
    drained = deploy(tmp_path, "lab-roce", PORT)
    drained.edit((PORT[1], PORT[0]))

    text = "\n".join(text_lines(drained.preview()))

    assert "pod 0 rack 0: rtsw-p00r00 uses again its uplink to ctsw-p00-00 (eth8/1/1 – Ethernet3/1/1)" in text
    assert "REFUSED" not in text


def test_the_first_deployment_shows_new_devices_and_no_model_to_compare_with(site: Site) -> None:
    site.edit()
    fresh = Site(site.root / "fresh", site.text, {})
    fresh.root.mkdir(exist_ok=True)
    fresh.edit()

    preview = fresh.preview()

    assert preview.basis == "nothing is deployed yet"
    assert {group.status for kind in preview.kinds for group in kind.groups} == {"new"}
    assert not preview.guarded.refusals
    assert preview.disturbance.is_none


def test_an_update_that_did_not_end_is_named(site: Site) -> None:
    site.edit(SYSCTL)
    later = deploy(site.root / "later")
    later.edit(SYSCTL)
    half = dict(later.held)
    half["gpu-p00r00n0"] = later.held["gpu-p01r01n1"]

    preview = later.preview(held=half)

    assert "1 device holds something newer, which an update that did not end gave it" in preview.basis


def test_a_device_that_differs_from_what_it_was_given_counts_as_drifted(site: Site) -> None:
    site.edit()

    preview = site.preview(held={**site.held, "gpu-p00r00n0": ""})

    assert [(group.devices, group.status) for kind in preview.kinds for group in kind.groups] == [
        (("gpu-p00r00n0",), "drifted")
    ]


def test_only_the_chosen_stack_changes_and_the_others_stay_as_they_were_left(site: Site) -> None:
    site.edit(SYSCTL)

    preview = site.preview(("pod0",), held={name: tree for name, tree in site.held.items() if "p00" in name})

    assert preview.changed == ("gpu-p00r00n0", "gpu-p00r00n1", "gpu-p00r01n0", "gpu-p00r01n1")
    assert not preview.guarded.refusals


def test_jobs_that_run_are_named_with_what_they_lose(site: Site) -> None:
    site.edit(DRAIN)
    jobs = (
        RunningJob("4711 (llm)", frozenset({"gpu-p00r00n0", "gpu-p01r00n0"}), is_planned=False),
        RunningJob("4712 (eval)", frozenset({"gpu-p01r01n0"}), is_planned=False),
    )

    text = "\n".join(text_lines(site.preview(jobs=jobs)))

    assert "  job 4711 (llm): 1 of 2 nodes keep 50.0% of their uplink bandwidth at worst, from then on" in text
    assert "  jobs that notice nothing: 4712 (eval)" in text


def test_the_document_holds_everything_that_the_text_shortens(site: Site) -> None:
    site.edit(SYSCTL)
    gates = Gates((SiteProbe(("ask-switches",)),), {"subnet": "nobody scans here"})

    found = json.loads(json.dumps(document(site.preview(), gates)))

    nodes = next(group for group in found["groups"] if group["role"] == "node")
    assert len(nodes["devices"]) == 8
    assert any("-vm.zone_reclaim_mode = 0" in file["lines"] for file in nodes["files"])
    assert found["model"][0]["text"] == "8 nodes of image training: sysctl vm.zone_reclaim_mode = 1 (was 0)"
    assert found["disturbs"]["nothing"]
    assert [wave["number"] for wave in found["waves"]] == [1, 2, 3, 4, 5]
    asks = "ask-switches names no changed device, within 900 s"
    assert found["gates"] == {
        "asked": [{"gate": "site-probe", "asks": asks, "deadline_s": 900, "budget": None}],
        "left_out": [{"gate": "subnet", "why": "nobody scans here"}],
    }
    assert not found["refused"]


@pytest.mark.parametrize(("state", "is_told"), [("drained", False), ("out-of-service", True)])
def test_a_job_loses_a_node_that_goes_out_of_service_and_keeps_one_that_is_drained(
    site: Site, state: str, is_told: bool
) -> None:
    site.edit(exception(f'device: gpu-p00r00n0, state: {state}, reason: "a fan"'))

    job = RunningJob("101 (small)", frozenset({"gpu-p00r00n0", "gpu-p00r00n1"}), is_planned=False)
    preview = site.preview(jobs=(job,))

    assert [impact.cut for impact in preview.disturbance.jobs] == ([("gpu-p00r00n0",)] if is_told else [])
    assert preview.disturbance.is_none is not is_told
