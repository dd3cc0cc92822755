"""Adaptive routing: enabled at both ends of every cable between switches, on NICs and in NCCL, or at none of them.

A port without it chooses by the hash, and NICs expecting packets in order request those from another path again. The
spec decides; without a spec, the setting of most ports of the fabric.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from clusterwright.hosts.linux.reader.nccl import NCCL, read_nccl
from clusterwright.hosts.linux.reader.network import SCRIPT, read_qos_script
from clusterwright.proofs.check import Counterexample, Fact, example
from clusterwright.proofs.ethernet.declared import declared
from clusterwright.proofs.ethernet.network import RoutedFabric
from clusterwright.proofs.tree import RenderedTree

VARIABLE = "NCCL_IB_ADAPTIVE_ROUTING"


def adaptive_facts(fabric: RoutedFabric) -> Iterator[Fact]:
    """The number of cables with adaptive routing at both ends."""
    count = sum(link.a_port.is_adaptive and link.b_port.is_adaptive for link in fabric.links)
    if count:
        yield Fact(f"{fabric.name}: cables whose ends choose a path for each packet", count)


def adaptive_faults(tree: RenderedTree, fabric: RoutedFabric) -> Iterator[Counterexample]:
    """Ports, NICs and NCCL settings unlike the fabric's."""
    is_wanted = _is_wanted(tree, fabric)
    for index, port in fabric.link_ends:
        if port.is_adaptive != is_wanted:
            router = fabric.routers[index]
            message = f"{port.name} {_choice(port.is_adaptive)}, the fabric {_choice(is_wanted)}"
            yield example(tree, router.device, router.ports_file, port.start, message)
    linked = {(index, port.name) for index, port in fabric.link_ends}
    for index, router in enumerate(fabric.routers):
        for port in router.ports:
            if port.is_adaptive and (index, port.name) not in linked:
                message = f"{port.name} {_choice(port.is_adaptive)}, and leads to no switch"
                yield example(tree, router.device, router.ports_file, port.start, message)
    yield from _node_faults(tree, fabric, is_wanted=is_wanted)


def _is_wanted(tree: RenderedTree, fabric: RoutedFabric) -> bool:
    wanted = declared(tree, fabric)
    if wanted is not None:
        return wanted.is_adaptive
    votes = Counter(port.is_adaptive for _, port in fabric.link_ends)
    return votes[True] > votes[False]


def _choice(is_adaptive: bool) -> str:
    return "chooses a path for each packet" if is_adaptive else "chooses by a hash"


def _node_faults(tree: RenderedTree, fabric: RoutedFabric, *, is_wanted: bool) -> Iterator[Counterexample]:
    names: dict[str, set[str]] = {}
    for nic, _ in fabric.nics:
        names.setdefault(nic.device, set()).add(nic.name)
    for device, interfaces in names.items():
        adaptive_interfaces = _adaptive_interfaces(tree, device)
        if adaptive_interfaces is None:
            continue
        wrong = sorted(name for name in interfaces if (name in adaptive_interfaces) != is_wanted)
        if wrong:
            order = "in order" if is_wanted else "in any order"
            message = f"{wrong[0]} takes packets {order}, and the fabric {_choice(is_wanted)}"
            yield example(tree, device, SCRIPT, ("for interface in ",), message)
        settings = read_nccl(tree.text(device, NCCL) or "")
        if settings.get("NCCL_IB_HCA") is None or not _is_fabric_of_nccl(tree, device, interfaces):
            continue
        value = settings.get(VARIABLE)
        if (value == "1") != is_wanted:
            message = f"{VARIABLE} is {value or 'not set'}, and the fabric {_choice(is_wanted)}"
            yield example(tree, device, NCCL, (f"{VARIABLE}=",), message)


def _adaptive_interfaces(tree: RenderedTree, device: str) -> set[str] | None:
    """The interfaces accepting packets in any order; None on a node without a script for its NICs."""
    text = tree.text(device, SCRIPT)
    if text is None:
        return None
    try:
        blocks = read_qos_script(text)
    except ValueError:  # reported by the qos proof
        return None
    return set(chain.from_iterable(block.interfaces for block in blocks if block.is_adaptive))


def _is_fabric_of_nccl(tree: RenderedTree, device: str, interfaces: set[str]) -> bool:
    """Whether NCCL's devices are those of a block of the script with these interfaces."""
    text = tree.text(device, SCRIPT) or ""
    settings = read_nccl(tree.text(device, NCCL) or "")
    names = (settings.get("NCCL_IB_HCA") or "").split(",")
    nccl_devices = {name.lstrip("=^").partition(":")[0] for name in names}
    for block in read_qos_script(text):
        if not block.interfaces.isdisjoint(interfaces) and not block.devices.isdisjoint(nccl_devices):
            return True
    return False
