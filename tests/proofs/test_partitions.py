"""Partition files: the grammar, who becomes a member, and everything that would open the fabric."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.plan.grown import data_of, item, write
from tests.proofs.trees import CONFIG, PARTITIONS, Edit, line_of, managers_of, text_of, tree, verdict

from clusterwright.finding import Severity
from clusterwright.hosts.opensm.reader.partitions import BadStatement, PartitionMember, parse_partitions
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.partitions import PARTITIONS as CHECK
from clusterwright.proofs.tree import tree_of
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

LAB = "lab-ib"
DEFAULT = r"^Default=0x7fff, defmember=limited"


def judge(edit: Edit, *, path: str = PARTITIONS, declaration: bool = True) -> tuple[Counterexample, ...]:
    return verdict("ib-partitions", tree(LAB, {path: edit}, declaration=declaration)).counterexamples


def substitute(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


def without(pattern: str) -> Edit:
    def edit(text: str) -> str:
        line = line_of(text, pattern)
        return "\n".join(each for number, each in enumerate(text.split("\n"), 1) if number != line)

    return edit


def last_member() -> tuple[str, int]:
    """The GUID of the last member of the training partition, and its line."""
    lines = text_of(LAB, PARTITIONS).split("\n")
    line = max(number for number, text in enumerate(lines, 1) if text.startswith("    0x"))
    return lines[line - 1].strip()[:18], line


def test_the_grammar() -> None:
    text = (
        "# a comment ; with : signs\n"
        "Default=0x7fff, ipoib, sl=0, defmember=limited : ALL=limited, SELF=full; # more\n"
        "a = 0x8003 , rate=16, mtu=5,\n  defmember=both : 0x1, 0x2=full,\n 0x3 = limited ; b=0x4:0x9;"
    )
    default, first, second = parse_partitions(text)
    assert (default.name, default.pkey, default.line) == ("Default", 0x7FFF, 2)
    assert default.members == (PartitionMember(0, "ALL", "limited", 2), PartitionMember(0, "SELF", "full", 2))
    assert (first.pkey, first.line) == (3, 3)
    assert first.members == (
        PartitionMember(1, "", "both", 4),
        PartitionMember(2, "", "full", 4),
        PartitionMember(3, "", "limited", 5),
    )
    assert second.members == (PartitionMember(9, "", "limited", 5),)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a=08 : ALL;\n", 1),
        ("a=0x1 : 0x1=owner;", 1),
        ("\na=0x1 : node7;", 2),
        ("a=0x1, speed=3 : 0x1;", 1),
        ("a=one : 0x1;", 1),
        ("a=0x1 :\n0x1,\n0x2", 1),
        ("a=0x1 :\nall=full;", 2),
    ],
)
def test_lines_that_opensm_does_not_take(text: str, line: int) -> None:
    with pytest.raises(BadStatement) as caught:
        parse_partitions(text)
    assert caught.value.line == line


def test_a_number_that_begins_with_a_zero_is_octal() -> None:
    (partition,) = parse_partitions("training=010 : 020=full;\n")
    assert (partition.pkey, partition.members[0].guid) == (8, 16)


def test_a_syntax_error_opens_the_fabric() -> None:
    (example,) = judge(substitute("ALL=limited", "all=limited"))
    assert (example.device, example.file) == (managers_of(LAB)[0], PARTITIONS)
    assert example.line == line_of(text_of(LAB, PARTITIONS), DEFAULT)
    assert "every port can reach every other" in example.message


def test_no_default_rule() -> None:
    def edit(text: str) -> str:
        return "\n".join(line for line in text.split("\n") if not line.startswith("Default"))

    assert any("no rule for the default partition" in example.message for example in judge(edit))


@pytest.mark.parametrize("declaration", [True, False])
def test_full_membership_for_all_in_the_default_partition(declaration: bool) -> None:
    examples = judge(substitute("ALL=limited", "ALL=full"), declaration=declaration)
    assert [(example.file, example.line) for example in examples] == [
        (PARTITIONS, line_of(text_of(LAB, PARTITIONS), DEFAULT))
    ]
    assert "ALL is full in Default" in examples[0].message


def test_full_membership_by_default_alone() -> None:
    def edit(text: str) -> str:
        return text.replace("defmember=limited : ALL=limited", "defmember=full : ALL", 1)

    assert [example.line for example in judge(edit)] == [line_of(text_of(LAB, PARTITIONS), DEFAULT)]


def test_a_node_that_is_full_in_the_default_partition() -> None:
    guid, _ = last_member()
    count = len(text_of(LAB, PARTITIONS).split("\n"))
    (example,) = judge(lambda text: f"{text}Default=0x7fff : {guid}=full;\n")
    assert example.line == count
    assert "gpu-s01r01n3 be7" in example.message


def test_all_in_the_training_partition() -> None:
    count = len(text_of(LAB, PARTITIONS).split("\n"))
    examples = judge(lambda text: f"{text}training=0x0001, defmember=full : ALL_CAS;\n")
    assert [example.line for example in examples] == [count]


def test_a_member_too_few() -> None:
    guid, _ = last_member()
    second = text_of(LAB, PARTITIONS).split("\n")[last_member()[1] - 2].strip()[:18]
    (example,) = judge(without(rf"^    {second}"))
    assert "is missing from partition training" in example.message
    assert second in example.message
    assert guid not in example.message


def test_a_stranger_among_the_members() -> None:
    guid, line = last_member()
    (example,) = judge(lambda text: text.replace(f"    {guid}", f"    0x00000000deadbeef=full,\n    {guid}", 1))
    assert (example.line, "0x00000000deadbeef is a member of training" in example.message) == (line, True)


def test_a_limited_member_that_should_be_full() -> None:
    guid, line = last_member()
    examples = judge(lambda text: f"{text}training=0x0001 : {guid}=limited;\n")
    assert [example.message for example in examples] == [
        f"{guid} (gpu-s01r01n3 be7) is a limited member of training, its zone wants full"
    ]
    assert examples[0].line > line


def test_another_partition_key() -> None:
    examples = judge(substitute("training=0x0001", "training=0x0002"))
    assert {"partition training (0x0001) is missing", "partition 0x0002 is in no zone of the spec"} == {
        example.message for example in examples
    }


def test_a_manager_that_is_limited() -> None:
    text = text_of(LAB, PARTITIONS)
    guid = next(line for line in text.split("\n") if line.startswith("Default=0x7fff : 0x")).split()[2][:18]
    examples = judge(lambda own: f"{own}Default=0x7fff : {guid}=limited;\n")
    assert [example.line for example in examples] == [len(text.split("\n"))]
    assert guid in examples[0].message


@pytest.mark.parametrize(
    ("pattern", "edit"),
    [
        ("^part_enforce", substitute("part_enforce both", "part_enforce off")),
        ("^partition_config_file", substitute("/partitions.conf", "/none.conf")),
    ],
)
def test_what_opensm_conf_may_not_say(pattern: str, edit: Edit) -> None:
    (example,) = judge(edit, path=CONFIG)
    assert (example.file, example.line) == (CONFIG, line_of(text_of(LAB, CONFIG), pattern))


def test_a_folder_alone_tells_that_zones_were_not_compared() -> None:
    guid, _ = last_member()
    result = verdict(
        "ib-partitions", tree(LAB, {PARTITIONS: lambda text: f"{text}x=0x2 : {guid}=full;\n"}, declaration=False)
    )
    assert result.is_proven
    assert "not checked without a spec: " in result.notes[0]


def two_subnets(folder: Path) -> Path:
    """lab-ib with half of its nodes on an InfiniBand fabric of their own."""
    data = data_of("lab-ib")
    compute, backend = item(data["nodes"], "compute"), item(data["fabrics"], "backend")
    compute["count"] = 8
    others = [{**level, "code": code} for level, code in zip(compute["levels"], "yz", strict=True)]
    data["nodes"].insert(1, {**compute, "name": "other", "prefix": "oth", "levels": others})
    tiers = [{**tier, "role": f"other-{tier['role']}"} for tier in backend["tiers"]]
    managers = {**backend["subnet_manager"], "nodes": "other"}
    own = {"name": "second", "attach": [{"nodes": "other", "nics": "backend"}], "subnet_manager": managers}
    data["fabrics"].insert(1, {**backend, **own, "tiers": tiers})
    for fabric in data["fabrics"][2:]:
        fabric["attach"] += [{**each, "nodes": "other"} for each in fabric["attach"] if each.get("nodes") == "compute"]
    zone = item(data["zones"], "compute")
    zone["nodes"].append("other")
    zone["fabrics"].append("second")
    data["mounts"][0]["nodes"].append("other")
    data["scheduler"]["nodes"] = ["compute", "other"]
    data["nccl"] = [{**data["nccl"], "name": "a"}, {**data["nccl"], "name": "b", "nodes": "other", "fabric": "second"}]
    return write({**data, "expect": []}, folder / "two.yaml")


def test_each_of_two_subnets_has_managers_of_its_own(tmp_path: Path) -> None:
    path = two_subnets(tmp_path)
    assert not [found for found in lint_path(path).findings if found.severity is Severity.ERROR]
    plan = build_plan(load_spec(path))
    files = list(Rendering(plan).of_kinds(CHECK.kinds))
    found = CHECK.run(tree_of(plan.name, files, Declaration(plan)))
    assert found.is_proven, found.counterexamples
    own = re.compile(rb", SELF=full|^Default=0x7fff : 0x\w+=full;\n", re.M)
    edited = [
        replace(file, source=own.sub(b"", file.content)) if file.path == PARTITIONS else file
        for file in files
        if file.device.startswith("oth")
    ]
    others = [file for file in files if not file.device.startswith("oth")]
    found = CHECK.run(tree_of(plan.name, [*others, *edited], Declaration(plan)))
    assert {example.device[:3] for example in found.counterexamples} == {"oth"}
    assert "is no full member of the default partition" in found.counterexamples[0].message
