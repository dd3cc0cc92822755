"""``clusterwright evidence``: an answer holds only where plan, text or proof decides it."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
from tests.cli.in_process import command
from tests.evidence.given_specs import INVENTORY, SECOND_WAY_TO_BMCS, TWO_ZONES, WITH_KEY, answers_of, written

from clusterwright.data_files import pages
from clusterwright.evidence.suite import TESTS

SCHEMA = json.loads((Path(__file__).parent / "answers.schema.json").read_text(encoding="utf-8"))
HOLDING = {
    "lab-roce": {"NET01-01", "NET02-02", "STG05-01", "SEC12-01"},
    "lab-ib": {"NET02-02", "STG05-01", "SDN04-04", "SEC12-01"},
    "lab-tenants": {"NET02-02", "STG05-01", "SEC12-01"},
}


@pytest.mark.parametrize("lab", HOLDING)
def test_answers_have_the_form_that_the_suite_reads(lab: str) -> None:
    answers = answers_of(INVENTORY / f"{lab}.yaml")
    assert {name for name, answer in answers.items() if answer["success"]} == HOLDING[lab]
    for name, answer in answers.items():
        validator = jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"})
        assert not [error.message for error in validator.iter_errors(answer)], name


def test_no_probe_of_the_suite_is_passed_in_its_place() -> None:
    answers = answers_of(INVENTORY / "lab-tenants.yaml")
    for test in TESTS:
        if test.probe:
            results = answers.get(test.id, {"tests": {}})["tests"]
            assert not [name for name in test.probed if name in results and results[name]["passed"]], test.id
    assert answers["SEC11-01"]["skipped"]
    assert answers["SEC11-01"]["tests"]["network_isolated"] == {"passed": True}


def test_switches_above_a_node_are_those_of_its_cables() -> None:
    fabric = answers_of(INVENTORY / "lab-roce.yaml", "--test", "NET01-01", "--node", "gpu-p01r00n1")["NET01-01"][
        "fabric"
    ]
    assert fabric["leaf_switch_ids"] == ["rtsw-p01r00"]
    assert fabric["spine_switch_ids"] == ["ctsw-p01-00", "ctsw-p01-01"]
    assert fabric["core_switch_ids"] == ["atsw-00", "atsw-01"]


def test_nodes_that_share_switch_trays_have_the_domain_of_the_spec() -> None:
    answer = answers_of(INVENTORY / "published/gb300-nvl72.yaml", "--test", "NET02-02")["NET02-02"]
    assert answer["success"]
    assert answer["nvlink_domain_id"] != answer["node_id"]


def test_a_management_key_is_looked_for_in_the_spec_and_the_text(tmp_path: Path) -> None:
    keys = answers_of(written(tmp_path, "lab-ib", WITH_KEY))["SDN04-05"]
    assert keys["success"]
    assert keys["keys"]["management_key"]["configured"] is True
    assert keys["keys"]["congestion_control_key"]["configured"] is None
    without = answers_of(INVENTORY / "lab-ib.yaml")["SDN04-05"]
    assert without["keys"]["management_key"]["configured"] is False


def test_a_partition_of_two_compute_zones_fails_as_the_suite_counts(tmp_path: Path) -> None:
    answer = answers_of(written(tmp_path, "lab-ib", TWO_ZONES))["SDN04-04"]
    assert not answer["success"]
    keys = [(each["partition_key"], each["tenant_id"]) for each in answer["partitions"]]
    assert keys == [("0x1", "compute"), ("0x1", "second")]


def test_a_second_way_to_bmcs_fails(tmp_path: Path) -> None:
    answers = answers_of(written(tmp_path, "lab-ib", SECOND_WAY_TO_BMCS))
    assert "management ports are reached from 2 zones: operations, site-services" in answers["SEC12-03"]["error"]
    before = answers_of(INVENTORY / "lab-ib.yaml")["SEC12-03"]["evidence"]
    assert before["answer"] == "pre-check"


def test_what_was_read_back_is_judged_in_the_place_of_what_is_rendered(tmp_path: Path) -> None:
    spec, tree = tmp_path / "cluster.yaml", tmp_path / "running"
    shutil.copy(INVENTORY / "lab-ib.yaml", spec)
    assert command("render", spec, "--out", tree, cwd=tmp_path).returncode == 0
    whole = answers_of(spec, "--observed", str(tree), "--test", "SDN04-04")["SDN04-04"]
    assert whole["success"]
    assert whole["evidence"]["from"] == "text read back from devices"
    (tree / "manifest.json").unlink()
    for name in ("image", "switch"):  # devices have their own copies of what a tree has once
        shutil.rmtree(tree / name, ignore_errors=True)
    partitions = next(tree.glob("*/etc/opensm/partitions.conf"))
    partitions.write_text(partitions.read_text(encoding="utf-8").replace("0x7fff", "0x7fff, defmember=full", 1))
    changed = answers_of(spec, "--observed", str(tree), "--test", "SDN04-04")["SDN04-04"]
    assert not changed["success"]


def test_a_signed_folder_is_checked_by_verify_and_sha256sum(tmp_path: Path) -> None:
    key, public = tmp_path / "key.pem", tmp_path / "public.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True)
    out = tmp_path / "evidence"
    options = ("--format", "ncp", "--out", out, "--key", key, "--test", "STG05-01")
    assert command("evidence", INVENTORY / "lab-ib.yaml", *options, cwd=tmp_path).returncode == 0
    subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=out, capture_output=True, check=True)
    record = json.loads((out / "evidence.log").read_text(encoding="utf-8"))
    assert record["files"] == (out / "SHA256SUMS").read_text(encoding="utf-8")
    checked = command("verify", "--records", out / "evidence.log", "--public-key", public, cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
    (out / "evidence.log").write_text(json.dumps({**record, "ok": False}) + "\n", encoding="utf-8")
    assert command("verify", "--records", out / "evidence.log", "--public-key", public, cwd=tmp_path).returncode == 1


def test_the_digests_are_those_of_the_specs_own_files(tmp_path: Path) -> None:
    spec = written(tmp_path, "lab-ib")
    digests = answers_of(spec, "--test", "STG05-01")["STG05-01"]["evidence"]["spec_sha256"]
    assert digests[spec.name] == hashlib.sha256(spec.read_bytes()).hexdigest()
    assert len(digests) == 2


def test_the_page_lists_every_test_that_is_answered() -> None:
    page = pages()["evidence"].read_text(encoding="utf-8")
    for test in TESTS:
        assert f"| {test.id} | {test.requirement} |" in page


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--test", "NET09-01"), 'No spec answers a test "NET09-01"'),
        (("--out", "x"), "--out is for --format ncp"),
        (("--node", "nobody"), 'has no node "nobody" with GPUs'),
    ],
)
def test_what_cannot_be_answered_is_said(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    done = command("evidence", INVENTORY / "lab-ib.yaml", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
