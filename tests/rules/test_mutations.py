"""Specs that somebody got wrong in ways nobody thought of: findings with a position, never an exception."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

import pytest
import yaml

from clusterwright import data_files
from clusterwright.rules.engine import lint_path
from clusterwright.spec.text.document import Path

INVENTORY = data_files.folder("inventory")
MUTATIONS = {"lab-roce": 145, "lab-ib": 145, "roce-24k": 5, "ib-24k": 5}
"""How many of each spec: a mutation bends sections, which the small specs have as the large ones do. The large ones are
bent less often, for each takes as long as forty small ones; there a wrong number has somewhere to grow.
"""
ODD_VALUES: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        1,
        1024,
        100_000,
        4_294_967_294,
        2**62,
        3.5,
        "",
        "x",
        "é机",
        "a" * 5000,
        [],
        {},
        [1],
        {"a": 1},
    ),
    *("10.0.0.0/8", "::/0", "cluster", "rack", "pod", "rail", "position", "backend", "compute", "gpus"),
]


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from paths(child, (*path, key))


def at(data: Any, path: Path) -> Any:
    for key in path:
        data = data[key]
    return data


def mutated(data: Any, chance: random.Random) -> Any:
    """``data`` with up to three things removed, replaced, moved or repeated."""
    data = copy.deepcopy(data)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        places = list(paths(data))
        place = chance.choice(places)
        parent, key = at(data, place[:-1]), place[-1]
        change = chance.choice(["remove", "remove", "replace", "replace", "replace", "move", "repeat"])
        if change == "remove":
            del parent[key]
        elif change == "replace":
            parent[key] = copy.deepcopy(chance.choice(ODD_VALUES))
        elif change == "move":
            parent[key] = copy.deepcopy(at(data, chance.choice(places)))
        elif isinstance(parent, list):
            parent.append(copy.deepcopy(parent[int(key)]))
    return data


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutated_specs_are_refused_with_positions_or_lint(name: str, tmp_path: FilePath) -> None:
    original = yaml.safe_load((INVENTORY / f"{name}.yaml").read_text())
    file = tmp_path / "mutated.yaml"
    refused = 0
    for seed in range(MUTATIONS[name]):
        spoilt = mutated(original, random.Random(f"{name} {seed}"))
        file.write_text(yaml.dump(spoilt, Dumper=yaml.CSafeDumper, sort_keys=False))
        result = lint_path(file)
        refused += bool(result.findings)
        lines = len(file.read_text().splitlines())
        for finding in result.findings:
            assert finding.position.file == str(file)
            assert 1 <= finding.position.line <= lines
            assert finding.message.endswith("."), finding
            assert finding.hint, finding
    assert refused > MUTATIONS[name] / 2, "most of these mutations break something"
