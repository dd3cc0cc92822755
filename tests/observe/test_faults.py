"""Faults put into a simulated fabric: what the real ibnetdiscover lists leads to these statements and to no others.

Each golden file is the whole output of the command.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.golden_files import assert_golden
from tests.observe.netfile import NetFile, hdr_lab, hdr_plan, scan

from clusterwright.cli.observe import observe
from clusterwright.observe.compare import compare
from clusterwright.observe.difference import DifferenceKind
from clusterwright.observe.ibnetdiscover import parse


def _output(spec: Path, listing: Path, *more: str) -> tuple[int, str]:
    done = CliRunner().invoke(observe, [str(spec), "--ibnetdiscover", str(listing), *more], standalone_mode=False)
    assert done.exception is None, done.exception
    return done.return_value, done.output


def test_a_fabric_as_planned_has_no_differences(tmp_path: Path) -> None:
    listing = scan(NetFile.of(hdr_plan(tmp_path)), tmp_path)
    for more in ((), ("--by-name",)):
        assert _output(hdr_lab(tmp_path), listing, *more) == (0, "no differences\n")


def _swap_uplinks(net: NetFile) -> None:
    net.swap(net.end("leaf-s00-02", "9"), net.end("leaf-s01-05", "12"))


def _swap_hosts(net: NetFile) -> None:
    net.swap(net.end("gpu-s00r00n1", "be3"), net.end("gpu-s00r01n2", "be3"))


def _three_in_a_ring(net: NetFile) -> None:
    net.swap(net.end("gpu-s00r00n1", "be2"), net.end("gpu-s00r00n2", "be2"))
    net.swap(net.end("gpu-s00r00n2", "be2"), net.end("gpu-s00r00n3", "be2"))


def _missing_uplink(net: NetFile) -> None:
    net.cut(net.end("leaf-s01-00", "14"))


def _rail_crossed(net: NetFile) -> None:
    net.swap(net.end("gpu-s01r00n2", "be3"), net.end("gpu-s01r00n2", "be4"))


def _wrong_port(net: NetFile) -> None:
    host = net.end("gpu-s00r00n0", "be5")
    net.cut(host)
    net.join(host, net.end("leaf-s00-05", "33"))


def _unexpected_link(net: NetFile) -> None:
    net.join(net.end("leaf-s00-05", "35"), net.end("spine-02", "39"))


def _wrong_model(net: NetFile) -> None:
    name = net.names["leaf-s00-03"]
    net.heads[name] = net.heads[name].replace("Switch\t40", "Switch\t64")


def _switches_exchanged(net: NetFile) -> None:
    net.exchange(net.names["leaf-s00-03"], net.names["leaf-s01-06"])


def _exchanged_and_swapped(net: NetFile) -> None:
    _switches_exchanged(net)
    _swap_hosts(net)
    _missing_uplink(net)


def _hosts_exchanged(net: NetFile) -> None:
    for nic in range(8):
        net.exchange(net.names[f"gpu-s00r00n1 be{nic}"], net.names[f"gpu-s01r01n2 be{nic}"])


def _slow_and_narrow(net: NetFile) -> None:
    net.rates[net.end("gpu-s00r01n0", "be1")] = "e=2"
    net.rates[net.end("leaf-s01-04", "10")] = "e=4 w=1"


def _switch_missing(net: NetFile) -> None:
    net.remove(net.names["leaf-s01-03"])


def _host_missing(net: NetFile) -> None:
    for nic in range(8):
        net.remove(net.names[f"gpu-s01r01n2 be{nic}"])


def _stranger(net: NetFile) -> None:
    net.heads["S-00deadbeef000001"] = 'switchguid=0xdeadbeef000001\nSwitch\t40 "S-00deadbeef000001"\t\t# "old-leaf"'
    net.join(("S-00deadbeef000001", 1), net.end("spine-00", "38"))
    net.join(("S-00deadbeef000001", 2), net.end("spine-01", "38"))


def _replaced_switch(net: NetFile) -> None:
    name = net.names["spine-02"]
    net.exchange(name, "S-00deadbeef000001")
    net.heads["S-00deadbeef000001"] = 'switchguid=0xdeadbeef000001\nSwitch\t40 "S-00deadbeef000001"\t\t# "Quantum"'
    del net.heads[name]


def _other_adapter(net: NetFile, description: str) -> None:
    port = net.peers[net.end("gpu-s01r00n3", "be6")]
    net.remove(net.names["gpu-s01r00n3 be6"])
    net.heads["H-00deadbeef000001"] = f'caguid=0xdeadbeef000001\nHca\t1 "H-00deadbeef000001"\t\t# "{description}"'
    net.join(("H-00deadbeef000001", 1), port)


def _foreign_host(net: NetFile) -> None:
    _other_adapter(net, "ufm-01 mlx5_0")


def _replaced_adapter(net: NetFile) -> None:
    _other_adapter(net, "MT4123 ConnectX6   Mellanox Technologies")


def _dead(net: NetFile, silent: str, alive: str, *ports: str) -> None:
    """A switch is down, and somebody has moved cables of its to the same ports of another one."""
    far = {port: net.peers[net.end(silent, port)] for port in ports}
    net.remove(net.names[silent])
    for port, end in far.items():
        net.cut(net.end(alive, port))
        net.join(end, net.end(alive, port))


def _dead_leaf(net: NetFile) -> None:
    _dead(net, "leaf-s00-03", "leaf-s00-02", "3")


def _dead_leaf_and_a_fault(net: NetFile) -> None:
    _dead(net, "leaf-s00-03", "leaf-s00-02", "3")
    net.cut(net.end("leaf-s00-02", "9"))


def _dead_spine(net: NetFile) -> None:
    _dead(net, "spine-01", "spine-02", "5", "7")


def _two_dead_leaves(net: NetFile) -> None:
    net.remove(net.names["leaf-s00-04"])
    _dead(net, "leaf-s00-03", "leaf-s00-02", "3")


def _dead_leaf_and_swapped(net: NetFile) -> None:
    """Two cables of a dead leaf in each other's ports of another one."""
    far = {port: net.peers[net.end("leaf-s00-03", port)] for port in ("3", "4")}
    net.remove(net.names["leaf-s00-03"])
    for port, end in (("4", far["3"]), ("3", far["4"])):
        net.cut(net.end("leaf-s00-02", port))
        net.join(end, net.end("leaf-s00-02", port))


def _everything(net: NetFile) -> None:
    for fault in (_swap_uplinks, _swap_hosts, _missing_uplink, _rail_crossed, _wrong_port, _unexpected_link):
        fault(net)


FAULTS: dict[str, Callable[[NetFile], None]] = {
    "swapped-uplinks": _swap_uplinks,
    "swapped-hosts": _swap_hosts,
    "three-in-a-ring": _three_in_a_ring,
    "missing-uplink": _missing_uplink,
    "rail-crossed": _rail_crossed,
    "wrong-port": _wrong_port,
    "unexpected-link": _unexpected_link,
    "wrong-model": _wrong_model,
    "switches-exchanged": _switches_exchanged,
    "exchanged-and-swapped": _exchanged_and_swapped,
    "hosts-exchanged": _hosts_exchanged,
    "slow-and-narrow": _slow_and_narrow,
    "switch-missing": _switch_missing,
    "host-missing": _host_missing,
    "stranger": _stranger,
    "replaced-switch": _replaced_switch,
    "foreign-host": _foreign_host,
    "replaced-adapter": _replaced_adapter,
    "dead-leaf": _dead_leaf,
    "dead-leaf-and-a-fault": _dead_leaf_and_a_fault,
    "dead-spine": _dead_spine,
    "two-dead-leaves": _two_dead_leaves,
    "dead-leaf-and-swapped": _dead_leaf_and_swapped,
    "everything": _everything,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told(fault: str, tmp_path: Path) -> None:
    net = NetFile.of(hdr_plan(tmp_path))
    FAULTS[fault](net)
    status, output = _output(hdr_lab(tmp_path), scan(net, tmp_path))
    assert status == 1
    assert_golden(f"observe/{fault}.txt", output.encode())


@pytest.mark.parametrize(
    ("fault", "twin", "original"),
    [
        ("doubled-adapter-beside", "gpu-s00r00n1 be0", "gpu-s00r00n0 be0"),
        ("doubled-adapter-far", "gpu-s01r00n0 be7", "gpu-s00r00n0 be1"),
        ("doubled-leaf", "leaf-s00-03", "leaf-s00-02"),
        ("doubled-spine", "spine-01", "spine-00"),
    ],
)
def test_a_doubled_guid_is_told(fault: str, twin: str, original: str, tmp_path: Path) -> None:
    net = NetFile.of(hdr_plan(tmp_path))
    node, guid = net.names[twin], int(net.names[original][2:], 16)
    commands = [f'Guid "{node}" 0x{guid:x}']
    if node.startswith("H"):  # ibsim numbers an adapter's ports after its node
        commands.append(f'Guid "{node}"[1] 0x{guid + 1:x}')
    status, output = _output(hdr_lab(tmp_path), scan(net, tmp_path, *commands))
    assert status == 1
    assert_golden(f"observe/{fault}.txt", output.encode())


@pytest.mark.parametrize("described", ["", "Quantum Mellanox Technologies"])
@pytest.mark.parametrize("fault", [name for name in FAULTS if name.startswith(("dead", "two-dead"))])
def test_a_guid_that_stands_in_for_a_real_one_is_never_named(fault: str, described: str, tmp_path: Path) -> None:
    """Devices answer with GUIDs of their own; switches by name, or without any."""
    net = NetFile.of(hdr_plan(tmp_path))
    FAULTS[fault](net)
    text = re.sub(r"\b(0x)?0?2c1a5([0-9a-f]{10})\b", r"\g<1>b8cef6\2", net.text("").replace("-02c1a5", "-2c1a5"))
    text = re.sub(r'# "(?:leaf|spine)[^"]*"', f'# "{described}"', text) if described else text
    comparison = compare(net.plan, "backend", [parse(text, "scan")], rates=False)
    assert comparison
    assert not [item.message for item in comparison if "2c1a5" in item.message]
    assert DifferenceKind.DUPLICATE_GUID not in {item.kind for item in comparison}
    assert DifferenceKind.EXCHANGED_DEVICES not in {item.kind for item in comparison}


@pytest.mark.parametrize("form", ["json", "csv"])
def test_formats_for_programs(form: str, tmp_path: Path) -> None:
    net = NetFile.of(hdr_plan(tmp_path))
    _everything(net)
    status, output = _output(hdr_lab(tmp_path), scan(net, tmp_path), "--format", form)
    assert status == 1
    assert_golden(f"observe/everything.{form}", output.encode())
