"""Generated sets of classes: NICs, FBOSS, EOS and SONiC mean the same by every DSCP, or lint says what cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plans import plan_of
from tests.strategies import EXAMPLES

from clusterwright.artifact import Artifact
from clusterwright.facts.router import DSCPS, Router
from clusterwright.hosts.linux.reader.network import SCRIPT, read_qos_script
from clusterwright.hosts.linux.writer import qos as node_qos
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.ethernet.qos.proof import QOS
from clusterwright.proofs.tree import tree_of
from clusterwright.rules.registry import all_rules
from clusterwright.rules.rule import Subject
from clusterwright.spec.fabric import TrafficClass
from clusterwright.switches.eos.reader import configuration as eos_text
from clusterwright.switches.eos.reader.sections import PATH as EOS
from clusterwright.switches.fboss.reader import configuration as fboss_json
from clusterwright.switches.sonic.reader import configuration as sonic_json

Classes = tuple[TrafficClass, ...]
# What decides whether a set of classes can be said; a second lossless class can, whoever vouches for its headroom.
JUDGES = ("CW401", "CW402", "CW416", "CW417", "CW430")


@st.composite
def class_sets(draw: st.DrawFn) -> Classes:
    """One to eight classes in any queues, up to two of them lossless with any priority, DSCPs dealt at random."""
    count = draw(st.integers(1, 8))
    queues = draw(st.lists(st.integers(0, 7), min_size=count, max_size=count, unique=draw(st.integers(0, 9)) > 0))
    lossless = draw(st.sets(st.integers(0, count - 1), max_size=2))
    priorities = draw(st.lists(st.integers(0, 7), min_size=2, max_size=2, unique=draw(st.integers(0, 9)) > 0))
    dealt = draw(st.lists(st.integers(-1, count - 1), min_size=DSCPS, max_size=DSCPS))
    order = sorted(lossless)
    return tuple(
        TrafficClass(
            name=f"class{index}",
            dscp=tuple(dscp for dscp in range(DSCPS) if dealt[dscp] == index),
            service_level=None,
            queue=queues[index],
            priority=priorities[order.index(index)] if index in lossless else None,
            weight=index + 1,
            strict=False,
            ecn="count" if index in lossless else "none",
            marking=None,
            arbitration="low",
            path=("fabrics", 0, "classes", index),
        )
        for index in range(count)
    )


def with_classes(name: str, classes: Classes) -> Plan:
    """The plan of a reference spec whose first fabric has these classes; NCCL's data travels in the first lossless."""
    plan = plan_of(name)
    spec = plan.spec
    data = next((traffic_class.name for traffic_class in classes if traffic_class.priority is not None), None)
    profiles = tuple(replace(each, data_class=data, control_dscp=None) for each in spec.nccl_profiles)
    fabrics = (replace(spec.fabrics[0], classes=classes), *spec.fabrics[1:])
    return replace(plan, spec=replace(spec, fabrics=fabrics, nccl_profiles=profiles))


def objections(plan: Plan) -> list[str]:
    """The codes of the rules that look at classes alone."""
    subject = Subject(plan.spec)
    checks = {code: all_rules()[code].check for code in JUDGES}
    return [code for code, check in checks.items() if check is not None and any(True for _ in check(subject))]


def text(files: tuple[Artifact, ...], path: str) -> str:
    return next(file.content.decode() for file in files if file.path == path)


def routers(roce: Plan, sonic: Plan) -> Iterator[Router]:
    """One switch of each system, read back from its text."""
    rack = Rendering(roce).of_device("rtsw-p00r00")
    yield fboss_json.read_fboss("rtsw-p00r00", text(rack, fboss_json.AGENT), text(rack, fboss_json.BGP))
    yield sonic_json.read_sonic("rtsw-p00r00", text(Rendering(sonic).of_device("rtsw-p00r00"), sonic_json.PATH))
    eos = eos_text.read_eos("ctsw-p00-00", text(Rendering(roce).of_device("ctsw-p00-00"), EOS))
    assert eos is not None
    yield eos


def wanted(classes: Classes) -> list[TrafficClass | None]:
    """The class of every DSCP as the documentation has it, None where no class takes it."""
    named = {dscp: traffic_class for traffic_class in classes for dscp in traffic_class.dscp}
    lossy = sorted(
        (traffic_class for traffic_class in classes if traffic_class.priority is None),
        key=lambda each: (bool(each.dscp), each.queue),
    )
    return [named.get(dscp, lossy[0] if lossy else None) for dscp in range(DSCPS)]


@settings(max_examples=EXAMPLES)
@given(class_sets())
def test_every_hop_means_the_same_by_every_dscp(classes: Classes) -> None:
    roce, sonic = with_classes("lab-roce", classes), with_classes("lab-sonic", classes)
    expected = wanted(classes)
    if objections(roce):
        return
    paused = {traffic_class.priority for traffic_class in classes if traffic_class.priority is not None}
    nic = None
    if paused:
        script = text(tuple(node_qos.WRITER.render(roce, roce.by_name["gpu-p00r00n0"])), SCRIPT)
        (nic,) = read_qos_script(script)
        assert nic.lossless == paused
    numbers = set()
    for router in routers(roce, sonic):
        assert router.qos is not None
        assert router.qos.paused == paused
        numbers.add(router.qos.class_of)
        for dscp, entry in enumerate(expected):
            number = router.qos.class_of[dscp]
            assert number is not None
            assert entry is not None, "no class takes the DSCP, and no rule said so"
            assert router.qos.queue_of[number] == entry.queue
            assert (number in paused) is (entry.priority is not None)
            assert (router.qos.group_of.get(number, number) in paused) is (entry.priority is not None)
            if nic is not None:
                assert nic.priority_of[dscp] == number
        for port in router.ports:
            if port.peer:
                assert port.qos.lossless == paused
    assert len(numbers) == 1


@settings(max_examples=EXAMPLES // 4)
@given(class_sets())
def test_what_can_be_said_is_proven_from_the_text(classes: Classes) -> None:
    for name in ("lab-roce", "lab-sonic"):
        plan = with_classes(name, classes)
        if objections(plan) or not any(
            traffic_class.priority is not None and traffic_class.dscp for traffic_class in classes
        ):
            continue
        if (
            plan.spec.nccl_profiles
            and not next(traffic_class for traffic_class in classes if traffic_class.priority is not None).dscp
        ):
            continue  # CW403: NCCL's data has no DSCP
        verdict = QOS.run(tree_of(name, Rendering(plan).of_kinds(KINDS), Declaration(plan)))
        assert verdict.is_proven, [str(example) for example in verdict.counterexamples[:3]]


SETS = {
    "a lossy class whose queue is the paused priority": ((5, 2, range(50, 60)), (2, None, [20])),
    "a lossy class alone beside it": ((5, 2, range(50, 60)), (2, None, [])),
    "numbers that push each other on": ((7, 3, [40]), (3, None, [1]), (0, None, [2]), (1, None, [])),
    "two lossless classes": ((5, 2, [50]), (2, 5, [51]), (0, None, [])),
}


@pytest.mark.parametrize("what", SETS)
def test_sets_that_went_wrong(what: str) -> None:
    entries = SETS[what]
    classes = tuple(
        TrafficClass(
            f"class{index}",
            tuple(dscp),
            None,
            queue,
            priority,
            1,
            False,
            "none",
            None,
            "low",
            ("fabrics", 0, "classes", index),
        )
        for index, (queue, priority, dscp) in enumerate(entries)
    )
    test_every_hop_means_the_same_by_every_dscp.hypothesis.inner_test(classes)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["lab-roce", "lab-sonic"])
def test_a_writer_that_numbers_by_itself_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NICs that take a lossy class's queue for its priority, as they once did."""
    classes = with_queue_of_the_pause()
    plan = with_classes(name, classes)
    monkeypatch.setattr(node_qos, "dscp_moves", lambda _: {2: tuple(d for d in range(DSCPS) if d not in range(16, 24))})
    verdict = QOS.run(tree_of(name, Rendering(plan).of_kinds(KINDS), Declaration(plan)))
    assert verdict.is_refuted
    assert {example.file for example in verdict.counterexamples} == {SCRIPT}


def with_queue_of_the_pause() -> Classes:
    """``rdma`` in queue 5 with priority 2, everything else in queue 2."""
    rdma, rest = plan_of("lab-roce").spec.fabrics[0].classes[1], plan_of("lab-roce").spec.fabrics[0].classes[0]
    return (replace(rdma, queue=5), replace(rest, queue=2))
