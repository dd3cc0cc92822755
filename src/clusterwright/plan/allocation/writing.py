"""Text of an allocation file: YAML, one fact a line in the plan's order, with ranges for consecutive names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from clusterwright.plan.model import format_address
from clusterwright.spec.allocated.facts import Allocated, Freed, StandingCable, StandingNode, StandingSwitch
from clusterwright.spec.allocated.ranges import expand, fold
from clusterwright.spec.allocated.reading import CABLES, WHOLE_CLUSTER
from clusterwright.spec.model import ClusterSpec

HEADER = """\
# What stands in {name}: groups, nodes, switches and cables with their numbers, ports and addresses. Nothing here moves
# while the spec grows. Written by `clusterwright allocate`, which adds what is new; docs/growing.md tells more.
version: 1
"""


def allocation_text(spec: ClusterSpec, stands: Allocated) -> str:
    """The whole file."""
    versions: dict[str, int] = {}
    lengths: dict[str, int] = {}
    for fabric in spec.fabrics:
        if fabric.addressing is not None:
            versions[fabric.name] = fabric.addressing.hosts.version
            lengths[fabric.name] = fabric.addressing.hosts_per_switch
    lines = [HEADER.format(name=spec.name), "\ngroups:\n"]
    for (nodes, level, parent), groups in stands.groups.items():
        lines.append(f"  {nodes} {level}{f' in {parent}' if parent else ''}: {fold(groups.names)}\n")
    lines.append("\nnodes:\n")
    lines += (f"  {line}\n" for line in _nodes(stands))
    lines.append("\nswitches:\n")
    for switch in stands.switches.values():
        lines.append(f"  {switch.name}: {_switch(switch, versions, lengths)}\n")
    for fabric_name, cables in stands.cables.items():
        if cables:
            lines.append(f"\n{CABLES}{fabric_name}:\n")
            # The ports of a bond share the address of the first: a line has one for each of its ports, or none.
            for _, device_cables in groupby(cables.values(), key=lambda cable: (cable.device, cable.address is None)):
                lines.append(f"  {_cables(list(device_cables), versions.get(fabric_name, 0))}\n")
    if stands.freed:
        lines.append("\nfreed:\n")
        lines += (f"  {line}\n" for line in _freed(stands, versions))
    if stands.former:
        lines.append("\nformerly:\n")
        lines += (f"  {line}\n" for line in _former(stands.former))
    return "".join(lines)


def _former(former: Mapping[str, str]) -> Iterator[str]:
    """Runs of today's names and of former names, each run one word."""
    names = list(former)
    start = 0
    for word in fold(names).split():
        run_names = names[start : start + len(expand(word))]
        former_names = fold([former[name] for name in run_names])
        is_one_word = " " not in former_names
        if is_one_word:
            yield f"{word}: {former_names}"
        else:
            yield from (f"{name}: {former[name]}" for name in run_names)
        start += len(run_names)


def _nodes(stands: Allocated) -> Iterator[str]:
    def home(node: StandingNode) -> tuple[str, str]:
        return node.group, node.name.rpartition("n")[0]

    for (group, _), alike in groupby(stands.nodes.values(), key=home):
        rack_nodes = list(alike)
        for names, nodes in _one_word(rack_nodes):
            numbers = fold([str(node.number) for node in nodes])
            yield f"{names}: of {group} numbers {numbers} units {' '.join(f'{node.unit:g}' for node in nodes)}"


def _one_word(nodes: Sequence[StandingNode]) -> Iterator[tuple[str, list[StandingNode]]]:
    """Runs of one group's nodes, the names of each run one word."""
    start = 0
    for word in fold([node.name for node in nodes]).split():
        count = len(expand(word))
        yield word, list(nodes[start : start + count])
        start += count


def _switch(switch: StandingSwitch, versions: Mapping[str, int], lengths: Mapping[str, int]) -> str:
    place = switch.group or WHOLE_CLUSTER
    words = [f"model {switch.model} of {switch.fabric} {switch.tier} in {place}"]
    if switch.plane:
        words.append(f"plane {switch.plane}")
    words.append(f"place {switch.position} number {switch.number} rack {switch.rack} unit {switch.unit:g}")
    if switch.asn is not None:
        words.append(f"as {switch.asn}")
    if switch.loopback is not None:
        words.append(f"loopback {format_address(switch.loopback, versions[switch.fabric])}")
    if switch.hosts is not None:
        words.append(f"hosts {format_address(switch.hosts, versions[switch.fabric])}/{lengths[switch.fabric]}")
    return " ".join(words)


def _cables(cables: Sequence[StandingCable], version: int) -> str:
    ports = fold([cable.port for cable in cables])
    ends = ", ".join(_ends(cables))
    addresses = [cable.address for cable in cables if cable.address is not None]
    given = f" @ {_addresses(addresses, version)}" if addresses else ""
    return f"{cables[0].device} {ports}: {ends}{given}"


def _ends(cables: Sequence[StandingCable]) -> Iterator[str]:
    """Upper ends in runs of one switch, or of one port of several: whichever is longer."""
    start = 0
    while start < len(cables):
        one_switch = _run(cables, start, "upper")
        one_port = _run(cables, start, "upper_port")
        if one_switch >= one_port:
            yield f"{cables[start].upper} {fold([cable.upper_port for cable in cables[start : start + one_switch]])}"
            start += one_switch
            continue
        for word in fold([cable.upper for cable in cables[start : start + one_port]]).split():
            yield f"{word} {cables[start].upper_port}"
        start += one_port


def _run(cables: Sequence[StandingCable], start: int, field: str) -> int:
    first, end = getattr(cables[start], field), start + 1
    while end < len(cables) and getattr(cables[end], field) == first:
        end += 1
    return end - start


def _addresses(addresses: Sequence[int], version: int) -> str:
    steps = {high - low for low, high in pairwise(addresses)}
    if len(addresses) > 1 and len(steps) == 1 and steps.pop() > 0:
        return f"{format_address(addresses[0], version)}..{format_address(addresses[-1], version)}"
    return " ".join(format_address(address, version) for address in addresses)


def _freed(stands: Allocated, versions: Mapping[str, int]) -> Iterator[str]:
    ports: dict[tuple[str, Freed], list[str]] = {}
    for (device, port), freed in stands.freed_ports.items():
        ports.setdefault((device, freed._replace(line=0)), []).append(port)
    for (device, freed), port_names in ports.items():
        yield f"port {device} {fold(port_names)}: {freed.day}"
    for (fabric, address), freed in stands.freed_addresses.items():
        yield f"address {fabric} {format_address(address, versions[fabric])}: {freed.day}"
