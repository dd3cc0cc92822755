"""``clusterwright nccl`` from outside: each value with its line of the spec."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from clusterwright import data_files
from clusterwright.cli.main import cli
from clusterwright.finding import ClusterwrightError

LAB = str(data_files.folder("inventory") / "lab-roce.yaml")


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["nccl", *arguments], standalone_mode=False)
    if isinstance(result.exception, ClusterwrightError):
        raise result.exception
    assert result.exception is None, result.exception
    return result.stdout


def test_a_variable_names_the_line_that_it_follows_from() -> None:
    output = _run(LAB, "nccl_ib_tc")
    assert output.startswith("NCCL_IB_TC=200  (nccl.conf)\n    DSCP 50 of class rdma, shifted past the two ECN bits\n")
    place = re.search(r"    fabrics\[backend\]\.classes\[rdma\]\.dscp, (.*):(\d+):\d+$", output, re.M)
    assert place is not None
    assert "dscp" in Path(place[1]).read_text().splitlines()[int(place[2]) - 1]


def test_all_are_there_for_programs_too() -> None:
    document = json.loads(_run(LAB, "--format", "json"))
    (settings,) = document["nodes"].values()
    by_name = {setting["name"]: setting for setting in settings}
    assert by_name["NCCL_CROSS_NIC"]["reason"].startswith("all adapters of a node end at one switch")
    assert by_name["TORCH_FR_BUFFER_SIZE"]["written_to"] == "environment"
    assert _run(LAB).count("\n\n") == len(by_name)


def test_what_is_not_set_is_said() -> None:
    with pytest.raises(ClusterwrightError, match=r'does not set NCCL_IB_TCC\. Did you mean "NCCL_IB_TC"'):
        _run(LAB, "NCCL_IB_TCC")
