"""What the campaign found of operators and management ports, each as small as it gets."""

from __future__ import annotations

from pathlib import Path

from tests.plans import plan_with

from clusterwright.intent.switch_links import links_of
from clusterwright.intent.switch_sessions import sessions_of
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of

ANOTHER_OPERATOR = """site:
  operators:
    - name: watch
      role: monitor
      keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g watch@example.net"]
      assumed: "A stand-in: the key's private half does not exist."
"""


def test_an_operator_without_a_password_beside_one_with_a_password_opens_nothing(tmp_path: Path) -> None:
    """FBOSS's file of passwords says of the one that nothing opens the account: `*` was read as a hash."""
    plan = plan_with(tmp_path, "lab-roce", ANOTHER_OPERATOR)
    files = list(Rendering(plan).of_device("rsw-p00r00"))
    assert any(b"\nwatch:*\n" in file.content for file in files)
    check = next(check for check in CHECKS if check.name == "isolation")
    assert not check.run(tree_of(plan.name, files, Declaration(plan))).counterexamples


def test_a_management_port_has_no_session_even_where_its_cable_has_addresses_at_both_ends(tmp_path: Path) -> None:
    """Links of two made of it a link between switches: rendering crashed, and lint was clean."""
    overlay = "fabrics:\n  - {name: management, addressing: {host_links: point-to-point}}\n"
    plan = plan_with(tmp_path, "lab-roce", overlay)
    switch = plan.by_name["rtsw-p00r00"]
    links = [link for link in links_of(plan, switch) if link.port.side == "management"]
    assert links
    assert not sessions_of(plan, switch, links)
