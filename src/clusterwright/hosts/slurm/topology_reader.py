"""Reading the leaves of Slurm's topology: topology.conf(5), and topology.yaml(5), read instead by 25.05 and later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from clusterwright.hosts.slurm.reader import read_lines

TOPOLOGY_CONF = "etc/slurm/topology.conf"
TOPOLOGY_YAML = "etc/slurm/topology.yaml"
# The list and the key of a leaf's name, by the plugin that an entry of topology.yaml names.
_LEAVES_OF_PLUGIN = {"tree": ("switches", "switch"), "block": ("blocks", "block")}


@dataclass(frozen=True, slots=True)
class SlurmLeaf:
    """A leaf switch or a base block; ``nodes`` is an expression for names."""

    line: int
    """The line in its file, from 1."""
    name: str
    nodes: str


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
