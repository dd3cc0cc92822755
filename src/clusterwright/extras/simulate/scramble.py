"""Reproducible pseudo-random numbers: a pure function of a seed, a purpose and an index.

numpy's generators may give another sequence in another release; figures in the documentation must not change.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_STEP = np.uint64(0x9E3779B97F4A7C15)


def scrambled(seed: int, purpose: int, count: int) -> npt.NDArray[np.uint64]:
    """``count`` 64-bit numbers by the finaliser of SplitMix64 (Steele, Lea, Flood 2014), applied twice."""
    start = _mixed(np.asarray([(seed * 64 + purpose) & 0xFFFFFFFFFFFFFFFF], np.uint64))
    return _mixed(start + np.arange(1, count + 1, dtype=np.uint64) * _STEP)


def _mixed(value: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
