"""The matrix of zones, sent as packets through rendered rules and lists; and edits of them that packets notice."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.compared import KINDS, edited, words
from tests.lab.twins import COMMAND, error, lab, small_spec, twin_of

from clusterwright.extras.lab.cut import Cut
from clusterwright.extras.lab.isolation.compare import compare, rendered_filters
from clusterwright.extras.lab.isolation.members import set_stage
from clusterwright.extras.lab.isolation.raw_packets import RawPacket, wire
from clusterwright.extras.lab.isolation.switch_filters import nft_lines
from clusterwright.extras.lab.namespaces import namespaces_named
from clusterwright.extras.lab.twin import Twin, namespace_prefix
from clusterwright.packets.boxes import V6, box
from clusterwright.packets.filters import ACCEPT, Rule, one_chain
from clusterwright.packets.ranges import ranges, values
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.declaration import declared_of
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.tree import RenderedTree

NFT, AGENT = "etc/nftables.conf", "etc/coop/agent.conf"
FABRICS = ("backend", "frontend", "management")


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = small_spec(tmp_path_factory.mktemp("lab"), "twin-zones")
    for fabric in FABRICS:
        lab("up", path, "--fabric", fabric)
    yield path
    lab("down", path)
    assert not namespaces_named(namespace_prefix("twin-zones"))


@pytest.fixture(scope="module")
def twin(spec: Path) -> Twin:
    return twin_of(spec, Cut(nodes=16), "frontend")


@pytest.fixture(scope="module")
def tree(twin: Twin) -> RenderedTree:
    return replace(rendered_filters(twin), declaration=Declaration(twin.plan))


def test_every_packet_fares_as_declared(spec: Path) -> None:
    report = json.loads(lab("check", spec, "--isolation", "--format", "json"))
    assert [each["lab"] for each in report["labs"]] == [f"twin-zones.{fabric}" for fabric in FABRICS]
    for each in report["labs"]:
        assert (each["differences"], each["routes"]) == ([], [])
        assert set(each["sent"]) == KINDS
        assert each["zones"] == 8
        assert min(each["sent"].values()) > 10
    by_fabric = {each["lab"].partition(".")[2]: each for each in report["labs"]}
    assert sum(each["arrived"] + each["stopped"] for each in report["labs"]) > 30_000
    assert by_fabric["frontend"]["nodes"] == 3
    assert by_fabric["backend"]["lists"] == 4 * 16
    # The rest of the lab is as before.
    assert "as planned" in lab("check", spec, "--fabric", "frontend")
    assert len(namespaces_named(namespace_prefix("twin-zones.frontend"))) == 8 + 8


def test_what_should_arrive_is_what_the_flows_say(twin: Twin, tree: RenderedTree) -> None:
    """The whole packets to ports that should arrive at a node with rules of its own, by the spec's flows alone."""
    from clusterwright.extras.lab.isolation.expectation import PacketExpectation
    from clusterwright.extras.lab.isolation.probes import PORT, matrix
    from clusterwright.proofs.isolation.nodes import RUNNING

    stage = set_stage(twin, tree, declared_of(twin.plan))
    kinds = {zone.name: zone.kind for zone in twin.plan.spec.zones}
    flows = [flow for flow in twin.plan.spec.flows if kinds[flow.target] != "boot" and flow.name != "rdma"]
    asked = 0
    for probe in matrix(stage, PacketExpectation(stage, RUNNING), 0, 20_000):
        trip, packet = probe.trip, probe.trip.packet
        if probe.kind != PORT or trip.past_filter or trip.receiver.running is None:
            continue
        asked += 1
        wanted = any(
            flow.source in trip.sender.zones
            and flow.target in trip.receiver.zones
            and {"tcp": 6, "udp": 17}[flow.protocol] == packet.protocol
            and any(low <= packet.dport <= high for low, high in flow.ports or ())
            for flow in flows
        )
        assert wanted is not bool(probe.stopped), probe
    assert asked > 500


def test_no_packet_is_an_answer_to_another(twin: Twin, tree: RenderedTree) -> None:
    """Connection tracking would take it for one, where no filter should let it pass."""
    from clusterwright.extras.lab.isolation.expectation import PacketExpectation
    from clusterwright.extras.lab.isolation.probes import matrix
    from clusterwright.proofs.isolation.nodes import RUNNING

    stage = set_stage(twin, tree, declared_of(twin.plan))
    sent = [probe.trip.packet for probe in matrix(stage, PacketExpectation(stage, RUNNING), 0, 20_000)]
    there = {(each.protocol, each.source, each.sport, each.target, each.dport) for each in sent if each.dport}
    back = {(each.protocol, each.target, each.dport, each.source, each.sport) for each in sent if each.dport}
    assert len(there) > 5_000
    assert not there & back


EDITS = {
    "a port more on a node": (
        *("gpu-p00r00n0", NFT, "@services_on_frontend_v6 tcp dport { 22 }", "@services_on_frontend_v6 tcp dport 22-23"),
        ("]:23 (port", "svc-v00n0", "gpu-p00r00n0 input; arrived"),
    ),
    "an accept less on a node": (
        *("gpu-p00r00n0", NFT, "tcp dport { 2049 } counter accept", "tcp dport { 2049 } counter"),
        ("]:2049 (port", "gpu-p00r00n0", "arrives; did not arrive"),
    ),
    "no source validation on a node": (
        *("gpu-p01r01n1", NFT, "fib saddr . oif type != local counter drop", "fib saddr . oif type != local counter"),
        ("spoofed source", "gpu-p01r01n1", "gpu-p01r01n1 output; arrived"),
    ),
    "an entry for another port on a switch with FBOSS": (
        *("rsw-s00", AGENT, '"l4SrcPort": 2049', '"l4SrcPort": 2050'),
        ("reply without a request", "st-s00n0", "arrives; did not arrive"),
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_noticed_by_packets_and_by_proof(twin: Twin, tree: RenderedTree, name: str) -> None:
    device, path, before, after, (kind, sender, end) = EDITS[name]
    wrong = edited(tree, device, path, lambda text: text.replace(before, after))
    assert any(example.device == device for example in ISOLATION.run(wrong).counterexamples)
    found = words(compare(twin, wrong))
    assert any(kind in line and f"sent by {sender}" in line and line.endswith(end) for line in found), found[:5]


def test_a_rule_changed_by_hand_is_noticed_where_the_lab_runs_rules(spec: Path) -> None:
    namespace = f"{namespace_prefix('twin-zones.backend')}gpu-p00r00n0"

    def nft(*command: str, text: str | None = None) -> str:
        whole = ["ip", "netns", "exec", namespace, "nft", *command]
        return subprocess.run(whole, input=text, capture_output=True, text=True, check=True).stdout

    before = nft("list", "ruleset")
    nft("insert rule inet clusterwright input udp dport 4792 accept")
    try:
        found = lab("check", spec, "--isolation", "--fabric", "backend", status=1)
    finally:
        nft("-f", "-", text=f"flush ruleset\n{before}")
    assert re.search(r":4792 \(port.*for gpu-p00r00n0: expected: stopped at gpu-p00r00n0 input; arrived", found), found


def test_a_check_killed_while_nodes_boot_leaves_nothing_to_the_next(spec: Path) -> None:
    prefix = namespace_prefix("twin-zones.frontend")
    before = namespaces_named(prefix)

    def said(*command: str) -> str:
        whole = ["ip", "netns", "exec", f"{prefix}gpu-p00r00n0", *command]
        return subprocess.run(whole, capture_output=True, text=True, check=True).stdout

    def rules() -> str:
        return said("nft", "list", "ruleset")

    assert rules() == ""
    with subprocess.Popen([COMMAND, "lab", "check", spec, "--isolation", "--fabric", "frontend"]) as checking:
        while "boot_on_frontend" not in rules() and checking.poll() is None:
            time.sleep(0.05)
        checking.send_signal(signal.SIGKILL)
    assert "boot_on_frontend" in rules()
    assert set(namespaces_named(prefix)) > set(before)
    # Taken for a connection of its own, such a datagram would let one of the next check's pass.
    assert "sport=4791" in said("conntrack", "-L")
    lab("check", spec, "--isolation", "--fabric", "frontend")
    assert "sport=4791" not in said("conntrack", "-L")
    assert rules() == ""
    assert namespaces_named(prefix) == before


def test_a_route_to_the_internet_is_noticed(spec: Path, twin: Twin, tree: RenderedTree) -> None:
    namespace = twin.namespace("gpu-p00r01n0")
    way = ["default", "via", "fd00:1ab:f:1::1", "dev", "fe0"]
    subprocess.run(["ip", "-6", "-n", namespace, "route", "add", *way], check=True)
    try:
        assert compare(twin, tree).routes == ("gpu-p00r01n0: has a route to internet 2001:db8:1::7",)
    finally:
        subprocess.run(["ip", "-6", "-n", namespace, "route", "del", *way], check=True)


def test_a_lab_that_does_not_run_is_named(tmp_path: Path) -> None:
    assert "does not run" in error("check", small_spec(tmp_path, "twin-none"), "--isolation")


def test_a_packet_is_made_of_its_fields() -> None:
    syn = RawPacket(6, 1, 2, 6, 1000, 22, 2, 0, 77, b"content", fragmented=False)
    (text,) = wire(syn)
    assert text[:8].hex() == "60000000001b0640"  # 27 bytes of TCP, 64 hops
    assert (text[40:44].hex(), text[53]) == ("03e80016", 2)
    first, later = wire(replace(syn, content=b"x" * 60, fragmented=True))
    assert (first[6], first[40], first[43] & 1, later[42:44].hex(), later[48:]) == (44, 6, 1, "0020", b"x" * 48)
    four = wire(replace(syn, version=4, content=b"x" * 60, fragmented=True))
    assert [each[6:8].hex() for each in four] == ["2000", "0004"]


def test_a_list_is_written_for_the_kernel_as_it_reads() -> None:
    whole = {"fragment": values(0, 1)}
    rules = (
        Rule(1, (box(family=V6, proto=values(6), src=ranges([(16, 31)]), dport=values(22, 23), **whole),), ACCEPT),
        Rule(2, (box(family=V6, src=values(5), **whole),), ACCEPT),
        Rule(3, (box(fragment=values(2)),), ACCEPT),
    )
    assert list(nft_lines("hosts", ["a", "b"], "ingress", one_chain("in", rules, 1)))[2:-2] == [
        'type filter hook ingress devices = { "a", "b" } priority 0; policy drop;',
        "meta protocol != { ip, ip6 } accept",
        "meta protocol ip6 ip6 saddr { ::10-::1f } meta l4proto { 6 } th dport { 22-23 } counter accept",
        "meta protocol ip6 ip6 saddr { ::5 } exthdr frag missing counter accept",
        "meta protocol ip6 ip6 saddr { ::5 } frag frag-off 0 counter accept",
        "meta protocol ip ip frag-off & 0x1fff != 0 counter accept",
        "meta protocol ip6 frag frag-off != 0 counter accept",
    ]
