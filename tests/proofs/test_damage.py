"""Damaged text is refuted or refused, never proven by accident where a link is lost, and never a crash."""

from __future__ import annotations

import random
import re
from functools import partial

import pytest
from tests.proofs import ethernet_trees
from tests.proofs.ethernet_edits import SONIC
from tests.proofs.ethernet_trees import AGENT, BGP, EOS
from tests.proofs.trees import COMPUTE, CONFIG, FABRIC, NAMES, PARTITIONS, ROOTS, text_of, tree

from clusterwright.finding import VerifyError
from clusterwright.proofs.check import ProofCheck
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree

FILES = (FABRIC, ROOTS, COMPUTE, NAMES, PARTITIONS, CONFIG)


def damage(text: str, chosen: random.Random) -> str:
    lines = text.split("\n")
    at = chosen.randrange(len(lines))
    kind = chosen.randrange(6)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[chosen.randrange(len(lines))])
    elif kind == 2:
        other = chosen.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 3:
        lines = lines[:at]
    elif kind == 4:
        lines[at] = lines[at][: len(lines[at]) // 2]
    else:
        place = chosen.randrange(len(lines[at]) + 1)
        lines[at] = lines[at][:place] + chosen.choice('0x[]":;,=#é 9\t') + lines[at][place:]
    return "\n".join(lines)


def is_proven_by(check: ProofCheck, subject: RenderedTree) -> bool:
    try:
        return not check.applies(subject) or check.run(subject).is_settled
    except VerifyError:
        return False


def is_proven(subject: RenderedTree) -> bool:
    asked = [is_proven_by(check, subject) for check in CHECKS]  # every one, whatever another says
    return all(asked)


@pytest.mark.parametrize("path", FILES)
def test_no_damage_crashes_a_check(path: str) -> None:
    chosen = random.Random(path)
    before = text_of("lab-ib", path)
    for _ in range(60):
        after = damage(before, chosen)
        if after != before:
            is_proven(tree("lab-ib", {path: lambda _, after=after: after}))  # type: ignore[misc]  # a bound default


@pytest.mark.parametrize("path", FILES)
def test_an_empty_file_proves_nothing(path: str) -> None:
    assert not is_proven(tree("lab-ib", {path: lambda _: ""}))


def test_every_lost_port_line_is_noticed() -> None:
    chosen = random.Random(7)
    lines = text_of("lab-ib", FABRIC).split("\n")
    ports = [index for index, line in enumerate(lines) if line.startswith("[")]
    for lost in chosen.sample(ports, 40):
        after = "\n".join(line for index, line in enumerate(lines) if index != lost)
        assert not is_proven(tree("lab-ib", {FABRIC: lambda _, after=after: after}))  # type: ignore[misc]  # as above


@pytest.mark.parametrize(
    ("path", "text"),
    [
        *((path, text) for path in (AGENT, BGP, SONIC) for text in ("", "{", "[]", "null", "[" * 20000)),
        (AGENT, '"srcIp": 1'),
        (AGENT, '"l4DstPort": "22"'),
        (SONIC, '{"PORT": 1}'),
    ],
)
def test_what_is_no_configuration_proves_nothing_and_crashes_no_check(path: str, text: str) -> None:
    device = min(artifact.device for artifact in ethernet_trees.artifacts_of("lab-sonic") if artifact.path == path)
    edit = partial(re.sub, rf"{text.split(maxsplit=1)[0]} [^,\n}}]*", text) if text.startswith('"') else lambda _: text
    subject = ethernet_trees.tree("lab-sonic", {(device, path): edit})
    assert not is_proven(subject)


def test_a_fabric_in_which_nobody_announces_anything_is_refuted() -> None:
    silence = {
        EOS: partial(re.sub, r"\n      network \S+", ""),
        BGP: partial(re.sub, r"\{\s*\"prefix\": \"[^\"]*\",\s*\"install_to_fib\"[^}]*\},?", ""),
    }
    subject = ethernet_trees.tree(
        "lab-roce",
        {
            (artifact.device, artifact.path): silence[artifact.path]
            for artifact in ethernet_trees.artifacts_of("lab-roce")
            if artifact.path in silence and artifact.device != "mgmt-00"
        },
    )
    assert ethernet_trees.verdict("reachability", subject).is_refuted


def test_a_guid_of_more_than_64_bits_is_refused() -> None:
    edit = partial(re.sub, r"(?<=^\[1\]\()(?=[0-9a-f])", "f" * 16, flags=re.M)
    assert not is_proven(tree("lab-ib", {FABRIC: edit}))
