"""A rendered folder, and one that was read back from devices."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.folders import INFINIBAND, render


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rendered") / "out"
    render(INFINIBAND, out)
    return out


@pytest.fixture
def read_back(rendered: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "back"
    shutil.copytree(rendered, folder)
    (folder / "manifest.json").unlink()
    return folder
