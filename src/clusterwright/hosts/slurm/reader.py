"""Reading Slurm's nodes, GPUs, partitions, controllers and topology: slurm.conf(5), gres.conf(5), topology.yaml(5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import yaml

SLURM_CONF = "etc/slurm/slurm.conf"
GRES_CONF = "etc/slurm/gres.conf"
TOPOLOGY_CONF = "etc/slurm/topology.conf"
TOPOLOGY_YAML = "etc/slurm/topology.yaml"
"""Read by 25.05 and later, which then pass over topology.conf."""
CGROUP_CONF = "etc/slurm/cgroup.conf"
SLURMD_DEFAULTS = "etc/default/slurmd"
MOST_NAMES = 1 << 20
"""Names of one expression: more are no cluster's, and would fill the memory."""
_SETTING = re.compile(r'(?P<key>\w+)\s*=\s*(?P<value>"[^"]*"|\S*)')
_PART = re.compile(r"\[(?P<ranges>[\d,-]+)\]|(?P<text>[^\[\],]+)")
# The list and the key of a leaf's name, by the plugin that an entry of topology.yaml names.
_LEAVES_OF_PLUGIN = {"tree": ("switches", "switch"), "block": ("blocks", "block")}
_SERVERS = re.compile(r"--conf-server[ =](?P<servers>[^\s\"']+)")


@dataclass(frozen=True, slots=True)
class SlurmLine:
    """A line of settings; ``words`` are its values by key in small letters."""

    number: int
    words: Mapping[str, str]

    def value(self, key: str) -> str:
        """The value of a key, "" for a line without it."""
        return self.words.get(key, "")


@dataclass(frozen=True, slots=True)
class SlurmLeaf:
    """A leaf switch or a base block; ``nodes`` is an expression for names."""

    line: int
    """The line in its file, from 1."""
    name: str
    nodes: str


@lru_cache(maxsize=64)
def read_lines(text: str) -> tuple[SlurmLine, ...]:
    """The entries of a file of Slurm's. A line with a backslash at its end continues in the next."""
    lines = []
    begun, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = re.sub(r"(?<!\\)#.*", "", line).rstrip()
        first = first or number
        if bare.endswith("\\"):
            begun += bare[:-1] + " "
            continue
        words = {match["key"].lower(): match["value"].strip('"') for match in _SETTING.finditer(begun + bare)}
        if words:
            lines.append(SlurmLine(first, words))
        elif (begun + bare).strip():
            lines.append(SlurmLine(first, {(begun + bare).split()[0].lower(): ""}))
        begun, first = "", 0
    return tuple(lines)


@lru_cache(maxsize=4096)
def names_of(expression: str) -> tuple[str, ...]:
    """The names in an expression such as ``gpu-p[00-01]n[0-1]``.

    Raises ValueError for an unreadable one.
    """
    names: list[str] = []
    for term in _terms(expression):
        names += _names_of_term(term)
        if len(names) > MOST_NAMES:
            raise ValueError(f"{expression}: more names than any cluster has")
    return tuple(names)


def _terms(expression: str) -> Iterator[str]:
    """An expression at its commas outside of brackets."""
    depth, begin = 0, 0
    for index, letter in enumerate(expression):
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield expression[begin:index]
            begin = index + 1
    yield expression[begin:]


def _names_of_term(term: str) -> Iterator[str]:
    choices: list[list[str]] = []
    end = 0
    for match in _PART.finditer(term):
        if match.start() != end:
            raise ValueError(f"{term}: is no list of names")
        end = match.end()
        if match["text"] is not None:
            choices.append([match["text"]])
        else:
            choices.append(list(_numbers(match["ranges"])))
    if end != len(term) or not term:
        raise ValueError(f"{term}: is no list of names")
    return ("".join(parts) for parts in product(*choices))


def _numbers(ranges: str) -> Iterator[str]:
    for written in ranges.split(","):
        low, _, high = written.partition("-")
        last = high or low
        if not low.isdecimal() or not last.isdecimal() or int(last) - int(low) > MOST_NAMES:
            raise ValueError(f"{written}: is no range of numbers")
        for number in range(int(low), int(last) + 1):
            yield f"{number:0{len(low)}}"


def read_servers(text: str) -> tuple[str, ...]:
    """The controllers with slurmd's configuration, in order; none if it names none."""
    match = _SERVERS.search(text)
    if match is None:
        return ()
    return tuple(server.partition(":")[0] for server in match["servers"].split(","))


def leaves_of_conf(text: str) -> Iterator[SlurmLeaf]:
    """The leaves in topology.conf."""
    for line in read_lines(text):
        if line.value("nodes"):
            name = line.value("switchname") or line.value("blockname")
            yield SlurmLeaf(line=line.number, name=name, nodes=line.value("nodes"))


def leaves_of_yaml(text: str) -> Iterator[SlurmLeaf]:
    """The leaves in topology.yaml.

    Raises ValueError for unreadable text, and unless it has exactly one topology.
    """
    try:
        document = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    entries = _items(document)
    if len(entries) != 1:
        raise ValueError(f"{len(entries)} topologies: the one of a partition is not read")
    values = _values(entries[0])
    plugin = _scalar(values.get("topology")) or next((key for key in _LEAVES_OF_PLUGIN if key in values), "")
    if plugin not in _LEAVES_OF_PLUGIN:
        raise ValueError(f"the topology {plugin or 'without a plugin'} has no leaves")
    list_key, name_key = _LEAVES_OF_PLUGIN[plugin]
    for item in _items(_values(values.get(plugin)).get(list_key)):
        leaf = _values(item)
        if "nodes" in leaf:
            yield SlurmLeaf(
                line=item.start_mark.line + 1, name=_scalar(leaf.get(name_key)), nodes=_scalar(leaf["nodes"])
            )


def _items(node: yaml.Node | None) -> list[yaml.Node]:
    """The items of a list; none for anything else."""
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _values(node: yaml.Node | None) -> dict[str, yaml.Node]:
    """The values of a mapping by key; none for anything else."""
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {_scalar(key): value for key, value in node.value}


def _scalar(node: yaml.Node | None) -> str:
    """A scalar's text; "" for anything else."""
    return node.value if isinstance(node, yaml.ScalarNode) else ""
