"""Typing the execution nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.spec.document import Path
from clusterwright.spec.execution import MESH_PORT, ExecutionMesh, ExecutionNode
from clusterwright.spec.reading import Reading


def execution(reading: Reading, data: Mapping[str, Any], path: Path) -> ExecutionMesh:
    """The section ``execution`` at ``path``."""
    nodes = reading.each(data, "nodes", _node, path)
    return ExecutionMesh(data["controller"], nodes, data["fabric"], data.get("port", MESH_PORT), path)


def _node(data: Mapping[str, Any], path: Path) -> ExecutionNode:
    return ExecutionNode(data["device"], tuple(data.get("pods", ())), path)
