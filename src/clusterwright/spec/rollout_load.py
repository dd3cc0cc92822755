"""Typing the rollout policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.spec.document import Path
from clusterwright.spec.rollout import DEFAULT_ROLLOUT, RolloutPolicy


def rollout(data: Mapping[str, Any] | None, path: Path) -> RolloutPolicy:
    """The rollout policy at ``path``; the defaults where the spec has none, or leaves a field out."""
    return DEFAULT_ROLLOUT if data is None else RolloutPolicy(**data, path=path)
