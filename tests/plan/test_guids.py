"""Scanned labels take the place of planned GUIDs, wherever a GUID is."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright import data_files
from clusterwright.finding import SpecError
from clusterwright.hosts.opensm.writer import configuration as opensm
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.chips import chips_of
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.labels.guids import read_guid_file
from clusterwright.spec.load import load_spec

HEADER = "device,port,guid\n"


def _spec(folder: Path, base: str, labels: str) -> Path:
    (folder / "labels.csv").write_text(labels)
    file = folder / "scanned.yaml"
    inventory = data_files.folder("inventory")
    file.write_text(f"extends: {inventory / base}.yaml\nfabrics:\n  - name: backend\n    guids: labels.csv\n")
    return file


def _plan(folder: Path, base: str, labels: str) -> Plan:
    return build_plan(load_spec(_spec(folder, base, labels)))


def test_labels_are_used_and_the_rest_stays_planned(tmp_path: Path) -> None:
    labels = f"{HEADER}leaf-s00-00,,0x0c42a10300b20000\ngpu-s00r00n0,be3,0c:42:a1:03:00:b2:00:44\n"
    plan = _plan(tmp_path, "lab-ib", labels)
    planned = build_plan(load_spec(data_files.folder("inventory") / "lab-ib.yaml"))
    assert plan.by_name["leaf-s00-00"].guid == 0x0C42A10300B20000
    changed = {
        (cable.a.device, cable.a.port): cable.a.guid
        for cable, before in zip(plan.cables, planned.cables, strict=True)
        if cable.a.guid != before.a.guid
    }
    assert changed == {("gpu-s00r00n0", "be3"): 0x0C42A10300B20044}
    assert [f.code for f in lint_path(tmp_path / "scanned.yaml").findings] == ["CW146"]


def test_a_switch_swapped_for_a_spare_changes_one_line_of_the_labels(tmp_path: Path) -> None:
    rows = ["leaf-s00-00,,0x0c42a10300b20000", "leaf-s00-01,,0x0c42a10300b20040"]
    first = _plan(tmp_path, "lab-ib", HEADER + "\n".join(rows))
    rows[1] = "leaf-s00-01,,0x0c42a10300ffff40"
    second = _plan(tmp_path, "lab-ib", HEADER + "\n".join(rows))
    host = opensm.manager_hosts(first, "backend")[0]
    before, after = (
        {
            artifact.path: artifact.content.decode("utf-8", "replace").splitlines()
            for artifact in Rendering(plan).of_device(host)
        }
        for plan in (first, second)
    )
    assert [(d.name, d.guid) for d in second.devices if d.guid != first.by_name[d.name].guid] == [
        ("leaf-s00-01", 0x0C42A10300FFFF40)
    ]
    names = "etc/opensm/ib-node-name-map"
    assert len([line for line in after[names] if line not in before[names]]) == 1
    assert before["etc/opensm/partitions.conf"] == after["etc/opensm/partitions.conf"]


def test_chips_of_a_director_are_labelled_by_their_names(tmp_path: Path) -> None:
    labels = f"{HEADER}director-00 leaf 3,,0x0c42a10300b20000\ndirector-00 spine 19,,0x0c42a10300b20040\n"
    plan = _plan(tmp_path, "rsc-phase1", labels)
    chips = {chip.name: chip.guid for chip in chips_of(plan, plan.by_name["director-00"])}
    planned = {name: guid for name, guid in chips.items() if guid >> 40 == 0x02C1A5}
    assert chips["director-00 leaf 3"] == 0x0C42A10300B20000
    assert chips["director-00 spine 19"] == 0x0C42A10300B20040
    assert len(planned) == len(chips) - 2
    assert 0x0C42A10300B20040 in opensm.root_guids(plan, "backend")


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("gpu,be0,0c42a103", 9, "is not a GUID"),
        ("gpu, be0,  0c:42:a1:b2:00:80", 12, "MAC address"),
        ("gpu,be0,0x0000000000000000", 9, "unwritten"),
        ("gpu,be0,ff:ff:ff:ff:ff:ff:ff:ff", 9, "unwritten"),
        ("gpu,be0,0x0d42a10300b20000", 9, "multicast"),
        ("gpu,be0,", 9, "is not a GUID"),
        (",be0,0x0c42a10300b20000", 1, "names no device"),
        ("gpu,be0", 1, "2 of 3 fields"),
        ("gpu,be0,0x0c42a10300b2000g", 9, "is not a GUID"),
        ("gpu,be0,\u0660c42a10300b20000", 9, "is not a GUID"),
    ],
)
def test_what_is_no_label_is_refused_at_its_place(tmp_path: Path, text: str, column: int, part: str) -> None:
    (tmp_path / "labels.csv").write_text(f"{HEADER}# rack 1\n{text}\n")
    with pytest.raises(SpecError) as caught:
        read_guid_file(tmp_path / "labels.csv", "labels.csv", ())
    (finding,) = caught.value.findings
    assert (finding.code, str(finding.position)) == ("CW143", f"labels.csv:3:{column}")
    assert part in finding.message


@pytest.mark.parametrize("text", ["", "\n", "node,port,guid\n", "gpu,be0,0x0c42a10300b20000\n"])
def test_a_file_without_its_header_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(SpecError) as caught:
        read_guid_file(tmp_path / "labels.csv", "labels.csv", ())
    assert "header" in caught.value.findings[0].message


@pytest.mark.parametrize(
    "text",
    [
        "device,port,guid,serial\ngpu,be0,0x0c42a10300b20000,MT2310\n",
        "GUID,Device,Port\r\n0C42:A103:00B2:0000,gpu,be0\r\n",
        '\ufeff"device","port","guid"\n"gpu","be0","0c42a10300b20000"\n',
        "# scanned on a Monday\ndevice,port,guid\n\ngpu,be0,0c-42-a1-03-00-b2-00-00\n",
    ],
)
def test_what_scanners_and_spreadsheets_write_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels.csv").write_text(text)
    (row,) = read_guid_file(tmp_path / "labels.csv", "labels.csv", ()).rows
    assert (row.device, row.port, row.guid) == ("gpu", "be0", 0x0C42A10300B20000)


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    file = _spec(tmp_path, "lab-ib", HEADER)
    (tmp_path / "labels.csv").unlink()
    (finding,) = lint_path(file).findings
    assert finding.code == "CW101"
    assert "labels.csv does not exist" in finding.message


def test_two_fabrics_plan_no_guid_twice() -> None:
    example = data_files.folder("inventory").parent / "tests/rules/examples/CW255/good.yaml"
    plan = build_plan(load_spec(example))
    ports = [cable.a.guid for cable in plan.cables if cable.a.guid is not None]
    switches = [device.guid for device in plan.devices if device.guid is not None]
    assert len({fabric.name for fabric in plan.spec.fabrics}) == 2
    assert len(ports) == 40
    assert len({*ports, *switches}) == len(ports) + len(switches)
    assert len({guid >> 40 for guid in ports}) == 1


def test_a_label_in_two_fabrics_files_is_found(tmp_path: Path) -> None:
    example = data_files.folder("inventory").parent / "tests/rules/examples/CW255/good.yaml"
    for name, port in (("data", "be0"), ("files", "fe0")):
        (tmp_path / f"{name}.csv").write_text(f"{HEADER}compute-r00n0,{port},0x0c42a10300b20000\n")
    fabrics = "fabrics: [{name: data, guids: data.csv}, {name: files, guids: files.csv}]\n"
    (tmp_path / "two.yaml").write_text(f"extends: {example}\n{fabrics}")
    findings = [finding for finding in lint_path(tmp_path / "two.yaml").findings if finding.code == "CW145"]
    assert len(findings) == 1
