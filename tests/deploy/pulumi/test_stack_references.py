"""A pod's stack leans on the upper layer's: what that offers is read through Pulumi, and has to be what was planned."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.pages.shown import assert_part, shown_by

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.project import Deployment, pulumi_environment, write_configuration
from clusterwright.deploy.pulumi.units import Stack, cut
from clusterwright.deploy.pulumi.upper_layer import Downlinks, UnmetReferenceError, downlinks_of, require_downlinks
from clusterwright.deploy.store import Store
from clusterwright.deploy.targets import TargetSettings
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

UPPER, POD = "lab-roce-upper", "lab-roce-pod0"
BASE = (folder("inventory") / "lab-roce.yaml").read_text()


def with_exception(text: str) -> str:
    return BASE.replace("\nexpect:\n", f'\nexceptions:\n  - {{{text}, state: drained, reason: "swap"}}\n\nexpect:\n')


UPLINK = with_exception("device: atsw-01, port: Ethernet3/1/1")  # to ctsw-p00-00


def downlinks(root: Path, text: str) -> dict[str, Downlinks]:
    spec = root / "spec.yaml"
    spec.write_text(text)
    plan = build_plan(load_spec(spec))
    return downlinks_of(plan, TargetSettings("directory", root), cut(plan))


def test_a_pod_leans_on_its_own_ports_of_the_upper_layer_alone(tmp_path: Path) -> None:
    before, after = downlinks(tmp_path, BASE), downlinks(tmp_path, UPLINK)

    changed = {stack for stack in before if before[stack] != after[stack]}
    assert changed == {UPPER, POD}
    assert after[UPPER]["atsw-01"]["p00"].startswith("1 of 2 ports, 400 Gb/s, AS 4200000100, ")
    assert after[POD] == {name: {"p00": pods["p00"]} for name, pods in after[UPPER].items()}


def test_what_a_pod_does_with_its_own_switch_is_no_other_offer(tmp_path: Path) -> None:
    drained = downlinks(tmp_path, with_exception("device: ctsw-p00-00"))
    assert drained == downlinks(tmp_path, BASE)


def test_another_upper_layer_is_refused_with_its_ports(tmp_path: Path) -> None:
    deployed, planned = downlinks(tmp_path, BASE)[UPPER], downlinks(tmp_path, UPLINK)[POD]
    store = Store(tmp_path / "objects")

    with pytest.raises(UnmetReferenceError) as refused:
        require_downlinks(planned, deployed, None, UPPER, store)

    told = str(refused.value)
    assert "atsw-01: planned 1 of 2 ports, 400 Gb/s" in told
    assert "Ethernet3/1/1: planned ctsw-p00-00 Ethernet3/18/1 at 400 Gb/s" in told
    assert "atsw-00" not in told
    # From a folder that never rendered the other one, the digests still tell them apart.
    with pytest.raises(UnmetReferenceError, match="atsw-01: planned 1 of 2"):
        require_downlinks(planned, deployed, None, UPPER, Store(tmp_path / "elsewhere"))


def test_a_rollout_over_both_accepts_what_was_held_when_it_began_and_nothing_else(tmp_path: Path) -> None:
    held, planned = downlinks(tmp_path, BASE)[UPPER], downlinks(tmp_path, UPLINK)[POD]
    third = downlinks(tmp_path, with_exception("device: atsw-01, port: Ethernet3/2/1"))[UPPER]
    store = Store(tmp_path / "objects")

    require_downlinks(planned, held, held, UPPER, store)
    require_downlinks(planned, {**held, "atsw-01": {}}, held, UPPER, store)  # failed, within the budget
    with pytest.raises(UnmetReferenceError):
        require_downlinks(planned, third, held, UPPER, store)
    with pytest.raises(UnmetReferenceError, match="or its last update failed"):
        require_downlinks(planned, {**held, "atsw-01": {}}, None, UPPER, store)


def test_stacks_of_a_project_share_the_salt_of_their_passphrase(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.a.yaml").write_text("config: {torn")
    (tmp_path / "Pulumi.b.yaml").write_text("encryptionsalt: v1:abc\n")
    deployment = Deployment(tmp_path / "spec.yaml", TargetSettings("directory", tmp_path / "up"))

    write_configuration(tmp_path, deployment, Stack("c", "pod0", "p00", ()), {})

    assert "encryptionsalt: v1:abc\n" in (tmp_path / "Pulumi.c.yaml").read_text()


@dataclass(frozen=True)
class Site:
    root: Path
    spec: Path

    def run(self, action: str, *options: str) -> subprocess.CompletedProcess[str]:
        return command(action, self.spec, "--root", self.root, *options, cwd=self.spec.parent)

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["pulumi", *arguments, "--cwd", self.root / "project", "--non-interactive"],
            env={**pulumi_environment(self.root), "CLUSTERWRIGHT_AT_ONCE": "a test"},
            capture_output=True,
            text=True,
            check=False,
        )

    def output(self, stack: str) -> dict[str, object]:
        done = self.pulumi("stack", "output", "--json", "--stack", stack)
        assert done.returncode == 0, done.stderr
        found: dict[str, object] = json.loads(done.stdout)
        return found

    def flash(self) -> dict[str, int]:
        files = (path for path in sorted((self.root / "flash").rglob("*")) if path.is_file())
        return {str(path.relative_to(self.root)): path.stat().st_ino for path in files}


@pytest.mark.usefixtures("pulumi_on_the_path")
def test_pods_refer_to_the_upper_layer_and_wait_for_the_one_they_were_planned_against(tmp_path: Path) -> None:
    site = Site(tmp_path / "up", tmp_path / "lab-roce.yaml")
    site.spec.write_text(BASE)

    alone = site.run("up", "--pod", "pod0")
    assert alone.returncode == 0, alone.stderr
    assert f"{UPPER} is not deployed, or not to its end: uplinks of p00 stay down" in alone.stdout
    assert site.run("up", "--upper").returncode == 0

    page = shown_by("deploy.md", "pulumi stack output downlinks")
    assert_part(page, json.dumps(site.output(UPPER)["downlinks"], sort_keys=True))

    site.spec.write_text(UPLINK)
    before = site.flash()
    early = site.pulumi("up", "--yes", "--skip-preview", "--stack", POD)
    assert early.returncode != 0
    assert "atsw-01: planned 1 of 2 ports, 400 Gb/s" in early.stdout
    assert "Traceback" not in early.stdout
    assert site.flash() == before

    # The upper layer fails on the switch in question: still not what the pod needs.
    blocked = site.root / "flash" / "atsw-01"
    shutil.move(blocked, tmp_path / "aside")
    blocked.write_text("no folder\n")
    assert site.pulumi("up", "--yes", "--skip-preview", "--stack", UPPER, "--continue-on-error").returncode != 0
    early = site.pulumi("up", "--yes", "--skip-preview", "--stack", POD)
    assert "atsw-01: planned 1 of 2" in early.stdout
    assert "or its last update failed" in early.stdout
    blocked.unlink()
    shutil.move(tmp_path / "aside", blocked)

    answers = ("--accept-refuted", "ethernet-bisection", "--because", "the card is swapped today", "--yes")
    both = site.run("up", "--upper", "--pod", "pod0", *answers)
    assert both.returncode == 0, both.stdout + both.stderr
    downlinks = site.output(UPPER)["downlinks"]
    assert isinstance(downlinks, dict)
    assert downlinks["atsw-01"]["p00"].startswith("1 of 2 ports")
    assert site.output(POD)["upper"] == site.output(UPPER)["manifest"]
