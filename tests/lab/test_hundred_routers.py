"""A hundred routers out of the 24,576-GPU RoCE cluster, with its own names, AS numbers, addresses and widths."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.shortest_paths import widths
from tests.lab.twins import lab, twin_of

from clusterwright.extras.lab.check import kernel_routes
from clusterwright.extras.lab.cut import Cut
from clusterwright.extras.lab.namespaces import namespaces_named, processes_in
from clusterwright.extras.lab.twin import Twin, namespace_prefix

CUT = Cut(routers=100, nodes=8)
MOST_BYTES = 6 << 30

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    lab("up", "roce-24k", "--routers", CUT.routers, "--nodes", CUT.nodes)
    yield twin_of("roce-24k", CUT)
    lab("down", "roce-24k")


def test_every_switch_has_the_widths_of_the_graph(twin: Twin) -> None:
    planned = widths(twin)
    assert len(twin.views) == 100
    assert len(planned) == len(twin.racks) * 99
    for view in twin.views:
        routes = kernel_routes(twin, view.device.name)
        for rack, prefix in twin.racks.items():
            if rack != view.device.name:
                assert len(routes[prefix]) == planned[view.device.name, rack], (view.device.name, rack)


def test_sessions_leaks_and_packets_are_as_planned(twin: Twin) -> None:
    report = json.loads(lab("check", "roce-24k", "--format", "json"))
    assert report["problems"] == []
    # 40 racks of 18 uplinks, 36 CTSWs of 24 uplinks.
    assert report["sessions"] == 40 * 18 + 36 * 24


def test_a_failed_link_and_a_drained_switch_converge(twin: Twin) -> None:
    port = next(cable.b.port for cable in twin.cables if cable.b.device == "ctsw-p00-00")
    report = json.loads(
        lab("fail", "roce-24k", "--link", f"ctsw-p00-00:{port}", "--switch", "ctsw-p01-17", "--format", "json")
    )
    assert [change["lost"] for change in report["changes"]] == [0, 0, 0, 0]
    drained = report["changes"][2]
    assert drained["received"] == drained["sent"]


def test_memory_stays_within_a_laptops(twin: Twin) -> None:
    pages = 0
    for process in processes_in(namespaces_named(namespace_prefix(twin.name))):
        pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
    assert pages * 4096 < MOST_BYTES
