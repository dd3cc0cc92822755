"""What the real catalogue's models offer a generator: speeds, ports at a speed, and which switches could carry a
load."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from clusterwright.data_files import folder
from clusterwright.spec.hardware.consistency import load_models
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.text.reader import read_document

TWO_PORTS = Path(__file__).with_name("two-ports.yaml")
"""A node whose GPUs have two ports each, which no model of the catalogue has."""


@cache
def models() -> Mapping[str, HardwareModel]:
    """Every model of inventory/hardware, and of TWO_PORTS, by name."""
    return {
        loaded.model.name: loaded.model
        for path in (*sorted((folder("inventory") / "hardware").glob("*.yaml")), TWO_PORTS)
        for loaded in load_models(read_document(path))[0]
    }


@cache
def ports_at(model: str, speed_gbps: int) -> int:
    """Ports of a switch when all of it runs at this speed, each block in its first mode of it."""
    return sum(
        len(block.cages) * len(mode.subports)
        for block in models()[model].blocks
        if (mode := block.mode(speed_gbps)) is not None
    )


@cache
def switches(technology: str) -> tuple[str, ...]:
    """Switch models for a fabric of this technology."""
    return tuple(name for name, model in models().items() if model.blocks and technology in model.technology)


def carries(model: str, loads: Mapping[int, int]) -> bool:
    """Whether so many ports at each speed fit on one switch; a guess where blocks differ, which lint then corrects."""
    return all(ports_at(model, speed) for speed in loads) and (
        sum(count / ports_at(model, speed) for speed, count in loads.items()) <= 1
    )


def nics(model: str, group: str) -> tuple[int, int]:
    """How many NICs a node's group has, and their speed in Gb/s."""
    found = models()[model].nic_group(group)
    assert found is not None
    return len(found.nics), found.speed_gbps
