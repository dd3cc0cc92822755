"""SONiC's own YANG models, loaded by its own program, take the rendered config_db.json and refuse a damaged one.

Outside of `make test`: `make test-foreign` runs it, with a Python and a libyang of Debian 13 (tools/sonic-yang).
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.foreign.sonic_sources import WRITTEN_FOR, sonic_sources
from tests.plans import plan_of

from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(1800)]
TESTS = Path(__file__).parents[1]
CONFIG = "etc/sonic/config_db.json"
EVERY_KEY = TESTS / "schema_keys/specs/sonic.yaml"
Tables = dict[str, dict[str, Any]]


def answers(release: str, texts: Sequence[bytes], folder: Path) -> list[str]:
    """For each text, "valid" or what the models of a release refuse."""
    files = [folder / f"{number}.json" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text)
    words = [str(TESTS.parent / "tools/sonic-yang"), str(sonic_sources()), release, *map(str, files)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line.partition("\t")[2] for line in done.stdout.splitlines()]


def texts_of(plan: Plan) -> list[bytes]:
    rendering = Rendering(plan)
    files = (file for device in plan.devices for file in rendering.of_device(device.name) if file.path == CONFIG)
    return [file.content for file in files]


@pytest.mark.parametrize("release", WRITTEN_FOR)
def test_the_models_take_every_switch(release: str, tmp_path: Path) -> None:
    texts = [*texts_of(plan_of("lab-sonic")), *texts_of(build_plan(load_spec(EVERY_KEY)))]
    assert len(texts) > 4
    assert set(answers(release, texts, tmp_path)) == {"valid"}


def _without_map(tables: Tables) -> None:
    for row in tables["BGP_PEER_GROUP_AF"].values():
        row["route_map_in"] = ["MISSING"]


def _beyond_mtu(tables: Tables) -> None:
    for row in tables["PORT"].values():
        row["mtu"] = "99999"


def _watchdog_of_no_port(tables: Tables) -> None:
    tables["PFC_WD"] = {"Ethernet9999": {"action": "drop", "detection_time": "200", "restoration_time": "400"}}


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_without_map, "Invalid leafref value"),
        (_beyond_mtu, "out of type uint16"),
        (_watchdog_of_no_port, "PFC_WD"),
        (lambda tables: tables.update(UNKNOWN={"a": {"b": "c"}}), "UNKNOWN"),
    ],
)
def test_the_models_refuse_a_damaged_file(damage: Callable[[Tables], None], words: str, tmp_path: Path) -> None:
    tables = json.loads(texts_of(plan_of("lab-sonic"))[0])
    damage(tables)
    (answer,) = answers(WRITTEN_FOR[-1], [json.dumps(tables).encode()], tmp_path)
    assert words in answer
