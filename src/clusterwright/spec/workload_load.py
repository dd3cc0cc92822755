"""Typing jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.spec.text.document import Path
from clusterwright.spec.workload import AXES, Job, ModelFigures


def job(data: Mapping[str, Any], path: Path) -> Job:
    """One job at ``path``."""
    return Job(
        name=data["name"],
        nodes=data["nodes"],
        sizes={axis: data["axes"].get(axis, 1) for axis in AXES},
        order=tuple(data.get("order", AXES)),
        data_parallel=data.get("data_parallel", "fsdp"),
        reshard_after_forward=data.get("reshard_after_forward", False),
        virtual_stages=data.get("virtual_stages", 1),
        model=_model(data["model"]) if "model" in data else None,
        bytes_per_step=dict(data.get("bytes_per_step", {})),
        path=path,
    )


def _model(data: Mapping[str, Any]) -> ModelFigures:
    return ModelFigures(
        parameters=float(data["parameters"]),
        layers=data["layers"],
        hidden=data["hidden"],
        kv_hidden=data.get("kv_hidden", data["hidden"]),
        sequence=data["sequence"],
        microbatch=data["microbatch"],
        microbatches=data["microbatches"],
        activation_bytes=data.get("activation_bytes", 2),
        parameter_bytes=data.get("parameter_bytes", 2),
        gradient_bytes=data.get("gradient_bytes", 4),
    )
