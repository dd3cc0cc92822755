"""Reading the planned cabling as ibdm's tools do: systems, their cables, and the names of a model's ports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

FOLDER = "etc/opensm/topology/"
TOPOLOGY, NETLIST = ".topo", ".ibnl"
_PORT = re.compile(r"^ +\d+ -> (\S+)$", re.M)


@dataclass(frozen=True, slots=True)
class TopologyCables:
    """The model of each system, and cables; ``unknown`` are lines of another form, with their numbers."""

    models: dict[str, str]
    cables: dict[tuple[str, str, str, str], int]
    """By system and port of both ends, those of the lesser end first, the line."""
    unknown: tuple[tuple[int, str], ...]
    faults: tuple[tuple[int, str], ...]
    """Lines that contradict others."""
    ports: dict[tuple[str, str], int]
    """The ports of each model that have a cable, with a line of theirs."""


@lru_cache(maxsize=16)
def read_topology(text: str) -> TopologyCables:
    """The content of a topology file."""
    models: dict[str, str] = {}
    cables: dict[tuple[str, str, str, str], int] = {}
    ports: dict[tuple[str, str], int] = {}
    far_models: dict[tuple[str, str], int] = {}
    unknown, faults = [], []
    system = model = ""
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if len(words) == 5 and words[1] == "->" and system:
            port, _, far_model, far, far_port = words
            first, second = sorted([(system, port), (far, far_port)])
            cables[*first, *second] = number
            ports[model, port] = ports[far_model, far_port] = number
            far_models[far, far_model] = number
        elif len(words) == 2 and not line.startswith((" ", "#")):
            model, system = words
            models[system] = model
        elif words and not line.startswith("#"):
            unknown.append((number, line))
    for (far, far_model), number in far_models.items():
        if models.get(far) != far_model:
            model_elsewhere = models.get(far, "of no line")
            faults.append((number, f"{far} is of the model {model_elsewhere} elsewhere, and {far_model} here"))
    return TopologyCables(models=models, cables=cables, unknown=tuple(unknown), faults=tuple(faults), ports=ports)


@lru_cache(maxsize=64)
def read_netlist(text: str) -> frozenset[str]:
    """The panel names of a model's ports."""
    return frozenset(_PORT.findall(text))
