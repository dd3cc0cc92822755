"""Typing the rollout policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clusterwright.spec.rollout import DEFAULT_ROLLOUT, BootPolicy, GatePolicies, RolloutPolicy
from clusterwright.spec.text.document import Path


def rollout(data: Mapping[str, Any] | None, path: Path) -> RolloutPolicy:
    """The rollout policy at ``path``; the defaults where the spec has none, or leaves a field out."""
    if data is None:
        return DEFAULT_ROLLOUT
    defaults = GatePolicies()
    gates = {name: replace(getattr(defaults, name), **fields) for name, fields in data.get("gates", {}).items()}
    boots = BootPolicy(**data["boots"]) if "boots" in data else None
    return RolloutPolicy(**{**data, "gates": replace(defaults, **gates), "boots": boots}, path=path)
