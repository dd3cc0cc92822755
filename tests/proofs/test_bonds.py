"""Bonds in rendered text: proven as they are planned, and refuted after every edit that one end alone has."""

from __future__ import annotations

import re
from functools import cache

import pytest
from tests.switches.bonded import RACK, RACK_SWITCHES, bonded

from clusterwright.artifact import Artifact
from clusterwright.finding import VerifyError
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of

LINKS = next(check for check in CHECKS if check.name == "ethernet-links")
ISOLATION = next(check for check in CHECKS if check.name == "isolation")
REACHABILITY = next(check for check in CHECKS if check.name == "reachability")
FILES = {
    "eos": "mnt/flash/startup-config",
    "fboss": "etc/coop/agent.conf",
    "nvue": "etc/clusterwright/nvue.yaml",
    "sonic": "etc/sonic/config_db.json",
}
GPU, NETWORKS = "gpu-p00r00n0", "etc/systemd/network"
# what happens at a switch: pattern, replacement
EDITS = {
    "eos": (
        ("a port less", r"   channel-group \d+ mode active\n", ""),
        ("no LACP", r"(?<=mode )active", "on"),
        ("waits for the host", r"(?<=mode )active", "passive"),
        ("another channel", r"(?<=channel-group )\d+", "999"),
        ("slow", r"(?<=lacp timer )fast", "normal"),
    ),
    "fboss": (
        ("a port less", r'\{"memberPortID": \d+[^}]*\},\s*', ""),
        ("waits for the host", r'(?<="activity": )1', "0"),
        ("slow", r'(?<="rate": )1', "0"),
    ),
    "nvue": (
        ("a port less", r"(?m)^ +swp\d+s?\d*: \{\}\n(?= +mode: lacp)", ""),
        ("no LACP", r"(?<=mode: )lacp", "static"),
        ("slow", r"(?<=lacp-rate: )fast", "slow"),
    ),
    "sonic": (
        ("a port less", r'"PortChannel\d+\|Ethernet\d+": \{\},\s*(?="PortChannel)', ""),
        ("slow", r'(?<="fast_rate": )"true"', '"false"'),
        ("another channel", r'(?<="PortChannel)\d+(?=\|Ethernet)', "999"),
    ),
}
NODE_EDITS = (
    ("10-bond0.netdev", "Mode=802.3ad", "Mode=balance-rr"),
    ("10-bond0.netdev", "LACPTransmitRate=fast", "LACPTransmitRate=slow"),
    ("10-bond0.netdev", "Kind=bond", "Kind=bridge"),
    ("20-fe1.network", "Bond=bond0\n", ""),
    ("20-fe1.network", "Bond=bond0", "Bond=bond1"),
    ("20-fe1.network", "Name=fe1", "Name=be0"),
)


@cache
def artifacts(system: str) -> tuple[Artifact, ...]:
    return tuple(Rendering(bonded(system)).of_kinds(LINKS.kinds | ISOLATION.kinds))


def tree(system: str, device: str = "", path: str = "", text: str | None = None) -> RenderedTree:
    made = [
        Artifact(a.device, a.path, text.encode(), a.kind)
        if text is not None and (a.device, a.path) == (device, path)
        else a
        for a in artifacts(system)
        if text != "" or (a.device, a.path) != (device, path)
    ]
    return tree_of("bonded", made, Declaration(bonded(system)))


def text_of(system: str, device: str, path: str) -> str:
    return next(a.content.decode() for a in artifacts(system) if (a.device, a.path) == (device, path))


def is_refuted(subject: RenderedTree) -> bool:
    try:
        return bool(LINKS.run(subject).counterexamples or REACHABILITY.run(subject).counterexamples)
    except VerifyError:
        return True


@pytest.mark.parametrize("system", RACK_SWITCHES)
def test_bonds_are_proven(system: str) -> None:
    verdict = LINKS.run(tree(system))
    assert not verdict.counterexamples
    hosts = sum(1 for device in bonded(system).devices if device.kind == "node")
    assert [fact.value for fact in verdict.facts if "joined by LACP" in fact.name] == [hosts]
    assert not REACHABILITY.run(tree(system)).counterexamples
    assert not ISOLATION.run(tree(system)).counterexamples


@pytest.mark.parametrize(
    ("system", "at"), [(system, at) for system, edits in EDITS.items() for at in range(len(edits))]
)
def test_edits_of_a_switch_are_refuted(system: str, at: int) -> None:
    what, pattern, new = EDITS[system][at]
    before = text_of(system, RACK, FILES[system])
    after, count = re.subn(pattern, new, before, count=1)
    assert count == 1, what
    assert is_refuted(tree(system, RACK, FILES[system], after)), what


def test_an_exchanged_member_is_refuted() -> None:
    """Two ports of two hosts change places: each channel then leads to both."""
    before = text_of("eos", RACK, FILES["eos"])
    numbers = [found[1] for found in re.finditer(r"channel-group (\d+) mode", before)]
    first, last = f"channel-group {numbers[0]} mode", f"channel-group {numbers[-1]} mode"
    head, tail = before.split(first, 1)
    tail = last + first.join(tail.rsplit(last, 1))
    found = LINKS.run(tree("eos", RACK, FILES["eos"], head + tail)).counterexamples
    assert any("joins bond0 of gpu-p00r00n0 and bond0 of gpu-p00r00n1" in each.message for each in found)


@pytest.mark.parametrize(("file", "old", "new"), NODE_EDITS)
def test_edits_of_a_node_are_refuted(file: str, old: str, new: str) -> None:
    path = f"{NETWORKS}/{file}"
    text = text_of("sonic", GPU, path)
    assert old in text
    assert is_refuted(tree("sonic", GPU, path, text.replace(old, new)))


@pytest.mark.parametrize("file", ["10-bond0.netdev", "20-fe1.network", "20-bond0.network"])
def test_a_file_that_is_not_there_is_refuted(file: str) -> None:
    assert is_refuted(tree("sonic", GPU, f"{NETWORKS}/{file}", ""))


def test_a_list_on_a_port_of_a_channel_is_told() -> None:
    """EOS asks the channel alone: a list on its port looks as if it held."""
    before = text_of("eos", RACK, FILES["eos"])
    after = re.sub(r"(?=   channel-group)", "   ip access-group HOSTS in\n", before, count=1)
    counterexamples = ISOLATION.run(tree("eos", RACK, FILES["eos"], after)).counterexamples
    assert any("is asked for lists" in example.message for example in counterexamples)


@pytest.mark.parametrize(
    ("system", "header", "line"),
    [
        ("eos", "interface Port-Channel", "   ipv6 access-group HOSTS in\n"),
        ("nvue", "      bond", "          HOSTS-V6:\n            inbound: {}\n"),
    ],
)
def test_a_channel_without_a_list_is_refuted(system: str, header: str, line: str) -> None:
    before = text_of(system, RACK, FILES[system])
    start = before.index(header)
    after = before[:start] + before[start:].replace(line, "", 1)
    assert after != before
    assert ISOLATION.run(tree(system, RACK, FILES[system], after)).counterexamples
