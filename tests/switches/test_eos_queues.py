"""Queues on EOS have the words of the switch's chip, and a chip without known words gets no classes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.plans import plan_of

from clusterwright.finding import ClusterwrightError
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.ethernet.qos.proof import QOS
from clusterwright.proofs.tree import tree_of
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.eos.reader.configuration import read_eos

SWITCH = "ctsw-p00-00"


def plan_with_chip(asic: str | None) -> Plan:
    """The plan of the lab, whose EOS switches have another chip."""
    plan = plan_of("lab-roce")
    model = replace(plan.spec.catalogue["dcs-7804r3"], asic=asic)
    catalogue = {**plan.spec.catalogue, model.name: model}
    fabrics = []
    for fabric in plan.spec.fabrics:
        tiers = tuple(replace(tier, model=catalogue[tier.model.name]) for tier in fabric.tiers)
        fabrics.append(replace(fabric, tiers=tiers))
    return replace(plan, spec=replace(plan.spec, catalogue=catalogue, fabrics=tuple(fabrics)))


def text_with(asic: str | None) -> str:
    """The configuration of a switch of that plan."""
    files = Rendering(plan_with_chip(asic)).of_device(SWITCH)
    return next(made.content.decode() for made in files if made.path.endswith("startup-config"))


@pytest.mark.parametrize("words", systems()["eos"].queues, ids=lambda words: words.word)
def test_queues_have_the_words_of_the_chip(words: object) -> None:
    queues = next(each for each in systems()["eos"].queues if each is words)
    text = text_with(queues.asics[-1])
    opened = set(re.findall(r"^   (\S*tx-queue) \d$", text, re.M))
    assert opened == {queues.word}
    counting = [line for line in text.split("\n") if line.startswith("hardware counter feature")]
    assert counting == [queues.count_marks] * bool(queues.count_marks)
    router = read_eos(SWITCH, text)
    assert router is not None
    assert {port.qos.counted for port in router.ports if port.peer} == {(2,)}


@pytest.mark.parametrize(("asic", "count"), [("tomahawk5", 1), ("jericho2c-plus", 0)])
def test_verify_says_which_words_are_assumed(asic: str, count: int) -> None:
    plan = plan_with_chip(asic)
    verdict = QOS.run(tree_of("lab", Rendering(plan).of_kinds(KINDS), Declaration(plan)))
    assert len([note for note in verdict.notes if "No device ran EOS's words" in note]) == count


@pytest.mark.parametrize("asic", ["trident3", None])
def test_a_chip_without_known_words_gets_no_classes(asic: str | None) -> None:
    with pytest.raises(ClusterwrightError, match="CW443"):
        text_with(asic)
