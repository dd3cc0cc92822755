"""Scalable units by the cabling: nodes with adapters at the same leaf switches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterwright.hosts.opensm.reader.fabric import Integers
from clusterwright.proofs.infiniband.subnet import ManagedSubnet


@dataclass(frozen=True, eq=False)
class Units:
    """Compute taps by host and rail, and the units of hosts."""

    hosts: tuple[str, ...]
    rails: tuple[str, ...]
    """Port labels of adapters."""
    taps: Integers
    """Compute taps, as rows of the fabric's taps."""
    host: Integers
    """By tap, the index of its host."""
    rail: Integers
    """By tap, the index of its rail."""
    unit: Integers
    """By host, the number of its unit."""
    home: Integers
    """By host and rail, the leaf of the host's unit, -1 for none."""
    leaf_unit: Integers
    """By switch, the number of its unit, -1 unless it is a compute leaf."""


def units_of(subnet: ManagedSubnet) -> Units:
    """Find the units. A host with misplaced cables belongs to the unit of most of its cables."""
    fabric = subnet.fabric
    taps = np.flatnonzero(subnet.is_compute)
    compute_adapters = [fabric.adapters[index] for index in fabric.taps[taps, 0].tolist()]
    hosts = dict.fromkeys(adapter.host for adapter in compute_adapters)
    rails = sorted({adapter.label for adapter in compute_adapters})
    host_index = {name: index for index, name in enumerate(hosts)}
    rail_index = {name: index for index, name in enumerate(rails)}
    host = np.array([host_index[adapter.host] for adapter in compute_adapters], np.int64)
    rail = np.array([rail_index[adapter.label] for adapter in compute_adapters], np.int64)
    leaf = fabric.taps[taps, 1]
    seats = np.full((len(host_index), len(rail_index)), -1, np.int64)
    seats[host, rail] = leaf

    rows, member, counts = np.unique(seats, axis=0, return_inverse=True, return_counts=True)
    member = member.reshape(-1)
    # A leaf's unit is the commonest set of leaves among its hosts; a host's unit is that of most of its leaves.
    order = np.argsort(counts[member[host]], kind="stable")
    leaf_row = np.full(len(fabric.switches), -1, np.int64)
    leaf_row[leaf[order]] = member[host[order]]
    votes = np.zeros((len(host_index), len(rows)), np.int32)
    np.add.at(votes, (host, leaf_row[leaf]), 1)
    chosen = votes.argmax(axis=1) if len(rows) else np.zeros(0, np.int64)
    _, unit = np.unique(chosen, return_inverse=True)
    first_of = np.full(int(unit.max(initial=-1)) + 1, len(host_index), np.int64)
    np.minimum.at(first_of, unit, np.arange(len(host_index)))
    rank = np.argsort(np.argsort(first_of))  # units in the order in which their first host appears
    unit = rank[unit] if len(unit) else unit
    leaf_unit = np.full(len(fabric.switches), -1, np.int64)
    leaf_unit[leaf[order]] = unit[host[order]]
    return Units(
        hosts=tuple(host_index),
        rails=tuple(rail_index),
        taps=taps,
        host=host,
        rail=rail,
        unit=unit,
        home=rows[chosen],
        leaf_unit=leaf_unit,
    )
