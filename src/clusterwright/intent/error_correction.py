"""Forward error correction of Ethernet links: what both ends of a cable must be told alike."""

from __future__ import annotations

# The longest 25G copper cable that runs with the short-latency code (25GBASE-CR-S).
FIRE_CODE_M = 3.0


def error_correction(speed_gbps: int, medium: str, length_m: float) -> str | None:
    """The forward error correction of a link, the same at both ends; None where the standard has none.

    IEEE 802.3: every lane of 50 Gb/s or more needs Reed-Solomon, 100G over four lanes as well (but for 100GBASE-LR4,
    which reaches further than any cable here); 25G over short copper takes the fire code, which is faster.
    """
    if speed_gbps >= 50 and speed_gbps != 40:
        return "reed-solomon"
    if speed_gbps == 25:
        return "fire-code" if medium == "dac" and length_m <= FIRE_CODE_M else "reed-solomon"
    return None
