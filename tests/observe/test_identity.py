"""Nodes are found by GUID, by name or by their cables, and said when they are not where or what they should be."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner
from tests.observe.listing import listing
from tests.observe.netfile import hdr_lab
from tests.plans import plan_of

from clusterwright.cli.observe import observe
from clusterwright.observe.compare import compare
from clusterwright.observe.difference import DifferenceKind, ObservedDifference
from clusterwright.observe.ibnetdiscover import parse
from clusterwright.plan.build import build_plan
from clusterwright.plan.chips import chips_of
from clusterwright.plan.model import Plan, format_guid
from clusterwright.spec.load import load_spec

NAMELESS = "Quantum Mellanox Technologies"


def _real(guid: int) -> int:
    """A GUID that the plan does not know, for each that it does."""
    return guid ^ 0x5A00000000000000


def _compare(plan: Plan, text: str, *, by_name: bool = False) -> tuple[ObservedDifference, ...]:
    return compare(plan, "backend", [parse(text, "scan")], by_name=by_name)


def test_the_whole_rsc_with_its_directors_is_as_planned() -> None:
    plan = plan_of("rsc-phase1")
    assert _compare(plan, listing(plan, "4xHDR")) == ()


def test_names_do_where_guids_are_placeholders() -> None:
    plan = plan_of("lab-ib")
    nics = {nic.interface: nic.rdma_device for g in plan.spec.catalogue["dgx-h100"].nic_groups for nic in g.nics}

    def described(name: str) -> str:
        host, _, port = name.partition(" ")
        return f"{host}.lab.example.net {nics[port]}" if port else f"MF0;{name}:MQM9790/U1"

    text = listing(plan, "4xNDR", described=described, guid=_real)
    assert _compare(plan, text) == ()
    assert _compare(plan, text, by_name=True) == ()


def test_a_name_map_names_nameless_switches() -> None:
    plan = plan_of("lab-ib")
    names = {_real(device.guid): device.name for device in plan.devices if device.guid is not None}
    text = listing(plan, "4xNDR", described=lambda name: name if " " in name else NAMELESS, guid=_real)
    assert compare(plan, "backend", [parse(text, "scan")], names=names) == ()


def test_nameless_switches_are_known_by_their_cables() -> None:
    plan = plan_of("lab-ib")
    text = listing(plan, "4xNDR", described=lambda name: name if " " in name else NAMELESS, guid=_real)
    comparison = _compare(plan, text)
    switches = [device for device in plan.devices if device.guid is not None]
    assert {item.kind for item in comparison} == {DifferenceKind.OTHER_GUID}
    told = {item.place.device: item.message for item in comparison}
    assert set(told) == {device.name for device in switches}
    for device in switches:
        assert device.guid is not None
        assert told[device.name].endswith(f"give {device.name} the GUID {format_guid(_real(device.guid))} in the spec")


def test_a_label_that_was_scanned_wrong_is_told(tmp_path: Path) -> None:
    planned = build_plan(load_spec(hdr_lab(tmp_path)))
    leaf = planned.by_name["leaf-s00-05"]
    (tmp_path / "labels.csv").write_text("device,port,guid\nleaf-s00-05,,0xb8cef60300f1a2b0\n")
    spec = hdr_lab(tmp_path, ("technology: infiniband\n", "technology: infiniband\n    guids: labels.csv\n"))
    plan = build_plan(load_spec(spec))
    comparison = _compare(plan, listing(planned, "4xHDR"))
    assert [item.message for item in comparison] == [
        f"leaf-s00-05 answers with the GUID {format_guid(leaf.guid or 0)}; its label was scanned as 0xb8cef60300f1a2b0"
    ]


def test_a_stranger_in_a_labelled_place_is_no_reason_to_change_the_label(tmp_path: Path) -> None:
    planned = build_plan(load_spec(hdr_lab(tmp_path)))
    leaf = planned.by_name["leaf-s00-05"]
    assert leaf.guid is not None
    label = 0xB8CEF60300F1A2B0
    (tmp_path / "labels.csv").write_text(f"device,port,guid\nleaf-s00-05,,{format_guid(label)}\n")
    spec = hdr_lab(tmp_path, ("technology: infiniband\n", "technology: infiniband\n    guids: labels.csv\n"))
    strange = listing(planned, "4xHDR", described=lambda name: NAMELESS if name == "leaf-s00-05" else name)
    (told,) = _compare(build_plan(load_spec(spec)), strange)
    assert told.kind is DifferenceKind.OTHER_GUID
    assert "give leaf-s00-05 the GUID" not in told.message
    assert f"whose label was scanned as {format_guid(label)}" in told.message
    (tmp_path / "scan").write_text(strange)
    command = [str(spec), "--ibnetdiscover", str(tmp_path / "scan"), "--format", "labels"]
    done = CliRunner().invoke(observe, command, standalone_mode=False)
    assert f"leaf-s00-05,,{format_guid(label)}" in done.output.splitlines()


def test_chips_of_directors_are_known_by_the_names_that_they_give_themselves() -> None:
    plan = plan_of("rsc-phase1")
    places = {}
    for director in plan.devices_of("director"):
        for index, chip in enumerate(chips_of(plan, director)):
            # as ibdiagnet shows two chips to a leaf module: MF0;core-05:MCS8500/L15/U1, MF0;core-05:MCS8500/S02/U1
            place = f"L{index // 2 + 1:02}/U{index % 2 + 1}" if chip.kind == "leaf" else f"S{index - 39:02}/U1"
            places[chip.name] = f"MF0;{director.name}:MCS8500/{place}"
    text = listing(plan, "4xHDR", described=lambda name: places.get(name, name), guid=_real)
    assert _compare(plan, text) == ()
    assert _compare(plan, text, by_name=True) == ()


def test_found_guids_replace_those_that_stood_in_for_them(tmp_path: Path) -> None:
    planned = build_plan(load_spec(hdr_lab(tmp_path)))
    text = listing(planned, "4xHDR", described=lambda name: name if " " in name else NAMELESS, guid=_real)
    (tmp_path / "scan").write_text(text)
    command = [str(hdr_lab(tmp_path)), "--ibnetdiscover", str(tmp_path / "scan"), "--format", "labels"]
    done = CliRunner().invoke(observe, command, standalone_mode=False)
    assert done.return_value == 0, done.output
    (tmp_path / "labels.csv").write_text(done.output)
    assert len(done.output.splitlines()) == 1 + 20 + 128
    spec = hdr_lab(tmp_path, ("technology: infiniband\n", "technology: infiniband\n    guids: labels.csv\n"))
    plan = build_plan(load_spec(spec))
    assert _compare(plan, listing(planned, "4xHDR", described=lambda _: NAMELESS, guid=_real)) == ()


def test_exchanged_directors_are_told_in_one_sentence() -> None:
    plan = plan_of("rsc-phase1")
    one, other = plan.devices_of("director")[:2]
    swaps: dict[int, int] = {}
    for first, second in zip(chips_of(plan, one), chips_of(plan, other), strict=True):
        swaps |= {first.guid: second.guid, second.guid: first.guid}
    text = listing(plan, "4xHDR", guid=lambda guid: swaps.get(guid, guid))
    assert [item.message for item in _compare(plan, text)] == [
        f"{one.name} and {other.name} are exchanged: each has the other's cables"
    ]


def test_a_trace_inside_a_director_is_no_cable_to_move() -> None:
    plan = plan_of("rsc-phase1")
    director = plan.devices_of("director")[0]
    leaf, spine = chips_of(plan, director)[3], chips_of(plan, director)[-1]
    lines = listing(plan, "4xHDR").splitlines(keepends=True)
    kept = []
    own = ""
    for line in lines:
        if line.startswith(("Switch", "Ca")):
            own = line.split('"')[1]
        pair = {own, line.split('"')[1]} if line.startswith("[") else set()
        if pair != {f"S-{leaf.guid:016x}", f"S-{spine.guid:016x}"}:
            kept.append(line)
    assert len(lines) - len(kept) == 2
    (found,) = _compare(plan, "".join(kept))
    assert found.kind is DifferenceKind.INTERNAL_LINK
    assert found.message == f"the link inside {director.name} between {leaf.name} and {spine.name} is down"


def _without(text: str, *guids: int) -> str:
    """The listing without some nodes, and without their neighbours' lines."""
    gone = {f"-{guid:016x}" for guid in guids}
    records = re.split(r"\n\n", text)
    kept = [record for record in records if not any(f'{name}"\t\t#' in record.split("\n[")[0] for name in gone)]
    return "\n\n".join(
        "\n".join(line for line in record.split("\n") if not any(f'{name}"[' in line for name in gone))
        for record in kept
    )


def test_a_drained_switch_may_be_there_or_not(tmp_path: Path) -> None:
    drained = "exceptions:\n  - {device: leaf-s01-02, state: drained, reason: repair}\n\nmounts:"
    plan = build_plan(load_spec(hdr_lab(tmp_path, ("mounts:", drained))))
    guid = plan.by_name["leaf-s01-02"].guid
    assert guid is not None
    text = listing(build_plan(load_spec(hdr_lab(tmp_path))), "4xHDR")
    assert _compare(plan, text) == ()
    assert _compare(plan, _without(text, guid)) == ()
    active = build_plan(load_spec(hdr_lab(tmp_path)))
    assert [item.kind for item in _compare(active, _without(text, guid))] == [DifferenceKind.MISSING_DEVICE]


def test_two_scans_say_no_more_than_one() -> None:
    plan = plan_of("lab-ib")
    scans = [parse(listing(plan, "4xNDR"), name) for name in ("one", "two")]
    assert compare(plan, "backend", scans) == ()


def test_two_places_of_one_guid_are_told_and_nobody_is_sent_to_them() -> None:
    plan = plan_of("lab-ib")
    nics = {(c.a.device, c.a.port): c.a.guid for c in plan.cables if c.a.guid is not None}
    one, other = nics["gpu-s00r00n0", "be2"] - 1, nics["gpu-s01r01n3", "be6"] - 1
    comparison = _compare(plan, listing(plan, "4xNDR", guid=lambda guid: one if guid == other else guid))
    assert [(item.kind, str(item.place)) for item in comparison] == [(DifferenceKind.DUPLICATE_GUID, "leaf-s01-06 4/2")]


def test_the_aggregation_nodes_of_sharp_are_no_strangers() -> None:
    plan = plan_of("lab-ib")
    leaf = next(device for device in plan.devices if device.name == "leaf-s00-00")
    assert leaf.guid is not None
    text = listing(plan, "4xNDR")
    head = f'Switch\t64 "S-{leaf.guid:016x}"'
    assert head in text
    text = text.replace(head, head.replace("64", "65"))
    text += (
        "\nvendid=0x2c9\ndevid=0xcf09\nsysimgguid=0x1\ncaguid=0xabc\n"
        'Ca\t1 "H-0000000000000abc"\t\t# "Mellanox Technologies Aggregation Node"\n'
        f'[1](abc) \t"S-{leaf.guid:016x}"[65]\t\t# lid 3 lmc 0 "leaf" lid 1 4xNDR\n'
    )
    assert _compare(plan, text) == ()


def test_a_managed_switch_of_another_model_is_told() -> None:
    plan = plan_of("lab-ib")
    text = listing(plan, "4xNDR", described=lambda name: f"MF0;{name}:MQM8700/U1" if name == "spine-01" else name)
    assert [item.message for item in _compare(plan, text)] == ["spine-01 is a qm8700; planned is a qm9790"]
