"""A lab of the small RoCE cluster, with real routers, kernels' routing tables and packets."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.shortest_paths import widths
from tests.lab.twins import COMMAND, error, lab, small_spec, twin_of

from clusterwright import data_files
from clusterwright.extras.lab import frr
from clusterwright.extras.lab.check import await_routes, kernel_routes
from clusterwright.extras.lab.cut import Cut
from clusterwright.extras.lab.namespaces import inside, namespaces_named, processes_in
from clusterwright.extras.lab.packets import endpoints
from clusterwright.extras.lab.running import folder_of
from clusterwright.extras.lab.twin import Twin, namespace_prefix


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = small_spec(tmp_path_factory.mktemp("lab"), "twin")
    lab("up", path)
    yield path
    lab("down", path)
    assert not namespaces_named(namespace_prefix("twin.backend"))
    assert not folder_of("twin.backend").exists()


@pytest.fixture(scope="module")
def twin(spec: Path) -> Twin:
    return twin_of(spec, Cut(nodes=16))


def problems(spec: Path, status: int) -> list[str]:
    report = json.loads(lab("check", spec, "--format", "json", status=status))
    return [f"{item['device']}: {item['message']}" for item in report["problems"]]


def test_the_twin_is_as_planned(spec: Path, twin: Twin) -> None:
    report = json.loads(lab("check", spec, "--format", "json"))
    assert report["problems"] == []
    # 4 racks of 16 uplinks, 4 CTSWs of 2 uplinks; every NIC with those of its rail on 7 other nodes.
    assert (report["switches"], report["sessions"], report["pairs"]) == (10, 72, 8 * 8 * 7)
    across = next(way for way in report["traces"] if way[0].startswith("gpu-p00") and way[-1].startswith("gpu-p01"))
    assert [name.partition("-")[0] for name in across[1:-1]] == ["rtsw", "ctsw", "atsw", "ctsw", "rtsw"]
    for (switch, rack), width in widths(twin).items():
        assert len(kernel_routes(twin, switch)[twin.racks[rack]]) == width, (switch, rack)


def test_only_what_a_flow_allows_passes_between_nodes(twin: Twin) -> None:
    import socket

    ends = endpoints(twin)
    source, target = ends[0], next(end for end in ends if end.node is not ends[0].node and end.rail == ends[0].rail)
    for port, passes in ((4791, True), (4792, False)):
        with inside(target.namespace):
            receiver = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        with inside(source.namespace):
            sender = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        with receiver, sender:
            receiver.bind((target.address, port))
            receiver.settimeout(2)
            sender.bind((source.address, 0))
            if passes:
                sender.sendto(b"x", (target.address, port))
                assert receiver.recv(1) == b"x"
            else:
                with pytest.raises(OSError, match=r"not permitted|timed out"):
                    (sender.sendto(b"x", (target.address, port)), receiver.recv(1))


def test_a_packet_of_the_whole_mtu_crosses_the_fabric(twin: Twin) -> None:
    import socket

    ends = endpoints(twin)
    source, target = ends[0], next(end for end in ends if end.node.pod != ends[0].node.pod and end.rail == ends[0].rail)
    with inside(target.namespace):
        receiver = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    with inside(source.namespace):
        sender = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    with receiver, sender:
        receiver.bind((target.address, 4791))
        receiver.settimeout(2)
        sender.bind((source.address, 0))
        sender.setsockopt(socket.IPPROTO_IPV6, 62, 1)  # IPV6_DONTFRAG
        whole = b"x" * (9000 - 40 - 8)
        sender.sendto(whole, (target.address, 4791))
        assert receiver.recv(9000) == whole


def test_a_failed_link_and_drained_switches_converge_and_nothing_is_lost(spec: Path) -> None:
    report = json.loads(
        lab(
            *("fail", spec, "--format", "json", "--link", "ctsw-p00-00:Ethernet3/1/1"),
            *("--switch", "ctsw-p00-00", "--switch", "atsw-01"),
        )
    )
    link, link_back, ctsw, ctsw_back, atsw, atsw_back = report["changes"]
    # The rack loses one of 16 paths to three racks, its CTSW one of 8 to it.
    assert link["narrower"] == 4
    # Each rack of its pod loses 8 of 16 paths to three racks, each ATSW one of 2 to two racks.
    assert ctsw["narrower"] == 2 * 3 + 2 * 2
    # Each CTSW loses one of 2 paths to the other pod's racks.
    assert atsw["narrower"] == 4 * 2
    for change in report["changes"]:
        assert change["lost"] == 0
        assert change["seconds"] < 10
    # What drains badly loses datagrams each time. A machine that is busy with other labs loses one once in thousands.
    lossy = [change for change in (ctsw, ctsw_back, atsw, atsw_back, link_back) if change["received"] != change["sent"]]
    if lossy:
        assert len(lossy) == 1, lossy
        assert lossy[0]["sent"] - lossy[0]["received"] == 1, lossy
        again = json.loads(lab("fail", spec, "--format", "json", "--switch", "ctsw-p00-00", "--switch", "atsw-01"))
        assert [change for change in again["changes"] if change["received"] != change["sent"]] == []
    assert min(change["sent"] for change in report["changes"]) > 0
    assert link["received"] > 0.8 * link["sent"]
    assert problems(spec, 0) == []


def test_a_kept_fault_is_what_check_expects(tmp_path: Path) -> None:
    spec = small_spec(tmp_path, "twin-kept")
    lab("up", spec, "--nodes", 0)
    try:
        lab("fail", spec, "--switch", "ctsw-p01-01", "--keep")
        report = json.loads(lab("check", spec, "--format", "json"))
        assert {"role": "rtsw", "paths": 8, "routes": 6} in report["widths"]
    finally:
        lab("down", "twin-kept")


@pytest.mark.parametrize(
    ("switch", "above"),
    [("ctsw-p00-00", "atsw-0"), ("rtsw-p00r00", "ctsw-p00-0")],
    ids=["between ATSWs", "between CTSWs"],
)
def test_a_policy_that_leaks_upwards_is_caught(spec: Path, twin: Twin, switch: str, above: str) -> None:
    folder = folder_of(twin.name) / switch
    frr.configure(folder, ["route-map TO-UP permit 30"])
    frr.announce_again(folder, 6)
    time.sleep(1)
    try:
        found = problems(spec, 1)
        assert found
        assert all(line.startswith(f"{switch}: leaks ") and f"upwards to {above}" in line for line in found)
    finally:
        frr.configure(folder, ["no route-map TO-UP permit 30"])
        frr.announce_again(folder, 6)
        time.sleep(1)
    assert problems(spec, 0) == []


def test_a_prefix_beyond_the_policy_is_caught(spec: Path, twin: Twin) -> None:
    folder = folder_of(twin.name) / "rtsw-p00r00"
    network = ["router bgp 4200100000", "address-family ipv6 unicast"]
    # One of a rack's host links, which no other switch may know.
    listed = "ipv6 prefix-list OWN seq 99 permit fd00:1ab:b::2/127"
    frr.configure(folder, [listed, *network, "network fd00:1ab:b::2/127"])
    time.sleep(1)
    try:
        assert any("leaks" in line and "fd00:1ab:b::2/127" in line for line in problems(spec, 1))
    finally:
        frr.configure(folder, [*network, "no network fd00:1ab:b::2/127", "exit", "exit", f"no {listed}"])
        time.sleep(1)
    assert problems(spec, 0) == []


def refused_segments(twin: Twin, switch: str) -> int:
    """How many segments the switch's kernel dropped because their signature is another one, or missing."""
    with inside(twin.namespace(switch)):
        rows = [line.split() for line in Path("/proc/thread-self/net/netstat").read_text().splitlines()]
    counters = dict(zip(rows[0], rows[1], strict=True))
    return int(counters["TCPMD5Failure"]) + int(counters["TCPMD5NotFound"]) + int(counters["TCPMD5Unexpected"])


def test_a_session_with_another_password_ends_and_stays_away(spec: Path, twin: Twin) -> None:
    session = next(session for session in twin.view_of["ctsw-p00-00"].sessions if session.side == "up")
    assert session.authentication is not None
    folder, other = folder_of(twin.name) / "ctsw-p00-00", session.neighbour
    neighbour = ["router bgp 4200010000", f"neighbor {session.remote} password"]
    assert refused_segments(twin, other) == 0
    frr.configure(folder, [neighbour[0], f"{neighbour[1]} another"])
    try:
        time.sleep(3)
        assert refused_segments(twin, other) > 0
        assert any(other in line for line in problems(spec, 1))
    finally:
        frr.configure(folder, [neighbour[0], f"{neighbour[1]} lab-bgp-backend"])
        await_routes(twin, 60)
    assert problems(spec, 0) == []


def test_fewer_paths_than_planned_are_caught(spec: Path, twin: Twin) -> None:
    folder = folder_of(twin.name) / "rtsw-p01r00"
    settings = ["router bgp 4200100002", "address-family ipv6 unicast"]
    frr.configure(folder, [*settings, "maximum-paths 8"])
    time.sleep(1)
    try:
        found = problems(spec, 1)
        assert len(found) == 1
        assert "has 8 paths, planned 16" in found[0]
    finally:
        frr.configure(folder, [*settings, "maximum-paths 16"])
        time.sleep(1)
    assert problems(spec, 0) == []


@pytest.mark.parametrize("moment", ["10 switches", "starting routers"])
def test_what_a_killed_start_left_is_removed(tmp_path: Path, moment: str) -> None:
    spec = small_spec(tmp_path, f"twin-killed-{len(moment)}")
    prefix = namespace_prefix(f"{spec.stem}.backend")
    with subprocess.Popen([COMMAND, "lab", "up", spec], stderr=subprocess.PIPE, text=True) as starting:
        assert starting.stderr is not None
        for line in starting.stderr:
            if moment in line:
                break
        time.sleep(0.4)
        starting.send_signal(signal.SIGKILL)
    left = namespaces_named(prefix)
    assert left
    lab("down", spec)
    assert not namespaces_named(prefix)
    assert not folder_of(f"{spec.stem}.backend").exists()


def test_up_starts_anew_over_what_was_left(tmp_path: Path) -> None:
    spec = small_spec(tmp_path, "twin-anew")
    prefix = namespace_prefix("twin-anew.backend")
    for _ in range(2):
        lab("up", spec, "--nodes", 0)
        assert len(namespaces_named(prefix)) == 10
        assert len(processes_in(namespaces_named(prefix))) == 2 * 10
    running = processes_in(namespaces_named(prefix))
    lab("down", spec)
    assert not any(Path(f"/proc/{process}/exe").exists() for process in running)


def test_the_frontend_with_its_shared_subnets_has_a_twin_too(tmp_path: Path) -> None:
    spec = small_spec(tmp_path, "twin-frontend")
    lab("up", spec, "--fabric", "frontend")
    try:
        report = json.loads(lab("check", spec, "--fabric", "frontend", "--format", "json"))
        assert report["problems"] == []
        assert (report["switches"], report["sessions"]) == (8, 12)
    finally:
        lab("down", spec, "--fabric", "frontend")


def test_mistakes_are_answered_in_one_sentence(tmp_path: Path) -> None:
    spec = small_spec(tmp_path, "twin-off")
    assert "does not run" in error("check", spec)
    tenants = data_files.folder("inventory") / "lab-tenants.yaml"
    assert "the lab's switches speak no LACP" in error("up", tenants, "--fabric", "frontend")
    assert 'no fabric "back"' in error("up", spec, "--fabric", "back")
    assert "--routers" in error("up", "roce-24k")
    assert "InfiniBand" in error("up", "lab-ib", "--fabric", "backend")
    assert "--link" in error("fail", spec)
    assert "no such file" in error("up", tmp_path / "none.yaml").lower()
