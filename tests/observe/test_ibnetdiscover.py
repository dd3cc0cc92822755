"""The parser takes what ibnetdiscover writes, in all its forms, and says on which line something else stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.observe.listing import listing
from tests.observe.netfile import hdr_lab
from tests.pages.shown import assert_whole, shown_by
from tests.plans import plan_of

from clusterwright import data_files
from clusterwright.cli.observe import observe
from clusterwright.finding import ClusterwrightError
from clusterwright.observe.ibnetdiscover import ReportedLink, parse, parse_name_map

LISTING = """#
# Topology file: generated on Tue Jun  5 14:15:10 2007
#
# Initiated from node 0008f10403960558 port 0008f10403960559

vendid=0x2c9
devid=0xd2f0
sysimgguid=0xb8cef60300f1a2b0
switchguid=0xb8cef60300f1a2b0(b8cef60300f1a2b0)
Switch\t41 "S-b8cef60300f1a2b0"\t\t# "MF0;leaf-s00-00:MQM8700/U1" enhanced port 0 lid 4 lmc 0
[1][ext 3]\t"H-0c42a10300aabbcc"[1](c42a10300aabbcc) \t\t# "gpu-s00r00n0 mlx5_0" lid 12 4xHDR
[2]\t"S-b8cef60300f1a2c0"[7][ext 9]\t\t# "Quantum #2 "x" (rack 4)" lid 5 2xHDR s=1 w=2

vendid=0x2c9
devid=0x101b
sysimgguid=0xc42a10300aabbcc
caguid=0xc42a10300aabbcc
Ca\t1 "H-0c42a10300aabbcc"\t\t# "gpu-s00r00n0 mlx5_0"
[1](c42a10300aabbcc) \t"S-b8cef60300f1a2b0"[1]\t\t# lid 12 lmc 0 "leaf-s00-00" lid 4 4xHDR

switchguid=0xb8cef60300f1a2c0(b8cef60300f1a2c0)
Switch\t40 "S-b8cef60300f1a2c0"\t\t# "Quantum #2 "x" (rack 4)" base port 0 lid 5 lmc 0
"""


def test_every_form_of_a_line() -> None:
    scan = parse(LISTING, "scan")
    assert [(node.kind, node.ports, node.vendor) for node in scan.nodes] == [
        ("switch", 41, 0x2C9),
        ("adapter", 1, 0x2C9),
        ("switch", 40, 0),
    ]
    assert scan.nodes[0].description == "MF0;leaf-s00-00:MQM8700/U1"
    leaf, adapter = 0xB8CEF60300F1A2B0, 0x0C42A10300AABBCC
    assert scan.links == (
        ReportedLink(leaf, 1, 0, adapter, 1, adapter, 4, "HDR", 11),
        ReportedLink(leaf, 2, 0, 0xB8CEF60300F1A2C0, 7, 0, 2, "HDR", 12),
        ReportedLink(adapter, 1, adapter, leaf, 1, 0, 4, "HDR", 19),
    )


def test_standard_error_in_between() -> None:
    noise = (
        "ibwarn: [4] _do_madrpc: recv failed: Connection timed out\n"
        "./libibnetdisc/ibnetdisc.c:667; Duplicate Port: Port with guid 0x02c1a58000000000 already exists in ports DB\n"
    )
    assert parse(noise + LISTING, "scan").duplicates == (0x02C1A58000000000,)


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        (11, '[1]\t"H-0c42a10300aabbcc"[1'),
        (11, "[1]"),
        (11, '[42]\t"H-0c42a10300aabbcc"[1](c42a10300aabbcc)'),
        (5, '[1]\t"H-0c42a10300aabbcc"[1](c42a10300aabbcc)'),
        (10, 'Switch\t0 "S-b8cef60300f1a2b0"'),
        (10, "Switch\t41 S-b8cef60300f1a2b0"),
        (1, "<html>"),
        (19, "\x00\x01binary"),
    ],
)
def test_a_bad_line_is_named(line: int, broken: str) -> None:
    lines = LISTING.splitlines()
    lines[line - 1] = broken
    with pytest.raises(ClusterwrightError, match=rf"^scan:{line}:1: .*: scan again"):
        parse("\n".join(lines), "scan")


def test_a_listing_that_ends_early_is_refused() -> None:
    whole = LISTING.splitlines()
    with pytest.raises(ClusterwrightError, match=r"^scan:12:1: .*a link to a node that the file lists"):
        parse("\n".join(whole[:19]), "scan")


def test_a_node_name_map() -> None:
    assert parse_name_map('# racks\n0x0008f104003f125c "leaf-00"  # left\n\n8f104003f125d "leaf 01"\n', "map") == {
        0x0008F104003F125C: "leaf-00",
        0x0008F104003F125D: "leaf 01",
    }
    with pytest.raises(ClusterwrightError, match=r"^map:2:1: "):
        parse_name_map('0x1 "a"\n0x2 b\n', "map")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ibnetdiscover", "{folder}/none"], "cannot be read"),
        (["--ibnetdiscover", "{folder}/empty"], "there is no node in this file"),
        (["--ibnetdiscover", "{folder}/empty", "--fabric", "frontend"], "there is no node in this file"),
        (["--ibnetdiscover", "{folder}/scan", "--fabric", "frontend"], "no InfiniBand fabric"),
        (["--ibnetdiscover", "{folder}/scan", "--name-map", "{folder}/scan"], "node-name map"),
    ],
)
def test_what_cannot_be_run_is_said(arguments: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    (tmp_path / "scan").write_text(LISTING)
    words = [word.format(folder=tmp_path) for word in arguments]
    done = CliRunner().invoke(observe, [str(hdr_lab(tmp_path)), *words], standalone_mode=False)
    assert isinstance(done.exception, ClusterwrightError)
    assert said in str(done.exception)


def test_the_page_on_cabling_shows_two_exchanged_cables_and_a_dead_one(tmp_path: Path) -> None:
    plan = plan_of("lab-ib")
    exchanged = ("gpu-s00r00n1 be3", "gpu-s00r01n2 be3")
    adapters = re.findall(r'"H-([0-9a-f]+)".*# "(.+?)"', listing(plan, "4xNDR"))
    node_guid = {name: int(guid, 16) for guid, name in adapters}
    # Two adapters in each other's places are the same as two cables in each other's ports.
    other_name = dict(zip(exchanged, reversed(exchanged), strict=True))
    other_guid = {node_guid[name]: node_guid[other] for name, other in other_name.items()}
    text = listing(
        plan,
        "4xNDR",
        described=lambda name: other_name.get(name, name),
        guid=lambda guid: other_guid.get(guid, guid),
    )
    # The dead cable between port 14 of leaf-s01-00 and port 18 of spine-01 is at neither end.
    dead = r'^\[(14\]\t"S-\w+"\[18|18\]\t"S-\w+"\[14)\].*(leaf-s01-00|spine-01)".*\n'
    text, removed = re.subn(dead, "", text, flags=re.MULTILINE)
    assert removed == 2
    scan = tmp_path / "scan.txt"
    scan.write_text(text)

    spec = str(data_files.folder("inventory") / "lab-ib.yaml")
    done = CliRunner().invoke(observe, [spec, "--ibnetdiscover", str(scan)], standalone_mode=False)
    page = shown_by("cabling.md", "clusterwright observe inventory/lab-ib.yaml --ibnetdiscover scan.txt")
    assert_whole(page, done.output)
