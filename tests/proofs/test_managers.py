"""What nobody asked a subnet manager for, and managers that differ: refuted on the device, file and line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with
from tests.proofs.trees import (
    COMPUTE,
    CONFIG,
    FABRIC,
    NAMES,
    PARTITIONS,
    ROOTS,
    Edit,
    artifacts_of,
    line_of,
    managers_of,
    tree,
    verdict,
)

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.subnet import KINDS
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of

LAB = "lab-ib"


def append(line: str) -> Edit:
    return lambda text: f"{text}{line}\n"


def substitute(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


def judged(edits: Mapping[str, Edit], only: str = "") -> Verdict:
    return verdict("ib-managers", tree(LAB, edits, only=only))


@pytest.mark.parametrize(
    ("edit", "pattern", "said"),
    [
        (append("m_key 0x1234"), "^m_key ", "stands here in clear"),
        (append("sa_key 0x1"), "^sa_key ", "stands here in clear"),
        (append("m_key_protection_level 0"), "^m_key_prot", "asked for by nothing in the spec"),
        (append("qos TRUE"), "^qos ", "asked for by nothing in the spec"),
        (append("qos_policy_file /etc/opensm/qos-policy.conf"), "^qos_policy", "asked for by nothing in the spec"),
        (append("lmc 0"), "", "lmc stands on line"),
        (substitute("subnet_prefix 0xfe80000000000000", "subnet_prefix 0xfe80000000000001"), "^subnet_pre", "prefix"),
        (substitute("allow_both_pkeys FALSE", "allow_both_pkeys TRUE"), "^allow_both", "ought to be FALSE"),
        (substitute("part_enforce both", "part_enforce in"), "^part_enforce", "ought to be both"),
        (substitute("sweep_interval 10", "sweep_interval 0"), "^sweep_interval", "no number from 1"),
        (substitute("max_wire_smps 8", "max_wire_smps 0"), "^max_wire_smps ", "no number from 1"),
        (substitute("max_wire_smps 8", "max_wire_smps 08"), "^max_wire_smps ", "no number from 1"),
        (substitute("no_fallback", "no_fallback,minhop"), "^routing_engine", "ought to be ftree,no_fallback"),
        (substitute("console off", "console socket"), "^console ", "without credentials"),
    ],
)
def test_an_option_that_nobody_asked_for(edit: Edit, pattern: str, said: str) -> None:
    result = judged({CONFIG: edit})
    assert {example.device for example in result.counterexamples} == set(managers_of(LAB))
    assert all(example.file == CONFIG for example in result.counterexamples)
    assert all(said in example.message for example in result.counterexamples)
    if pattern:
        text = tree(LAB, {CONFIG: edit}).text(managers_of(LAB)[0], CONFIG)
        assert text is not None
        assert {example.line for example in result.counterexamples} == {line_of(text, pattern)}


@pytest.mark.parametrize("check", ["ib-managers", "ib-up-down", "ib-partitions"])
def test_an_option_that_nobody_knows_leaves_claims_unproven(check: str) -> None:
    """As UFM writes them by hundreds: nobody here says that one is wrong, nor that it changes nothing."""
    result = verdict(check, tree(LAB, {CONFIG: append("sweep_intervall 10")}))
    assert not result.is_refuted
    assert not result.is_settled
    assert '"sweep_intervall 10"' in result.word


@pytest.mark.parametrize(
    ("path", "edit", "said"),
    [
        (CONFIG, substitute("sm_priority 14", "sm_priority 15"), "sm_priority 15 is that of"),
        (CONFIG, substitute("sm_priority 14", "sm_priority 3"), "sm_priority 3 is none of 15, 14"),
        (CONFIG, substitute("0xfe80000000000000", "0xfe80000000000001"), "taking over changes it"),
        (CONFIG, substitute("sweep_interval 10", "sweep_interval 20"), "taking over changes it"),
        (PARTITIONS, substitute("training=0x0001", "training=0x0002"), "taking over changes the subnet"),
        (COMPUTE, append("# nothing"), "taking over changes the subnet"),
    ],
)
def test_a_standby_that_differs(path: str, edit: Edit, said: str) -> None:
    standby = managers_of(LAB)[1]
    result = judged({path: edit}, only=standby)
    assert {(example.device, example.file) for example in result.counterexamples} == {(standby, path)}
    assert any(said in example.message and example.line for example in result.counterexamples)


def test_files_that_are_named_and_missing_and_files_that_nobody_named() -> None:
    plan, (first, second) = plan_of(LAB), managers_of(LAB)
    made = [a for a in Rendering(plan).of_kinds(KINDS) if (a.device, a.path) != (first, COMPUTE)]
    made.append(Artifact(second, "etc/opensm/qos-policy.conf", b"qos-ulps\nend-qos-ulps\n", "opensm"))
    result = verdict("ib-managers", tree_of(LAB, made, Declaration(plan)))
    said = {(example.device, example.file): example.message for example in result.counterexamples}
    assert "cn_guid_file names /etc/opensm/cn_guids.conf, which this host is not given" in said[first, CONFIG]
    assert "names no such file" in said[second, "etc/opensm/qos-policy.conf"]


def test_a_master_that_is_full_member_only_while_it_runs() -> None:
    result = judged({PARTITIONS: lambda text: "\n".join(text.split("\n")[:4] + text.split("\n")[5:])})
    assert any("is no full member of the default partition while another runs" in example.message
               for example in result.counterexamples)  # fmt: skip


@pytest.mark.parametrize("overlay", ["", "m_key: {secret: m-key, protection: 2, lease_s: 60}"])
def test_what_is_rendered_is_proven(overlay: str, tmp_path: Path) -> None:
    text = f"fabrics:\n  - name: backend\n    subnet_manager: {{{overlay}}}\n" if overlay else ""
    plan = plan_with(tmp_path, LAB, text)
    result = verdict("ib-managers", tree_of(LAB, Rendering(plan).of_kinds(KINDS), Declaration(plan)))
    assert result.is_proven, [str(example) for example in result.counterexamples]
    assert bool(result.notes) is bool(overlay)


def test_a_folder_is_judged_by_what_holds_for_every_spec() -> None:
    assert verdict("ib-managers", tree(LAB, declaration=False)).is_proven
    result = verdict("ib-managers", tree(LAB, {CONFIG: append("m_key 0x1")}, declaration=False))
    assert result.is_refuted


_BOTH_LISTS = {"ib-cabling", "ib-rail-purity", "ib-up-down", "ib-path-balance", "ib-bisection", "ib-failures"}
_EVERY = {*_BOTH_LISTS, "ib-lid-space", "ib-partitions"}


@pytest.mark.parametrize("has_spec", [True, False])
@pytest.mark.parametrize(
    ("path", "needing"),
    [
        (ROOTS, _BOTH_LISTS),
        (COMPUTE, _BOTH_LISTS),
        (NAMES, {"ib-cabling"}),
        (FABRIC, _EVERY),
        (PARTITIONS, set()),
    ],
)
def test_a_file_that_the_host_lacks(path: str, needing: set[str], *, has_spec: bool) -> None:
    """One check refutes it, those that read the file say that they cannot judge, and the others judge."""
    files = [file for file in artifacts_of(LAB) if file.path != path]
    subject = tree_of(LAB, files, Declaration(plan_of(LAB)) if has_spec else None)
    # The tree has no file of another kind.
    of_managers = (check for check in CHECKS if check.kinds and check.kinds <= KINDS)
    found = {check.name: check.run(subject) for check in of_managers}
    assert {name for name, each in found.items() if each.unjudged} == needing
    for name in needing:
        assert found[name].word == f"not proven, because {managers_of(LAB)[0]}:/{path} is missing"
    refuted = {"ib-managers", "ib-partitions"} if path == PARTITIONS else {"ib-managers"}
    assert {name for name, each in found.items() if each.is_refuted} == refuted
    assert all(each.is_proven for name, each in found.items() if name not in {*needing, *refuted})


def test_a_file_that_one_manager_lacks() -> None:
    standby = managers_of(LAB)[1]
    files = [file for file in artifacts_of(LAB) if (file.device, file.path) != (standby, FABRIC)]
    subject = tree_of(LAB, files, Declaration(plan_of(LAB)))
    assert verdict("ib-up-down", subject).word == f"not proven, because {standby}:/{FABRIC} is missing"
    counterexamples = verdict("ib-managers", subject).counterexamples
    assert {(example.device, example.file) for example in counterexamples} >= {(standby, FABRIC)}


def test_an_option_that_names_another_file() -> None:
    subject = tree(LAB, {CONFIG: substitute("/etc/opensm/root_guids.conf", "/etc/opensm/roots.conf")})
    word = f"not proven, because {managers_of(LAB)[0]}:/etc/opensm/roots.conf is missing"
    assert verdict("ib-failures", subject).word == word
    assert verdict("ib-managers", subject).is_refuted
