"""Which release brought a rule, and what `lint --since` does with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright import __version__
from clusterwright.data_files import folder
from clusterwright.rules.registry import all_rules
from clusterwright.rules.releases import FILE, is_newer_than, since

TWO_PATHS = (
    f"extends: {folder('inventory')}/lab-roce.yaml\n"
    "encryption:\n  tls: {certificate: /home/pki/node.pem, private_key: /home/pki/node.pem}\n"
    "scheduler: {colour: red}\n"
)


def test_no_code_of_a_release_went() -> None:
    released = [code for codes in json.loads(FILE.read_text()).values() for code in codes]

    assert len(released) == len(set(released))
    assert set(released) <= all_rules().keys()


def test_a_rule_of_no_release_is_of_this_version() -> None:
    assert since("CW101") == "0.1.0"
    assert since("CW164") == __version__
    assert is_newer_than("CW164", "0.1")
    assert not is_newer_than("CW164", __version__)
    assert not is_newer_than("CW101", "v0.1.0")


def test_new_findings_come_last_under_a_heading(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(TWO_PATHS)

    result = command("lint", "--since", "0.1", spec, cwd=tmp_path)

    assert result.returncode == 1
    earlier, heading, newer = result.stdout.partition("findings of rules that 0.1 did not have")
    assert heading
    assert "CW110" in earlier
    assert "CW164" not in earlier
    assert "CW164" in newer
    plain = command("lint", spec, cwd=tmp_path)
    assert set(plain.stdout.splitlines()) < set(result.stdout.splitlines())


@pytest.mark.parametrize("arguments", [("--since", "soon"), ("--since", "0.1", "--format", "json")])
def test_what_cannot_be_told_apart_is_refused(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(TWO_PATHS)

    assert command("lint", *arguments, tmp_path / "spec.yaml", cwd=tmp_path).returncode == 2
