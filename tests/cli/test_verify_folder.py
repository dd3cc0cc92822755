"""``clusterwright verify DIR --spec SPEC``: a folder, rendered or read back from devices, is judged against a spec."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.cli.folders import INFINIBAND, MANAGER, NODE, ROCE, STANDBY, answers, edit, run
from tests.plans import plan_of

from clusterwright import data_files
from clusterwright.cli.main import cli
from clusterwright.finding import ClusterwrightError
from clusterwright.output.renderers import all_files
from clusterwright.output.rendering import Rendering
from clusterwright.placeholder import PLACEHOLDER_IN_BYTES
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.files import FILES
from clusterwright.proofs.folder import read_folder
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import rendering_of, tree_of
from clusterwright.proofs.unread import UNREAD, unread_text

OPENSM = f"{MANAGER}/etc/opensm/opensm.conf"


def told(answer: dict[str, Any]) -> list[str]:
    return [f"{each['device']}:{each['file']}: {each['message']}" for each in answer["counterexamples"]]


def test_every_check_says_in_docs_and_answers_what_only_a_spec_tells() -> None:
    docs = (data_files.folder("docs") / "verify.md").read_text()
    for check in (FILES, *CHECKS):
        assert f"| `{check.name}` | {check.spec_only or 'nothing'} |" in docs, check.name
    for name in ("lab-roce", "lab-ib"):
        subject = tree_of(name, Rendering(plan_of(name)).of_kinds({kind for check in CHECKS for kind in check.kinds}))
        for check in CHECKS:
            if check.spec_only and check.applies(subject):
                assert f"not checked without a spec: {check.spec_only}." in check.run(subject).notes, (
                    name,
                    check.name,
                )


def test_a_rendered_folder_is_proven_as_its_spec_is(rendered: Path) -> None:
    reply = answers(str(rendered), "--spec", INFINIBAND)
    assert reply.pop("files")["answer"] == "proven"
    assert reply.pop("boot-archives")["answer"] == "proven"  # of a spec none is rendered
    assert reply == answers(INFINIBAND)


def test_what_was_read_back_has_no_manifest_and_is_judged_and_says_so(read_back: Path) -> None:
    reply = answers(str(read_back), "--spec", INFINIBAND)
    assert reply["isolation"]["answer"] == reply["ib-partitions"]["answer"] == reply["files"]["answer"] == "proven"
    assert "no file was compared with a digest" in reply["files"]["notes"][0]


def test_without_manifest_and_spec_nobody_says_which_files_there_ought_to_be(read_back: Path) -> None:
    result = run(str(read_back), "--check", "ib-cabling")
    assert result.return_value == 3
    assert "files: not checked: without a manifest only a spec sets" in result.output


def test_a_missing_file_leaves_what_reads_it_unproven_and_is_told(read_back: Path) -> None:
    (read_back / NODE / "etc/nftables.conf").unlink()
    reply = answers(str(read_back), "--spec", INFINIBAND, "--check", "isolation", "--check", "ib-lid-space")
    assert told(reply["files"]) == [f"{NODE}:/etc/nftables.conf: the file is missing, and the spec renders it"]
    assert not reply["isolation"]["proven"]
    assert reply["ib-lid-space"]["proven"], "it reads no filters"


def test_a_missing_device_is_told_once_and_no_claim_over_it_is_proven(read_back: Path) -> None:
    shutil.rmtree(read_back / NODE)
    reply = answers(str(read_back), "--spec", INFINIBAND, "--check", "isolation", "--check", "encryption")
    (message,) = told(reply["files"])
    assert f"{NODE}:/" in message
    assert "nothing of the device is there" in message
    assert f"not proven, because the folder lacks {NODE}:/" in reply["isolation"]["answer"]
    assert f"not proven, because the folder lacks {NODE}:/" in reply["encryption"]["answer"]


def test_of_an_empty_folder_everything_is_missing(tmp_path: Path) -> None:
    reply = answers(str(tmp_path), "--spec", INFINIBAND, "--check", "ib-managers")
    assert all("nothing of the device is there" in each for each in told(reply["files"]))
    assert run(str(tmp_path), "--spec", INFINIBAND).return_value == 1


def test_a_device_that_the_spec_has_not_is_told(read_back: Path) -> None:
    shutil.copytree(read_back / NODE, read_back / "stranger")
    reply = answers(str(read_back), "--spec", INFINIBAND)
    assert any(each.startswith("stranger:/") and each.endswith("no such device") for each in told(reply["files"]))


def test_a_file_that_only_an_older_spec_rendered_is_told(rendered: Path, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    shutil.copytree(rendered, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    row = next(each for each in manifest["artifacts"] if each["device"] == NODE and each["kind"] == "nftables")
    manifest["artifacts"].append({**row, "path": "etc/nftables-old.conf"})
    shutil.copy(folder / NODE / row["path"], folder / NODE / "etc/nftables-old.conf")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    reply = answers(str(folder), "--spec", INFINIBAND, "--check", "isolation")
    assert told(reply["files"]) == [f"{NODE}:/etc/nftables-old.conf: the spec renders no such file"]


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        ("\nsweep_interval 10\n", "\nsweep_interval 0\n", "ib-managers"),
        ("\nmax_wire_smps 8\n", "\nmax_wire_smps 0\n", "ib-managers"),
        ("\nlmc 0\n", "\nlmc 0\nm_key 0x1234\n", "ib-managers"),
        ("\nlmc 0\n", "\nlmc 0\nfancy_option TRUE\n", "ib-managers"),
        ("/etc/opensm/root_guids.conf", "/etc/opensm/elsewhere", "ib-managers"),
    ],
)
@pytest.mark.parametrize("spec", [True, False], ids=["with the spec", "without it"])
def test_what_opensm_is_told_otherwise_is_refuted(
    read_back: Path, old: str, new: str, check: str, *, spec: bool
) -> None:
    edit(read_back / OPENSM, old, new)
    arguments = ["--spec", INFINIBAND] if spec else []
    assert answers(str(read_back), "--check", check, *arguments)[check]["counterexamples"]


@pytest.mark.parametrize("spec", [True, False], ids=["with the spec", "without it"])
def test_exchanged_names_of_switches_are_refuted(read_back: Path, *, spec: bool) -> None:
    for manager in (MANAGER, STANDBY):
        path = read_back / manager / "etc/opensm/ib-node-name-map"
        lines = path.read_text().splitlines()
        first, second = [index for index, line in enumerate(lines) if line.startswith("0x")][:2]
        (one, name), (two, other) = lines[first].split(None, 1), lines[second].split(None, 1)
        lines[first], lines[second] = f"{one} {other}", f"{two} {name}"
        path.write_text("\n".join(lines) + "\n")
    arguments = ["--spec", INFINIBAND] if spec else []
    reply = answers(str(read_back), *arguments)
    assert any(reply[check]["counterexamples"] for check in ("ib-cabling", "ib-managers"))


def test_lids_that_two_ports_have_are_refuted(read_back: Path) -> None:
    path = read_back / MANAGER / "etc/opensm/fabric.net"
    lines = path.read_text().splitlines()
    switches = [at for at, line in enumerate(lines) if line.startswith("Switch")]
    for at, lid in zip(switches, [7, 8, 7], strict=False):
        lines[at] += f" enhanced port 0 lid {lid} lmc 0"
    path.write_text("\n".join(lines) + "\n")
    kept = read_back / MANAGER / "var/cache/opensm/guid2lid"
    kept.parent.mkdir(parents=True)
    kept.write_text("0x0002c9000100d051 0x0004 0x0004\n\n0x0002c9000100d052 0x0003 0x0005\n")
    found = told(answers(str(read_back), "--check", "ib-lid-space")["ib-lid-space"])
    assert any(f"LID 7 is that of line {switches[0] + 1} too" in each for each in found)
    assert any("guid2lid: LID 4 is that of line 1 too" in each for each in found)


def test_accounts_are_judged_against_the_spec(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert (
        CliRunner().invoke(cli, ["render", ROCE, "--out", str(out), "--merged"], standalone_mode=False).return_value
        == 0
    )
    (out / "manifest.json").unlink()
    edit(
        out / "ssw-00/mnt/flash/startup-config", "\nusername ", "\nusername mallory privilege 15 nopassword\nusername "
    )
    reply = answers(str(out), "--spec", ROCE)
    assert any("ssw-00" in each for each in told(reply["isolation"])) or not reply["isolation"]["proven"]


def test_a_link_by_which_systemd_wants_a_unit_is_taken_by_its_name(read_back: Path) -> None:
    wants = read_back / NODE / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(parents=True, exist_ok=True)
    (wants / "cron.service").symlink_to("/usr/lib/systemd/system/cron.service")
    assert answers(str(read_back), "--spec", INFINIBAND, "--check", "encryption")["encryption"]["proven"]


def test_a_spec_is_not_judged_by_another() -> None:
    result = run(ROCE, "--spec", ROCE)
    assert isinstance(result.exception, ClusterwrightError)
    assert "is no folder" in str(result.exception)


def test_what_root_would_run_is_not_passed_over(read_back: Path) -> None:
    (read_back / NODE / "usr/local/sbin/node-health").write_text("#!/bin/sh\nnft flush ruleset\n")
    isolation = answers(str(read_back), "--spec", INFINIBAND)["isolation"]
    assert not isolation["proven"]
    place = f'{NODE}:/usr/local/sbin/node-health:1: "the whole file: it differs from what the spec renders"'
    assert place in isolation["unjudged"]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("etc/nccl/nccl.conf", "NCCL_IB_HCA==mlx5_0,", "NCCL_IB_HCA==mlx5_9,"),
        ("etc/nccl/nccl.conf", "NCCL_SOCKET_IFNAME==fe0,fe1", "NCCL_SOCKET_IFNAME==lo"),
        ("etc/nccl/partition.conf", "PKEY=0x8001", "PKEY=0x8002"),
        ("etc/systemd/network/10-be0.link", "Path=pci-0000:", "Path=pci-0001:"),
        ("etc/systemd/network/10-fe0.link", "WakeOnLan=off", "WakeOnLan=magic"),
        ("etc/systemd/network/20-fe0.network", "[Match]\n", ""),
    ],
)
def test_known_settings_of_a_host_that_no_claim_is_about_are_told(
    read_back: Path, path: str, old: str, new: str
) -> None:
    edit(read_back / NODE / path, old, new)
    files = answers(str(read_back), "--spec", INFINIBAND)["files"]
    assert not files["proven"]
    assert f'{NODE}:/{path}:1: "the whole file: it differs from what the spec renders' in files["unjudged"]


def test_a_switch_that_says_it_otherwise_is_named(read_back: Path) -> None:
    edit(read_back / "mgmt-00" / "mnt/flash/startup-config", "hostname ", "alias conf configure\nhostname ")
    files = answers(str(read_back), "--spec", INFINIBAND)["files"]
    assert (
        "Different from the rendered files, so that claims are checked on each of their lines: "
        "mgmt-00:/mnt/flash/startup-config." in (files["notes"])
    )


@pytest.mark.parametrize("strange", ["etc/cron.d/open", "etc/nftables.d/open.nft", "etc/rc.local"])
def test_a_file_that_the_spec_does_not_render_is_not_passed_over(read_back: Path, strange: str) -> None:
    file = read_back / NODE / strange
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("flush ruleset\n")
    reply = answers(str(read_back), "--spec", INFINIBAND)
    for claim in ("isolation", "ib-partitions"):
        assert f'{NODE}:/{strange}:1: "the whole file: it is none that the spec renders"' in reply[claim]["unjudged"]


def test_a_file_that_no_claim_reads_is_missed_all_the_same(read_back: Path) -> None:
    (read_back / NODE / "usr/local/sbin/node-health").unlink()
    files = answers(str(read_back), "--spec", INFINIBAND)["files"]
    assert told(files) == [f"{NODE}:/usr/local/sbin/node-health: the file is missing, and the spec renders it"]


@pytest.mark.parametrize("spec", [ROCE, INFINIBAND])
def test_no_edit_of_a_host_is_passed_over(spec: str, tmp_path: Path) -> None:
    """Each file of a node, a service host and a FBOSS switch gets one more line, but for those that end a reader."""
    plan = plan_of(Path(spec).stem)
    kinds = {kind for check in CHECKS for kind in check.kinds}
    made = [each for device in plan.devices for each in all_files(plan, device)]
    rendering = rendering_of(plan.name, made, plan.by_name, kinds=kinds)
    hosts = {next(d.name for d in plan.devices if d.role == role) for role in ("node", "service", "rsw")}
    folder = tmp_path / "edited"
    for each in made:
        if each.device in hosts:
            file = folder / each.device / each.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(each.content + b"\nzzz 1\n")
    tree = read_folder(folder, declaration=Declaration(plan), rendering=rendering)
    edited = {(each.device, each.path) for each in made if each.device in hosts}
    assert set(tree.others) == edited
    ends = {
        place for place in edited if place[1].startswith(("etc/nftables", "etc/firewalld/zones/")) or place[1] in UNREAD
    }
    readable = {place: file for place, file in tree.files.items() if place not in ends}
    told = {
        (place.device, place.unread.file)
        for check in (FILES, *CHECKS)
        for place in unread_text(replace(tree, files=readable), frozenset({check.name}), check.kinds).places
    }
    assert told - ends == edited - ends


def test_values_in_the_places_of_secrets_are_no_difference(read_back: Path) -> None:
    for file in read_back.rglob("*"):
        if file.is_file() and b"<secret" in file.read_bytes():
            file.write_bytes(PLACEHOLDER_IN_BYTES.sub(b"a-value", file.read_bytes()))
    reply = answers(str(read_back), "--spec", INFINIBAND)
    assert not [name for name, answer in reply.items() if "differs from what" in (answer["unjudged"] or "")]
