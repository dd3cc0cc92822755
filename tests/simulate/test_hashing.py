"""Hashes against the standard library's CRC over whole packets' fields, and against chance."""

from __future__ import annotations

import binascii

import numpy as np
import pytest
from tests.simulate.networks import network

from clusterwright.simulate.hashing import POLYNOMIALS, crc16, field_hashes, switch_chooser
from clusterwright.simulate.published import spread_over_uplinks
from clusterwright.simulate.queue_pairs import occurrence, queue_pair_numbers, source_ports
from clusterwright.simulate.scramble import scrambled

SEED = 5


def test_known_crcs() -> None:
    digits = np.frombuffer(b"123456789", np.uint8)[None, :]
    # Check values of CRC-16/XMODEM (0x1021) and CRC-16/UMTS (0x8005) in the catalogue of parametrised CRC algorithms.
    assert crc16(0x1021, digits).tolist() == [0x31C3]
    assert crc16(0x8005, digits).tolist() == [0xFEE8]
    assert crc16(0x1021, digits, np.array([0xFFFF], np.uint16)).tolist() == [0x29B1]


@pytest.mark.parametrize("with_queue_pair", [False, True])
def test_a_rack_switch_hashes_the_fields_of_the_packet(with_queue_pair: bool) -> None:
    net = network()
    fields = field_hashes(net, with_queue_pair=with_queue_pair)
    source, target = np.array([0, 5, 9]), np.array([40, 33, 2])
    ports, pairs = np.array([49152, 51234, 65535]), np.array([1, 0xABCDEF, 0xFFFFFF])
    length = 36 + (3 if with_queue_pair else 0)
    chooser = switch_chooser(net, SEED, message_bytes=length)
    seeds = (scrambled(SEED, 1, len(net.switches)) & np.uint64(0xFFFF)).tolist()
    rack = next(number for number, switch in enumerate(net.switches) if switch.role == "rtsw")
    found = chooser.choice(fields.keys(source, target, ports, pairs), np.full(3, rack), np.arange(3))
    for flow in range(3):
        packet = net.nics.address[source[flow]].tobytes() + net.nics.address[target[flow]].tobytes()
        packet += int(ports[flow]).to_bytes(2, "big") + (4791).to_bytes(2, "big")
        packet += int(pairs[flow]).to_bytes(3, "big") if with_queue_pair else b""
        assert len(packet) == length
        assert found[flow] == binascii.crc_hqx(packet, seeds[rack])


def test_layers_have_polynomials_of_their_own() -> None:
    net = network()
    layers = switch_chooser(net, 0, message_bytes=36).layer
    by_tier = {int(tier): int(layer) for tier, layer in zip(net.tier, layers, strict=True)}
    assert sorted(by_tier.values()) == list(range(len(POLYNOMIALS)))


@pytest.mark.parametrize("members", [2, 7, 16, 18, 24])
def test_hashes_fill_a_group_evenly(members: int) -> None:
    net = network()
    flows = 20_000
    drawn = scrambled(1, 60, 4 * flows).reshape(4, flows).astype(np.int64) & 0xFFFFFF
    fields = field_hashes(net, with_queue_pair=True)
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
