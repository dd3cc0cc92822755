"""Every tier has a hash of its own, in every system's text, and the proof sees where two have the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.plans import plan_of, plan_with
from tests.proofs.ethernet_trees import text_of, tree, verdict

from clusterwright.artifact import Artifact
from clusterwright.intent.hashing import hashing_of
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.tree import tree_of
from clusterwright.rules.engine import lint_path
from clusterwright.spec.hardware.systems import system_of, systems

SONIC, EOS, AGENT = "etc/sonic/config_db.json", "mnt/flash/startup-config", "etc/coop/agent.conf"
# switch.json.j2 of sonic-buildimage
SONIC_SEEDS = {"ToRRouter": 0, "LeafRouter": 10, "SpineRouter": 25}
ALL_SONIC = """
fabrics:
  - name: backend
    tiers:
      - {role: rtsw, model: dcs-7060x6-64pe-sonic, down: {blocks: [cages]}, up: {blocks: [cages]}}
      - {role: ctsw, model: dcs-7060x6-64pe-sonic}
      - {role: atsw, model: dcs-7060x6-64pe-sonic}
"""

FOUR_SONIC = ALL_SONIC.replace("atsw,", "atsw, up: {links: 2, speed_gbps: 400},")
FOUR_SONIC += """      - {role: xtsw, model: dcs-7060x6-64pe-sonic, per: cluster, asn: {base: 4200000050, per: tier}}
expect:
  - {figure: oversubscription.backend.atsw, value: 16, assumed: "As narrow as a test may be."}
"""


@cache
def all_sonic() -> Plan:
    with TemporaryDirectory() as folder:
        return plan_with(Path(folder), "lab-roce", ALL_SONIC)


def judged(plan: Plan, edit: Callable[[str, str], str] = lambda device, text: text) -> Verdict:
    files = [
        Artifact(a.device, a.path, edit(a.device, a.content.decode()).encode(), a.kind)
        for a in Rendering(plan).of_kinds(KINDS)
    ]
    return verdict("ecmp-hash", tree_of("lab", files, Declaration(plan)))


def test_sonic_switches_take_another_seed_on_every_tier() -> None:
    seeds: dict[str, set[tuple[int, str]]] = {}
    for artifact in Rendering(all_sonic()).of_kinds({"sonic"}):
        if artifact.path == SONIC:
            tables = json.loads(artifact.content)
            kind = tables["DEVICE_METADATA"]["localhost"]["type"]
            algorithm = tables["SWITCH_HASH"]["GLOBAL"]["ecmp_hash_algorithm"]
            seeds.setdefault(artifact.device[:4], set()).add((SONIC_SEEDS[kind], algorithm))
    assert seeds == {"rtsw": {(0, "CRC")}, "ctsw": {(10, "CRC_CCITT")}, "atsw": {(25, "CRC")}}
    answer = judged(all_sonic())
    assert answer.is_proven
    assert any(fact.value == "CRC-16-CCITT, seed 10" for fact in answer.facts)
    assert any("rtsw and atsw have CRC with seeds of their own" in note for note in answer.notes)


@pytest.mark.parametrize("algorithm", ["CRC_32LO", "CRC_XOR", "XOR", "none at all"])
def test_an_algorithm_that_not_every_chip_takes_is_not_proven(algorithm: str) -> None:
    """orchagent logs it, and the chip keeps what it has."""

    def other(device: str, text: str) -> str:
        if device != "rtsw-p00r00" or not text.startswith("{"):
            return text
        return text.replace('"ecmp_hash_algorithm": "CRC"', f'"ecmp_hash_algorithm": "{algorithm}"')

    answer = judged(all_sonic(), other)
    assert not answer.is_settled
    assert any("ecmp_hash_algorithm" in place.unread.text for place in answer.unread)


def test_one_type_for_all_is_refuted_with_its_line() -> None:
    def same(_: str, text: str) -> str:
        text = re.sub(r'"type": "(Leaf|Spine)Router"', '"type": "ToRRouter"', text)
        return re.sub(r'"ecmp_hash_algorithm": "\w+"', '"ecmp_hash_algorithm": "CRC"', text)

    answer = judged(all_sonic(), same)
    assert answer.is_refuted
    first = answer.counterexamples[0]
    assert (first.file, first.line > 0) == (SONIC, True)
    assert "CRC, seed 0" in first.message


@pytest.mark.parametrize("name", ["lab-roce", "lab-sonic", "lab-border"])
def test_reference_tiers_differ_and_are_read_back(name: str) -> None:
    answer = verdict("ecmp-hash", tree(name))
    assert answer.is_proven
    told: dict[str, list[object]] = {}
    for fact in answer.facts:
        if fact.name.endswith("chooses with"):
            told.setdefault(fact.name.partition(":")[0], []).append(fact.value)
    assert len(told) == 3, "a backend, a frontend and a management network"
    assert all(len(set(functions)) == len(functions) for functions in told.values())
    assert max(map(len, told.values())) == 3


@pytest.mark.parametrize("tier", ["ctsw-p00-00", "atsw-00"])
def test_one_switch_with_the_function_of_the_tier_below_is_named(tier: str) -> None:
    below = {"ctsw-p00-00": ("ToRRouter", "CRC"), "atsw-00": ("LeafRouter", "CRC_CCITT")}[tier]

    def same(device: str, text: str) -> str:
        if device != tier or not text.startswith("{"):
            return text
        text = re.sub(r'"type": "(Leaf|Spine)Router"', f'"type": "{below[0]}"', text)
        return re.sub(r'"ecmp_hash_algorithm": "\w+"', f'"ecmp_hash_algorithm": "{below[1]}"', text)

    answer = judged(all_sonic(), same)
    assert {example.device for example in answer.counterexamples} == {tier}


def test_the_seed_of_the_tier_below_is_refuted_on_eos() -> None:
    edit = {("atsw-00", EOS): lambda text: text.replace("ip load-sharing arad 2", "ip load-sharing arad 1")}
    (example,) = verdict("ecmp-hash", tree("lab-roce", edit)).counterexamples
    line = next(
        number
        for number, each in enumerate(edit["atsw-00", EOS](text_of("lab-roce", "atsw-00", EOS)).split("\n"), 1)
        if each.startswith("ip load-sharing")
    )
    assert (example.device, example.file, example.line) == ("atsw-00", EOS, line)


def test_a_seed_that_the_text_leaves_open_is_not_proven() -> None:
    def open_seed(text: str) -> str:
        agent = json.loads(text)
        del agent["sw"]["loadBalancers"][0]["seed"]
        return json.dumps(agent)

    answer = verdict("ecmp-hash", tree("lab-roce", {("rtsw-p00r00", AGENT): open_seed}))
    assert not answer.is_refuted
    assert answer.unjudged == "not proven, because rtsw-p00r00 does not state the seed of its hash"


def test_every_mix_of_systems_has_functions_for_three_tiers() -> None:
    """Tiers of any three models get functions that differ, whatever system and chip each has."""
    models = [
        m for m in plan_of("lab-roce").spec.catalogue.values() if (system := system_of(m)) is not None and system.routes
    ]
    fabric = plan_of("lab-roce").spec.fabrics[0]
    kinds = {(m.network_os, m.asic): m for m in models}.values()
    for chosen in product(kinds, repeat=3):
        tiers = tuple(replace(t, model=m) for t, m in zip(fabric.tiers, chosen, strict=True))
        found = hashing_of(replace(fabric, tiers=tiers), list(pairwise(tiers)))
        functions = [each.function for each in found if each.function is not None]
        assert len({each.crc for each in functions}) == len(functions)
        for each in found:
            assert each.function is not None or each.reason
            own = systems()[each.tier.model.network_os or ""].hashing_on(each.tier.model.asic)
            if own is not None and len(own.functions) >= 3:
                assert each.function is not None


def test_four_tiers_of_sonic_are_refused_on_the_line_of_the_fourth(tmp_path: Path) -> None:
    file = tmp_path / "four.yaml"
    base = Path(__file__).parents[2] / "inventory" / "lab-roce.yaml"
    file.write_text(f"extends: {base}{FOUR_SONIC}")
    # A single switch on top and passwords that SONiC does not take are told beside it.
    (finding,) = (finding for finding in lint_path(file).findings if finding.code == "CW431")
    assert finding.position.line == 8
    assert "seeds 0, 10, 25" in finding.message
