"""A rank of a job, in a process of its own: NCCL meets the others, connects, and says what an all-reduce would take.

Called with the rank, how many there are, the file that the first rank leaves NCCL's identifier in, and sizes in bytes.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from pathlib import Path

FLOAT32, SUM = 7, 0  # ncclDataType_t, ncclRedOp_t (nccl.h)
SIMULATION_MAGIC = 0x74685283  # NCCL_SIM_INFO_INITIALIZER


class Identifier(ctypes.Structure):
    """ncclUniqueId."""

    _fields_ = (("internal", ctypes.c_char * 128),)


class Simulation(ctypes.Structure):
    """ncclSimInfo_t; the time is in microseconds."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("magic", ctypes.c_uint),
        ("version", ctypes.c_uint),
        ("estimated_time", ctypes.c_float),
    )


def main(rank: int, ranks: int, meeting: Path, sizes: list[int]) -> None:
    """Join as ``rank``; print a line for the connection, and one for each size."""
    nccl = ctypes.CDLL("libnccl.so.2")
    version = ctypes.c_int()
    nccl.ncclGetVersion(ctypes.byref(version))
    identifier = Identifier()
    if rank == 0:
        done(nccl.ncclGetUniqueId(ctypes.byref(identifier)))
        aside = meeting.with_suffix(".part")
        aside.write_bytes(bytes(identifier))
        aside.rename(meeting)
    else:
        while not meeting.exists():
            time.sleep(0.01)
        ctypes.memmove(ctypes.byref(identifier), meeting.read_bytes(), ctypes.sizeof(identifier))
    job = ctypes.c_void_p()
    nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, Identifier, ctypes.c_int]
    done(nccl.ncclCommInitRank(ctypes.byref(job), ranks, identifier, rank))
    say("connected", version.value)
    buffer = ctypes.create_string_buffer(8)  # nothing is ever moved
    nccl.ncclAllReduce.argtypes = [*[ctypes.c_void_p] * 2, ctypes.c_size_t, *[ctypes.c_int] * 2, *[ctypes.c_void_p] * 2]
    for size in sizes:
        simulation = Simulation(ctypes.sizeof(Simulation), SIMULATION_MAGIC, version.value, -1.0)
        done(nccl.ncclGroupStart())
        done(nccl.ncclAllReduce(buffer, buffer, size // 4, FLOAT32, SUM, job, None))
        done(nccl.ncclGroupSimulateEnd(ctypes.byref(simulation)))
        say("all-reduce", size, simulation.estimated_time)
    os._exit(0)  # the others may still read this rank's memory: nobody waits for a common end


def say(*words: object) -> None:
    """Print a line at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def done(result: int) -> None:
    """Ends the process where NCCL refuses."""
    if result:
        say("refused", result)
        os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), [int(size) for size in sys.argv[4:]])
