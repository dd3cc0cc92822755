"""Sheets of labels: each cable end once, at the rack where it is put on, with a code that says what the words say."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
import segno
from tests.report.specs import plan_of

from clusterwright.extras.crew.route import laid_routes
from clusterwright.extras.crew.sheets import label_sheets
from clusterwright.lists.records import Inventory

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib"])
def test_every_cable_end_has_one_label_in_its_rack(name: str) -> None:
    inventory = Inventory(plan_of(name), "pod0" if name == "lab-roce" else None)
    wanted = sorted(
        (near.rack, near.identifier, far.identifier)
        for route in laid_routes(inventory)
        for near, far in ((route.lower, route.upper), (route.upper, route.lower))
    )
    found = []
    for file, pieces in label_sheets(inventory).items():
        rack = re.fullmatch(r"labels-(.+)-\d+\.svg", file)
        labels = ET.fromstring("".join(pieces)).findall(f"{SVG}g")
        assert rack is not None
        assert 0 < len(labels) <= 24
        for label in labels:
            words = label.findall(f"{SVG}text")
            bold = "".join(str(word.text) for word in words if word.get("font-weight") == "bold")
            rest = "".join(str(word.text) for word in words if word.get("font-weight") != "bold")
            found.append((rack[1], bold, rest))
    assert len(found) == len(wanted)
    for (stands, near, rest), (own_rack, own, far) in zip(sorted(found), wanted, strict=True):
        assert (stands, near) == (own_rack, own)
        assert rest.startswith(far)


def test_the_code_says_both_ends() -> None:
    inventory = Inventory(plan_of("lab-roce"), "p00r00")
    sheet = "".join(next(iter(label_sheets(inventory).values())))
    first = next(iter(laid_routes(inventory)))
    code = segno.make(first.identifier, error="m", micro=False).svg_inline(border=2, omitsize=True)
    drawn = re.search(r' d="([^"]+)"', code)
    assert drawn is not None
    assert sheet.count(drawn[1]) == 1
