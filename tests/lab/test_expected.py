"""The routes that the lab expects, and what a cut keeps, against shortest paths of an independent graph."""

from __future__ import annotations

import pytest
from tests.lab.shortest_paths import widths
from tests.lab.twins import twin_of

from clusterwright.extras.lab.bringup import node_commands
from clusterwright.extras.lab.cut import Cut
from clusterwright.extras.lab.expected import expected_routes
from clusterwright.extras.lab.faults import Fault, faulty, parse_link
from clusterwright.extras.lab.frr import bgpd_config
from clusterwright.extras.lab.twin import Twin
from clusterwright.finding import ClusterwrightError

CUTS = [
    ("lab-roce", "backend", Cut()),
    ("lab-roce", "frontend", Cut()),
    ("roce-24k", "backend", Cut(pods=("pod0", "p03"), racks=5)),
    ("roce-24k", "backend", Cut(routers=40)),
    ("roce-24k", "frontend", Cut(routers=60)),
    ("roce-24k", "management", Cut(routers=50)),
]


def planned_widths(twin: Twin) -> dict[tuple[str, str], int]:
    rack_of = {prefix: name for name, prefix in twin.racks.items() if twin.view_of[name].device.tier == 0}
    return {
        (switch, rack_of[prefix]): len(ports)
        for switch, routes in expected_routes(twin).ports.items()
        for prefix, ports in routes.items()
        if prefix in rack_of
    }


@pytest.mark.parametrize(("spec", "fabric", "cut"), CUTS)
def test_widths_are_those_of_shortest_paths(spec: str, fabric: str, cut: Cut) -> None:
    twin = twin_of(spec, cut, fabric)
    assert len(twin.racks) >= 2
    assert planned_widths(twin) == widths(twin)


def test_a_cut_of_racks_keeps_the_widths_of_the_whole_cluster() -> None:
    twin = twin_of("roce-24k", Cut(routers=100))
    assert len(twin.views) == 100
    by_role = {(twin.view_of[switch].device.role, width) for (switch, _), width in planned_widths(twin).items()}
    # 18 CTSWs above a rack, 24 ATSWs above a CTSW, 18 CTSWs below an ATSW: roce-24k's own numbers.
    assert by_role == {("rtsw", 18), ("ctsw", 1), ("ctsw", 24), ("atsw", 18)}
    assert twin.view_of["rtsw-p00r000"].device == twin.plan.by_name["rtsw-p00r000"]


def test_routers_bound_a_cut_and_pods_can_be_named() -> None:
    assert len(twin_of("roce-24k", Cut(routers=30)).views) <= 30
    assert {view.device.pod for view in twin_of("roce-24k", Cut(pods=("pod2",), racks=3)).views} == {"p02", ""}
    with pytest.raises(ClusterwrightError, match="too few"):
        twin_of("roce-24k", Cut(routers=6))
    with pytest.raises(ClusterwrightError, match='no pod "pod8"; there are p00, '):
        twin_of("roce-24k", Cut(pods=("pod8",)))


def test_a_drained_switch_is_used_by_nobody_and_announces_nothing() -> None:
    twin = twin_of("lab-roce", Cut())
    drained = faulty(twin, (Fault("ctsw-p00-00", None),))
    routes = expected_routes(drained)
    for switch, ports in routes.ports.items():
        used = {
            link.peer.device for link in drained.view_of[switch].links if link.port.port in set().union(*ports.values())
        }
        assert "ctsw-p00-00" not in used
    assert routes.upward["ctsw-p00-00"] == frozenset()
    rack = twin.racks["rtsw-p01r00"]
    assert len(expected_routes(twin).ports["rtsw-p00r00"][rack]) == 16
    assert len(routes.ports["rtsw-p00r00"][rack]) == 8
    config = bgpd_config(drained.view_of["ctsw-p00-00"])
    assert config is not None
    assert "route-map TO-UP deny 1" in config


def test_a_link_out_of_service_narrows_and_takes_no_detour() -> None:
    twin = twin_of("roce-24k", Cut(routers=64))
    cable = next(cable for cable in twin.cables if cable.b.device == "ctsw-p00-03")
    after = expected_routes(faulty(twin, (parse_link(f"ctsw-p00-03:{cable.b.port}"),)))
    prefix = twin.racks[cable.a.device]
    # From above, the prefix would come with the AS number of the CTSWs themselves: RFC 4271 refuses it.
    assert prefix not in after.ports["ctsw-p00-03"]
    assert len(after.ports["atsw-00"][prefix]) == 17
    assert len(after.ports["rtsw-p01r000"][prefix]) == 18


def test_faults_that_the_lab_cannot_have_are_refused() -> None:
    twin = twin_of("lab-roce", Cut())
    for fault, words in (
        (Fault("ctsw-p09-00", None), "no switch ctsw-p09-00"),
        (Fault("rtsw-p00r00", "eth2/1/1"), "no link to a switch at port eth2/1/1"),
    ):
        with pytest.raises(ClusterwrightError, match=words):
            faulty(twin, (fault,))
    with pytest.raises(ClusterwrightError, match="is no link"):
        parse_link("rtsw-p00r00")


def test_infiniband_says_that_it_has_no_twin() -> None:
    with pytest.raises(ClusterwrightError, match="backend is InfiniBand"):
        twin_of("lab-ib", Cut())


def test_nodes_are_spread_over_pods_and_racks() -> None:
    twin = twin_of("roce-24k", Cut(pods=("pod0", "pod1"), racks=3, nodes=7))
    names = ["p00r000", "p01r000", "p00r001", "p01r001", "p00r002", "p01r002", "p00r000"]
    assert [node.rack for node in twin.nodes] == names


def test_a_node_gets_the_addresses_rules_and_routes_of_its_files() -> None:
    twin = twin_of("lab-roce", Cut(), "frontend")
    text = node_commands(twin.plan, twin.plan.by_name["gpu-p00r00n0"], frozenset({"fe0", "fe1"}))
    lines = text.splitlines()
    assert "addr add fd00:1ab:f::2/64 dev fe0 nodad" in lines
    assert "rule add from fd00:1ab:f::2/128 table 108 priority 1108" in lines
    assert "rule add oif fe1 table 109 priority 2109" in lines
    assert any("nexthop via fd00:1ab:f::1 dev fe0 nexthop via fd00:1ab:f::1 dev fe1" in line for line in lines)


def test_no_width_exceeds_what_the_configuration_allows() -> None:
    twin = twin_of("roce-24k", Cut(routers=100))
    for (switch, _), width in planned_widths(twin).items():
        assert width <= twin.view_of[switch].ecmp_width
