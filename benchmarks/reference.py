"""What a machine does in a second of processor time, measured beside the figures: they mean something only with it."""

from __future__ import annotations

import time

_ADDITIONS, _RUNS = 20_000_000, 3


def loop_s() -> float:
    """Seconds of processor time of a bare loop of 20 million additions, the least of three runs."""
    return min(_once() for _ in range(_RUNS))


def _once() -> float:
    start, total = time.process_time(), 0
    for number in range(_ADDITIONS):
        total += number
    return time.process_time() - start
