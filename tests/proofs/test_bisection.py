"""The smallest cuts, beside networkx's maximum flow on the same text."""

from __future__ import annotations

import random
import re

import networkx
import pytest
from tests.proofs.trees import FABRIC, Cables, text_of, tree, verdict


def flow(text: str, unit: str) -> int:
    """Links that can carry traffic between the adapters of a unit and all others, read from the text by itself."""
    graph = networkx.DiGraph()
    for block in text.split("\n\n"):
        if (head := re.search(r'^Switch\t\d+ "(S-\w+)"\t\t# "(.*)"$', block, re.M)) is None:
            continue
        for peer in re.findall(r'^\[\d+\]\t"(\S+)"\[', block, re.M):
            ours = head[2].startswith(unit)
            edge = (head[1], peer) if peer.startswith("S") else ("source", head[1]) if ours else (head[1], "sink")
            old = graph.get_edge_data(*edge, {"capacity": 0})["capacity"]
            graph.add_edge(*edge, capacity=old + 1)
    return int(networkx.maximum_flow_value(graph, "source", "sink"))


@pytest.mark.parametrize("seed", range(5))
def test_cuts_are_those_of_networkx(seed: int) -> None:
    chosen = random.Random(seed)
    cables = Cables(text_of("lab-ib", FABRIC))
    for _ in range(12):
        leaf = f"leaf-s0{chosen.randrange(2)}-0{chosen.randrange(8)}"
        cables.unplug(leaf, chosen.choice([port for port in cables.ports(leaf) if port > 8]))
    found = verdict("ib-bisection", tree("lab-ib", {FABRIC: lambda _: cables.text}))
    expected = {unit: flow(cables.text, f"leaf-s0{unit}") for unit in range(2)}
    for unit, links in expected.items():
        assert links < 64
        message = f"unit of gpu-s0{unit}r00n0: {links} links carry 64 adapters"
        assert any(message in example.message for example in found.counterexamples)
