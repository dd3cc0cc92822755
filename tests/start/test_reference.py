"""The reference that the README and ``init`` lead to: copied whole, without findings, and proven from its texts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli.in_process import command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    written = command("init", folder / "mine", "--from", "b300-spectrum-x", cwd=folder)
    assert written.returncode == 0, written.stderr
    return folder


def test_the_copy_has_its_models_and_no_finding(folder: Path) -> None:
    linted = command("lint", "mine", cwd=folder)

    assert (folder / "mine/models/hgx-b300-planes-pci.yaml").is_file()
    assert linted.stdout == "no findings in 2 files\n"


def test_every_claim_is_proven(folder: Path) -> None:
    verified = command("verify", "mine/cluster.yaml", cwd=folder)

    verdicts = dict(re.findall(r"^([a-z-]+): (proven|REFUTED|[^.:]+)", verified.stdout, re.M))
    assert verified.returncode == 0
    assert set(verdicts.values()) == {"proven"}
    assert {"ecmp-hash", "ethernet-failures", "isolation", "qos", "reachability", "slurm"} <= set(verdicts)
    assert verified.stdout.count("cables whose ends choose a path for each packet: 256") == 2
