"""Edits of the rendered text that each proof must refute, on the device, file and line that were edited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.plans import plan_with
from tests.proofs.trees import (
    COMPUTE,
    CONFIG,
    FABRIC,
    NAMES,
    ROOTS,
    Cables,
    Edit,
    line_of,
    managers_of,
    text_of,
    tree,
    verdict,
)

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.routing import UP_DOWN
from clusterwright.proofs.infiniband.subnet import KINDS
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of
from clusterwright.rules.engine import lint_path

LAB = "lab-ib"
HOST = "gpu-s00r00n0"


def lab_cables() -> Cables:
    return Cables(text_of(LAB, FABRIC))


def refuted(check: str, path: str, edit: Edit, name: str = LAB) -> tuple[Counterexample, ...]:
    result = verdict(check, tree(name, {path: edit}))
    assert not result.is_proven
    assert {example.device for example in result.counterexamples} == {managers_of(name)[0]}
    return result.counterexamples


def places(examples: tuple[Counterexample, ...]) -> set[tuple[str, int]]:
    return {(example.file, example.line) for example in examples}


def substitute(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


def without_line(number: int) -> Edit:
    return lambda text: "\n".join(line for at, line in enumerate(text.split("\n"), 1) if at != number)


@pytest.mark.parametrize("check", [check.name for check in CHECKS if check.kinds and check.kinds <= KINDS])
@pytest.mark.parametrize("name", [LAB, "rsc-phase1", "rsc", "ib-24k"])
def test_what_we_render_is_proven(name: str, check: str) -> None:
    result = verdict(check, tree(name))
    assert result.counterexamples == ()
    assert result.facts
    assert result.notes == ()


# --- cabling ---------------------------------------------------------------------------------------------------------


def test_a_cable_that_only_one_end_knows() -> None:
    cables = lab_cables()
    one, other = cables.line("leaf-s00-03", 9), cables.line("leaf-s00-03", 10)

    def exchange(text: str) -> str:
        lines = text.split("\n")
        first, second = (lines[line - 1].split("\t") for line in (one, other))
        lines[one - 1], lines[other - 1] = f"{first[0]}\t{second[1]}", f"{second[0]}\t{first[1]}"
        return "\n".join(lines)

    examples = refuted("ib-cabling", FABRIC, exchange)
    assert {(FABRIC, one), (FABRIC, other)} <= places(examples)
    assert "leaf-s00-03 port 9 goes to spine-01 port" in str(examples)


def test_a_switch_without_a_name() -> None:
    line = line_of(text_of(LAB, NAMES), "spine-02")
    (example,) = refuted("ib-cabling", NAMES, without_line(line))
    assert (example.file, example.line) == (NAMES, 0)
    assert "spine-02" in example.message


def test_two_switches_of_one_name() -> None:
    (example,) = refuted("ib-cabling", NAMES, substitute("spine-02", "spine-01"))
    assert (example.file, example.line) == (NAMES, line_of(text_of(LAB, NAMES), "spine-02"))


def test_a_root_that_does_not_exist() -> None:
    guid = text_of(LAB, ROOTS).split("\n")[2]
    (example,) = refuted("ib-cabling", ROOTS, substitute(guid, "0x02c1a511000009ff"))
    assert (example.file, example.line) == (ROOTS, 3)


def test_a_compute_port_left_out() -> None:
    guid = text_of(LAB, COMPUTE).split("\n")[9]
    (example,) = refuted("ib-cabling", COMPUTE, without_line(10))
    assert example.file == COMPUTE
    assert guid in example.message
    assert "gpu-s00r00n1 be1" in example.message


def test_a_guid_used_twice() -> None:
    cables = lab_cables()
    first, second = (cables.ids[name][2:] for name in ("gpu-s01r00n0 be0", "gpu-s01r00n0 be1"))
    line = line_of(text_of(LAB, FABRIC), f'^Hca.*"H-{second}"')
    examples = refuted("ib-cabling", FABRIC, lambda text: text.replace(second, first))
    assert (FABRIC, line) in places(examples)


def test_an_adapter_by_another_name() -> None:
    line = line_of(text_of(LAB, FABRIC), '# "gpu-s00r01n2 be3"')
    (example,) = refuted("ib-cabling", FABRIC, substitute('"gpu-s00r01n2 be3"', '"gpu-s00r01n2 be9"'))
    assert (example.file, example.line) == (FABRIC, line)
    assert "gpu-s00r01n2 be3 by the spec" in example.message


def test_a_port_that_the_switch_does_not_have() -> None:
    line = lab_cables().line("leaf-s00-05", 16)

    def renumber(text: str) -> str:
        lines = text.split("\n")
        lines[line - 1] = lines[line - 1].replace("[16]", "[65]", 1)
        return "\n".join(lines)

    assert (FABRIC, line) in places(refuted("ib-cabling", FABRIC, renumber))


# --- rail purity -----------------------------------------------------------------------------------------------------


def test_two_rails_of_a_node_crossed() -> None:
    cables = lab_cables().swap(("gpu-s00r01n2 be3", 1), ("gpu-s00r01n2 be4", 1))
    examples = refuted("ib-rail-purity", FABRIC, lambda _: cables.text)
    ends = [cables.peer(f"gpu-s00r01n2 be{rail}", 1) for rail in (3, 4)]
    assert places(examples) == {(FABRIC, cables.line(*end)) for end in ends}
    assert [end[0] for end in ends] == ["leaf-s00-04", "leaf-s00-03"]
    assert any("gpu-s00r01n2 be3 – leaf-s00-04" in example.message for example in examples)


def test_a_rail_that_ends_in_another_unit() -> None:
    cables = lab_cables().swap(("gpu-s00r01n2 be3", 1), ("gpu-s01r00n1 be3", 1))
    examples = refuted("ib-rail-purity", FABRIC, lambda _: cables.text)
    ends = [cables.peer("gpu-s00r01n2 be3", 1), cables.peer("gpu-s01r00n1 be3", 1)]
    assert places(examples) == {(FABRIC, cables.line(*end)) for end in ends}
    assert "leaf-s00-03" in examples[-1].message + examples[0].message


def test_uplinks_of_two_rails_crossed_between_planes() -> None:
    cables = Cables(text_of("ib-24k", FABRIC))
    one, other = ("leaf-s00-00", 33), ("leaf-s00-01", 33)
    planes = {cables.peer(*one)[0], cables.peer(*other)[0]}
    cables.swap(one, other)
    examples = refuted("ib-rail-purity", FABRIC, lambda _: cables.text, "ib-24k")
    assert {example.message.split(" serves")[0] for example in examples} == planes
    assert places(examples) == {(FABRIC, cables.line(*one)), (FABRIC, cables.line(*other))}


# --- up–down routing -------------------------------------------------------------------------------------------------


def test_a_root_left_out() -> None:
    examples = refuted("ib-up-down", ROOTS, without_line(4))
    assert places(examples) == {(ROOTS, 0)}
    assert "spine-03" in examples[0].message
    assert "carries no traffic" in examples[0].message


def test_a_leaf_in_the_list_of_roots() -> None:
    leaf = f"0x{lab_cables().ids['leaf-s01-02'][2:]}"
    examples = refuted("ib-up-down", ROOTS, lambda text: f"{text}{leaf}\n")
    switch = line_of(text_of(LAB, FABRIC), '# "leaf-s01-02"')
    assert (FABRIC, switch) in places(examples)
    assert any("compute adapters at rank 0" in example.message for example in examples)
    flat = [example for example in examples if "leads neither up nor down" in example.message]
    assert len(flat) == 8
    assert all("leaf-s01-02" in example.message for example in flat)


def test_no_roots() -> None:
    examples = refuted("ib-up-down", ROOTS, lambda _: "")
    assert (ROOTS, 0) in places(examples)


def test_a_cable_between_two_leaves() -> None:
    cables = lab_cables().plug(("leaf-s00-00", 60), ("leaf-s01-05", 60))
    text = cables.text
    examples = refuted("ib-up-down", FABRIC, lambda _: text)
    line = line_of(text, r"^\[60\].*" + cables.ids["leaf-s01-05"])
    assert places(examples) == {(FABRIC, line)}
    loop = next(example.message for example in examples if "credit loop" in example.message)
    assert "leaf-s00-00 → leaf-s01-05 → spine-" in loop


def test_a_leaf_without_uplinks() -> None:
    cables = lab_cables()
    for port in range(9, 17):
        cables.unplug("leaf-s01-07", port)
    examples = refuted("ib-up-down", FABRIC, lambda _: cables.text)
    assert (FABRIC, line_of(cables.text, '# "leaf-s01-07"')) in places(examples)
    assert any("no up–down path from leaf-s01-07" in example.message for example in examples)


@pytest.mark.parametrize(("new", "said"), [("minhop,no_fallback", "minhop"), ("ftree", "no_fallback")])
def test_an_engine_that_may_leave_the_tree(new: str, said: str) -> None:
    edit = substitute("routing_engine ftree,no_fallback", f"routing_engine {new}")
    (example,) = refuted("ib-up-down", CONFIG, edit)
    assert (example.file, example.line) == (CONFIG, line_of(text_of(LAB, CONFIG), "^routing_engine"))
    assert said in example.message


def test_only_the_standby_manager_differs() -> None:
    standby = managers_of(LAB)[1]
    result = verdict("ib-up-down", tree(LAB, {ROOTS: without_line(1)}, only=standby))
    assert {example.device for example in result.counterexamples} == {standby}


DRAINED_UNIT = "exceptions: [{group: s01, state: drained, reason: recabled}]"


def drained_unit(folder: Path) -> tuple[tuple[Artifact, ...], Declaration]:
    plan = plan_with(folder, LAB, DRAINED_UNIT)
    return tuple(Rendering(plan).of_kinds(KINDS)), Declaration(plan)


def test_a_drained_unit_is_said_to_be_reached_still(tmp_path: Path) -> None:
    files, declaration = drained_unit(tmp_path)
    result = verdict("ib-up-down", tree_of(LAB, files, declaration))
    assert result.is_proven
    facts = {fact.name: fact.value for fact in result.facts}
    assert facts["drained nodes, to which paths lead still"] == 8
    assert facts["drained switch chips that carry what drained nodes send or are sent"] == 8
    assert not any("drained" in fact.name for fact in verdict("ib-up-down", tree(LAB)).facts)


def test_a_drained_leaf_with_a_node_in_service(tmp_path: Path) -> None:
    files, declaration = drained_unit(tmp_path)
    path = next(file for file in files if file.path == FABRIC)
    cables = Cables(path.content.decode()).swap(("gpu-s00r01n2 be3", 1), ("gpu-s01r00n1 be3", 1))
    edited = tuple(replace(file, source=cables.text.encode()) if file.path == FABRIC else file for file in files)
    (example,) = verdict("ib-up-down", tree_of(LAB, edited, declaration)).counterexamples
    assert (example.file, example.line) == (FABRIC, line_of(cables.text, '# "leaf-s01-03"'))
    assert "the spec drains leaf-s01-03" in example.message


def test_a_drained_root_outside_the_cabling_is_no_switch(tmp_path: Path) -> None:
    files, declaration = drained_unit(tmp_path)
    guid = f"{min(declaration.drained_chips):016x}"
    edited = []
    for file in files:
        text = file.content.decode()
        if file.path == FABRIC:
            text = text.replace(guid, "0" * 12 + "beef")
        elif file.path == ROOTS:
            text += f"0x{guid}\n"
        edited.append(replace(file, source=text.encode()))
    subject = tree_of(LAB, tuple(edited), declaration)
    assert not any(
        "so that paths lead" in example.message for example in verdict("ib-up-down", subject).counterexamples
    )
    messages = [example.message for example in verdict("ib-cabling", subject).counterexamples]
    assert f"root 0x{guid} is no switch here" in messages


# --- balance and bisection -------------------------------------------------------------------------------------------


def unplugged() -> Cables:
    return lab_cables().unplug("leaf-s01-06", 12)


@pytest.mark.parametrize("check", ["ib-path-balance", "ib-bisection"])
def test_an_uplink_missing(check: str) -> None:
    cables = unplugged()
    examples = refuted(check, FABRIC, lambda _: cables.text)
    line = line_of(cables.text, '# "leaf-s01-06"')
    if check == "ib-path-balance":
        assert places(examples) == {(FABRIC, line)}
        assert "7 uplinks" in examples[0].message
    else:
        assert (FABRIC, line) in places(examples)
        assert any("63 links carry 64 adapters" in example.message for example in examples)
        assert any("7 links up from leaf-s01-06" in example.message for example in examples)


def test_uplinks_of_two_leaves_swapped() -> None:
    cables = lab_cables()
    targets = {port: cables.peer("leaf-s00-01", port)[0] for port in range(9, 17)}
    other = next(port for port in range(9, 17) if cables.peer("leaf-s00-02", port)[0] != targets[9])
    cables.swap(("leaf-s00-01", 9), ("leaf-s00-02", other))
    examples = refuted("ib-path-balance", FABRIC, lambda _: cables.text)
    assert places(examples) == {(FABRIC, line_of(cables.text, f'# "leaf-s00-0{leaf}"')) for leaf in (1, 2)}
    assert "1 to 3 each" in examples[0].message


def test_equal_oversubscription_is_refuted_only_where_the_spec_promises_none() -> None:
    cables = lab_cables()
    for unit in range(2):
        for rail in range(8):
            for port in range(13, 17):
                cables.unplug(f"leaf-s0{unit}-0{rail}", port)
    edits: dict[str, Callable[[str], str]] = {FABRIC: lambda _: cables.text}
    assert not verdict("ib-bisection", tree(LAB, edits)).is_proven
    alone = verdict("ib-bisection", tree(LAB, edits, declaration=False))
    assert alone.is_proven
    assert alone.facts[0].value == 0.5


# --- LIDs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lmc", "said"), [("3", "ftree routes no LMC"), ("9", "not a number from 0 to 7")])
def test_an_lmc_that_cannot_be(lmc: str, said: str) -> None:
    (example,) = refuted("ib-lid-space", CONFIG, substitute("lmc 0", f"lmc {lmc}"))
    assert (example.file, example.line) == (CONFIG, line_of(text_of(LAB, CONFIG), "^lmc "))
    assert said in example.message


def test_more_lids_than_there_are() -> None:
    edit = lambda text: text.replace("lmc 0", "lmc 1").replace("ftree", "updn")  # noqa: E731 - one expression, used once
    (example,) = refuted("ib-lid-space", CONFIG, edit, "ib-24k")
    assert "need 51,072 LIDs, there are 49,151" in example.message
    assert verdict("ib-lid-space", tree(LAB, {CONFIG: edit})).is_proven


# --- failures --------------------------------------------------------------------------------------------------------


def test_a_leaf_that_hangs_on_one_spine() -> None:
    cables = lab_cables()
    for port in range(9, 17):
        if cables.peer("leaf-s00-04", port)[0] != "spine-02":
            cables.unplug("leaf-s00-04", port)
    examples = refuted("ib-failures", FABRIC, lambda _: cables.text)
    assert places(examples) == {(FABRIC, line_of(cables.text, '# "spine-02"'))}
    assert "8 adapters of other switches are cut off, as on leaf-s00-04" in examples[0].message


def test_leaves_that_one_failure_parts() -> None:
    cables = lab_cables()
    for leaf, spines in (("leaf-s00-04", {"spine-00", "spine-01"}), ("leaf-s01-04", {"spine-01", "spine-02"})):
        for port in range(9, 17):
            if cables.peer(leaf, port)[0] not in spines:
                cables.unplug(leaf, port)
    examples = refuted("ib-failures", FABRIC, lambda _: cables.text)
    assert places(examples) == {(FABRIC, line_of(cables.text, '# "spine-01"'))}
    assert "leaf-s00-04 and leaf-s01-04 have no up–down path left" in examples[0].message


def test_an_engine_that_the_spec_asks_for_and_nothing_follows_is_not_proven_and_not_refuted(tmp_path: Path) -> None:
    """dfsssp breaks credit loops by lanes that it assigns while it runs: the claim is not wrong, nobody can tell."""
    overlay = "fabrics: [{name: backend, subnet_manager: {routing_engine: dfsssp}}]\n"
    plan = plan_with(tmp_path, "lab-ib", overlay)
    assert [finding.code for finding in lint_path(tmp_path / "overlay.yaml").findings] == ["CW323"]
    result = UP_DOWN.run(tree_of(plan.name, tuple(Rendering(plan).of_kinds(UP_DOWN.kinds)), Declaration(plan)))
    assert not result.is_refuted, result.counterexamples
    assert result.word == "not proven, because what paths dfsssp takes is decided while it runs"
