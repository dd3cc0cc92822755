"""Cages that are split into eight take the lanes of the cage beside them, which is disabled."""

from __future__ import annotations

from pathlib import Path

from tests.switches.test_nvue import config, objections, text_of

from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec
from clusterwright.switches.nvue.reader.known import KNOWN

EXAMPLE = Path(__file__).parents[1] / "rules" / "examples" / "CW355" / "good.yaml"
SWITCH = "rsw-s00"


def plan() -> Plan:
    return build_plan(load_spec(EXAMPLE))


def test_the_cage_beside_one_in_eight_is_disabled() -> None:
    split = plan()
    document = config(split, SWITCH)
    interfaces = document[0]["set"]["interface"]
    eight = [name for name, own in interfaces.items() if "8x" in own.get("link", {}).get("breakout", {})]
    assert eight
    for name in eight:
        beside = f"swp{int(name.removeprefix('swp')) + 1}"
        assert interfaces[beside] == {"link": {"breakout": {"disabled": {}}}, "type": "swp"}
    assert objections(document) == []
    assert KNOWN.unread(text_of(split, SWITCH)) == ()


def test_no_port_of_a_disabled_cage_is_used() -> None:
    split = plan()
    used = {end.port for cable in split.cables_of[SWITCH] for end in (cable.a, cable.b) if end.device == SWITCH}
    disabled = {
        name
        for name, own in config(split, SWITCH)[0]["set"]["interface"].items()
        if "disabled" in own.get("link", {}).get("breakout", {})
    }
    assert not [port for port in used for cage in disabled if port == cage or port.startswith(f"{cage}s")]


def test_a_cage_in_eight_whose_neighbour_is_not_disabled_is_unread() -> None:
    text = text_of(plan(), SWITCH)
    assert "disabled: {}" in text
    (unread, *_) = KNOWN.unread(text.replace("disabled: {}", "4x: {}", 1))
    assert "is not disabled" in unread.text
