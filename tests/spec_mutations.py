"""Seeded ways of spoiling a spec: its bytes, its lines, its data."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import yaml

HUGE = (10**9, 10**30, -1, -(10**18), 1e300, 0.5, 2**63, 100_000, 4096)
ODD: tuple[Any, ...] = (
    None,
    True,
    "",
    " ",
    "0x10",
    "010",
    "cluster",
    "é机\U0001f680",
    "a" * 5000,
    [],
    {},
    [[]],
    {"a": 1},
    "10.0.0.1/8",
)
TRICKS = (
    "x: &a [1]",
    "y: *a",
    "<<: {a: 1}",
    "z: !!python/object/apply:os.system [id]",
    "extends: self.yaml",
    "extends: [a, b]",
    "? [complex, key]\n: 1",
    "--- # another document",
    "%YAML 1.1",
    "count: .nan",
    "count: .inf",
    "\ttab: 1",
    "name: 'open",
    "deep: " + "[" * 200,
    "a: {b: {c: {d: {e: {f: 1}}}}}",
    "bell: \x07",
    "right-to-left: \u202e",
    "# clusterwright: ignore[CW203]",
)

Path = tuple[str | int, ...]


def spoiled(text: str, seed: str) -> bytes:
    """``text`` with one thing wrong that ``seed`` decides; sometimes with several."""
    chance = random.Random(seed)
    content = text.encode()
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        content = chance.choice(_WAYS)(content, chance)
    return content


def _truncated(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _flipped(content: bytes, chance: random.Random) -> bytes:
    spoilt = bytearray(content)
    for _ in range(chance.choice([1, 1, 3, 30])):
        if spoilt:
            spoilt[chance.randrange(len(spoilt))] ^= 1 << chance.randrange(8)
    return bytes(spoilt)


def _relined(content: bytes, chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    change = chance.choice(["drop", "repeat", "swap", "indent", "trick"])
    if change == "drop":
        del lines[one]
    elif change == "repeat":
        lines.insert(other, lines[one])
    elif change == "swap":
        lines[one], lines[other] = lines[other], lines[one]
    elif change == "indent":
        lines[one] = b"  " + lines[one]
    else:
        lines.insert(one, chance.choice(TRICKS).encode())
    return b"\n".join(lines)


def _restructured(content: bytes, chance: random.Random) -> bytes:
    try:
        data = yaml.load(content, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, TypeError):
        return content  # spoilt before
    if not isinstance(data, dict) or not data:
        return content
    data = copy.deepcopy(data)
    for _ in range(chance.choice([1, 1, 2])):
        _change(data, chance)
    return json.dumps(data, indent=1, ensure_ascii=chance.random() < 0.5, default=str).encode()


def _change(data: Any, chance: random.Random) -> None:
    places = list(_paths(data))
    if not places:
        return
    place = chance.choice(places)
    parent, key = _at(data, place[:-1]), place[-1]
    numbers = [path for path in places if type(_at(data, path)) in {int, float}]
    change = chance.choice(["remove", "odd", "huge", "huge", "move", "swap", "repeat", "rename", "cycle"])
    if change == "remove":
        del parent[key]
    elif change == "odd":
        parent[key] = copy.deepcopy(chance.choice(ODD))
    elif change == "huge" and numbers:
        number = chance.choice(numbers)
        _at(data, number[:-1])[number[-1]] = chance.choice(HUGE)
    elif change == "move":
        parent[key] = copy.deepcopy(_at(data, chance.choice(places)))
    elif change == "swap" and isinstance(data, dict):
        one, other = chance.choice(list(data)), chance.choice(list(data))
        data[one], data[other] = data[other], data[one]
    elif change == "repeat" and isinstance(parent, list):
        parent.insert(chance.randrange(len(parent) + 1), copy.deepcopy(parent[int(key)]))
    elif change == "rename" and isinstance(parent, dict):
        parent[f"{key}{chance.choice(['s', 'ß', '-', ' '])}"] = parent.pop(key)
    elif change == "cycle" and isinstance(data, dict):
        data["extends"] = chance.choice(["spoilt.yaml", "./spoilt.yaml", "../x/spoilt.yaml", "nowhere.yaml", ".", "/"])


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from _paths(child, (*path, key))


def _at(data: Any, path: Path) -> Any:
    for key in path:
        data = data[key]
    return data


_WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _truncated,
    _flipped,
    _relined,
    _restructured,
    _restructured,
    _restructured,
)
