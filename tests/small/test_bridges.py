"""Bridges of containers: what the filter forwards for them, in the kernel beside Docker's rules and in the proof."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.small.answers import rendered
from tests.small.docker_node import CAMPUS, CONNECT, CONTAINER, LISTEN, NODE_ADDRESS, entered, node_with_docker

from clusterwright.plan.build import build_plan
from clusterwright.rollout.preview.takeover import taken_over
from clusterwright.spec.load import load_spec

SPEC = Path(__file__).parent / "specs" / "existing.yaml"
NODE = "gpu-r00n0"
BRIDGES = 'bridges: [{name: docker0, prefixes: ["172.17.0.0/16"]}]'
SSH = "  - {name: ssh,"
FLOWS = """  - {name: web, from: campus, to: compute, protocol: tcp, ports: [8080], owner: us, reason: "published"}
  - {name: out, from: compute, to: campus, protocol: tcp, ports: [443], owner: us, reason: "models"}
"""


def spec_in(folder: Path, bridges: str = BRIDGES) -> Path:
    text = SPEC.read_text().replace(SSH, FLOWS + SSH)
    if bridges:
        text = text.replace("delivery: existing", f"delivery: existing, {bridges}")
    path = folder / "spec.yaml"
    path.write_text(text)
    return path


def test_the_proof_reads_what_is_forwarded_and_says_what_it_takes_from_docker(tmp_path: Path) -> None:
    spec = spec_in(tmp_path)
    assert " error " not in command("lint", spec, cwd=tmp_path).stdout
    told = command("verify", spec, cwd=tmp_path).stdout
    assert "isolation: proven." in told
    assert "note: containers on docker0 of 4 nodes, as gpu-r00n0: they reach what their node may reach" in told
    assert "Docker is trusted to write the node's address as their source" in told


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bridges")
    rendered(folder, spec_in(folder))
    return folder


FORWARD = '\t\tiifname { "fe0", "fe1" } oifname { "docker0" } ct state new'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("hook prerouting priority mangle", "hook prerouting priority filter"),
        ("hook prerouting priority mangle", "hook prerouting priority dstnat"),
        ("ct state new goto published", 'ct state new iifname "fe1" goto published'),
        ("ip daddr { 172.17.0.0/16 } counter drop", "ip daddr { 172.17.0.0/17 } counter drop"),
        ('iifname "docker0" ip saddr { 172.17.0.0/16 } jump', 'iifname "docker0" jump'),
        ('iifname "docker0" ip saddr { 172.17.0.0/16 } jump', 'iifname "docker0" ip saddr { 172.17.0.0/17 } jump'),
        ('iifname "docker0" ip saddr { 172.17.0.0/16 } jump flows_out', 'iifname "docker0" accept'),
        (FORWARD, '\t\toifname { "docker0" } ct state new'),
        (FORWARD, '\t\tiifname { "fe0", "fe1" } ct state new'),
        (FORWARD, '\t\tiifname { "fe0", "fe1" } oifname { "docker0" } tcp dport 22 ct state new'),
        ('oifname "docker0" ct state established,related', 'oifname "docker1" ct state established,related'),
        ('oifname "docker0" ip daddr { 172.17.0.0/16 } counter accept', 'oifname "docker0" counter accept'),
        ('iifname "docker0" oifname "docker0" counter accept', 'iifname "docker0" oifname "fe0" counter accept'),
    ],
)
def test_an_edited_filter_is_refuted(trees: Path, before: str, after: str) -> None:
    path = trees / "out" / NODE / "etc/nftables.conf"
    text = path.read_text()
    assert text.count(before) == 1
    (trees / "out" / "manifest.json").unlink(missing_ok=True)
    try:
        path.write_text(text.replace(before, after))
        answer = command("verify", trees / "out", "--spec", trees / "spec.yaml", cwd=trees)
        assert "isolation: REFUTED" in answer.stdout, answer.stdout
    finally:
        path.write_text(text)


@contextmanager
def listening(namespace: str, *ports: int) -> Iterator[None]:
    words = entered(namespace, sys.executable, "-c", LISTEN, *map(str, ports))
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as listener:
        try:
            assert listener.stdout is not None
            assert listener.stdout.readline() == "listening\n"
            yield
        finally:
            listener.kill()


def connect(namespace: str, address: str, port: int, source: str = "") -> str:
    """The address that the server sees, "no" without an answer."""
    words = entered(namespace, sys.executable, "-c", CONNECT, address, str(port), *([source] if source else []))
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_containers_reach_what_their_node_may_and_answer_where_a_flow_leads(tmp_path: Path) -> None:
    out = rendered(tmp_path, spec_in(tmp_path))
    filter_file = str(out / NODE / "etc/nftables.conf")
    with node_with_docker() as names, ExitStack() as stack:
        stack.enter_context(listening(names.container, 80, 81))
        stack.enter_context(listening(names.campus, 443, 444))
        assert connect(names.campus, CONTAINER, 81) == CAMPUS, "Docker's rules alone let neighbours in"
        assert connect(names.campus, NODE_ADDRESS, 8081) == CAMPUS
        subprocess.run(entered(names.node, "nft", "-f", filter_file), check=True)

        assert connect(names.container, CAMPUS, 443) == NODE_ADDRESS
        assert connect(names.container, CAMPUS, 444) == "no"
        assert connect(names.container, CAMPUS, 443, "10.20.0.77") == "no", "an address that is not the container's"
        assert connect(names.campus, NODE_ADDRESS, 8080) == CAMPUS
        assert connect(names.campus, NODE_ADDRESS, 8081) == "no", "published, and no flow leads there"
        assert connect(names.campus, CONTAINER, 80) == "no", "the container's own address"
        assert connect(names.campus, CONTAINER, 8080) == "no"
        assert connect(names.node, CONTAINER, 81) == "172.17.0.1"
        assert connect(names.node, NODE_ADDRESS, 8081) == NODE_ADDRESS, "a port that the node publishes itself"


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_without_the_key_nothing_is_forwarded(tmp_path: Path) -> None:
    out = rendered(tmp_path, spec_in(tmp_path, bridges=""))
    with node_with_docker() as names, listening(names.campus, 443), listening(names.container, 80):
        subprocess.run(entered(names.node, "nft", "-f", str(out / NODE / "etc/nftables.conf")), check=True)
        assert connect(names.container, CAMPUS, 443) == "no"
        assert connect(names.campus, NODE_ADDRESS, 8080) == "no"


@pytest.mark.parametrize(
    ("bridges", "told"),
    [
        ('bridges: [{name: fe0, prefixes: ["172.17.0.0/16"]}]', "fe0 is an adapter on frontend of these nodes."),
        ('bridges: [{name: docker0, prefixes: ["10.10.64.0/18"]}]', "shares addresses with 10.10.0.0/16 of frontend."),
        (
            'bridges: [{name: docker0, prefixes: ["172.17.0.0/16", "172.17.1.0/24"]}]',
            "172.17.1.0/24 shares addresses with 172.17.0.0/16 of the bridge docker0.",
        ),
        (f"takes: [network, limits], {BRIDGES}", "`bridges` has no effect."),
    ],
)
def test_a_bridge_that_the_filter_cannot_tell_apart_is_refused(tmp_path: Path, bridges: str, told: str) -> None:
    spec = spec_in(tmp_path, bridges)
    answer = command("lint", spec, cwd=tmp_path).stdout
    assert "error CW518: " in answer
    assert told in answer


def test_a_preview_names_the_bridges(tmp_path: Path) -> None:
    changes = " ".join(taken_over(build_plan(load_spec(spec_in(tmp_path))), NODE))
    assert "containers on docker0 reach what their node may reach" in changes
    assert "nothing is forwarded" not in changes
