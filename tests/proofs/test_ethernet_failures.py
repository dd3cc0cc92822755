"""What racks and jobs keep when something fails, against a plain search over every pair of racks and every top."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from tests.plans import plan_with
from tests.proofs.ethernet_trees import EOS, tree, verdict

from clusterwright.output.rendering import Rendering
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.failures import ETHERNET_FAILURES
from clusterwright.proofs.ethernet.jobs import RoutedUnit, job_sizes, leaf_cables_after, left_after, upper_cables_after
from clusterwright.proofs.ethernet.network import RoutedFabric, network_of_tree
from clusterwright.proofs.ethernet.uplinks import FabricUplinks, Failure, sampled_doubles, single_cables, uplinks_of
from clusterwright.proofs.infiniband.failures import FAILURES
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.rules.engine import lint_path


def backend() -> RoutedFabric:
    fabrics = network_of_tree(tree("lab-roce")).fabrics
    return next(fabric for fabric in fabrics if fabric.is_lossless)


def to_tops(uplinks: FabricUplinks, unit: RoutedUnit, failure: Failure, at: int) -> dict[int, float]:
    """What part of a switch's load from below reaches each top of a unit, walking up cable by cable."""
    if at in failure.switches:
        return {}
    rank = uplinks.fabric.rank
    if rank[at] == unit.level:
        return {at: 1.0}
    found: dict[int, float] = {}
    for number, (low, high) in enumerate(zip(uplinks.low, uplinks.high, strict=True)):
        if low == at and number not in failure.links:
            part = uplinks.gbps[number] / uplinks.down[at]
            for top, share in to_tops(uplinks, unit, failure, int(high)).items():
                found[top] = found.get(top, 0) + part * share
    total = sum(found.values())
    return {top: share / max(total, 1) if rank[at] else share for top, share in found.items()}


def between_worst_pair(uplinks: FabricUplinks, unit: RoutedUnit, failure: Failure) -> float:
    alive = [int(leaf) for leaf in unit.leaves if leaf not in failure.switches]
    reach = {leaf: to_tops(uplinks, unit, failure, leaf) for leaf in alive}
    pairs = itertools.combinations(alive, 2)
    return min(min(1.0, sum(min(reach[a].get(t, 0), reach[b].get(t, 0)) for t in reach[a])) for a, b in pairs)


UNEVEN = """fabrics:
  - {name: frontend, tiers: [{role: rsw, up: {links: 3}}, {role: ssw, count: 4}]}
"""


def uneven(folder: Path) -> tuple[RenderedTree, RoutedFabric]:
    """Every rack leaves out another one of four switches above: none is above all racks when any of them fails."""
    plan = plan_with(folder, "lab-roce", UNEVEN)
    own = tree_of(plan.name, tuple(Rendering(plan).of_kinds(ETHERNET_FAILURES.kinds)), Declaration(plan))
    return own, next(fabric for fabric in network_of_tree(own).fabrics if fabric.name == "rsw-ssw")


@pytest.mark.parametrize("name", ["backend", "uneven"])
def test_jobs_keep_what_a_search_over_all_pairs_finds(name: str, tmp_path: Path) -> None:
    uplinks = uplinks_of(backend() if name == "backend" else uneven(tmp_path)[1])
    units = [unit for sizes in job_sizes(uplinks) for unit in sizes.units]
    if name == "backend":
        assert [(unit.level, unit.nodes) for unit in units] == [(1, 4), (1, 4), (2, 8)]
    else:
        assert [len(np.unique(unit.reach, axis=0)) for unit in units] == [4]
    compared = 0
    for unit in units:
        healthy = between_worst_pair(uplinks, unit, Failure())
        assert unit.healthy == pytest.approx(healthy)
        for failure in (*single_cables(uplinks), *sampled_doubles(uplinks)[:150]):
            alive = [leaf for leaf in unit.leaves if leaf not in failure.switches]
            left = left_after(unit, failure)
            if len(alive) < 2:
                assert left is None
                continue
            compared += 1
            wanted = between_worst_pair(uplinks, unit, failure) / healthy
            assert (1 if left is None else left) == pytest.approx(wanted), failure
    assert compared > (400 if name == "backend" else 100)


@pytest.mark.parametrize("name", ["backend", "uneven"])
def test_cables_of_racks_at_once_are_those_one_by_one(name: str, tmp_path: Path) -> None:
    uplinks = uplinks_of(backend() if name == "backend" else uneven(tmp_path)[1])
    for sizes in job_sizes(uplinks):
        for unit in sizes.units:
            at_leaf = [cable.links[0] for cable in single_cables(uplinks) if unit.row[uplinks.low[cable.links[0]]] >= 0]
            at_leaf = [at for at in at_leaf if uplinks.fabric.rank[uplinks.low[at]] == 0]
            one_by_one = [left_after(unit, Failure(links=(at,))) for at in at_leaf]
            assert leaf_cables_after(unit, np.array(at_leaf)).tolist() == pytest.approx(one_by_one)
            for low in unit.inner[uplinks.fabric.rank[unit.inner] < unit.level]:
                up = np.flatnonzero(uplinks.low == low)
                one_by_one = [left_after(unit, Failure(links=(int(at),))) for at in up]
                assert upper_cables_after(unit, int(low), up).tolist() == pytest.approx(one_by_one)


def test_racks_that_leave_out_a_switch_each_still_meet_without_any(tmp_path: Path) -> None:
    result = ETHERNET_FAILURES.run(uneven(tmp_path)[0])
    assert result.is_proven, result.counterexamples
    left = [fact.value for fact in result.facts if fact.name.startswith("rsw-ssw: any switch fails: left for a job")]
    assert left == [0.5]  # of three switches above a rack two are above another one too, and one of these fails


def test_two_failures_can_part_racks_that_both_still_reach_the_top() -> None:
    """One rack loses one of two cluster switches, the other rack the other: no switch is left for both."""
    fabric = backend()
    uplinks = uplinks_of(fabric)
    pod = job_sizes(uplinks)[0].units[0]
    one, other = (int(leaf) for leaf in pod.leaves[:2])
    first, second = sorted({int(high) for high in uplinks.high[uplinks.low == one]})
    cut = [index for index, ends in enumerate(zip(uplinks.low, uplinks.high, strict=True)) if ends in {(one, first)}]
    cut += [
        index for index, ends in enumerate(zip(uplinks.low, uplinks.high, strict=True)) if ends in {(other, second)}
    ]
    assert left_after(pod, Failure(links=tuple(cut))) == 0
    assert left_after(pod, Failure(links=tuple(cut[:8]))) == pytest.approx(0.5)


def test_a_single_failure_that_parts_racks_is_refuted() -> None:
    """With one cluster switch drained, the other one is all that a pod has."""

    def silent(text: str) -> str:
        return re.sub(r"^(route-map TO-\w+) permit", r"\1 deny", text, flags=re.M)

    counterexamples = verdict("ethernet-failures", tree("lab-roce", {("ctsw-p00-00", EOS): silent})).counterexamples
    assert any("is cut off when ctsw-p00-01 fails" in example.message for example in counterexamples)
    assert any("no longer meet when ctsw-p00-01 fails" in example.message for example in counterexamples)


def test_the_sample_is_stated_and_always_the_same() -> None:
    uplinks = uplinks_of(backend())
    assert sampled_doubles(uplinks) == sampled_doubles(uplinks)
    facts = {fact.name: fact.value for fact in verdict("ethernet-failures", tree("lab-roce")).facts}
    assert "rtsw-ctsw-atsw: two fail at once, 500 samples, 500 cases: bandwidth left for a rack" in facts
    assert facts["rtsw-ctsw-atsw: any cable fails: left for a job of 3 to 4 nodes"] == 0.9375
    assert facts["rtsw-ctsw-atsw: any switch fails: left for a job of 5 to 8 nodes"] == 0.5


ONE_SPINE = """fabrics:
  - name: frontend
    accepts_single_failures: Training runs on while the frontend is away.
    tiers: [{role: ssw, count: 1}]
"""


def test_what_the_spec_accepts_is_noted_and_not_refuted(tmp_path: Path) -> None:
    """Lint and the proof agree: an error and a counterexample without the reason, a note of each with it."""
    accepted = {True: ONE_SPINE, False: "\n".join(line for line in ONE_SPINE.splitlines() if "accepts" not in line)}
    for is_accepted, overlay in accepted.items():
        plan = plan_with(tmp_path, "lab-roce", overlay)
        result = ETHERNET_FAILURES.run(
            tree_of(plan.name, tuple(Rendering(plan).of_kinds(ETHERNET_FAILURES.kinds)), Declaration(plan))
        )
        assert result.is_proven is is_accepted
        assert any("ssw-00" in note and "Training runs on" in note for note in result.notes) is is_accepted
        assert [finding.code for finding in lint_path(tmp_path / "overlay.yaml").findings] == [
            "CW251" if is_accepted else "CW221"
        ]


def test_infiniband_failures_are_accepted_likewise(tmp_path: Path) -> None:
    overlay = """fabrics:
  - name: backend
    accepts_single_failures: A lab with a single spine of its own.
    tiers: [{role: leaf, up: {links: 2}}, {role: spine, count: 1}]
expect:
  - {figure: oversubscription.backend.leaf, value: 4, assumed: "A single spine."}
"""
    plan = plan_with(tmp_path, "lab-ib", overlay)
    assert {finding.code for finding in lint_path(tmp_path / "overlay.yaml").findings} == {"CW251"}
    result = FAILURES.run(tree_of(plan.name, tuple(Rendering(plan).of_kinds(FAILURES.kinds)), Declaration(plan)))
    assert result.is_proven, result.counterexamples
    assert any("A lab with a single spine" in note for note in result.notes)
