"""Variables that switch something off: every name that looks like a switch is known, and values count as in C."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.rules.overlays import codes, findings_of

from clusterwright import data_files
from clusterwright.spec.runtime.switches import RDMA, c_number, runtime_switches, switched_off

LOOKS_LIKE_ONE = re.compile(r"_(?:DISABLE|ENABLE|IGNORE|DISABLED)(?:_|$)|_ASYNC_ERROR_HANDLING$")


def test_every_name_that_looks_like_a_switch_is_in_the_table() -> None:
    names: set[str] = set()
    for file in (data_files.folder("inventory") / "nccl").glob("*.txt"):
        names |= {line for line in file.read_text().splitlines() if line and not line.startswith("#")}
    table = runtime_switches()
    switches, harmless = {switch.name for switch in table.switches}, {value.name for value in table.harmless}
    assert not {name for name in names if LOOKS_LIKE_ONE.search(name)} - switches - harmless
    assert not switches & harmless


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), ("0", 0), ("01", 1), ("0x1", 1), (" 2", 2), ("-1", -1), ("true", 0), ("1x", 1), ("08", 0), ("", 0)],
)
def test_numbers_are_read_as_in_c(text: str, number: int) -> None:
    assert c_number(text) == number


@pytest.mark.parametrize(
    ("name", "value", "is_off"),
    [
        ("NCCL_IB_DISABLE", "1", True),
        ("NCCL_IB_DISABLE", "0", False),
        ("NCCL_IB_DISABLE", "yes", False),
        ("NCCL_NET", "Socket", True),
        ("NCCL_NET", "IB", False),
        ("NCCL_P2P_DISABLE", "2", False),
        ("NCCL_P2P_LEVEL", "LOC", True),
        ("NCCL_P2P_LEVEL", "NVL", False),
        ("NCCL_NET_GDR_LEVEL", "0", True),
        ("NCCL_NVLS_ENABLE", "0", True),
        ("NCCL_IGNORE_NET_MISMATCH", "1", True),
        ("NCCL_ALGO", "Ring", True),
        ("NCCL_DEBUG", "WARN", False),
    ],
)
def test_values_switch_or_do_not(name: str, value: str, is_off: bool) -> None:
    assert [each.name for each in switched_off({name: value})] == [name] * is_off


def test_two_variables_take_data_off_rdma() -> None:
    assert {switch.name for switch in runtime_switches().switches if switch.stops == RDMA} == {
        "NCCL_IB_DISABLE",
        "NCCL_NET",
    }


@pytest.mark.parametrize("base", ["lab-ib", "lab-roce"])
@pytest.mark.parametrize(("name", "value"), [("NCCL_IB_DISABLE", "1"), ("NCCL_NET", "Socket")])
def test_rdma_switched_off_is_an_error_on_each_fabric(base: str, name: str, value: str, tmp_path: Path) -> None:
    findings = findings_of(tmp_path, f"nccl: {{variables: {{{name}: '{value}'}}}}\n", base)
    assert codes(findings) == ["CW425"]


def test_no_guess_at_a_name_switches_anything_off(tmp_path: Path) -> None:
    text = "nccl: {variables: {NCCL_IBEXT_DISABLE: '1', NCCL_IB_DISABLED: '1'}}\n"
    findings = findings_of(tmp_path, text, "lab-ib")
    assert codes(findings) == ["CW419", "CW426"]
    assert not any("NCCL_IB_DISABLE?" in finding.hint for finding in findings)


def test_an_adapter_left_out_is_an_error_on_each_fabric(tmp_path: Path) -> None:
    for base in ("lab-ib", "lab-roce"):
        findings = findings_of(tmp_path, "nccl: {variables: {NCCL_IB_HCA: '^=mlx5_0'}}\n", base)
        assert codes(findings) == ["CW408", "CW418"]
