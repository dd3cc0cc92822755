"""Folders that verify reads: how tests render, edit and ask for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from clusterwright import data_files
from clusterwright.cli.main import cli

INVENTORY = data_files.folder("inventory")
ROCE, INFINIBAND = str(INVENTORY / "lab-roce.yaml"), str(INVENTORY / "lab-ib.yaml")
MANAGER, STANDBY, NODE = "gpu-s00r00n0", "gpu-s01r00n0", "gpu-s00r01n2"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["verify", *arguments], standalone_mode=False)


def render(spec: str, out: Path) -> None:
    """Every device's whole tree, as devices are read back."""
    result = CliRunner().invoke(cli, ["render", spec, "--out", str(out), "--merged"], standalone_mode=False)
    assert result.return_value == 0


def answers(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--format", "json")
    assert result.exception is None, result.exception
    return {check["name"]: check for check in json.loads(result.output)["checks"]}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
