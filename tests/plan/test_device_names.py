"""Names as the site has them: everything that is rendered, listed and compared has them; nothing else changes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.observe.lldp_dumps import dumps
from tests.plan.grown import DAY

from clusterwright import verify
from clusterwright.data_files import folder
from clusterwright.observe.lldp import parse_neighbours
from clusterwright.observe.lldp_compare import compare_neighbours
from clusterwright.output.rendering import Rendering
from clusterwright.plan.allocation.record import record
from clusterwright.plan.allocation.standing import Standing
from clusterwright.plan.allocation.writing import allocation_text
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

LABS = ("lab-roce", "lab-nvue", "lab-sonic", "lab-ib")
PATTERNS = """\
extends: {base}
nodes:
  - name: compute
    name_pattern: "su-{{pod+1:02}}-node-{{rack}}{{node+1:02}}"
fabrics:
  - name: backend
    tiers:
      - role: rtsw
        name_pattern: "dc1-gpu-leaf-{{pod+1}}-{{rack+1:02}}"
"""


def base_of(lab: str) -> Path:
    return folder("inventory") / f"{lab}.yaml"


def site_names(plan: Plan) -> Mapping[str, str]:
    """A name for every device that says nothing of its group, several of a kind with the same number."""
    kinds = {"node": "host", "switch": "net"}
    return {device.name: f"x{index:03}-{kinds[device.kind]}-{index % 3}" for index, device in enumerate(plan.devices)}


def write_named(lab: str, names: Mapping[str, str], path: Path, more: str = "") -> Path:
    rows = "".join(f"{planned},{name}\n" for planned, name in names.items())
    (path / "names.csv").write_text(f"planned,name\n{rows}")
    spec = path / "named.yaml"
    spec.write_text(f"extends: {base_of(lab)}\ndevice_names: names.csv\n{more}")
    return spec


def renamed(text: str, names: Mapping[str, str]) -> str:
    longest_first = sorted(map(re.escape, names), key=len, reverse=True)
    return re.sub(rf"(?<![a-z0-9])({'|'.join(longest_first)})(?![a-z0-9])", lambda match: names[match[1]], text)


@pytest.mark.parametrize("lab", LABS)
def test_files_of_switches_differ_by_names_alone(lab: str, tmp_path: Path) -> None:
    planned = build_plan(load_spec(base_of(lab)))
    names = site_names(planned)
    named = build_plan(load_spec(write_named(lab, names, tmp_path)))
    switches = {device.name for device in planned.devices if device.kind == "switch"}
    before = {}
    for file in Rendering(planned).of_devices(sorted(switches)):
        before[names[file.device], renamed(file.path, names)] = renamed(str(file.content), names)
    after = {
        (file.device, file.path): str(file.content)
        for file in Rendering(named).of_devices([names[switch] for switch in switches])
    }
    assert before.keys() == after.keys() != set()
    assert {place for place, text in before.items() if after[place] != text} == set()


def test_patterns_name_nodes_and_switches(tmp_path: Path) -> None:
    spec = tmp_path / "named.yaml"
    spec.write_text(PATTERNS.format(base=base_of("lab-roce")))
    assert lint_path(spec).findings == ()
    plan = build_plan(load_spec(spec))
    assert plan.by_name["su-02-node-101"].planned_name == "gpu-p01r01n0"
    assert plan.by_name["dc1-gpu-leaf-1-02"].planned_name == "rtsw-p00r01"


def test_a_line_of_the_file_comes_before_the_pattern(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("planned,name\nrtsw-p00r00,first-leaf\n")
    spec = tmp_path / "named.yaml"
    spec.write_text(PATTERNS.format(base=base_of("lab-roce")) + "device_names: names.csv\n")
    names = build_plan(load_spec(spec)).by_name
    assert "first-leaf" in names
    assert "dc1-gpu-leaf-1-02" in names
    assert "dc1-gpu-leaf-1-01" not in names


def test_a_named_cluster_is_proven_listed_and_observed(tmp_path: Path) -> None:
    names = site_names(build_plan(load_spec(base_of("lab-roce"))))
    spec = write_named("lab-roce", names, tmp_path)
    plan = build_plan(load_spec(spec))
    assert lint_path(spec).findings == ()
    assert all(verdict.is_proven for verdict in verify(plan).values())
    heard = {device: parse_neighbours(text, device) for device, text in dumps(plan).items()}
    assert compare_neighbours(plan, heard) == ()
    inventory = json.loads(command("inventory", spec, "--format", "json", cwd=tmp_path).stdout)
    assert {each["planned_name"]: each["name"] for each in inventory["devices"]} == names
    hosts = command("inventory", spec, "--format", "ansible", cwd=tmp_path).stdout
    assert not [planned for planned in names if planned in hosts]
    assert set(names.values()) <= {word.strip('":,') for word in hosts.split()}
    slurm = [str(file.content) for file in Rendering(plan).of_devices() if file.path == "etc/slurm/slurm.conf"]
    assert "gpu-p00" not in slurm[0]
    assert "-host-0" in slurm[0]


def test_exceptions_and_places_left_out_go_by_the_names_of_the_site(tmp_path: Path) -> None:
    names = site_names(build_plan(load_spec(base_of("lab-roce"))))
    spec = write_named(
        "lab-roce",
        names,
        tmp_path,
        f"exceptions:\n  - {{device: {names['ctsw-p00-00']}, state: drained, reason: burnt}}\n"
        f"nodes:\n  - {{name: compute, left_out: [{names['gpu-p00r00n1']}]}}\n",
    )
    plan = build_plan(load_spec(spec))
    assert plan.by_name[names["ctsw-p00-00"]].state == "drained"
    assert names["gpu-p00r00n1"] not in plan.by_name


def test_a_cluster_that_stands_keeps_all_when_it_is_named_and_named_anew(tmp_path: Path) -> None:
    """The file has planned names: names of the site may come, change and go, and nothing moves."""
    before = build_plan(load_spec(base_of("lab-roce")))
    names = dict(site_names(before))
    names["rtsw-p00r00"], names["rtsw-p00r01"] = names["rtsw-p00r01"], names["rtsw-p00r00"]
    spec = write_named("lab-roce", names, tmp_path)
    (tmp_path / "named.allocated.yaml").write_text(allocation_text(before.spec, record(before, DAY)))
    named = build_plan(load_spec(spec))
    assert not lint_path(spec).findings
    assert {device.planned_name: device.name for device in named.devices} == names
    stood, stands = record(before, date(2026, 1, 1)), record(named, date(2026, 1, 2))
    for field in ("groups", "nodes", "switches", "cables", "freed_ports", "freed_addresses", "former"):
        assert getattr(stands, field) == getattr(stood, field)
    assert Standing(named.spec, named.spec.allocated).former == {}


def test_what_a_named_switch_gave_up_rests_under_its_planned_name(tmp_path: Path) -> None:
    before = build_plan(load_spec(base_of("lab-roce")))
    names = site_names(before)
    spec = load_spec(write_named("lab-roce", names, tmp_path))
    allocated = record(before, date(2026, 1, 1))
    fewer = tuple(
        replace(group, count=group.count - 1) if group.name == "compute" else group for group in spec.node_groups
    )
    shrunk = build_plan(replace(spec, allocated=allocated, node_groups=fewer))
    freed = record(shrunk, date(2026, 1, 2)).freed_ports
    assert {device for device, _ in freed} <= {device.name for device in before.devices}
    assert ("rtsw-p01r01", before.cables_of["gpu-p01r01n1"][0].b.port) in freed
