"""What is compared with the plan of folders that hold what devices run."""

from __future__ import annotations

from pathlib import Path

from clusterwright.cli.drift import read_running


def test_what_deploying_keeps_on_a_device_is_no_configuration(tmp_path: Path) -> None:
    for name in ("etc/nccl.conf", ".clusterwright/applied.json"):
        file = tmp_path / "gpu-0" / name
        file.parent.mkdir(parents=True)
        file.write_text("x")

    assert read_running(tmp_path) == {"gpu-0": {"etc/nccl.conf": "x"}}
