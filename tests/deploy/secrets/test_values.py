"""Values take the place of placeholders, are refused where they do not fit, and are taken out of what comes back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.deploy.secrets.repeating import Repeating

from clusterwright.artifact import Artifact
from clusterwright.deploy.ansible.folder import BUNDLES
from clusterwright.deploy.directory import DirectoryTarget
from clusterwright.deploy.secrets.secrets import ResolvingTarget, SecretError, checked, names_in, resolve, scrub
from clusterwright.deploy.secrets.sources import SecretFile
from clusterwright.deploy.target import Status, tree_digest
from clusterwright.finding import ClusterwrightError

VALUES = {"one": "first", "two": 'se"cond\\'}


def test_every_placeholder_is_replaced_where_it_stands() -> None:
    assert resolve(b"a <secret one> b <secret two> <secret one>", VALUES) == b'a first b se"cond\\ first'
    assert json.loads(resolve(b'{"key": "<secret two>"}', VALUES, is_json=True)) == {"key": VALUES["two"]}
    assert names_in(b"## <secret ...> is no placeholder, <secret one> is") == {"one"}


def test_all_missing_secrets_are_named_at_once() -> None:
    with pytest.raises(SecretError, match='no source gives secret "four", secret "three"'):
        resolve(b"<secret three> <secret one> <secret four>", VALUES)


@pytest.mark.parametrize(
    ("value", "reason"), [("", "is empty"), ("tw o", "blank"), ("a\nb", "line end"), ("a\x07", "control")]
)
def test_a_value_that_breaks_out_of_its_line_is_refused_without_being_shown(value: str, reason: str) -> None:
    with pytest.raises(SecretError, match=reason) as caught:
        checked({"one": value})
    assert not value or value not in str(caught.value)


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("first")
    (tmp_path / "one.txt").chmod(0o644)
    (tmp_path / "secrets.yaml").write_text("secrets:\n  - {name: one, source: file, file: one.txt}\n")
    with pytest.raises(SecretError, match=r'secret "one": .*chmod 600'):
        SecretFile(tmp_path / "secrets.yaml").fetch(None)


def test_a_file_of_another_form_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "secrets.yaml").write_text("secrets:\n  - {name: one, source: memory}\n")
    with pytest.raises(ClusterwrightError, match=r"secrets\.yaml:2:\d+"):
        SecretFile(tmp_path / "secrets.yaml").fetch(None)


def test_what_devices_repeat_has_its_placeholders_back(tmp_path: Path) -> None:
    target = ResolvingTarget(
        Repeating(tmp_path / "runs"), lambda: {"one": "first", "two": 'se"cond'}, tmp_path / "runs"
    )
    tree = (Artifact("sw", "config", b"key <secret one> <secret two>", "eos"),)
    outcome = target.apply({"sw": tree})["sw"]
    assert outcome.message == outcome.diff == "key <secret one> <secret two>"
    for path in (tmp_path / "runs").iterdir():
        assert "first" not in path.read_text()
        assert "cond" not in path.read_text()


def test_a_device_that_holds_its_secret_holds_what_it_was_given(tmp_path: Path) -> None:
    target = ResolvingTarget(DirectoryTarget(tmp_path), lambda: VALUES)
    tree = (Artifact("sw", "config", b"key <secret one>", "eos"), Artifact("sw", "run", b"<secret two>", "x", 0o755))
    outcome = target.apply({"sw": tree})["sw"]
    assert outcome.status is Status.APPLIED
    assert outcome.digest == tree_digest(tree)
    again = target.apply({"sw": tree}, check=True)["sw"]
    assert (again.status, again.changed) == (Status.UNCHANGED, ())
    assert (tmp_path / "sw/config").read_bytes() == b"key first"
    assert (tmp_path / "sw/config").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "sw/run").stat().st_mode & 0o777 == 0o700


def test_trees_without_secrets_never_ask_their_sources(tmp_path: Path) -> None:
    def never() -> Mapping[str, str]:
        raise AssertionError

    target = ResolvingTarget(DirectoryTarget(tmp_path), never)
    assert target.apply({"sw": (Artifact("sw", "config", b"plain", "eos"),)})["sw"].status is Status.APPLIED


def test_scrubbing_leaves_other_files_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("nothing here")
    under_way = tmp_path / "run-of-another-stack" / BUNDLES / "device"
    under_way.parent.mkdir(parents=True)
    under_way.write_text("first")
    before = (tmp_path / "plain").stat().st_mtime_ns
    scrub(tmp_path, {"<secret one>": "first"})
    scrub(tmp_path / "absent", {"<secret one>": "first"})
    assert (tmp_path / "plain").stat().st_mtime_ns == before
    assert under_way.read_text() == "first"
    shutil.rmtree(tmp_path)
