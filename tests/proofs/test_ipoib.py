"""IP over InfiniBand, under Lustre: what nodes are given, and every way in which it may be another's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import tree_of
from clusterwright.spec.load import load_spec

SPEC = Path(__file__).parents[1] / "rules" / "examples" / "CW560" / "good.yaml"
CHECK = next(check for check in CHECKS if check.name == "ib-ipoib")
MANAGERS = next(check for check in CHECKS if check.name == "ib-managers")
ISOLATION = next(check for check in CHECKS if check.name == "isolation")
NODE = "gpu-s00r00n0"
NETDEV, NETWORK = "etc/systemd/network/10-iblustre.netdev", "etc/systemd/network/20-iblustre.network"
PARENT, LNET = "etc/systemd/network/20-be0.network", "etc/modprobe.d/lnet.conf"
MODULES, PARTITIONS = "etc/modules-load.d/ipoib.conf", "etc/opensm/partitions.conf"


@cache
def plan() -> Plan:
    return build_plan(load_spec(SPEC))


@cache
def artifacts() -> tuple[Artifact, ...]:
    return tuple(Rendering(plan()).of_kinds(CHECK.kinds | ISOLATION.kinds))


def verdict(
    path: str = "", edit: Callable[[str], str] = str, *, declared: bool = True, check: object = CHECK
) -> Verdict:
    """What a check says with one file of the first node edited; one that is edited to nothing is not there."""
    made = []
    for artifact in artifacts():
        text = artifact.content.decode()
        if artifact.path == path and (artifact.device == NODE or path == PARTITIONS):
            assert edit(text) != text, f"the edit of {path} changes nothing"
            text = edit(text)
        if text or artifact.path != path:
            made.append(Artifact(artifact.device, artifact.path, text.encode(), artifact.kind))
    return next(each for each in CHECKS if each is check).run(
        tree_of("lab-ib", made, Declaration(plan()) if declared else None)
    )


@pytest.mark.parametrize("declared", [True, False])
def test_what_is_rendered_is_proven(declared: bool) -> None:
    for check in (CHECK, MANAGERS):
        assert verdict(declared=declared, check=check).is_proven
    assert verdict(declared=declared).cases.count == 16


def swapped(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(
    ("path", "edit", "says"),
    [
        (NETDEV, swapped("0x8002", "0x8001"), "no group for broadcasts in partition 0x0001"),
        (NETDEV, swapped("0x8002", "0x8003"), "is no full member of partition 0x0003"),
        (NETDEV, swapped("0x8002", "0x0002"), "is no P_Key of a full member"),
        (NETDEV, swapped("PartitionKey=0x8002\n", ""), "without a P_Key"),
        (NETDEV, lambda _: "", "nothing makes iblustre"),
        (PARENT, swapped("IPoIB=iblustre\n", ""), "is on 0 adapters"),
        (NETWORK, swapped("10.96.2.1/22", "10.96.2.2/22"), "as well"),
        (NETWORK, swapped("10.96.2.1/22", "10.96.2/22"), "is no address"),
        (NETWORK, lambda text: f"{text}Address=10.98.0.9/24\n", "has 2 addresses"),
        (NETWORK, lambda _: "", "has 0 addresses"),
        (NETWORK, lambda text: f"{text}\n[Route]\nDestination=10.0.0.0/8\nGateway=10.96.0.1\n", "a route leads over"),
        (LNET, swapped("iblustre", "be0"), "is no interface of IP over InfiniBand"),
        (MODULES, swapped("ib_ipoib", "ib_umad"), "ib_ipoib is not loaded"),
        (PARTITIONS, swapped(", ipoib,", ","), "no group for broadcasts in partition 0x0002"),
    ],
)
def test_a_fault_is_found(path: str, edit: Callable[[str], str], says: str, declared: bool) -> None:
    result = verdict(path, edit, declared=declared)
    assert result.is_refuted
    assert any(says in example.message for example in result.counterexamples), [
        str(example) for example in result.counterexamples
    ]


@pytest.mark.parametrize(
    ("path", "edit", "says"),
    [
        (NETWORK, swapped("10.96.2.1/22", "10.96.2.77/22"), "address of iblustre is 10.96.2.77/22, 10.96.2.1/22"),
        (LNET, swapped('"o2ib(', '"o2ib1('), "LNet has o2ib1(iblustre), by the spec o2ib(iblustre)"),
        (LNET, lambda _: "", "LNet has no network over InfiniBand"),
    ],
)
def test_only_the_spec_tells(path: str, edit: Callable[[str], str], says: str) -> None:
    assert any(says in example.message for example in verdict(path, edit).counterexamples)
    assert verdict(path, edit, declared=False).is_proven


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (swapped("training=0x0001,", "training=0x0001, ipoib,"), "has ipoib, which nothing"),
        (swapped(", ipoib,", ","), "lacks ipoib"),
    ],
)
def test_the_flag_is_where_the_spec_wants_it(edit: Callable[[str], str], says: str) -> None:
    result = verdict(PARTITIONS, edit, check=MANAGERS)
    assert any(says in example.message for example in result.counterexamples)


@pytest.mark.parametrize("path", [NETDEV, NETWORK, LNET])
def test_a_line_that_nobody_knows_proves_nothing(path: str) -> None:
    result = verdict(path, lambda text: f"{text}Unheard=of\n")
    assert not result.is_proven
    assert result.unjudged


def test_the_filter_of_nodes_is_closed_on_the_interface() -> None:
    assert verdict(check=ISOLATION).is_proven
    opened = swapped("chain input {", 'chain input {\n\t\tiifname "iblustre" tcp dport 22 accept')
    result = verdict("etc/nftables.conf", opened, check=ISOLATION)
    assert any("nftables" in example.file for example in result.counterexamples)
