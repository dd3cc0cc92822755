"""Stacks deployed by the real Pulumi engine into the directory target."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from tests.cli.in_process import command
from tests.deploy.pulumi.engine_site import BIN, CHECKOUT, STACK, Site
from tests.deploy.pulumi.rendered_pod import Deployed, RenderedPod, keep, render_pod

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.command import how_to_install
from clusterwright.spec.text.extends import read_spec_document

pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")


@pytest.fixture(scope="module")
def pod(tmp_path_factory: pytest.TempPathFactory) -> RenderedPod:
    return render_pod(tmp_path_factory.mktemp("pod"))


@pytest.fixture
def site(tmp_path: Path, pod: RenderedPod) -> Site:
    """Where nothing was deployed yet, but all was rendered."""
    pod.put_spec_back()
    pod.give(tmp_path / "up")
    return Site(tmp_path / "up", pod.spec)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, pod: RenderedPod) -> Deployed:
    root = tmp_path_factory.mktemp("deployed") / "up"
    pod.put_spec_back()
    pod.give(root)
    Site(root, pod.spec).up()
    return keep(root)


@pytest.fixture
def deployed(kept: Deployed, pod: RenderedPod) -> Site:
    """Where the pod was deployed, and nothing else was done."""
    pod.put_spec_back()
    kept.put_back()
    return Site(kept.root, pod.spec)


@pytest.fixture
def untouched(tmp_path: Path) -> Site:
    """Where not even a folder is."""
    spec = tmp_path / "lab-roce.yaml"
    shutil.copy(folder("inventory") / "lab-roce.yaml", spec)
    return Site(tmp_path / "up", spec)


def all_counts(output: str) -> list[dict[str, int]]:
    """What each line at a stack's end says of its resources: ``{"unchanged": 8}``."""
    lines = re.findall(r"^\S+: (\d+ .*) \([0-9.]+ s\)$", output, re.MULTILINE)
    return [{kind: int(count) for count, kind in re.findall(r"(\d+) ([^,]+)", line)} for line in lines]


def counts(output: str) -> dict[str, int]:
    """What the last of those lines says."""
    return all_counts(output)[-1]


def engine_counts(output: str) -> dict[str, int]:
    """The engine's own count of resources: ``{"unchanged": 8}``."""
    section = output.rpartition("Resources:")[2]
    return {kind: int(count) for count, kind in re.findall(r"(\d+) (\w[\w ]*)", section.split("Duration")[0])}


def changed_devices(before: dict[str, tuple[int, bytes]], after: dict[str, tuple[int, bytes]]) -> set[str]:
    paths = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return {path.split("/")[0] for path in paths}


def test_a_first_update_deploys_every_device_and_a_second_changes_nothing(untouched: Site) -> None:
    site = untouched
    program = [str(BIN / "clusterwright"), *site.words("up", "--upper", "--pod", "pod0")]
    first = subprocess.run(program, capture_output=True, text=True, check=True)
    flash = site.flash()
    second = subprocess.run(program, capture_output=True, text=True, check=True)

    devices = {path.split("/")[0] for path in flash}
    assert {"atsw-00", "ssw-00", "ctsw-p00-00", "rtsw-p00r00", "gpu-p00r00n0"} <= devices
    assert not any("p01" in device for device in devices)
    assert first.stderr.splitlines()[0] == "up: lab-roce-upper, lab-roce-pod0"
    assert "nothing changed" in second.stderr
    assert site.flash() == flash


def test_a_change_of_one_rack_previews_as_one_resource_with_its_lines_and_applies_alone(deployed: Site) -> None:
    site = deployed
    before = site.flash()
    site.give_one_rack_another_image()

    preview = site.run("preview")

    assert preview.returncode == 0, preview.stderr
    assert counts(preview.stdout) == {"to update": 1, "unchanged": 7}
    assert f"{STACK}: ~ update rack p00r01\n" in preview.stdout
    assert "gpu-p00r01n0:" in preview.stdout
    assert re.search(r"^ *-net\.core\.netdev_max_backlog *= *250000$", preview.stdout, re.MULTILINE)
    assert re.search(r"^ *\+net\.core\.netdev_max_backlog *= *300000$", preview.stdout, re.MULTILINE)
    assert site.flash() == before

    done = site.up()

    assert {"updated": 1, "unchanged": 7} in all_counts(done.stdout)
    assert changed_devices(before, site.flash()) == {"gpu-p00r01n0", "gpu-p00r01n1"}


def test_what_is_renamed_is_renamed_in_the_state_and_on_its_device(untouched: Site) -> None:
    """Nothing is destroyed and made: a machine under a new name is the same one."""
    site = untouched  # with an allocation file beside its spec
    layers = ("--upper", "--pod", "pod0")
    assert command("allocate", site.spec, cwd=site.spec.parent).returncode == 0
    site.up(*layers)
    before = site.flash()
    data = json.dumps(read_spec_document(site.spec).data)
    for was, now in (("compute", "workers"), ("gpu", "wk"), ("rtsw", "torsw"), ("atsw", "topsw")):
        data = re.sub(rf'"((?:[a-z._]+[.])?){was}"', rf'"\1{now}"', data)
    renamed = [{"nodes": "workers", "was": "compute"}]
    renamed += [{"fabric": "backend", "tier": now, "was": was} for was, now in (("rtsw", "torsw"), ("atsw", "topsw"))]
    data = data.replace('"kind": "workers"', '"kind": "compute"')
    site.spec.write_text(json.dumps({**json.loads(data), "renamed": renamed}))
    assert command("allocate", site.spec, cwd=site.spec.parent).returncode == 0

    preview = site.run("preview", *layers)

    assert preview.returncode == 0, preview.stdout + preview.stderr
    assert not {"to create", "to delete"} & {kind for found in all_counts(preview.stdout) for kind in found}
    done = site.up(*layers)
    assert not {"created", "deleted"} & {kind for found in all_counts(done.stdout) for kind in found}, done.stdout
    flash = site.flash()
    names = {"gpu-": "wk-", "rtsw-": "torsw-", "atsw-": "topsw-"}
    assert not [path for path in flash if path.startswith(tuple(names))]
    kept = {
        now + path.removeprefix(was): file
        for path, file in before.items()
        for was, now in names.items()
        if path.startswith(was)
    }
    same = [path for path, file in kept.items() if flash.get(path) == file]
    assert len(same) > len(kept) / 2, "files that do not name the device are the same files as before"
    assert "nothing changed" in site.up(*layers).stderr


def test_a_device_that_refuses_keeps_its_configuration_and_the_same_command_picks_up(deployed: Site) -> None:
    site = deployed
    before = site.flash()
    blocked = next(site.root / "flash" / path for path in before if path.startswith("gpu-p00r01n1/etc/sysctl.d/"))
    kept = {path: entry for path, entry in before.items() if path.startswith("gpu-p00r01n1/")}
    site.give_one_rack_another_image()
    blocked.unlink()
    blocked.mkdir()

    failed = site.run("up")

    assert failed.returncode != 0
    assert "1 of 4 devices of p00r01" in failed.stdout
    assert "gpu-p00r01n1: failed, " in failed.stdout
    assert "a directory is in the way" in failed.stdout
    assert "Traceback" not in failed.stdout + failed.stderr
    after = site.flash()
    gone = str(blocked.relative_to(site.root / "flash"))
    assert {path: entry for path, entry in after.items() if path.startswith("gpu-p00r01n1/")} == {
        path: entry for path, entry in kept.items() if path != gone
    }
    assert changed_devices(before, after) == {"gpu-p00r01n0", "gpu-p00r01n1"}

    blocked.rmdir()
    picked_up = site.up()

    assert {"updated": 1, "unchanged": 7} in all_counts(picked_up.stdout)
    assert changed_devices(after, site.flash()) == {"gpu-p00r01n1"}
    assert "nothing changed" in site.up().stderr


def test_a_first_update_that_fails_is_taken_up_again(site: Site) -> None:
    blocker = site.root / "flash" / "rtsw-p00r00"
    blocker.parent.mkdir(parents=True)
    blocker.write_text("no folder\n")

    failed = site.run("up")

    assert failed.returncode != 0
    assert "1 of 4 devices of p00r00" in failed.stdout
    assert (site.root / "flash" / "gpu-p00r00n0").is_dir()

    blocker.unlink()
    site.up()

    assert any(path.startswith("rtsw-p00r00/") for path in site.flash())
    assert "nothing changed" in site.up().stderr


def test_a_refresh_finds_what_was_changed_by_hand_and_the_next_update_mends_it(deployed: Site) -> None:
    site = deployed
    path = next(path for path in site.flash() if path.startswith("gpu-p00r00n1/etc/"))
    file = site.root / "flash" / path
    intended = file.read_bytes()
    file.write_bytes(intended + b"# changed by hand\n")

    other = next(path for path in site.flash() if path.startswith("gpu-p00r00n0/etc/"))
    (site.root / "flash" / other).chmod(0o666)

    refresh = site.run("refresh")
    assert refresh.returncode == 0
    preview = site.run("preview")

    assert counts(preview.stdout) == {"to update": 1, "unchanged": 7}
    for shown in (refresh.stdout, preview.stdout):
        assert "gpu-p00r00n1: its files differ from those deployed" in shown
        assert "-# changed by hand" in shown
        assert f"~ {other.partition('/')[2]} (mode 0666 -> 0" in shown
    site.up()
    assert file.read_bytes() == intended
    assert (site.root / "flash" / other).stat().st_mode & 0o777 != 0o666


def test_the_state_is_small_and_holds_no_configuration(deployed: Site) -> None:
    site = deployed
    (state,) = (site.root / "state").rglob(f"stacks/**/{STACK}.json")
    text = state.read_text()

    assert len(text) < 40_000
    for path, (_, content) in site.flash().items():
        for line in content.decode("utf-8", "replace").splitlines():
            assert len(line) < 30 or line not in text, path
    resources = json.loads(text)["checkpoint"]["latest"]["resources"]
    assert max(urn.count("$") for urn in (resource["urn"] for resource in resources)) == 2
    # Where in the program a resource was registered, on which machine, is nobody's concern and would be half of it.
    own = [resource for resource in resources if "clusterwright" in resource["type"]]
    assert own
    assert not [resource for resource in own if "stackTrace" in resource or "sourcePosition" in resource]


def test_a_program_tells_the_engine_nothing_of_its_registrations_for_debugging(
    deployed: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = deployed
    monkeypatch.setenv("PULUMI_DEBUG_COMMANDS", "true")  # for its log of events
    site.pulumi("preview", "--event-log", str(tmp_path / "events.json"))

    events = [json.loads(line) for line in (tmp_path / "events.json").read_text().splitlines()]

    assert sum("resourcePreEvent" in event for event in events) >= 8
    said = [event["diagnosticEvent"]["message"] for event in events if "diagnosticEvent" in event]
    assert said, "the engine itself does say something"
    assert not [message for message in said if "ty=clusterwright:" in message]


def test_destroying_removes_what_was_put_on_the_devices_and_nothing_else(site: Site) -> None:
    site.up("--upper", "--pod", "pod0")
    theirs = site.root / "flash" / "gpu-p00r00n0" / "etc" / "theirs"
    theirs.write_text("theirs\n")

    refused = site.run("destroy", "--upper", "--pod", "pod0", told="lab-roc\n")
    assert refused.returncode == 2
    assert "that is not the cluster's name; nothing was touched" in refused.stderr
    assert len(site.flash()) > 1

    done = site.run("destroy", "--upper", "--pod", "pod0", told="lab-roce\n")

    assert done.returncode == 0, done.stdout + done.stderr
    assert set(site.flash()) == {"gpu-p00r00n0/etc/theirs"}
    finished = re.findall(r"^(\S+): \d+ deleted", done.stdout, re.MULTILINE)
    assert finished == [STACK, "lab-roce-upper"], "the upper layer goes last"


def test_pulumis_own_command_line_clears_a_device_for_a_reason_alone(deployed: Site) -> None:
    """`pulumi destroy` runs no program: the provider refuses, and the stack is as it was."""
    site = deployed
    held, unit = site.flash(), "p00r01"
    before = site.pulumi("stack", "export").stdout
    refused = site.pulumi("destroy", "--yes", "--skip-preview", at_once="", fails=True)
    assert "would lose what was deployed there" in refused.stdout + refused.stderr
    assert "`clusterwright destroy` removes a whole stack" in refused.stdout + refused.stderr
    one = site.pulumi("destroy", "--yes", "--skip-preview", "--target", f"**::{unit}", at_once="", fails=True)
    assert "would lose what was deployed there" in one.stdout + one.stderr
    assert site.flash() == held
    kept, now = (json.loads(text)["deployment"] for text in (before, site.pulumi("stack", "export").stdout))
    assert {item["urn"] for item in now["resources"]} == {item["urn"] for item in kept["resources"]}
    assert not now.get("pending_operations")
    assert "nothing changed" in site.up().stderr

    site.pulumi("destroy", "--yes", "--skip-preview")
    assert site.flash() == {}


def test_pulumis_own_refresh_changes_no_device_and_says_that_it_leaves_no_record(deployed: Site) -> None:
    site = deployed
    held, events = site.flash(), (site.root / "audit/rollouts.jsonl").read_bytes()
    done = site.pulumi("refresh", "--yes", "--skip-preview", at_once="")
    assert "`clusterwright refresh` also records who asked" in done.stdout
    assert site.flash() == held
    assert (site.root / "audit/rollouts.jsonl").read_bytes() == events


def test_events_are_json_lines_that_follow_the_schema(site: Site) -> None:
    schema = json.loads((folder("inventory") / "schema" / "rollout-events.schema.json").read_text())
    done = site.run("up", "--pod", "pod0", "--events", "-")

    events = [json.loads(line) for line in done.stdout.splitlines()]
    judge = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    for event in events:
        judge.validate(event)
    kinds = Counter(event["event"] for event in events if event.get("stack"))
    assert kinds == {"stack-started": 1, "message": 1, "unit-started": 4, "unit-finished": 4, "stack-finished": 1}
    assert next(event["severity"] for event in events if event["event"] == "message") == "warning", "no upper layer yet"
    assert events[0]["time"] <= events[-1]["time"]
    assert "create rack p00r00" in done.stderr, "people read the lines on the other stream"


def test_the_committed_project_deploys_with_pulumis_own_command_line(untouched: Site, tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "stacks", tmp_path / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "inventory").symlink_to(folder("inventory"))
    (tmp_path / ".venv").symlink_to(BIN.parent)
    (tmp_path / "up" / "state").mkdir(parents=True)
    environment = {
        "PATH": f"{tmp_path / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }
    configuration = (tmp_path / "stacks" / f"Pulumi.{STACK}.yaml").read_bytes()

    def pulumi(*arguments: str) -> str:
        command = ["pulumi", *arguments, "--stack", STACK, "--non-interactive"]
        done = subprocess.run(
            command, cwd=tmp_path / "stacks", env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    pulumi("stack", "select", "--create")
    assert engine_counts(pulumi("up", "--yes", "--skip-preview")) == {"created": 8}
    assert (tmp_path / "stacks" / f"Pulumi.{STACK}.yaml").read_bytes() == configuration
    assert "nothing changed" in untouched.up().stderr


def test_without_pulumi_the_command_says_how_to_get_it(untouched: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")

    done = untouched.run("up")

    assert done.returncode == 2
    assert "pulumi is not on the PATH. Install Pulumi 3, or build it" in done.stderr
    assert not untouched.root.exists()


def test_who_installed_the_package_is_sent_to_pulumis_own_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterwright.deploy.pulumi.command._BUILDER", Path("/nonexistent/build-pulumi"))
    assert "https://www.pulumi.com/docs/install/" in how_to_install()
    assert "checkout" not in how_to_install()


@pytest.mark.parametrize(
    ("old", "new", "position"),
    [
        pytest.param("name: lab-roce\n", "nam: lab-roce\n", "lab-roce.yaml:4:1", id="unknown key"),
        pytest.param("value: 64", "value: 63", "lab-roce.yaml:", id="rule"),
    ],
)
def test_a_spec_with_errors_is_refused_before_anything_is_touched(
    untouched: Site, old: str, new: str, position: str
) -> None:
    untouched.edit(old, new)

    done = untouched.run("up")

    assert done.returncode == 1
    assert position in done.stderr
    assert "Traceback" not in done.stderr
    assert not untouched.root.exists()


def test_pulumis_own_command_line_refuses_a_spec_with_errors_too(deployed: Site) -> None:
    site = deployed
    before = site.flash()
    site.edit("value: 64", "value: 63")

    refused = site.pulumi("up", "--yes", "--skip-preview", fails=True)

    assert "lab-roce.yaml:" in refused.stdout
    assert "Traceback" not in refused.stdout
    assert site.flash() == before
