"""What tests in several folders share."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from tests.strategies import EXAMPLES

CHECKOUT = Path(__file__).parents[1]

settings.register_profile(
    "ci",
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,  # two cores are shared with whatever else runs
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    phases=[Phase.explicit, Phase.generate],  # making a failing cluster smaller takes minutes
)
settings.register_profile(
    "long",
    settings.get_profile("ci"),
    max_examples=40 * EXAMPLES,
    derandomize=False,
    print_blob=True,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def pulumi_on_the_path() -> None:
    """Pulumi from the PATH, or built once; no Go either is a failure that says what to install."""
    found = subprocess.run([CHECKOUT / "tools/build-pulumi"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    os.environ["PATH"] = f"{found.stdout.strip()}{os.pathsep}{os.environ['PATH']}"
    os.environ.setdefault("CLUSTERWRIGHT_REASON", "a test")  # a change of what runs is asked why
