"""NVIDIA's own checks read the answers: they accept those that hold, and none of the others.

Outside of `make test`: `make test-ncp` runs it. It clones the suite, or takes what lies in the folder that
CLUSTERWRIGHT_FOREIGN names, as NVIDIA+ai-cloud-validation.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.evidence.given_specs import INVENTORY, TWO_ZONES, WITH_KEY, answers_of, written

pytestmark = [pytest.mark.ncp, pytest.mark.slow, pytest.mark.timeout(1800)]
SUITE = "NVIDIA/ai-cloud-validation"
CACHE = Path(__file__).parents[2] / ".cache" / "foreign"
MODULES = ("network", "topology", "infiniband", "security")
# What the suite's own configuration demands (isvctl/configs/suites/bare_metal.yaml).
DEMANDS = {"SDN04-05": {"required_keys": ["p_key", "management_key"]}}
SPECS = ("lab-roce", "lab-ib", "lab-tenants", "rsc", "roce-24k", "ib-24k")


@pytest.fixture(scope="module")
def checks() -> Iterator[dict[str, Any]]:
    """The suite's checks by name."""
    name = SUITE.replace("/", "+")
    given = os.environ.get("CLUSTERWRIGHT_FOREIGN")
    clone = Path(given) / name if given is not None else CACHE / name
    if not clone.exists():
        url = f"https://github.com/{SUITE}"
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", url, str(clone)], check=True, timeout=900)
    folders = [str(clone / part / "src") for part in ("isvtest", "isvctl", "isvreporter")]
    sys.path[:0] = folders
    try:
        modules = [importlib.import_module(f"isvtest.validations.{module}") for module in MODULES]
        yield {name: value for module in modules for name, value in vars(module).items() if name.endswith("Check")}
    finally:
        del sys.path[: len(folders)]


def passes(check: Any, answer: dict[str, Any]) -> bool:
    asked = check(config={"step_output": answer, **DEMANDS.get(answer["evidence"]["test"], {})})
    try:
        asked.run()
    except pytest.skip.Exception:
        return False
    return bool(asked.passed)


@pytest.mark.parametrize("name", SPECS)
def test_the_suites_checks_accept_what_holds_and_nothing_else(name: str, checks: dict[str, Any]) -> None:
    answers = answers_of(INVENTORY / f"{name}.yaml")
    accepted = {test for test, answer in answers.items() if passes(checks[answer["evidence"]["check"]], answer)}
    sys.stdout.write(f"{name}: {', '.join(sorted(accepted))}\n")  # pytest -rP lists them
    assert accepted == {test for test, answer in answers.items() if answer["evidence"]["answer"] == "holds"}
    assert accepted


@pytest.mark.parametrize(
    ("added", "test", "is_accepted"), [(WITH_KEY, "SDN04-05", True), (TWO_ZONES, "SDN04-04", False)]
)
def test_a_changed_spec_changes_the_suites_verdict(
    tmp_path: Path, checks: dict[str, Any], added: str, test: str, is_accepted: bool
) -> None:
    answer = answers_of(written(tmp_path, "lab-ib", added), "--test", test)[test]
    assert passes(checks[answer["evidence"]["check"]], answer) is is_accepted
