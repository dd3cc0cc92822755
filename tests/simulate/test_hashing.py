"""Hashes against the standard library's CRC over whole packets' fields, and against chance."""

from __future__ import annotations

import binascii
import json
import re

import numpy as np
import pytest
from tests.plans import plan_of
from tests.simulate.networks import network
from tests.simulate.published import spread_over_uplinks

from clusterwright.extras.simulate.flows import FlowMaker, FlowTransport, occurrence, queue_pair_numbers, source_ports
from clusterwright.extras.simulate.hashing import crc, field_hashes, layers_of, switch_chooser
from clusterwright.extras.simulate.loads import Flows, flows_on_links
from clusterwright.extras.simulate.network import FabricGraph, build_network
from clusterwright.extras.simulate.routing import build_routes
from clusterwright.extras.simulate.scramble import scrambled
from clusterwright.finding import ClusterwrightError
from clusterwright.output.rendering import Rendering
from clusterwright.spec.hardware.systems import Crc

SEED = 5


def test_known_crcs() -> None:
    digits = np.frombuffer(b"123456789", np.uint8)[None, :]
    # Check values of CRC-16/XMODEM (0x1021), CRC-16/UMTS (0x8005) and CRC-32/BZIP2 without its final XOR in the
    # catalogue of parametrised CRC algorithms.
    assert crc(Crc(16, 0x1021, "low"), digits).tolist() == [0x31C3]
    assert crc(Crc(16, 0x8005, "low"), digits).tolist() == [0xFEE8]
    assert crc(Crc(16, 0x1021, "low"), digits, 0xFFFF).tolist() == [0x29B1]
    assert crc(Crc(32, 0x04C11DB7, "high"), digits, 0xFFFFFFFF).tolist() == [0xFC891918 >> 16 ^ 0xFFFF]
    assert crc(Crc(32, 0x04C11DB7, "low"), digits, 0xFFFFFFFF).tolist() == [0x1918 ^ 0xFFFF]


@pytest.mark.parametrize("with_queue_pair", [False, True])
def test_a_rack_switch_hashes_the_fields_of_the_packet(with_queue_pair: bool) -> None:
    net = network()
    layers = layers_of(net, "e-ecmp" if with_queue_pair else "ecmp")
    fields = field_hashes(net, layers)
    source, target = np.array([0, 5, 9]), np.array([40, 33, 2])
    ports, pairs = np.array([49152, 51234, 65535]), np.array([1, 0xABCDEF, 0xFFFFFF])
    length = 36 + (3 if with_queue_pair else 0)
    rack = next(number for number, switch in enumerate(net.switches) if switch.role == "rtsw")
    choice = switch_chooser(net, layers).choice(
        fields.keys(source, target, ports, pairs), np.full(3, rack), np.arange(3)
    )
    for flow in range(3):
        packet = net.nics.address[source[flow]].tobytes() + net.nics.address[target[flow]].tobytes()
        packet += int(ports[flow]).to_bytes(2, "big") + (4791).to_bytes(2, "big")
        packet += int(pairs[flow]).to_bytes(3, "big") if with_queue_pair else b""
        assert len(packet) == length
        assert choice[flow] == binascii.crc_hqx(packet, layers[0].seed)


def test_switches_hash_with_what_they_are_told() -> None:
    """The seeds of the simulated switches are those in the text of the rendered ones."""
    net, plan = network(), plan_of("lab-roce")
    agent = json.loads(
        next(a.content for a in Rendering(plan).of_device("rtsw-p00r00") if a.path == "etc/coop/agent.conf")
    )
    ecmp = agent["sw"]["loadBalancers"][0]
    seeds = [ecmp["seed"]]
    for name in ("ctsw-p00-00", "atsw-00"):
        (file,) = Rendering(plan).of_device(name)
        seeds += [int(seed) for seed in re.findall(r"^ip load-sharing arad (\d)$", file.content.decode(), re.M)]
    layers = layers_of(net, "rendered")
    assert [layer.seed for layer in layers] == seeds
    assert ecmp["algorithm"] == 1
    assert layers[0].crc == Crc(16, 0x1021, "low")
    assert all(layer.queue_pairs for layer in layers)
    assert len({layer.crc for layer in layers}) == len(layers)


def test_one_function_on_all_tiers_leaves_links_empty() -> None:
    """What the rendered functions are for: with one polynomial and one seed everywhere much of the ideal is lost."""
    net = network()
    layers = layers_of(net, "ecmp")
    shares = {}
    for what, chosen in (("own", layers), ("same", (layers[0],) * len(layers))):
        maker = FlowMaker(net, FlowTransport("ecmp", 16), switch_chooser(net, chosen), field_hashes(net, chosen))
        shares[what] = busiest_above_the_racks(net, maker)
    assert shares["same"] > 1.3 * shares["own"]


def busiest_above_the_racks(net: FabricGraph, maker: FlowMaker) -> float:
    """The fullest link from the second tier up over their mean, under random flows between pods."""
    drawn = scrambled(SEED, 61, 4 * 4000).reshape(4, -1).astype(np.int64) & 0xFFFFFF
    half = len(net.nics.switch) // 2
    source, target = drawn[0] % half, half + drawn[1] % half
    assert maker.fields is not None
    keys = maker.fields.keys(source, target, source_ports(drawn[2], drawn[3]), drawn[3])
    counts = flows_on_links(
        net, build_routes(net, np.unique(net.nics.switch)), maker.chooser, Flows(source, target, keys)
    )
    up = [link for link in range(0, len(net.head), 2) if net.tail[link] >= 0 and net.tier[net.tail[link]] == 1]
    return float(counts[up].max() / counts[up].mean())


def test_switches_that_cannot_hash_queue_pairs_are_named() -> None:
    net = build_network(plan_of("lab-sonic"), "backend")
    with pytest.raises(
        ClusterwrightError, match=r"rtsw \(dcs-7060x6-64pe-sonic\) cannot hash queue pairs.*--hash rendered"
    ):
        layers_of(net, "e-ecmp")
    assert [layer.queue_pairs for layer in layers_of(net, "rendered")] == [False, True, True]


@pytest.mark.parametrize("members", [2, 7, 16, 18, 24])
def test_hashes_fill_a_group_evenly(members: int) -> None:
    net = network()
    flows = 20_000
    drawn = scrambled(1, 60, 4 * flows).reshape(4, flows).astype(np.int64) & 0xFFFFFF
    fields = field_hashes(net, layers_of(net, "e-ecmp"))
    count = len(net.nics.switch)
    ports = source_ports(drawn[2], drawn[3])
    for keys in fields.keys(drawn[0] % count, drawn[1] % count, ports, drawn[3]):
        loads = np.bincount(keys % members, minlength=members)
        expected = flows / members
        chi_square = float(((loads - expected) ** 2 / expected).sum())
        # Mean members - 1, variance twice that: five standard deviations are far outside of chance.
        assert chi_square < members - 1 + 5 * (2 * (members - 1)) ** 0.5 + 1


def test_many_flows_spread_better_than_few() -> None:
    few, many = (np.mean([spread_over_uplinks(network(), flows, seed) for seed in range(20)]) for flows in (100, 5000))
    assert many < few


def test_source_ports_are_those_of_linux() -> None:
    # By hand: 0x100 * 0x300 = 0x30000, label 0x30000, low 14 bits 0 ^ (0x30000 >> 14 = 0xC).
    assert source_ports(np.array([0x100]), np.array([0x300])).tolist() == [0xC00C]
    assert source_ports(np.array([3]), np.array([5])).tolist() == [0xC00F]
    ports = source_ports(np.arange(1, 5000), np.arange(7, 5006))
    assert ports.min() >= 0xC000
    assert ports.max() <= 0xFFFF


def test_no_queue_pair_of_a_nic_is_used_twice() -> None:
    nic = np.array([0, 1, 0, 1, 0])
    seen = occurrence(nic)
    assert seen.tolist() == [0, 0, 1, 1, 2]
    starts = np.array([0xFFFFFE, 100])
    sent = queue_pair_numbers(starts, nic, seen, 4, receives=False)
    received = queue_pair_numbers(starts, nic, seen, 4, receives=True)
    both = np.concatenate([sent[nic == 0], received[nic == 0]]).ravel()
    assert len(set(both.tolist())) == both.size
    assert both.max() <= 0xFFFFFF
