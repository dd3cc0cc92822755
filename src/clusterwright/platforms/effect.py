"""What a change of a file does to its device while it is applied."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum


class Effect(IntEnum):
    """What a change does to its device while it is applied, the mildest first."""

    LIVE = 0
    RESTART = 1
    REBOOT = 2


Effects = Callable[[str, bytes | None, bytes | None], Effect]
"""Judges the change of a file by its path on the device; None where it was not there before, or is not after.

With LIVE traffic passes on: links that are wanted afterwards stay up, and sessions too, or come back gracefully within
the time that neighbours keep their routes. What is not known to be so is RESTART.
"""
