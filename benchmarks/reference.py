"""What a machine does in a second of processor time, measured beside the figures: they mean something only with it."""

from __future__ import annotations

import time
from importlib import import_module

_MILLIONS, _RUNS = 20, 3


def figures(section: str, *, is_smallest: bool) -> str:
    """What a section has to say, and what the machine does beside it."""
    report = import_module(f"benchmarks.{section}").report(is_smallest=is_smallest)
    return f"{report}\n\n{loop(is_smallest=is_smallest)}\n"


def loop(*, is_smallest: bool) -> str:
    """What to print beside figures: the processor time of a bare loop, the least of three runs; at its smallest, that
    of a hundredth of it, once."""
    millions, runs = (_MILLIONS / 100, 1) if is_smallest else (_MILLIONS, _RUNS)
    least = min(_once(int(millions * 1_000_000)) for _ in range(runs))
    return f"Beside it a bare loop of {millions} million additions took {least:.2f} s of processor time."


def _once(additions: int) -> float:
    start, total = time.process_time(), 0
    for number in range(additions):
        total += number
    return time.process_time() - start
