"""InfiniBand's view of switches: every front port is one port of one chip, inside and outside agree."""

from __future__ import annotations

from collections import Counter

from tests.render.plans import plan_of

from clusterwright.plan.chips import InternalLink, chip_ports, chips_of, internal_links


def test_a_director_is_a_clos_of_chips() -> None:
    plan = plan_of("rsc")
    director = plan.devices_of("director")[0]
    model = plan.spec.catalogue[director.model]
    assert model.chips is not None
    chips = chips_of(plan, director)
    assert [chip.kind for chip in chips] == ["leaf"] * model.chips.leaves + ["spine"] * model.chips.spines
    assert len({chip.guid for chip in chips} | {director.guid}) == len(chips) + 1
    front = list(chip_ports(model).values())
    assert len(front) == len(set(front)) == 800
    inside = [end for link in internal_links(model) for end in _ends(link)]
    assert len(inside) == len(set(inside))
    used = Counter(chip for chip, _ in [*front, *inside])
    assert all(used[index] == chip.ports for index, chip in enumerate(chips))
    assert not set(front) & set(inside)


def test_chips_of_all_switches_have_guids_of_their_own() -> None:
    plan = plan_of("rsc")
    guids = [
        chip.guid
        for device in plan.devices
        if device.kind == "switch" and device.guid is not None
        for chip in chips_of(plan, device)
    ]
    guids += [cable.a.guid for cable in plan.cables if cable.a.guid is not None]
    assert len(guids) == len(set(guids))


def test_a_split_cage_keeps_a_number_for_each_port() -> None:
    plan = plan_of("lab-ib")
    leaf = plan.devices_of("leaf")[0]
    ports = chip_ports(plan.spec.catalogue[leaf.model])
    assert sorted(number for _, number in ports.values()) == list(range(1, 65))
    assert {chip for chip, _ in ports.values()} == {0}


def _ends(link: InternalLink) -> tuple[tuple[int, int], tuple[int, int]]:
    return (link.leaf, link.leaf_port), (link.spine, link.spine_port)
