"""``lint --fix`` writes the flows that hints spell out: those alone, and not a byte besides."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from tests.cli.in_process import command
from tests.cli.test_fix import LAB, fix

from clusterwright.finding import Amendment, Finding, Position, Severity
from clusterwright.rules.adding_flows import flow_of, flow_text, needed_flows
from clusterwright.rules.amending import amended
from clusterwright.rules.engine import lint_path

TEXT = LAB.read_text()
ITEM = re.compile(r"  - \{name: .*\}\n")


def without_flows(instead: str = "") -> str:
    """The lab with ``instead`` in the place of its flows."""
    before, _, rest = TEXT.partition("flows:\n")
    items = ITEM.findall(rest)
    assert rest.startswith("".join(items[:18]))
    return before + instead + rest.removeprefix("".join(items[:18]))


def fixed(text: str, folder: Path) -> tuple[str, list[Finding]]:
    file = folder / "lab.yaml"
    file.write_text(text)
    after, done = fix(file.read_bytes(), file)
    return after.decode(), done


def errors(file: Path) -> list[Finding]:
    return [finding for finding in lint_path(str(file)).findings if finding.severity is Severity.ERROR]


def test_every_complete_hint_becomes_its_flow_and_nothing_else_opens(tmp_path: Path) -> None:
    text = without_flows()
    after, done = fixed(text, tmp_path)
    hints = "\n".join(finding.hint for finding in done)
    added = yaml.safe_load(after)["flows"]
    assert len(added) == len(done) == 12
    for flow in added:
        ports = ", ".join(json.dumps(port) for port in flow["ports"])
        ends = f"from: {flow['from']}, to: {flow['to']}, protocol: {flow['protocol']}, ports: [{ports}]"
        assert f"Add a flow {{{ends}}}." in hints
        assert flow.keys() == {"name", "from", "to", "protocol", "ports", "reason"}
    assert re.sub(r"\nflows:\n(  - .*\n)+", "", after) == text
    (tmp_path / "lab.yaml").write_text(after)
    left = errors(tmp_path / "lab.yaml")
    assert left
    assert all("where ZONE is" in finding.hint or finding.code == "CW507" for finding in left)
    assert fixed(after, tmp_path) == (after, [])


def test_who_fixes_is_told_what_opens(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(without_flows())
    shown = command("lint", "--fix", "--diff", "lab.yaml", cwd=tmp_path)
    assert file.read_text() == without_flows()
    assert shown.stdout.count("\n+  - {name: ") == 12
    done = command("lint", "--fix", "lab.yaml", cwd=tmp_path)
    for stderr in (shown.stderr, done.stderr):
        assert "lab.yaml: 12 flows open what was closed. Review each, and name its owner (owner):" in stderr
        assert "  {name: compute-storage-tcp-2049, from: compute, to: storage, protocol: tcp, ports: [2049]," in stderr
    assert "CW523: Flow compute-storage-tcp-2049 has no owner." in done.stdout


MANY_LINES = """\
flows:
- name: rdma  # first
  from: compute
  to: compute
  protocol: udp
  ports:
  - 4791
  owner: training
  reason: >-
    RoCE
    itself
# behind

"""
ONE_LINE = """\
flows:
  - {name: rdma, from: compute, to: compute, protocol: udp, ports: [4791], reason: RoCE, owner: x}  # last
  # and a line of its own

"""
STYLES = {
    "an empty list": ("flows: []  # none yet\n", "flows:  # none yet\n  - {name: "),
    "items of many lines": (MANY_LINES, "    itself\n- {name: "),
    "a comment behind the last": (ONE_LINE, "owner: x}  # last\n  - {name: "),
}


@pytest.mark.parametrize("style", STYLES)
def test_a_list_keeps_its_layout(style: str, tmp_path: Path) -> None:
    given, expected = STYLES[style]
    text = without_flows(given)
    after, done = fixed(text, tmp_path)
    assert len(done) >= 12
    assert expected in after
    lines = [line for line in after.splitlines() if not re.match(r" *- \{name: \w+-[\w-]+-(tcp|udp)-\d+", line)]
    wanted = text.replace("flows: []  # none yet", "flows:  # none yet")
    assert lines == wanted.splitlines()


def test_a_list_within_brackets_is_left_alone(tmp_path: Path) -> None:
    text = without_flows(
        'flows: [{name: rdma, from: compute, to: compute, protocol: udp, ports: [4791], reason: "RDMA", owner: x}]\n'
    )
    assert fixed(text, tmp_path) == (text, [])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "  - {name: boot, kind: boot,",
            "  - {name: other, kind: storage, isolated: true, nodes: [storage], fabrics: [frontend]}\n"
            "  - {name: boot, kind: boot,",
            id="storage in two zones",
        ),
        pytest.param(
            "{name: storage, kind: storage, isolated: true,", "{name: storage, kind: internet,", id="the internet"
        ),
    ],
)
def test_where_the_hint_leaves_something_open_nothing_is_written(old: str, new: str, tmp_path: Path) -> None:
    assert old in TEXT
    after, _ = fixed(without_flows().replace(old, new), tmp_path)
    assert "ports: [2049]" not in after


def test_a_flow_that_is_an_error_itself_is_not_written(tmp_path: Path) -> None:
    """Lint is asked again with all of them: those that it refuses are taken out, the others stay."""
    file = tmp_path / "spec.yaml"
    file.write_text("version: 1\nflows: []\n")
    position = Position(str(file), 1, 1)
    wanted = Finding("CW505", Severity.ERROR, "", "", position, amendment=Amendment.ADD_FLOW)
    flows = [
        {"name": name, "from": "a", "to": name, "protocol": "tcp", "ports": [22], "reason": "needed"}
        for name in ("good", "bad")
    ]

    def lint(now: bytes) -> tuple[Finding, ...]:
        lines = now.decode().splitlines()
        known = [flow for flow in flows if any(flow_text(flow) in line for line in lines)]
        missing = (replace(wanted, instead=json.dumps(flow)) for flow in flows if flow not in known)
        refused = (
            Finding("CW521", Severity.ERROR, "", "", Position(str(file), number, 5))
            for number, line in enumerate(lines, 1)
            if "name: bad" in line
        )
        return (*missing, *refused)

    after, done = amended(file.read_bytes(), str(file), lint)
    assert [flow["name"] for flow in yaml.safe_load(after)["flows"]] == ["good"]
    assert [flow_of(finding)["name"] for finding in done] == ["good"]


def test_of_flows_within_each_other_the_widest_is_enough() -> None:
    def asked(ports: str | int, target: str = "b") -> Finding:
        flow = {"from": "a", "to": target, "protocol": "tcp", "ports": [ports]}
        return Finding(
            "CW623", Severity.ERROR, "", "", Position("x", 1, 1),
            amendment=Amendment.ADD_FLOW, instead=json.dumps(flow),
        )  # fmt: skip

    findings = [asked(6818), asked("6817-6819"), asked("6817-6819"), asked(6818, "c"), asked("6819-6820")]
    kept = [(flow_of(finding)["to"], flow_of(finding)["ports"]) for finding in needed_flows(findings, "x")]
    assert kept == [("b", ["6817-6819"]), ("c", [6818]), ("b", ["6819-6820"])]


def test_an_overlay_gets_the_flow_that_it_makes_necessary_by_a_free_name(tmp_path: Path) -> None:
    mounts = re.search(r"mounts:\n(  .*\n)+", TEXT)
    nfs = re.search(r"  - \{name: nfs, .*\n", TEXT)
    assert mounts is not None
    assert nfs is not None
    taken = "  - {name: compute-storage-tcp-2049, from: compute, to: services, protocol: tcp, ports: [22], reason: old}"
    base = tmp_path / "base.yaml"
    base.write_text(TEXT.replace(nfs[0], f"{taken}\n").replace(mounts[0], ""))
    overlay = tmp_path / "lab.yaml"
    overlay.write_text(f"version: 1\nextends: base.yaml\n{mounts[0]}")
    before = base.read_text()
    after, done = fix(overlay.read_bytes(), overlay)
    assert [finding.code for finding in done] == ["CW505"]
    assert yaml.safe_load(after)["flows"][0]["name"] == "compute-storage-tcp-2049-2"
    assert base.read_text() == before
