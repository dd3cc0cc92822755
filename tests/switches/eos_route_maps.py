"""Route maps and prefix lists as AVD's structured configuration has them."""

from __future__ import annotations

from typing import Any


def sequence(actions: list[str]) -> list[dict[str, Any]]:
    return [{"sequence": 10 * number, "action": action} for number, action in enumerate(actions, 1)]


def route_map(name: str, *steps: tuple[str, str | None]) -> dict[str, Any]:
    return {
        "name": name,
        "sequence_numbers": [
            {"sequence": 10 * number, "type": "permit", "match": [match]} | ({"set": [action]} if action else {})
            for number, (match, action) in enumerate(steps, 1)
        ],
    }
