"""Variables that disable functions of NCCL or PyTorch: inventory/nccl/switches.yaml, each with its source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from clusterwright import data_files
from clusterwright.finding import SpecError
from clusterwright.spec.schema.check import check
from clusterwright.spec.structuring import Structuring
from clusterwright.spec.text.reader import read_document

RDMA = "rdma"
# The number at the start of a text, as C's strtoll parses it with base 0.
_NUMBER = re.compile(r"\s*(?P<sign>[+-]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0(?P<octal>[0-7]*)|(?P<decimal>[1-9]\d*))")


@dataclass(frozen=True, slots=True)
class RuntimeSwitch:
    """A variable with its values that disable a function."""

    name: str
    when: str
    """The disabling values: ``nonzero``, ``zero``, ``one``, ``level``, ``set`` or ``words``."""
    stops: str
    """``rdma`` if data between nodes then leaves RDMA, else ``part``."""
    effect: str
    """The rest of a sentence beginning with the variable."""
    source: str
    words: str = ""
    """The pattern of the whole value, for ``words``."""

    def is_off(self, value: str) -> bool:
        """Whether this value disables it. An empty one counts as unset."""
        if not value:
            return False
        if self.when == "set":
            return True
        if self.when == "words":
            return re.fullmatch(self.words, value, re.IGNORECASE) is not None
        if self.when == "level":  # src/graph/paths.cc: a name of a distance, or a number that starts with a digit
            return value == "LOC" or (value[0].isdigit() and c_number(value) == 0)
        number = c_number(value)
        return {"nonzero": number != 0, "zero": number == 0, "one": number == 1}[self.when]


@dataclass(frozen=True, slots=True)
class HarmlessVariable:
    """A variable with the name of a switch, and the reason why it is none."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class PluginNames:
    """The variables of a network plugin."""

    source: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RuntimeSwitches:
    """All known switches, as in the file."""

    switches: tuple[RuntimeSwitch, ...]
    harmless: tuple[HarmlessVariable, ...]
    plugin: PluginNames


# A GPU reaches adapters of another rail through its node by these: without them, data would cross between rails.
PXN = frozenset({"NCCL_PXN_DISABLE", "NCCL_P2P_PXN_LEVEL"})


def c_number(text: str) -> int:
    """A number as parsed by NCCL: 0 for words, hexadecimal after 0x, octal after 0."""
    match = _NUMBER.match(text)
    if match is None:
        return 0
    if match["hex"] is not None:
        size = int(match["hex"], 16)
    elif match["decimal"] is not None:
        size = int(match["decimal"])
    else:
        size = int(match["octal"] or "0", 8)
    return -size if match["sign"] == "-" else size


def switched_off(variables: Mapping[str, str]) -> Iterable[RuntimeSwitch]:
    """Functions turned off by variables with these values."""
    for name, value in variables.items():
        for switch in _by_name().get(name, ()):
            if switch.is_off(value):
                yield switch


def is_switch(name: str) -> bool:
    """True for a variable with a value that disables something."""
    return name in _by_name()


@cache
def runtime_switches() -> RuntimeSwitches:
    """The file. Raises SpecError for an invalid one."""
    document = read_document(data_files.folder("inventory") / "nccl" / "switches.yaml")
    findings = check(document, "nccl-switches")
    if findings:
        raise SpecError(findings)
    return Structuring("nccl-switches").typed(RuntimeSwitches, document.data, ())


@cache
def plugin_names() -> frozenset[str]:
    """The variables of NVIDIA's network plugin, besides NCCL's."""
    return frozenset(runtime_switches().plugin.names)


@cache
def _by_name() -> Mapping[str, tuple[RuntimeSwitch, ...]]:
    switches: dict[str, tuple[RuntimeSwitch, ...]] = {}
    for switch in runtime_switches().switches:
        switches[switch.name] = (*switches.get(switch.name, ()), switch)
    return MappingProxyType(switches)
