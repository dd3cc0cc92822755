"""How NCCL reads its files, written from its published source: the parameter file (src/misc/param.cc, setEnvFile), the
topology (src/graph/xml.cc) and the example tuner's table (plugins/tuner/example)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LONGEST_LINE = 4095
LONGEST_VALUE = 1023
LONGEST_TUNER_LINE = 255


def read_parameters(text: str) -> dict[str, str]:
    """Names and values: a line ends at the newline, a comment has # in column one, nothing is trimmed or unquoted.

    The first assignment of a name wins: later ones do not overwrite the environment.
    """
    found: dict[str, str] = {}
    for line in text.split("\n"):
        assert len(line) <= LONGEST_LINE
        if line.startswith("#") or "=" not in line:
            continue
        name, _, value = line.partition("=")
        found.setdefault(name, value[:LONGEST_VALUE])
    return found


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)


# Which elements NCCL takes inside which; it passes over all others.
CHILDREN = {
    "": {"system"},
    "system": {"cpu"},
    "cpu": {"pci", "nic"},
    "pci": {"pci", "gpu", "nic", "pcilink"},
    "gpu": {"nvlink", "c2c"},
    "nic": {"net"},
}
MOST_ATTRIBUTES = 16
MOST_CHILDREN = 32
LONGEST_STRING = 255
# Attributes that NCCL writes itself for each element (ncclTopoDumpXmlRec of a detected machine).
ATTRIBUTES = {
    "system": {"version"},
    "cpu": {"numaid", "affinity", "arch", "vendor", "familyid", "modelid", "host_hash"},
    "pci": {"busid", "class", "vendor", "device", "subsystem_vendor", "subsystem_device", "link_speed", "link_width"},
    "gpu": {"dev", "sm", "rank", "gdr"},
    "nvlink": {"target", "count", "tclass"},
    "net": {"name", "dev", "speed", "port", "latency", "guid", "maxconn", "gdr"},
}
_TAG = re.compile(r'<(/?)(\w+)((?: \w+="[^"]*")*)(/?)>')


def read_topology(text: str) -> Element:
    """The tree, read as strictly as NCCL does: a single blank before each attribute, double quotes, known elements."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    root = Element("", {})
    open_elements = [root]
    at = 0
    while at < len(text):
        if text[at] in " \n\r":
            at += 1
            continue
        tag = _TAG.match(text, at)
        assert tag is not None, f"NCCL cannot read {text[at : at + 60]!r}"
        at = tag.end()
        closes, name, attributes, is_single = tag.groups()
        if closes:
            assert open_elements.pop().name == name
            continue
        element = Element(name, dict(re.findall(r'(\w+)="([^"]*)"', attributes)))
        parent = open_elements[-1]
        assert name in CHILDREN.get(parent.name, set()), f"NCCL ignores {name} in {parent.name}"
        assert set(element.attributes) <= ATTRIBUTES[name], f"NCCL knows no {set(element.attributes)} of {name}"
        assert len(element.attributes) <= MOST_ATTRIBUTES
        assert all(len(value) < LONGEST_STRING for value in element.attributes.values())
        parent.children.append(element)
        assert len(parent.children) <= MOST_CHILDREN
        if not is_single:
            open_elements.append(element)
    assert open_elements == [root], "unterminated"
    (system,) = root.children
    assert system.attributes["version"] == "1"
    return system


def read_tuner_table(text: str) -> list[tuple[str, int, int, str, str, int, int, int]]:
    """The rows; words that the example tuner takes for something else are refused."""
    rows = []
    for line in text.splitlines():
        assert len(line) <= LONGEST_TUNER_LINE
        if line.startswith("#") or not line:
            continue
        collective, low, high, algorithm, protocol, channels, nodes, ranks = line.split(",")
        assert collective in {"broadcast", "reduce", "allgather", "reducescatter", "allreduce"}
        assert algorithm in {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"}
        assert protocol in {"ll", "ll128", "simple"}
        rows.append((collective, int(low), int(high), algorithm, protocol, int(channels), int(nodes), int(ranks)))
    return rows
