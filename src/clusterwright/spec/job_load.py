"""Typing NCCL profiles and the scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.spec.job import FlightRecorder, Kueue, NcclProfile, Scheduler, SlurmTopology, Tuner, TunerRow
from clusterwright.spec.reading import Reading
from clusterwright.spec.text.document import Path

SLURM = "slurm"


def nccl(reading: Reading, data: Mapping[str, Any], path: Path) -> NcclProfile:
    """The NCCL profile at ``path``."""
    recorder = data.get("flight_recorder")
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
        pytorch=data.get("pytorch"),
        heartbeat_timeout_s=data.get("heartbeat_timeout_s"),
        flight_recorder=FlightRecorder(recorder["entries"], recorder["folder"]) if recorder is not None else None,
        tuner=_tuner(reading, data["tuner"], (*path, "tuner")) if "tuner" in data else None,
        topology_file=data.get("topology_file", False),
        variables={key: str(value) for key, value in data.get("variables", {}).items()},
        path=path,
    )


def _tuner(reading: Reading, data: Mapping[str, Any], path: Path) -> Tuner:
    return Tuner(data["plugin"], reading.each(data, "rows", _tuner_row, path), path)


def _tuner_row(data: Mapping[str, Any], path: Path) -> TunerRow:
    return TunerRow(
        collective=data["collective"],
        min_bytes=data.get("min_bytes", 0),
        max_bytes=data["max_bytes"],
        algorithm=data["algorithm"],
        protocol=data["protocol"],
        channels=data.get("channels"),
        nodes=data.get("nodes"),
        ranks=data.get("ranks"),
        path=path,
    )


def scheduler(reading: Reading, data: Mapping[str, Any], path: Path) -> Scheduler:
    """The batch system at ``path``."""
    is_slurm, kueue = data["kind"] == SLURM, data.get("kueue")
    return Scheduler(
        nodes=data["nodes"],
        slurm=SlurmTopology(data["plugin"], data["leaf"], tuple(data.get("block_sizes", ()))) if is_slurm else None,
        kueue=Kueue(kueue["label_prefix"], kueue["flavor"]) if kueue is not None else None,
        path=path,
    )
