"""PyTorch's variables for its NCCL process groups, by the names of the profile's release.

They moved: NCCL_* up to 2.1, TORCH_NCCL_* since 2.2, and the flight recorder's to TORCH_FR_* in 2.9 (names read from
the libraries, inventory/nccl). Variables unknown to a release are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.spec.job import NcclProfile
from clusterwright.spec.runtime.names import known_names, release
from clusterwright.spec.text.document import Path

FIRST_TORCH_PREFIX = (2, 2)  # older ones read NCCL_BLOCKING_WAIT and its like
FIRST_OWN_RECORDER = (2, 9)  # older ones read TORCH_NCCL_TRACE_BUFFER_SIZE
RANKS_PER_ROOT = 128  # PyTorch's own default (2.6 and later)
OF_JOB = "/job-%j/"
"""Placeholder of a job's folder in a value; ``%j`` is the job's number, as in Slurm's file names."""
DUMP_WAIT_MS = 60_000  # as long as PyTorch waits for records by default

TorchSetting = tuple[str, str, Path, str]


def torch_settings(nccl: NcclProfile) -> tuple[TorchSetting, ...]:
    """Name, value, origin and reason of each variable; none if the profile names no PyTorch."""
    if nccl.pytorch is None:
        return ()
    names = known_names("torch", nccl.pytorch)
    settings = (*_errors(nccl, nccl.pytorch), *_recorder(nccl, nccl.pytorch))
    if names is None:
        return settings
    return tuple(setting for setting in settings if setting[0] in names)


def _errors(nccl: NcclProfile, pytorch: str) -> Iterator[TorchSetting]:
    if release(pytorch) >= FIRST_TORCH_PREFIX:
        prefix, mode = "TORCH_NCCL_", "3"
        manner = "without tearing communicators down first, which loses the records (mode 3)"
    else:
        prefix, mode = "NCCL_", "1"
        manner = "(mode 1)"
    key: Path = (*nccl.path, "pytorch")
    yield f"{prefix}ASYNC_ERROR_HANDLING", mode, key, f"a failed or late collective ends the process, {manner}"
    yield f"{prefix}DESYNC_DEBUG", "1", key, "after a timeout, says which ranks were at which collective"
    yield (
        f"{prefix}ENABLE_MONITORING",
        "1",
        key,
        "a thread watches the watchdog itself, and ends a process that hangs",
    )
    if nccl.heartbeat_timeout_s is not None:
        why = "longer than the slowest start of a job at this size, or the watchdog ends it while it still connects"
        place: Path = (*nccl.path, "heartbeat_timeout_s")
        yield f"{prefix}HEARTBEAT_TIMEOUT_SEC", str(nccl.heartbeat_timeout_s), place, why
    why = "one root for so many ranks: thousands find each other in parallel (needs NCCL 2.23 or later)"
    if release(nccl.version) >= (2, 23):
        yield f"{prefix}RANKS_PER_ROOT", str(RANKS_PER_ROOT), key, why


def _recorder(nccl: NcclProfile, pytorch: str) -> Iterator[TorchSetting]:
    recorder = nccl.flight_recorder
    if recorder is None:
        return
    has_recorder = release(pytorch) >= FIRST_OWN_RECORDER
    key: Path = (*nccl.path, "flight_recorder")
    size = "TORCH_FR_BUFFER_SIZE" if has_recorder else "TORCH_NCCL_TRACE_BUFFER_SIZE"
    target = "TORCH_FR_DUMP_TEMP_FILE" if has_recorder else "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"
    yield size, str(recorder.entries), (*key, "entries"), "collectives that each rank remembers"
    yield (
        target,
        f"{recorder.folder}{OF_JOB}rank_",
        (*key, "folder"),
        "the file of each rank's record; its number is added",
    )
    yield "TORCH_NCCL_DUMP_ON_TIMEOUT", "1", key, "the records are written when a collective times out"
    why = "a rank that noticed the timeout waits so long for the others to write theirs"
    yield "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", str(DUMP_WAIT_MS), key, why
    pipe = f"{recorder.folder}{OF_JOB}pipe_rank_"
    yield "TORCH_NCCL_DEBUG_INFO_PIPE_FILE", pipe, (*key, "folder"), "writing to this pipe asks a rank for its record"
