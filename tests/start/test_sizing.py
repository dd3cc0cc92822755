"""Tiers follow from ports: what fills a switch fills it, and one node more takes another."""

from __future__ import annotations

import re

import pytest

from clusterwright.spec.hardware.catalogue import load_catalogue
from clusterwright.start.sizing import size
from clusterwright.start.sizing_request import CannotSizeError, Sizing, SizingRequest


def sized(
    nodes: int, oversubscription: float, *switches: str, rails: bool = True, node: str = "dgx-h100", tenants: int = 1
) -> Sizing:
    models = load_catalogue()
    chosen = tuple(models[name] for name in switches)
    request = SizingRequest(
        "x", nodes, models[node], "infiniband", chosen, oversubscription, rails, None, "none", tenants
    )
    return size(request, models, models["service-server"])


def test_a_full_pod_takes_half_of_each_leaf_and_as_many_spines_as_that_needs() -> None:
    leaf, spine = sized(32, 1, "qm9790").backend

    assert (leaf.switches, leaf.up_links) == (8, 32)
    assert spine.switches == 4  # 8 leaves of 32 links on 64 ports


def test_one_node_more_makes_a_second_pod() -> None:
    assert next(tier.switches for tier in sized(33, 1, "qm9790").backend) == 16


def test_oversubscription_saves_uplinks() -> None:
    leaf, spine = sized(32, 4, "qm9790").backend

    assert (leaf.up_links, spine.switches) == (8, 2)


def test_a_higher_spine_spares_the_third_tier() -> None:
    assert len(sized(256, 1, "qm9790").backend) == 2
    assert len(sized(512, 1, "qm9790").backend) == 3
    assert len(sized(512, 1, "qm9790", "q3400").backend) == 2


def test_what_two_tiers_do_not_carry_is_said() -> None:
    with pytest.raises(CannotSizeError, match="512 dgx-h100 with 8 NICs of 400G do not fit on two tiers"):
        sized(512, 1, "qm9790", rails=False)


@pytest.mark.parametrize(
    ("nodes", "node", "switches", "reason"),
    [
        (10, "dgx-h100", "qm9700 qm8790 q3400", "qm9700 meets qm8790 at 200G alone, and uplinks on InfiniBand are as"),
        (10, "dgx-a100", "qm8700 q3400", "qm8700 and q3400 share no speed at which port meets port lane by lane."),
        (10, "dgx-a100", "cs8500", "cs8500 is a director, which has no switch above it: it can be a spine, and is no"),
        (10, "dgx-h100", "qm8700", "qm8700 has no ports of 400G, which the NICs of dgx-h100 have."),
        (3000, "dgx-h100", "qm9700 qm9700 qm8700", "two tiers, a leaf for each rail, of qm9700 at 1:1, and qm8700,"),
    ],
)
def test_the_reason_is_that_of_the_tier_that_is_in_the_way(nodes: int, node: str, switches: str, reason: str) -> None:
    with pytest.raises(CannotSizeError, match=re.escape(reason)):
        sized(nodes, 1, *switches.split(), node=node, tenants=5)


def test_what_is_advised_instead_was_tried() -> None:
    with pytest.raises(CannotSizeError, match=r"The nodes fit with --rails, or with switches of init's choice"):
        sized(512, 1, "qm9790", rails=False)
    assert sized(512, 1, "qm9790").backend
    assert sized(512, 1, rails=False).backend
