"""What a comparison says, in which order, and how devices with equal changes are told together."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tests.compare.variants import overlaid
from tests.golden_files import assert_golden
from tests.plans import plan_of

from clusterwright import data_files
from clusterwright.artifact import Artifact
from clusterwright.compare.changes import AccessChange, FieldChange, TermsChange
from clusterwright.compare.configuration import BINARY, config_changes, file_diffs
from clusterwright.compare.isolation import isolation_changes, subtract
from clusterwright.compare.plans import compare_plans, device_changes
from clusterwright.compare.text import text_lines
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.spec.isolation import joined
from clusterwright.spec.load import load_spec

SSH_FROM_COMPUTE = """flows:
  - {name: names, remove: true}
  - {name: shells, from: compute, to: services, protocol: tcp, ports: ["20-22"], reason: "a mistake"}
"""


def test_a_plan_does_not_differ_from_itself() -> None:
    plan = plan_of("lab-ib")
    again = build_plan(load_spec(plan.spec.document.file))
    assert not compare_plans(plan, again)
    assert config_changes(plan, again, {}) == ()


def test_what_opens_is_told_first(tmp_path: Path) -> None:
    changes = isolation_changes(plan_of("lab-ib").spec, overlaid(tmp_path, "lab-ib", SSH_FROM_COMPUTE).spec)
    assert changes.access == (
        AccessChange("compute", "services", True, "tcp 20-22", ("shells",)),
        AccessChange("compute", "site-services", False, "udp 53, 123", ("names",)),
    )


def test_a_flow_written_in_two_parts_changes_nothing(tmp_path: Path) -> None:
    changed = """flows:
  - {name: slurmctld, ports: ["6817-6818"]}
  - {name: slurmdbd, from: compute, to: services, protocol: tcp, ports: [6819], reason: "accounting"}
"""
    assert not isolation_changes(plan_of("lab-ib").spec, overlaid(tmp_path, "lab-ib", changed).spec)


def test_a_flow_that_stays_open_longer_is_told_before_one_that_changes_hands(tmp_path: Path) -> None:
    folders = tmp_path / "before", tmp_path / "after"
    for folder in folders:
        folder.mkdir()
    dated = "flows:\n  - {name: ssh, expires: 2026-06-30}\n  - {name: nfs, expires: 2026-06-30}\n"
    later = "flows:\n  - {name: ssh, expires: 2027-06-30}\n  - {name: nfs, expires: 2026-03-31, owner: files}\n"
    before, after = overlaid(folders[0], "lab-ib", dated), overlaid(folders[1], "lab-ib", later)
    changes = isolation_changes(before.spec, after.spec)
    assert not changes.access
    assert changes.terms == (
        TermsChange("ssh", "expires", "2026-06-30", "2027-06-30", longer=True),
        TermsChange("nfs", "expires", "2026-06-30", "2026-03-31", longer=False),
        TermsChange("nfs", "owner", "storage", "files", longer=False),
    )
    told = [line.strip() for line in text_lines(compare_plans(before, after), None, 0)]
    assert told.index("LONGER flow ssh: expires 2026-06-30 → 2027-06-30") == told.index("zones and flows") + 1


def test_a_zone_that_is_no_longer_isolated_is_told(tmp_path: Path) -> None:
    changed = "zones:\n  - {name: storage, isolated: false}\n"
    changes = isolation_changes(plan_of("lab-ib").spec, overlaid(tmp_path, "lab-ib", changed).spec)
    assert [(item.owner, item.what, item.added) for item in changes.membership] == [
        ("zone storage", "is isolated", False)
    ]


def test_port_arithmetic() -> None:
    assert joined([(5, 9), (1, 4), (20, 30), (22, 25)]) == ((1, 9), (20, 30))
    assert subtract([(0, 100)], [(10, 20), (30, 30), (90, 100)]) == ((0, 9), (21, 29), (31, 89))
    assert subtract([(10, 20)], [(0, 100)]) == ()


def test_a_wider_partition_is_isolation(tmp_path: Path) -> None:
    changed = """fabrics:
  - name: backend
    partitions:
      - {name: training, zones: [compute, storage]}
"""
    changes = isolation_changes(plan_of("lab-ib").spec, overlaid(tmp_path, "lab-ib", changed).spec)
    assert [(item.what, item.added) for item in changes.membership] == [("has full members from zone storage", True)]


def test_a_digit_more_in_every_name_is_no_other_machine() -> None:
    before = plan_of("lab-ib")

    def longer(name: str) -> str:
        return re.sub(r"-s(?=\d)", "-s0", name)

    after = replace(
        before,
        devices=tuple(replace(device, name=longer(device.name)) for device in before.devices),
        cables=tuple(
            c._replace(a=c.a._replace(device=longer(c.a.device)), b=c.b._replace(device=longer(c.b.device)))
            for c in before.cables
        ),
    )
    changes = compare_plans(before, after)
    assert changes.devices.renamed["gpu-s00r00n0"] == "gpu-s000r00n0"
    assert (changes.devices.added, changes.devices.removed, changes.devices.changed) == ((), (), ())
    assert changes.addresses == ()
    assert not any(changes.cables)
    assert sum(fabric.kept for fabric in changes.cables) == len(before.cables)


def test_a_rack_that_goes_and_one_that_another_group_gets_are_two() -> None:
    """Their switches may come at the same place in the count of their tier."""
    before = plan_of("lab-roce")
    gone = next(d for d in before.devices if d.role == "rsw" and before.group_by_name[d.group].node_group == "storage")
    rack = replace(before.group_by_name[gone.group], name="x99", node_group="services")
    come = replace(gone, name="rsw-x99", group=rack.name, groups=(rack.name,))
    devices = tuple(come if device is gone else device for device in before.devices)
    changes = device_changes(before, replace(before, groups=(*before.groups, rack), devices=devices))
    assert not changes.renamed
    assert ([d.name for d in changes.removed], [d.name for d in changes.added]) == ([gone.name], ["rsw-x99"])


def test_equal_changes_are_told_once_and_are_the_bytes_that_differ(tmp_path: Path) -> None:
    before = plan_of("lab-ib")
    after = overlaid(tmp_path, "lab-ib", 'site:\n  ntp: ["10.98.240.124"]\n')
    groups = config_changes(before, after, {}, workers=2)
    assert groups == config_changes(before, after, {}, workers=1)
    nodes = next(group for group in groups if group.role == "node")
    assert len(nodes.devices) == 16
    names = [name for group in groups for name in group.devices]
    differ = [
        d.name for d in before.devices if Rendering(before).of_device(d.name) != Rendering(after).of_device(d.name)
    ]
    assert sorted(names) == sorted(differ)


def test_the_text_of_a_grown_lab(tmp_path: Path) -> None:
    before = overlaid(tmp_path, "lab-ib", "nodes:\n  - {name: compute, count: 8}\n")
    changes = compare_plans(before, plan_of("lab-ib"))
    lines = text_lines(changes, None, 6)
    assert_golden("compare/lab-ib-grown.txt", "".join(f"{line}\n" for line in lines).encode())


def test_the_text_of_a_changed_flow(tmp_path: Path) -> None:
    before, after = plan_of("lab-ib"), overlaid(tmp_path, "lab-ib", SSH_FROM_COMPUTE)
    lines = text_lines(compare_plans(before, after), config_changes(before, after, {}), 6)
    assert_golden("compare/lab-ib-flows.txt", "".join(f"{line}\n" for line in lines).encode())


def test_a_chip_of_a_director_that_was_exchanged_is_told(tmp_path: Path) -> None:
    specs = []
    for name, guid in (("before", 0x0C42A10300000001), ("after", 0x0C42A10300000002)):
        (tmp_path / f"{name}.csv").write_text(f"device,port,guid\ndirector-03 leaf 7,,0x{guid:016x}\n")
        base = data_files.folder("inventory") / "rsc-phase1.yaml"
        spec = tmp_path / f"{name}.yaml"
        spec.write_text(f"extends: {base}\nname: rsc\nfabrics:\n  - name: backend\n    guids: {name}.csv\n")
        specs.append(build_plan(load_spec(spec)))
    assert device_changes(*specs).changed == (
        FieldChange("director-03", "guid of leaf 7", "0x0c42a10300000001", "0x0c42a10300000002"),
    )


def test_an_archive_is_named_without_lines() -> None:
    """A boot server keeps one for each node; what text is in it says nothing to people."""
    before, after = (Artifact("svc", "srv/nodes/n0.cpio", b"070701\0etc/hosts\n" + end, "boot") for end in (b"a", b"b"))

    (diff,) = file_diffs([before], [after])

    assert (diff.status, diff.lines) == ("changed", (BINARY,))
