"""Versions of secrets: a rotated secret reaches the devices that hold it, and nobody else hears of its value."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest
from tests.deploy.secrets.test_secrets import STACK, Site

from clusterwright.artifact import Artifact
from clusterwright.deploy.directory import DirectoryTarget
from clusterwright.deploy.pulumi.changes import drift_lines
from clusterwright.deploy.pulumi.project import pulumi_environment
from clusterwright.deploy.secrets.forms import in_form
from clusterwright.deploy.secrets.places import in_place, places_in
from clusterwright.deploy.secrets.secrets import ResolvingTarget, names_in, resolve, scrub
from clusterwright.deploy.secrets.sources import SecretFile
from clusterwright.deploy.secrets.versions import labelled, version_changes
from clusterwright.deploy.store import Store
from clusterwright.deploy.target import Outcome, Status
from clusterwright.device_files.effect import Effect
from clusterwright.finding import ClusterwrightError
from clusterwright.keys.file_store import FileKms
from clusterwright.keys.rotation import Keeper, newest
from clusterwright.rollout.gates.health import HoldsTree
from clusterwright.rollout.waves import Wave
from clusterwright.spec.encryption import KeySchedule

SECOND, THIRD = "SecondOfTheBorder", "ThirdOfTheBorder"
KEYS = (
    KeySchedule("storage-kek", "wrapping", "security", 90, 97, None, None, ()),
    KeySchedule("building-cak", "macsec", "network", 30, 60, "storage-kek", None, ()),
)


class Rotating(Site):
    """The site of the search for markers, whose secrets get versions and other values."""

    def label(self, name: str, version: str) -> None:
        text = self.spec.read_text()
        line = re.search(rf"  - {{name: {name}, .*}}\n", text)
        assert line is not None
        bare = re.sub(r", version: [^}]*", "", line[0])
        self.spec.write_text(text.replace(line[0], bare.replace("}\n", f", version: {version}}}\n")))

    def rotate_border(self, value: str) -> None:
        (self.folder / "bgp.txt").write_text(value + "\n")
        self.markers = {**self.markers, value: value, f"{value} in EOS": in_form(value, "eos-type-7", "")}

    def rotate_key(self) -> str:
        store = self.folder / "keys"
        kms = FileKms(store / "kms.json", store / "root.key")
        keeper = Keeper(store, kms, KEYS)
        keeper.rotate(date(2026, 2, 5), lambda step: None)
        value = kms.unwrap("storage-kek", newest(keeper.ledger(), "building-cak").wrapped or "").hex()
        self.markers = {**self.markers, value: value, f"{value} in EOS": in_form(value, "eos-cak", "")}
        return value

    def configurations(self) -> dict[str, bytes]:
        return {path.parts[-4]: path.read_bytes() for path in self.root.glob("flash/*/mnt/flash/startup-config")}

    def said(self, action: str) -> str:
        done = self.run(action, CLUSTERWRIGHT_REASON="rotation")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def pulumi(self, action: str, *options: str) -> str:
        """The plain way: Pulumi's own command on the stack, without this project's command line."""
        where = ("--stack", STACK, "--cwd", str(self.root / "project"), "--non-interactive")
        why = {"CLUSTERWRIGHT_AT_ONCE": "a test of the plain way"}
        environment = {**self.environment, **pulumi_environment(self.root), **why}
        command = ("pulumi", action, *where, *options)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


@dataclass(frozen=True, slots=True)
class Steps:
    """What was printed, and what devices held, step by step."""

    site: Rotating
    printed: Mapping[str, str]
    held: Mapping[str, Mapping[str, bytes]]

    def changed(self, before: str, after: str) -> set[str]:
        return {name for name, text in self.held[after].items() if self.held[before][name] != text}


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory, pulumi_on_the_path: None) -> Steps:
    site = Rotating(tmp_path_factory.mktemp("rotation"))
    site.keep_in_pulumi()
    printed, held = {}, {}

    def step(name: str, said: str) -> None:
        printed[name], held[name] = said, site.configurations()

    site.label("bgp-site", "3")
    step("first", site.said("up"))
    site.rotate_border(SECOND)
    step("unlabelled", site.said("up"))
    site.label("bgp-site", "4")
    step("preview", site.said("preview"))
    step("rotated", site.said("up"))
    step("again", site.said("up"))
    site.rotate_key()
    step("plain", site.pulumi("up", "--yes", "--diff"))
    step("plain again", site.pulumi("up", "--yes", "--skip-preview"))
    site.rotate_border(THIRD)
    step("refresh", site.said("refresh"))
    return Steps(site, printed, held)


def test_another_value_alone_is_not_seen_and_another_version_is(steps: Steps) -> None:
    assert "nothing changed" in steps.printed["unlabelled"]
    assert not steps.changed("first", "unlabelled")
    assert "secret bgp-site: version 3 → 4 (value not shown)" in steps.printed["preview"]
    assert not steps.changed("first", "preview")


def test_only_the_devices_that_hold_it_are_sent_anew_in_a_wave(steps: Steps) -> None:
    assert "1 of 5 devices changes" in steps.printed["rotated"]
    assert "wave 1: 1 of 1 devices are well" in steps.printed["rotated"]
    assert steps.changed("preview", "rotated") == {"ssw-00"}
    assert in_form(SECOND, "eos-type-7", "").encode() in steps.held["rotated"]["ssw-00"]
    assert "nothing changed" in steps.printed["again"]


def test_a_scheduled_key_has_its_number_by_itself_and_pulumi_alone_does_the_same(steps: Steps) -> None:
    assert "secret cak-fallback: version 1 → 2 (value not shown)" in steps.printed["plain"]
    assert steps.changed("again", "plain") == {"atsw-00", "atsw-01"}
    assert "8 unchanged" in steps.printed["plain again"]


def test_a_device_is_asked_for_what_no_version_tells_and_repeats_no_old_value(steps: Steps) -> None:
    assert "1 of 5 devices hold something else: ssw-00" in steps.printed["refresh"]
    assert "<secret bgp-site@4 as eos-type-7>" in steps.printed["refresh"]
    assert (
        "  mnt/flash/startup-config holds bgp-site: where a value was changed at its source,"
        in steps.printed["refresh"]
    )


def test_no_value_old_or_new_is_anywhere_but_on_devices(steps: Steps) -> None:
    site = steps.site
    for said in steps.printed.values():
        assert not site.found_in(said.encode())
    sources = {site.folder / "privacy.txt", site.folder / "bgp.txt"}
    leaks = [
        path.relative_to(site.folder)
        for path in site.folder.rglob("*")
        if path.is_file() and path not in sources and site.found_in(path.read_bytes())
    ]
    assert leaks
    assert {str(path).split("/mnt/")[0] for path in leaks} <= {f"up/flash/{name}" for name in site.configurations()}


def test_state_holds_the_label(steps: Steps) -> None:
    root = steps.site.root / "objects"
    assert any(b"<secret bgp-site@4 as eos-type-7>" in path.read_bytes() for path in root.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("diff", "named"),
    [
        ("~ etc/a\n  -key <secret one>\n  +key <secret one>\n", "one"),
        ("--- /etc/a\n+++ /etc/a\n", "one, two"),  # withheld
        ("--- /etc/a\n+++ /etc/a\n@@ -1 +1 @@\n-mtu 1500\n+mtu 9000\n", ""),
        ("~ etc/b\n  -key <secret one>\n  +key <secret one>\n", ""),
    ],
)
def test_a_finding_names_the_secrets_whose_values_may_differ_and_says_how_to_mend_them(diff: str, named: str) -> None:
    given = (Artifact("d", "etc/a", b"key <secret one>\npassword <secret two>\n", "test"),)
    path = "etc/a" if "etc/a" in diff else "etc/b"

    lines = list(drift_lines("d", Outcome(Status.APPLIED, (path,), diff=diff), given))

    told = [line for line in lines if "where a value was changed at its source" in line]
    assert told == ([f"  etc/a holds {named}: where a value was changed at its source,"] if named else [])
    assert lines[-1].startswith("    `up` sends it; give it another `version` there") is bool(named)


PLAIN = b"key <secret one> <secret two as eos-bgp G>\n<secret/three> ## <secret ...>\n"


def test_labels_stand_behind_names_and_change_no_value() -> None:
    artifact = Artifact("sw", "config", PLAIN, "eos")
    found = labelled(artifact, {"one": "4", "two": "2026-11", "three": "b", "four": "1"})
    assert found.content == (
        b"key <secret one@4> <secret two@2026-11 as eos-bgp G>\n<secret/three@b> ## <secret ...>\n"
    )
    assert names_in(found.content) == names_in(PLAIN) == {"one", "two", "three"}
    values = {"one": "1st", "two": "2nd", "three": "3rd"}
    assert resolve(found.content, values) == resolve(PLAIN, values)
    assert labelled(artifact, {"four": "1"}) is artifact
    assert labelled(artifact, {}) is artifact


def test_changes_of_versions_in_words() -> None:
    artifact = Artifact("sw", "config", PLAIN, "eos")
    old, new = (
        labelled(artifact, {"one": "3", "three": "a"}),
        labelled(artifact, {"one": "4", "two": "1", "three": "a"}),
    )
    assert list(version_changes([old], [new])) == [
        "secret one: version 3 → 4 (value not shown)",
        "secret two: version none → 1 (value not shown)",
    ]
    assert list(version_changes([new], [new])) == list(version_changes([], [new])) == []


def test_versions_are_read_without_any_value(tmp_path: Path) -> None:
    listed = "{name: one, source: environment, version: 4}, {name: two, source: environment, version: v2.1-b}"
    (tmp_path / "secrets.yaml").write_text(f"secrets: [{listed}, {{name: three, source: keys}}]\n")
    assert SecretFile(tmp_path / "secrets.yaml", tmp_path / "keys").versions() == {"one": "4", "two": "v2.1-b"}


@pytest.mark.parametrize("version", ["0", "'a b'", "'>'", "''", "-1", "1.5"])
def test_a_label_that_breaks_out_of_its_place_is_refused_with_its_line(tmp_path: Path, version: str) -> None:
    path = tmp_path / "secrets.yaml"
    path.write_text(f"secrets:\n  - {{name: one, source: environment, version: {version}}}\n")
    with pytest.raises(ClusterwrightError, match=r"secrets\.yaml:2:\d+"):
        SecretFile(path).sources()


def test_what_stands_in_a_secrets_place_is_hidden_whatever_its_value(tmp_path: Path) -> None:
    tree = (
        Artifact("sw", "config", b'   key 7 <secret one@2 as eos-type-7> end\n"passkey": "<secret/two>",\n', "eos"),
    )
    places = places_in(tree)
    assert in_place("-   key 7 0110AABB end", places) == "-   key 7 <secret one@2 as eos-type-7> end"
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"diff": '-key 7 0110AABB end\n-    "passkey": "yesterday",\n+no'}))
    scrub(tmp_path, {"<secret one>": "today"}, places)
    assert json.loads(event.read_text()) == {
        "diff": '-key 7 <secret one@2 as eos-type-7> end\n-    "passkey": "<secret/two>",\n+no'
    }


def test_the_gate_of_files_sees_values_in_their_places(tmp_path: Path) -> None:
    values = {"one": "first"}
    target = ResolvingTarget(DirectoryTarget(tmp_path / "flash"), lambda: values)
    store = Store(tmp_path / "objects")
    tree = (Artifact("sw", "config", b"key <secret one@1>\n", "eos"),)
    digest = store.put_tree(tree)
    target.apply({"sw": tree})
    gate = HoldsTree(lambda layer: target, store)
    wave = Wave("upper", "switch", False, ("sw",), ("sw",), Effect.LIVE, (), 1.0, "", "", "")
    assert not gate.after(wave, {"sw": digest}, None).wrong
    (tmp_path / "flash/sw/config").write_text("key other\n")
    assert gate.after(wave, {"sw": digest}, None).wrong == {"sw": "its files differ from those deployed"}
