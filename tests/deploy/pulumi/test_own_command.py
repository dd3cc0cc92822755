"""Pulumi's own command in a fresh clone, typed as the page has it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
PAGE = CHECKOUT / "docs/deploy.md"
FOR_ITSELF = ("PULUMI_", "CLUSTERWRIGHT_")

pytestmark = [pytest.mark.usefixtures("pulumi_on_the_path"), pytest.mark.slow]


def test_a_fresh_clone_brings_up_a_pod_as_the_page_says(tmp_path: Path) -> None:
    """A pod of the lab, whose configuration lies beside those of the reference cluster that the page names."""
    for name in ("stacks", "inventory", "tools"):
        shutil.copytree(CHECKOUT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (block,) = re.findall(r"```console\n(\$ cd stacks\n.*?)```", PAGE.read_text(), re.DOTALL)
    typed = [line.removeprefix("$ ") for line in block.splitlines()]
    assert typed[-2:] == ["pulumi stack init roce-24k-pod0", "pulumi up --stack roce-24k-pod0"]
    script = "\n".join(typed).replace("roce-24k", "lab-roce") + " --yes --skip-preview --non-interactive\n"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(FOR_ITSELF)}

    done = subprocess.run(
        ["bash", "-e"], cwd=tmp_path, input=script, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "up/flash/gpu-p00r00n0/etc/nccl.conf").is_file()
    assert list((tmp_path / "up/state").rglob("lab-roce-pod0.json"))
