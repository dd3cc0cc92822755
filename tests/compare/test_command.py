"""``clusterwright diff`` as it is typed: statuses, revisions, formats, speed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.compare.variants import inventory
from tests.pages.shown import assert_part, shown_by

from clusterwright.cli.diff import diff
from clusterwright.compare.revision import spec_at
from clusterwright.finding import ClusterwrightError, SpecError


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(diff, [str(argument) for argument in arguments], standalone_mode=False)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a spec on a base in another folder, committed once and then changed in the work tree."""
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "lab.yaml").write_text(inventory("lab-ib").read_text())
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "mine.yaml").write_text("version: 1\nextends: ../base/lab.yaml\nname: mine\n")
    monkeypatch.chdir(tmp_path)
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "t"]):
        subprocess.run(["git", *command], check=True)
    base = tmp_path / "base" / "lab.yaml"
    base.write_text(base.read_text().replace('ntp: ["10.98.240.123"]', 'ntp: ["10.98.240.124"]'))
    return tmp_path


def test_same_is_0() -> None:
    result = _run(inventory("lab-ib"), inventory("lab-ib"))
    assert (result.return_value, result.output) == (0, "lab-ib → lab-ib\nno difference\n")


def test_a_revision_is_read_with_the_files_it_extends(repository: Path) -> None:
    result = _run("HEAD:site/mine.yaml", "site/mine.yaml")
    assert result.return_value == 1
    assert "10.98.240.124" in result.output
    assert _run("HEAD:site/mine.yaml", "HEAD:./site/mine.yaml").return_value == 0


def test_the_model_alone_does_not_see_a_time_server(repository: Path) -> None:
    assert _run("HEAD:site/mine.yaml", "site/mine.yaml", "--no-config").return_value == 0


def test_what_git_does_not_have_is_said(repository: Path) -> None:
    with (
        pytest.raises(ClusterwrightError, match=r"site/other\.yaml' does not exist in 'HEAD'"),
        spec_at("HEAD:site/other.yaml"),
    ):
        pass
    with pytest.raises(ClusterwrightError, match="nosuch"), spec_at("nosuch:site/mine.yaml"):
        pass
    with pytest.raises(ClusterwrightError, match="outside the repository"), spec_at("HEAD:../mine.yaml"):
        pass


def test_an_error_in_a_revision_names_the_revision(repository: Path) -> None:
    (repository / "site" / "mine.yaml").write_text("version: 1\nextends: ../base/lab.yaml\nnome: mine\n")
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qam", "u"], check=True)
    result = _run("HEAD:site/mine.yaml", "site/mine.yaml")
    assert isinstance(result.exception, SpecError)
    assert str(result.exception).startswith("HEAD:site/mine.yaml:3:1")


def test_json_has_every_cable(tmp_path: Path) -> None:
    arguments = ("--format", "json", "--no-config", "--cables", tmp_path / "work.csv")
    result = _run(inventory("rsc-phase1"), inventory("rsc"), *arguments)
    assert result.return_value == 1
    document = json.loads(result.stdout)
    assert (document["same"], document["configuration"]) == (False, None)
    fabrics = {fabric["fabric"]: fabric for fabric in document["cables"]}
    assert len(fabrics["backend"]["added"]) == 9_920 + 9_920
    jobs = sum(len(fabric[kind]) for fabric in fabrics.values() for kind in ("moved", "added", "removed"))
    assert (tmp_path / "work.csv").read_bytes().count(b"\r\n") == 1 + jobs


def test_the_page_on_growing_shows_the_cables_of_a_phase(tmp_path: Path) -> None:
    result = _run(inventory("rsc-phase1"), inventory("rsc"), "--no-config", "--cables", tmp_path / "work.csv")
    assert_part(shown_by("growing.md", "clusterwright diff inventory/rsc-phase1.yaml"), result.output)
