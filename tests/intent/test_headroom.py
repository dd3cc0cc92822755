"""The computed headroom beside what is published for real switches."""

from __future__ import annotations

import re

import pytest
from tests.proofs.ethernet_trees import AGENT, tree, verdict

from clusterwright.intent.headroom import divide_pool, headroom_bytes, headroom_cells
from clusterwright.spec.hardware.models import Buffer

MTU = 9000


@pytest.mark.parametrize(
    ("length_m", "published", "deviation"),
    [
        (2, 2_160, 0.05),  # downlinks of a Minipack2 in a Grand Teton rack: copper inside the rack
        (150, 3_184, 0.03),  # its uplinks; the length is the reference spec's assumption
    ],
)
def test_cells_on_minipack2_are_those_of_fboss(length_m: float, published: int, deviation: float) -> None:
    """HwTestPfcUtils.cpp of facebook/fboss: headroom of a lossless priority group in cells, at 400G."""
    cells = headroom_cells(400, length_m, MTU)
    assert cells / published - 1 == pytest.approx(deviation, abs=0.005)


@pytest.mark.parametrize(
    ("speed_gbps", "length_m", "published", "deviation"),
    [
        (400, 300, 315_392, 0.15),
        (400, 1000, 778_240, -0.02),
        (400, 2000, 1_445_888, -0.07),
        (100, 300, 110_592, -0.04),
    ],
)
def test_bytes_on_7800r3a_are_those_of_sonic(
    speed_gbps: int, length_m: float, published: int, deviation: float
) -> None:
    """pg_profile_lookup.ini of the 7800R3A cards in sonic-net/sonic-buildimage: xoff in bytes; cells cost nothing."""
    assert headroom_bytes(speed_gbps, length_m, MTU) / published - 1 == pytest.approx(deviation, abs=0.005)


def test_a_longer_cable_a_faster_port_and_a_longer_frame_each_need_more() -> None:
    base = headroom_bytes(400, 20, MTU)
    assert headroom_bytes(400, 21, MTU) > base
    assert headroom_bytes(800, 20, MTU) > base
    assert headroom_bytes(400, 20, MTU + 1) > base


def test_cables_that_switches_are_told_alike_need_alike() -> None:
    """A profile is named after whole metres: of two lengths with one name, the last would hold for both."""
    assert headroom_cells(400, 2.5, 9000) == headroom_cells(400, 3, 9000) < headroom_cells(400, 3.5, 9000)


def test_a_pool_is_as_large_as_what_is_promised_of_it() -> None:
    pool = divide_pool(Buffer(254_000, 254, 900), 300)
    assert (pool.shared_cells, pool.headroom_cells) == (600, 300)


SONIC = "etc/sonic/config_db.json"
POOLS = {
    "half of FBOSS's": ("lab-roce", AGENT, r'(?<="headroomBytes": )\d+', "6447282", "2.94:1"),
    "half of SONiC's": ("lab-sonic", SONIC, r'(?<="xoff": ")\d{8}(?=")', "6000000", ":1"),
    "all of FBOSS's shared memory": ("lab-roce", AGENT, r'(?<="sharedBytes": )\d+', "0", "nothing to share"),
    "more than FBOSS's chip": ("lab-roce", AGENT, r'(?<="sharedBytes": )\d+', "119179848", "the chip has"),
    "more than SONiC's chip": (
        "lab-sonic",
        SONIC,
        r'(?<="mode": "dynamic", "size": ")\d+(?=", "xoff")',
        "167546528",
        "the chip has",
    ),
}


@pytest.mark.parametrize("what", POOLS)
def test_a_pool_that_cannot_keep_its_promises_is_refuted(what: str) -> None:
    name, path, pattern, new, said = POOLS[what]
    assert verdict("qos", tree(name)).is_proven
    edit = {("rtsw-p00r00", path): lambda text: re.sub(pattern, new, text)}
    examples = [example for example in verdict("qos", tree(name, edit)).counterexamples if "pool" in example.message]
    assert [(each.device, each.file, each.line > 0) for each in examples] == [("rtsw-p00r00", path, True)]
    assert said in examples[0].message
