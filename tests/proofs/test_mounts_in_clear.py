"""Mounts that nothing protects by a decision of the spec: noted with reason and owner, and refuted without one."""

from __future__ import annotations

from pathlib import Path

from tests.plans import plan_of, plan_with

from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.encryption.proof import ENCRYPTION
from clusterwright.proofs.tree import tree_of

PLAIN = """
mounts:
  - name: home
    options: ["vers=4.2", "proto=tcp", hard]
    protection: {kind: none, reason: "its server knows no TLS"OWNER}
"""


def verdict(plan: Plan, spec: Plan | None = None) -> Verdict:
    return ENCRYPTION.run(tree_of("clear", Rendering(plan).of_kinds(ENCRYPTION.kinds), Declaration(spec or plan)))


def test_a_decision_is_noted_with_reason_and_owner(tmp_path: Path) -> None:
    result = verdict(plan_with(tmp_path, "lab-roce", PLAIN.replace("OWNER", ', owner: "storage team"')))
    assert not result.counterexamples
    why = "The spec accepts it: its server knows no TLS (storage team is responsible for it)"
    assert result.notes == (f"/home crosses the network in clear. {why}",)
    assert next(fact.value for fact in result.facts if "P3" in fact.name) == 0


def test_without_an_owner_it_is_the_flows(tmp_path: Path) -> None:
    (note,) = verdict(plan_with(tmp_path, "lab-roce", PLAIN.replace("OWNER", ""))).notes
    assert note.endswith("(storage is responsible for it)")


def test_files_in_clear_of_a_spec_that_protects_are_refuted(tmp_path: Path) -> None:
    plain = plan_with(tmp_path, "lab-roce", PLAIN.replace("OWNER", ""))
    result = verdict(plain, plan_of("lab-roce"))
    assert any("in clear" in example.message for example in result.counterexamples)
    assert not result.notes
