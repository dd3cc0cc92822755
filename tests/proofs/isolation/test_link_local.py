"""A declared flow with a link-local server of IPv4 passes the rendered filter, in the proof and in the kernel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.plans import plan_with
from tests.proofs.isolation.trees import NFT

from clusterwright.artifact import Artifact
from clusterwright.output.renderers import RENDERERS
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.proof import ISOLATION, KINDS
from clusterwright.proofs.tree import tree_of

NODE, SERVER, PORT = "gpu-p00r00n0", "169.254.169.254", 80
METADATA = f"""
zones:
  - {{name: metadata, kind: services, prefixes: ["{SERVER}/32"]}}
flows:
  - {{name: metadata, from: compute, to: metadata, protocol: tcp, ports: [{PORT}], owner: us, reason: "metadata"}}
"""
CONNECT = f"""
import socket
try:
    socket.create_connection(("{SERVER}", {PORT}), timeout=2)
    print("connected")
except OSError as error:
    print(error)
"""
LISTEN = f"""
import socket
listener = socket.socket()
listener.bind(("{SERVER}", {PORT}))
listener.listen()
print("listening", flush=True)
listener.settimeout(10)
try:
    listener.accept()
except TimeoutError:
    pass
"""


def artifacts_of(plan: Plan) -> list[Artifact]:
    """What the proof reads of one node."""
    node = plan.by_name[NODE]
    applying = [entry for entry in RENDERERS if entry.kind in KINDS and entry.applies(plan, node)]
    return [artifact for entry in applying for artifact in entry.render(plan, node)]


def filter_of(plan: Plan) -> str:
    return next(artifact.content.decode() for artifact in artifacts_of(plan) if artifact.path == NFT)


def verdict_with(plan: Plan, text: str) -> Verdict:
    """What the proof says of the node with this text as its filter."""
    changed = [
        Artifact(NODE, NFT, text.encode(), artifact.kind) if artifact.path == NFT else artifact
        for artifact in artifacts_of(plan)
    ]
    return ISOLATION.run(tree_of("lab-roce", changed, Declaration(plan)))


def with_all_link_local_dropped(text: str) -> str:
    """The filter with the whole of 169.254.0.0/16 among the sources that it drops."""
    elements = "elements = { 0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, 224.0.0.0/3 }"
    return re.sub(r"(set nobody_v4 \{.*?)elements = [^\n]*", rf"\1{elements}", text, count=1, flags=re.DOTALL)


def test_the_rendered_filter_is_proven_and_one_that_drops_the_answers_is_refuted(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", METADATA)
    text = filter_of(plan)
    assert not verdict_with(plan, text).counterexamples
    refuted = verdict_with(plan, with_all_link_local_dropped(text)).counterexamples
    assert refuted
    assert SERVER in str(refuted[0])


@contextmanager
def joined_namespaces() -> Iterator[tuple[str, str]]:
    """A node's and a server's namespace, joined by the node's interface fe0."""
    node, server = f"node-{os.getpid()}", f"server-{os.getpid()}"
    commands = f"""
        netns add {node}
        netns add {server}
        -n {node} link add fe0 type veth peer name far0 netns {server}
        -n {node} link set lo up
        -n {node} link set fe0 up
        -n {server} link set far0 up
        -n {node} address add 10.10.0.2/24 dev fe0
        -n {server} address add 10.10.0.1/24 dev far0
        -n {server} address add {SERVER}/32 dev far0
        -n {node} route add {SERVER}/32 via 10.10.0.1
    """
    try:
        for command in commands.strip().splitlines():
            subprocess.run(["ip", *command.split()], check=True)
        yield node, server
    finally:
        for name in (node, server):
            subprocess.run(["ip", "netns", "delete", name], check=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
@pytest.mark.parametrize(("is_declared", "answer"), [(True, "connected"), (False, "timed out")])
def test_the_kernel_lets_the_declared_flow_pass_and_no_other(tmp_path: Path, is_declared: bool, answer: str) -> None:
    plan = plan_with(tmp_path, "lab-roce", METADATA if is_declared else "")
    rules = tmp_path / "nftables.conf"
    rules.write_text(filter_of(plan))
    with joined_namespaces() as (node, server):
        inside = ["ip", "netns", "exec"]
        listening = [*inside, server, sys.executable, "-c", LISTEN]
        with subprocess.Popen(listening, stdout=subprocess.PIPE, text=True) as listener:
            assert listener.stdout is not None
            assert listener.stdout.readline() == "listening\n"
            subprocess.run([*inside, node, "nft", "-f", str(rules)], check=True)
            connecting = [*inside, node, sys.executable, "-c", CONNECT]
            connected = subprocess.run(connecting, check=True, capture_output=True, text=True)
            listener.kill()
    assert connected.stdout.strip() == answer
