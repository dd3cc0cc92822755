"""A folder without its spec: what is wrong under any matrix is refuted, and nothing is called proven."""

from __future__ import annotations

import re

import pytest
from tests.golden_files import assert_golden
from tests.proofs.isolation.test_isolation import CASES, GPU, replaced
from tests.proofs.isolation.trees import EOS, NFT, Edit, artifacts_of, one_of_each, tree, verdict

from clusterwright.proofs.tree import tree_of

CLOSED = "type filter hook input priority filter; policy drop;"
MORE: dict[str, tuple[str, str, str, Edit]] = {
    "a list that is not there": (
        "lab-roce",
        "mgmt-00",
        EOS,
        replaced("\nip access-list HOSTS", "\nip access-list OTHER"),
    ),
    "a hidden entry": (
        "lab-roce",
        "mgmt-00",
        EOS,
        lambda text: re.sub(
            r"(access-list HOSTS\n   counters per-entry\n)", r"\g<1>   5 deny ip any any\n", text, count=1
        ),
    ),
    "no chain for what is sent": ("lab-roce", GPU, NFT, replaced("hook output", "hook prerouting")),
}
# What only the matrix can tell: these edits open or close something between two zones, and are no fault by themselves.
BY_MATRIX = frozenset(
    {
        "a wider port",
        "a flow that is cut off",
        "a flow that passes up to a rate",
        "a flow that stops beyond a rate",
        "a prefix that takes in the internet",
        "a spoofed source",
        "a port without a list",
        "an entry of FBOSS",
        "a rule of SONiC",
        "a border that is open",
    }
)


@pytest.mark.parametrize("name", ["lab-roce", "lab-sonic", "lab-ib", "rsc", "rsc-phase1"])
def test_nothing_is_refuted_in_what_is_rendered_and_nothing_is_called_proven(name: str) -> None:
    result = verdict(tree(name, *one_of_each(name), is_folder=True))
    assert not result.counterexamples
    assert not result.is_proven
    assert result.unjudged == "not compared with a matrix"
    assert {fact.name: fact.value for fact in result.facts}["switches whose lists were read"]


def test_what_is_wrong_under_any_matrix_is_refuted_with_its_line() -> None:
    lines = []
    for case, (name, device, path, edit) in sorted((CASES | MORE).items()):
        counterexamples = verdict(tree(name, device, edits={(device, path): edit}, is_folder=True)).counterexamples
        told = (
            re.sub(r":\d+: ", ":N: ", re.sub(r"line \d+", "line N", str(counterexamples[0])), count=1)
            if counterexamples
            else "unjudged"
        )
        assert (told == "unjudged") is (case in BY_MATRIX), f"{case}: {told}"
        lines.append(f"{case}:\n  {told}\n")
    assert_golden("isolation/folder.txt", "\n".join(lines).encode())


def test_a_node_without_a_filter_is_refuted_where_others_have_one() -> None:
    other = "gpu-p00r00n1"
    files = (*artifacts_of("lab-roce", GPU), *(a for a in artifacts_of("lab-roce", other) if a.path != NFT))
    (example,) = verdict(tree_of("lab-roce", files)).counterexamples
    message = "there is no filter: the node accepts and sends everything that its port passes"
    assert str(example) == f"{other}:/{NFT}: {message}"
