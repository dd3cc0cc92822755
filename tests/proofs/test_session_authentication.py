"""Both ends of a session prove themselves alike: whoever takes a secret from one end is told the other's line."""

from __future__ import annotations

import re

import pytest
from tests.plans import plan_with
from tests.proofs.ethernet_trees import EOS, artifacts_of, text_of, tree, verdict

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.ethernet.network import KINDS
from clusterwright.proofs.tree import tree_of

LAB, CTSW, ATSW = "lab-roce", "ctsw-p01-00", "atsw-01"
PASSWORD = "   neighbor ATSW password 7 <secret bgp-backend as eos-bgp ATSW>\n"


def found(device: str, before: str, after: str) -> tuple[Counterexample, ...]:
    """What is said when a line of one switch is another one."""
    return verdict("bgp-sessions", tree(LAB, {(device, EOS): lambda text: text.replace(before, after)})).counterexamples


def line_of(device: str, words: str) -> int:
    lines = text_of(LAB, device, EOS).split("\n")
    return next(number for number, line in enumerate(lines, 1) if line.startswith(words))


def test_an_end_without_the_password_is_named_with_its_group() -> None:
    wrong = found(CTSW, PASSWORD, "")
    assert {(each.device, each.line) for each in wrong} == {(CTSW, line_of(CTSW, "   neighbor ATSW peer group"))}
    assert any("atsw-01 asks for TCP-MD5 with the secret bgp-backend, this end has nothing" in w.message for w in wrong)


def test_another_secret_is_named_at_both_ends() -> None:
    wrong = found(CTSW, PASSWORD, PASSWORD.replace("bgp-backend", "bgp-other"))
    at = {each.device: each.line for each in wrong}
    assert at.pop(CTSW) == line_of(CTSW, "   neighbor ATSW password")
    assert at == {name: line_of(name, "   neighbor CTSW password") for name in ("atsw-00", "atsw-01")}
    assert any("this end has TCP-MD5 with the secret bgp-other, atsw-00 has" in each.message for each in wrong)


def test_a_value_is_never_repeated() -> None:
    wrong = found(CTSW, PASSWORD, "   neighbor ATSW password 7 3kBuZZngAaLpq7FItTCQDQ==\n")
    assert wrong
    assert all("3kBuZZng" not in each.message for each in wrong)


OVERLAY = """
fabrics:
  - name: backend
    tiers:
      - {role: ctsw, up: {authentication: {method: tcp-ao, secret: bgp-backend, key_id: 5}}}
"""


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Declaration, tuple[Artifact, ...]]:
    plan = plan_with(tmp_path_factory.mktemp("spec"), LAB, OVERLAY)
    return Declaration(plan), tuple(Rendering(plan).of_kinds(KINDS))


@pytest.mark.parametrize(
    ("pattern", "new", "message"),
    [
        ("", "", None),
        (r"(?<=      secret )5(?= 7)", "6", "key 6, the secret bgp-backend"),
        (r"(?<=<secret )bgp-backend(?= as eos-type-7)", "bgp-other", "key 5, the secret bgp-other"),
        (r"(?<=algorithm )aes-128-cmac-96", "hmac-sha1-96", "TCP-AO by hmac-sha1-96"),
        (r"(?<=session shared-secret profile )BGP-BGP-BACKEND-5", "BGP-OTHER", "this end has nothing"),
        (r"      secret 5 .*\n", "", "this end has nothing"),
    ],
)
def test_keys_of_tcp_ao_are_the_same_at_both_ends(
    signed: tuple[Declaration, tuple[Artifact, ...]], pattern: str, new: str, message: str | None
) -> None:
    declaration, artifacts = signed
    edited = [
        Artifact(
            artifact.device, artifact.path, re.sub(pattern, new, artifact.content.decode()).encode(), artifact.kind
        )
        if pattern and artifact.device == CTSW
        else artifact
        for artifact in artifacts
    ]
    wrong = verdict("bgp-sessions", tree_of(LAB, edited, declaration)).counterexamples
    assert bool(wrong) == (message is not None)
    assert message is None or any(message in each.message for each in wrong)
    assert all(each.line for each in wrong)


def test_a_secret_that_all_ends_lost_is_missed() -> None:
    places = [(a.device, a.path) for a in artifacts_of(LAB) if a.path == EOS and " password 7 " in a.content.decode()]
    bare = {place: lambda text: re.sub(r"   neighbor \w+ password 7 .*\n", "", text) for place in places}
    wrong = verdict("bgp-sessions", tree(LAB, bare)).counterexamples
    assert {each.device for each in wrong} == {device for device, _ in places}
    assert all(
        "the spec asks for TCP-MD5 with the secret bgp-backend, this end has nothing" in w.message for w in wrong
    )
