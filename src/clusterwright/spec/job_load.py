"""Typing NCCL profiles and the scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.spec.document import Path
from clusterwright.spec.job import NcclProfile, Scheduler
from clusterwright.spec.reading import Reading


def nccl(reading: Reading, data: Mapping[str, Any], path: Path) -> NcclProfile:
    """The NCCL profile at ``path``."""
    return NcclProfile(
        version=data["version"],
        fabric=data["fabric"],
        nodes=data["nodes"],
        sockets=data["sockets"],
        qps_per_connection=data.get("qps_per_connection", 1),
        split_data_on_qps=data.get("split_data_on_qps", False),
        data_class=data.get("data_class"),
        control_dscp=data.get("control_dscp"),
        service_level=data.get("service_level"),
        timeout=data.get("timeout", 20),  # NCCL's own default since 2.23
        retry_count=data.get("retry_count", 7),
        cross_nic=data.get("cross_nic"),
        variables={key: str(value) for key, value in data.get("variables", {}).items()},
        path=path,
    )


def scheduler(reading: Reading, data: Mapping[str, Any], path: Path) -> Scheduler:
    """The batch system at ``path``."""
    return Scheduler(
        kind=data["kind"],
        nodes=data["nodes"],
        plugin=data["plugin"],
        leaf=data["leaf"],
        block_sizes=tuple(data.get("block_sizes", ())),
        path=path,
    )
