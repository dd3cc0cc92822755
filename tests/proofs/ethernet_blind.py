"""Edits of nodes' rendered files at random places, and why some change nothing that the proofs speak of."""

from __future__ import annotations

import re
from random import Random

_NODE = "NCCL's own tuning, judged by the rules for NCCL"
_DEFAULT = "states what the system does by itself"
_WIDER = "still allows all that is needed and nothing foreign"

HARMLESS: tuple[tuple[str, str], ...] = (
    (r"^NCCL_|^TORCH_|^GLOO", _NODE),
    (
        r"^#|^\[(Match|Link|Network|Address|Route|RoutingPolicyRule)\]$|^(DHCP|LLMNR|Multicast|LLDP|EmitLLDP|LinkLocal)",
        _DEFAULT,
    ),
    (r"^(Priority|Table|Family|OutgoingInterface|Destination)=", _WIDER),
    (r"^\s*(mlnx_qos.*(cable_len|dscp2prio|dcbx)|set -|#|strayed|awk )", _WIDER),
)
"""By the line that is edited. Switches' files have no such list here: see test_values.py."""


def reason(place: str) -> str | None:
    """Why an edit at a place changes nothing that the proofs speak of; None when it should be caught."""
    return next((why for pattern, why in HARMLESS if re.search(pattern, place)), None)


def blind_edit(text: str, chosen: Random) -> tuple[str, str]:
    """A random line of a file, and the text after it was taken out or a number in it changed."""
    lines = text.split("\n")
    at = chosen.choice([at for at, line in enumerate(lines) if line.strip() not in {"", "!"}])
    line = lines[at]
    header = next((line for line in reversed(lines[:at]) if line and line[0] not in " !"), "")
    is_inner = line.startswith(" ") and not text.startswith("#")
    numbers = list(re.finditer(r"\d+", line))
    if numbers and chosen.random() < 1 / 2:
        choice = chosen.choice(numbers)
        lines[at] = f"{line[: choice.start()]}{int(choice[0]) + 1}{line[choice.end() :]}"
    else:
        del lines[at]
    return f"{header} > {line.strip()}" if is_inner else line, "\n".join(lines)
