"""Every size that the benchmarks measure is a spec that lints clean, or `make bench` stops at its first stage."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from clusterwright.rules.engine import lint_path

CHECKOUT = Path(__file__).parents[2]


@pytest.mark.parametrize("pods", [1, 4, 16, 43])
def test_a_scaled_spec_lints_clean(pods: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(CHECKOUT), *sys.path])
    from benchmarks.scaled_spec import write_scaled_spec
    from benchmarks.stages import SIZES

    assert pods in SIZES

    findings = lint_path(write_scaled_spec(pods, tmp_path)).findings

    # Parts of the references that no test walked are noted (CW176), whatever the size.
    assert [f"{finding.code} {finding.message}" for finding in findings if finding.code != "CW176"] == []


@pytest.mark.parametrize("units", [32, 128, 512])
def test_a_spec_of_several_subnets_lints_clean(units: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A subnet has 49,151 LIDs (CW307): 131,072 GPUs are four, each a fabric with nodes of its own."""
    monkeypatch.setattr(sys, "path", [str(CHECKOUT), *sys.path])
    from benchmarks.scaled_spec import write_scaled_subnets
    from benchmarks.units import SIZES

    assert units in SIZES

    findings = lint_path(write_scaled_subnets(units, tmp_path)).findings

    # Parts of the references that no test walked are noted (CW176), whatever the size.
    assert [f"{finding.code} {finding.message}" for finding in findings if finding.code != "CW176"] == []
