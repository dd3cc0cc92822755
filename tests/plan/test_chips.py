"""InfiniBand's view of switches: every front port is one port of one chip, inside and outside agree."""

from __future__ import annotations

from collections import Counter

from tests.plans import plan_of

from clusterwright.plan.chips import InternalLink, chip_places, chip_ports, chips_of, internal_links


def test_a_director_is_a_clos_of_chips() -> None:
    plan = plan_of("rsc")
    director = plan.devices_of("director")[0]
    model = plan.spec.catalogue[director.model]
    assert model.chips is not None
    chips = chips_of(plan, director)
    assert [chip.kind for chip in chips] == ["leaf"] * model.chips.leaves + ["spine"] * model.chips.spines
    assert len({chip.guid for chip in chips} | {director.guid}) == len(chips) + 1
    front = list(chip_ports(model, split=False).values())
    assert len(front) == len(set(front)) == 800
    inside = [end for link in internal_links(model) for end in _ends(link)]
    assert len(inside) == len(set(inside))
    used = Counter(chip for chip, _ in [*front, *inside])
    assert all(used[index] == chip.ports for index, chip in enumerate(chips))
    assert not set(front) & set(inside)


def test_links_inside_a_director_are_those_that_were_seen_in_real_ones() -> None:
    plan = plan_of("rsc")
    model = plan.spec.catalogue["cs8500"]
    assert model.chips is not None
    places = chip_places(model.chips)
    assert (places[0], places[29], places[39], places[40]) == ("L01/U1", "L15/U2", "L20/U2", "S01/U1")
    links = {
        (places[link.spine], link.spine_port): (places[link.leaf], link.leaf_port) for link in internal_links(model)
    }
    assert links["S02/U1", 15] == ("L15/U1", 22)
    assert links["S13/U1", 12] == ("L12/U1", 33)
    assert links["S13/U1", 32] == ("L12/U2", 33)


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


def test_ports_are_numbered_by_cages_unless_the_switch_runs_split() -> None:
    plan = plan_of("lab-ib")
    leaf = plan.devices_of("leaf")[0]
    model = plan.spec.catalogue[leaf.model]
    ports = chip_ports(model, split=False)
    assert sorted(number for _, number in ports.values()) == list(range(1, 65))
    assert {chip for chip, _ in ports.values()} == {0}
    hdr = plan.spec.catalogue["qm8790"]
    whole, halves = chip_ports(hdr, split=False), chip_ports(hdr, split=True)
    cages = [cage for block in hdr.blocks for cage in block.cages]
    assert [whole[cage][1] for cage in cages] == list(range(1, 41))
    assert [halves[cage + part][1] for cage in cages for part in ("/1", "/2")] == list(range(1, 81))


def test_only_what_the_plan_splits_runs_in_its_split_profile() -> None:
    assert plan_of("rsc").split_models == frozenset()


def _ends(link: InternalLink) -> tuple[tuple[int, int], tuple[int, int]]:
    return (link.leaf, link.leaf_port), (link.spine, link.spine_port)
