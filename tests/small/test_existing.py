"""Nodes that somebody else installed: what is taken of them is written, and claims say what they lean on."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
from tests.cli.in_process import command

from clusterwright.deploy.ansible.query import Devices
from clusterwright.hosts.registry import WRITERS
from clusterwright.plan.build import build_plan
from clusterwright.plan.node_parts import OF_THE_SYSTEM, PARTS_BY_KIND, WHATEVER_IS_TAKEN
from clusterwright.rollout.gates.node_checks import NodeIsolation
from clusterwright.rollout.preview.takeover import taken_over
from clusterwright.spec.load import load_spec
from clusterwright.spec.rollout import GatePolicy

SPEC = Path(__file__).parent / "specs" / "existing.yaml"
USERS = ", users: [{name: ops, uid: 2000, groups: [sudo], operators: [ops]}]"


def taking(folder: Path, parts: str) -> Path:
    path = folder / "spec.yaml"
    text = SPEC.read_text().replace("delivery: existing", f"delivery: existing, takes: [{parts}]")
    if "accounts" not in parts:
        text = text.replace(USERS, "")
    path.write_text(text)
    return path


def claims(spec: Path) -> dict[str, str]:
    """The answer of each claim, by its name."""
    lines = command("verify", spec, cwd=spec.parent).stdout.splitlines()
    return {line.split(":")[0]: line for line in lines if line[:1].islower() and ": " in line}


def test_the_whole_is_proven_but_for_who_gets_in() -> None:
    answers = claims(SPEC)
    assert answers["isolation"].startswith("isolation: proven.")
    assert answers["node-logins"].startswith(
        "node-logins: not checked: accounts, keys and services present before on 4 nodes"
    )
    told = command("verify", SPEC, cwd=SPEC.parent).stdout
    assert "no table of other programs there was read" in told


@pytest.mark.parametrize(
    ("claim", "parts", "lacking"),
    [
        ("isolation", "nccl, network, limits", "filter"),
        ("isolation", "nccl, filter, limits", "network"),
        ("ib-nccl", "filter, network, limits", "nccl"),
        ("node-logins", "filter, network, nccl, limits", "accounts"),
        ("ethernet-links", "filter, limits", "nccl, network"),
    ],
)
def test_a_claim_that_leans_on_a_part_left_out_is_not_proven(
    tmp_path: Path, claim: str, parts: str, lacking: str
) -> None:
    answer = claims(taking(tmp_path, parts))[claim]
    assert answer.startswith(f"{claim}: not checked: another owner manages {lacking}"), answer


def test_the_filter_is_a_table_beside_those_of_others(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert command("render", SPEC, "--merged", "--out", out, cwd=tmp_path).returncode == 0
    text = next(out.rglob("nftables.conf")).read_text()
    assert "flush ruleset" not in text
    assert "table inet clusterwright\ndelete table inet clusterwright\n" in text
    sysctl = next(out.rglob("90-clusterwright.conf")).parent.parent
    assert "ip_forward" not in "".join(path.read_text() for path in sysctl.rglob("sysctl.d/*"))


def test_a_filter_that_leaves_its_older_rules_is_refuted(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert command("render", SPEC, "--merged", "--out", out, cwd=tmp_path).returncode == 0
    for path in out.rglob("nftables.conf"):
        (out / "manifest.json").unlink(missing_ok=True)
        path.write_text(path.read_text().replace("delete table inet clusterwright\n", ""))
    answer = command("verify", out, "--spec", SPEC, cwd=tmp_path)
    assert "REFUTED" in answer.stdout + answer.stderr
    assert "they stay" in answer.stdout + answer.stderr


@pytest.mark.parametrize(("parts", "asked"), [("filter, limits", 0), ("filter, health, limits", 4)])
def test_a_gate_asks_the_nodes_whose_programs_are_ours(tmp_path: Path, parts: str, asked: int) -> None:
    plan = build_plan(load_spec(taking(tmp_path, parts)))
    names = [device.name for device in plan.devices_of("node")]
    devices = mock.Mock(spec=Devices, over_ssh=frozenset(names), access=mock.Mock(python="python3"))
    devices.run.return_value = {}

    answer = NodeIsolation(plan, devices, GatePolicy(1)).after(mock.Mock(), dict.fromkeys(names, "tree"), None)

    assert answer.asked == asked


def test_every_kind_of_file_belongs_to_a_part_or_to_none_on_purpose() -> None:
    sorted_kinds = set(PARTS_BY_KIND) | OF_THE_SYSTEM | WHATEVER_IS_TAKEN
    assert {writer.kind for writer in WRITERS} <= sorted_kinds


def test_no_claim_is_refuted_where_all_parts_are_ours() -> None:
    answer = command("verify", SPEC, cwd=SPEC.parent)
    assert "REFUTED" not in answer.stdout
    assert answer.returncode == 3, "node-logins stays open"


def test_a_preview_names_what_the_first_update_changes_of_the_parts_that_are_taken(tmp_path: Path) -> None:
    everything = " ".join(taken_over(build_plan(load_spec(SPEC)), "gpu-r00n0"))
    assert "sshd accepts no passwords" in everything
    assert "nothing is forwarded" in everything
    some = taken_over(build_plan(load_spec(taking(tmp_path, "nccl, limits"))), "gpu-r00n0")
    assert some == ("logins and services get the spec's limits when they start next",)
