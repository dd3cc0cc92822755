"""Nodes at two rack switches, of which one fails: what they send takes the other one, and arrives."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from tests.lab.twins import lab, small_spec, twin_of

from clusterwright.extras.lab.cut import Cut
from clusterwright.extras.lab.namespaces import inside, run_ip
from clusterwright.extras.lab.twin import Twin
from clusterwright.plan.model import Cable, format_address

SOURCE, TARGET = "gpu-p00r00n0", "gpu-p01r00n0"
TARGETS = (TARGET, "gpu-p01r00n1", "gpu-p01r01n0", "gpu-p01r01n1", "gpu-p00r01n0", "gpu-p00r01n1")
PORT = 40000
QUIET_S = 20.0


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[Twin]:
    spec = small_spec(tmp_path, "twin-dual")
    one = "model: wedge400-grand-teton\n        per: rack\n"
    text = spec.read_text()
    assert one in text
    spec.write_text(text.replace(one, f"{one}        count: 2\n"))
    lab("up", spec, "--fabric", "frontend")
    yield twin_of(spec, Cut(nodes=16), "frontend")
    lab("down", spec, "--fabric", "frontend")


def cables_of(twin: Twin, device: str) -> list[Cable]:
    return [cable for cable in twin.cables if cable.a.device == device]


def reaches(twin: Twin, wanted: Mapping[str, str]) -> set[str]:
    """Which addresses, by the node that has each, a socket of the source without an address of its own reaches."""
    receivers = {}
    for address, node in wanted.items():
        with inside(twin.namespace(node)):
            receivers[address] = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            receivers[address].bind((address, PORT))
            receivers[address].settimeout(0.2)
    with inside(twin.namespace(SOURCE)):
        sender = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    found = set()
    with sender, ExitStack() as stack:
        for address, receiver in receivers.items():
            stack.enter_context(receiver)
            with suppress(OSError):
                sender.sendto(b"x", (address, PORT))
        for address, receiver in receivers.items():
            with suppress(OSError):
                receiver.recv(1)
                found.add(address)
    return found


def eventually(twin: Twin, wanted: Mapping[str, str]) -> set[str]:
    """The same once routers have converged: what did not arrive within a while."""
    until, lost = time.monotonic() + QUIET_S, set(wanted)
    while time.monotonic() < until and lost:
        lost = set(wanted) - reaches(twin, wanted)
    return lost


def fail(twin: Twin, switch: str) -> None:
    ends = [end for cable in twin.cables for end in (cable.a, cable.b) if end.device == switch]
    run_ip("".join(f"link set {twin.interface(end)} down\n" for end in ends), twin.namespace(switch))


def test_a_failed_rack_switch_leaves_the_other(twin: Twin) -> None:
    addresses = {
        format_address(cable.a.address or 0, twin.version): (node, cable.b.device)
        for node in TARGETS
        for cable in cables_of(twin, node)
    }
    every = {address: node for address, (node, _) in addresses.items()}
    assert len(every) == 2 * len(TARGETS)
    assert not eventually(twin, every)
    fail(twin, cables_of(twin, SOURCE)[0].b.device)
    assert not eventually(twin, every), "what the source sent by its first NIC takes the second"
    there = cables_of(twin, TARGET)[0].b.device
    fail(twin, there)
    left = {address: node for address, (node, switch) in addresses.items() if switch != there}
    assert set(left.values()) == set(TARGETS)
    assert not eventually(twin, left), "each target is reached by its other address"
