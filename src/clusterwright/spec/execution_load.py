"""Typing the execution nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.spec.execution import LOST_AFTER_S, MESH_PORT, SILENT_AFTER_S, ExecutionMesh, ExecutionNode
from clusterwright.spec.reading import Reading
from clusterwright.spec.text.document import Path


def execution(reading: Reading, data: Mapping[str, Any], path: Path) -> ExecutionMesh:
    """The section ``execution`` at ``path``."""
    nodes = reading.each(data, "nodes", _node, path)
    return ExecutionMesh(
        data["controller"],
        nodes,
        data["fabric"],
        data.get("port", MESH_PORT),
        data.get("lost_after_s", LOST_AFTER_S),
        data.get("silent_after_s", SILENT_AFTER_S),
        path,
    )


def _node(data: Mapping[str, Any], path: Path) -> ExecutionNode:
    return ExecutionNode(data["device"], tuple(data.get("pods", ())), path)
