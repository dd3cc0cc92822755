"""How much is done, counted instead of timed: lines of the project that run, calls it makes, elements of its arrays.

Every turn of a loop is a line that runs, in comprehensions too. What numpy does inside is seen by the arrays that a
function has made when it ends.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import clusterwright

_ROOT = str(Path(clusterwright.__file__).parent)
_FEW = 2000
"""What is done at the largest size, below which nobody looks at how it grew."""

Work = Mapping[str, int]
"""How much each function did, by file and name; "" is all together."""


def work(run: Callable[[], object], root: str = _ROOT) -> Work:
    """What every function below ``root`` did in a call."""
    counts: Counter[CodeType] = Counter()
    is_own: dict[CodeType, bool] = {}

    def inside(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if event == "line":
            counts[code] += 1
        elif event == "return" and "np" in frame.f_globals:
            made = code.co_varnames[code.co_argcount + code.co_kwonlyargcount :]
            held = (frame.f_locals.get(name) for name in made)
            counts[code] += sum(array.size for array in held if isinstance(array, np.ndarray))
        return inside

    def entered(frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        if code not in is_own:
            is_own[code] = code.co_filename.startswith(root)
        if is_own[code]:
            counts[code] += 1
            return inside
        if frame.f_back is not None and is_own.get(frame.f_back.f_code, False):
            counts[frame.f_back.f_code] += 1
        return None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        run()
    finally:
        sys.settrace(before)
    named = Counter({"": sum(counts.values())})
    for code, count in counts.items():
        named[f"{code.co_filename.removeprefix(root)}:{code.co_qualname}"] += count
    return named


def steeper(found: Sequence[Work], sizes: Sequence[int], most: float, least: float = 1) -> dict[str, float]:
    """What grows faster than the size: ``most`` times as much for a unit of size or more, from the second size to the
    third against from the first to the second.

    What all sizes need alike cancels out, so that it hides nothing. Only what is ``least`` times as much at the third
    size as at the second or more, so that a step in what hardly grows is none.
    """
    first, second, third = found
    told = {}
    for name, last in third.items():
        low, high = first.get(name, 0), second.get(name, 0)
        before, after = (high - low) / (sizes[1] - sizes[0]), (last - high) / (sizes[2] - sizes[1])
        if last >= max(_FEW, least * high) and after > most * max(before, 0):
            told[name] = round(after / before, 2) if before > 0 else float("inf")
    return told
