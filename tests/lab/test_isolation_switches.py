"""Packets through the lists of switches that have some of their own: borders with EOS, and the tables of SONiC."""

from __future__ import annotations

import json
from pathlib import Path

from tests.lab.compared import KINDS, edited, words
from tests.lab.twins import lab, twin_of

from clusterwright import data_files
from clusterwright.extras.lab.cut import Cut
from clusterwright.extras.lab.isolation.compare import compare, rendered_filters

EOS, SONIC = "mnt/flash/startup-config", "etc/sonic/config_db.json"


def test_borders_judge_what_comes_and_what_leaves(tmp_path: Path) -> None:
    path = tmp_path / "twin-border.yaml"
    path.write_text(f"extends: {data_files.folder('inventory') / 'lab-border.yaml'}\nname: twin-border\n")
    for fabric in ("frontend", "management"):
        lab("up", path, "--fabric", fabric)
    try:
        results = json.loads(lab("check", path, "--isolation", "--format", "json"))["labs"]
        assert [outcome["lab"] for outcome in results] == ["twin-border.frontend", "twin-border.management"]
        for outcome in results:
            assert (outcome["differences"], outcome["routes"], outcome["unjudged"]) == ([], [], [])
            assert (set(outcome["sent"]), outcome["zones"]) == (KINDS, 10)
        assert results[0]["lists"] == 20 + 4  # what comes in and what leaves, on two borders
        assert (results[0]["pairs"] > 80, results[0]["nodes"]) == (True, 6)  # storage and service hosts among them
        twin = twin_of(path, Cut(nodes=16), "frontend")
        wrong = edited(rendered_filters(twin), "ssw-00", EOS, lambda text: text.replace("permit tcp", "deny tcp"))
        found = words(compare(twin, wrong))
        assert any("sent by production" in line and "arrives; did not arrive" in line for line in found), found[:5]
    finally:
        lab("down", path)


def test_the_tables_of_sonic_are_asked_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "twin-sonic.yaml"
    path.write_text(f"extends: {data_files.folder('inventory') / 'lab-sonic.yaml'}\nname: twin-sonic\n")
    lab("up", path)
    try:
        twin = twin_of(path, Cut(nodes=16))
        right = rendered_filters(twin)
        result = compare(twin, right)
        assert (result.differences, result.routes, set(result.sent)) == ((), (), KINDS)
        assert result.lists == 4 * 16
        wrong = edited(
            right, "rtsw-p00r00", SONIC, lambda text: text.replace('"L4_DST_PORT": "4791"', '"L4_DST_PORT": "4792"')
        )
        found = words(compare(twin, wrong))
        assert any(":4791 (port" in line and line.endswith("arrives; did not arrive") for line in found), found[:5]
        assert any(":4792 (port" in line and line.endswith("arrived") for line in found), found[:5]
    finally:
        lab("down", path)
