"""Tiers follow from ports: what fills a switch fills it, and one node more takes another."""

from __future__ import annotations

import pytest

from clusterwright.spec.hardware.catalogue import load_catalogue
from clusterwright.start.sizing import size
from clusterwright.start.wish import CannotSizeError, Sizing, Wish


def sized(nodes: int, oversubscription: float, *switches: str, rails: bool = True) -> Sizing:
    models = load_catalogue()
    chosen = tuple(models[name] for name in switches)
    wish = Wish("x", nodes, models["dgx-h100"], "infiniband", chosen, oversubscription, rails, None, "none")
    return size(wish, models, models["service-server"])


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
