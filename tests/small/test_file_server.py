"""A file server that the spec does not describe: mounted by name, let through the filter, and noted in the claim."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.small.answers import errors, rendered
from tests.small.file_server import OTHER_ADDRESS, node_and_file_server, read_over_nfs

from clusterwright.plan.build import build_plan
from clusterwright.rollout.preview.takeover import taken_over
from clusterwright.spec.load import load_spec

SPEC = Path(__file__).parent / "specs" / "nas.yaml"
NODE = "gpu-r00n0"
UNIT = f"{NODE}/etc/systemd/system/home.mount"
OVERLAY = f"""extends: {Path(__file__).parents[2]}/inventory/lab-roce.yaml
mounts:
  - {{name: home, system: null, server: filer.example.net, addresses: ["fd00:1ab:f:fff0::9"], export: /home}}
flows:
  - {{name: filer, from: compute, to: site-services, protocol: tcp, ports: [2049], owner: storage, reason: "homes"}}
"""
BY_NAME = "    server: nas.lab.example.edu\n    addresses: [10.30.0.5]\n"


def changed(folder: Path, *changes: tuple[str, str]) -> Path:
    text = SPEC.read_text()
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    path = folder / "spec.yaml"
    path.write_text(text)
    return path


def settings_of(unit: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w+)=(.*)$", unit, re.M))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rendered(tmp_path_factory.mktemp("nas"), SPEC)


def test_the_spec_has_no_finding_and_the_claim_says_what_it_does_not_check(tmp_path: Path) -> None:
    assert not errors(SPEC)
    answer = command("verify", SPEC, cwd=tmp_path).stdout
    assert "file-servers: proven." in answer
    assert "  mounts from servers outside of the spec: 4\n" in answer
    assert "note: the spec does not describe nas.lab.example.edu: its exports are not checked\n" in answer
    assert "isolation: proven." in answer


@pytest.mark.parametrize(
    ("server", "source"),
    [
        (BY_NAME, "nas.lab.example.edu:/export/home"),
        ("    server: 10.30.0.5\n", "10.30.0.5:/export/home"),
    ],
)
def test_the_unit_mounts_the_export_of_the_server(tmp_path: Path, server: str, source: str) -> None:
    tree = rendered(tmp_path, changed(tmp_path, (BY_NAME, server)))
    unit = settings_of((tree / UNIT).read_text())
    assert (unit["What"], unit["Where"], unit["Type"]) == (source, "/home", "nfs4")
    assert unit["Options"] == "vers=4.2,hard,_netdev"
    hosts = (tree / NODE / "etc/hosts").read_text()
    assert ("10.30.0.5 nas.lab.example.edu\n" in hosts) is (server == BY_NAME)


def test_an_address_of_ipv6_stands_in_brackets(tmp_path: Path) -> None:
    spec = changed(tmp_path, (BY_NAME, "    server: 2001:db8::5\n"), ("10.30.0.5/32", "2001:db8::5/128"))
    assert any(line.startswith("CW576: gpu has no IPv6 address on Ethernet") for line in errors(spec))
    spec = changed(
        tmp_path,
        (BY_NAME, "    server: 2001:db8::5\n"),
        ("10.30.0.5/32", "2001:db8::5/128"),
        ("hosts: 10.10.0.0/24", "hosts: 2001:db8:10::/120"),
        ("10.20.0.0/16", "2001:db8:20::/48"),
    )
    unit = settings_of((rendered(tmp_path, spec) / UNIT).read_text())
    assert unit["What"] == "[2001:db8::5]:/export/home"


def test_systemd_takes_the_unit(tree: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(tree / NODE, root)
    shutil.copytree("/usr/lib/systemd/system", root / "usr/lib/systemd/system", symlinks=True)
    for unit in ("etc/systemd/system/home.mount", "remote-fs.target"):
        name = str(root / unit) if "/" in unit else unit
        words = ["systemd-analyze", f"--root={root}", "verify", "--man=no", name]
        answer = subprocess.run(words, capture_output=True, text=True, check=False)
        assert "home.mount" not in answer.stderr, answer.stderr
        assert "clusterwright" not in answer.stderr, answer.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_a_node_reads_the_export_by_name_through_its_filter(tree: Path, tmp_path: Path) -> None:
    """A real server of NFS 4; its second address, which is in no zone, does not answer once the filter is loaded."""
    unit = settings_of((tree / UNIT).read_text())
    source, version = unit["What"], re.sub(r".*vers=(\d).*", r"\1", unit["Options"])
    hosts = tree / NODE / "etc/hosts"
    elsewhere = source.replace("nas.lab.example.edu", OTHER_ADDRESS)
    with node_and_file_server(tmp_path, source.partition(":")[2], "10.30.0.5") as node:
        assert read_over_nfs(node, hosts, elsewhere, version) == "from the file server\n"
        filter_file = tree / NODE / "etc/nftables.conf"
        subprocess.run(["ip", "netns", "exec", node, "nft", "-f", str(filter_file)], check=True)
        assert read_over_nfs(node, hosts, source, version) == "from the file server\n"
        assert read_over_nfs(node, hosts, elsewhere, version) == ""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("    addresses: [10.30.0.5]\n", ""), "CW575: nas.lab.example.edu has no address in the spec"),
        (("nas.lab.example.edu", "10.30.0.999"), 'CW575: "10.30.0.999" is neither an address nor the name'),
        (("nas.lab.example.edu", "10.30.0.5"), "CW575: 10.30.0.5 is an address: `addresses` of /home change nothing."),
        (("type: nfs4", "type: wekafs"), "CW575: /home is wekafs: `server` is for NFS."),
        (("/export/home", "nas:/export/home"), "CW575: nas.lab.example.edu cannot export nas:/export/home"),
        (("[10.30.0.5]", "[10.10.0.5]"), "CW576: 10.10.0.5 is among the addresses of frontend"),
        (("[10.30.0.5]", "[10.30.0.5, 10.30.0.6]"), "CW505: 10.30.0.6 is in no zone, so that no flow can allow TCP"),
        (("10.30.0.5/32", "10.31.0.5/32"), "CW505: 10.30.0.5 is in no zone, so that no flow can allow TCP port 2049"),
        (("ports: [2049]", "ports: [2050]"), "CW505: No flow leads from lab to 10.30.0.5 over TCP port 2049"),
        (("[10.30.0.5]", "[10.30.0.300]"), "CW141: "),
        (("    server:", "    system: gpu\n    server:"), "CW113: "),
        ((BY_NAME, ""), "CW111: "),
        (("limits, mounts]", "limits]"), "CW123: /home: nothing mounts it on gpu, whose system another owner"),
        (('kind: none, reason: "The laboratory\'s network is one trust domain.", owner: us', "kind: rpc-with-tls"),
         "CW123: /home needs programs of its protection or its datasets on gpu"),
    ],
)  # fmt: skip
def test_a_server_that_cannot_be_mounted_as_written_is_refused(
    tmp_path: Path, change: tuple[str, str], told: str
) -> None:
    reported = errors(changed(tmp_path, change))
    assert any(line.startswith(told) for line in reported), reported


@pytest.mark.parametrize(
    ("path", "before", "after", "told"),
    [
        ("etc/systemd/system/home.mount", "nas.lab", "nas2.lab", "is planned"),
        ("etc/systemd/system/home.mount", ":/export/home", ":/export", "is planned"),
        ("etc/systemd/system/home.mount", "Where=/home", "Where=/homes", "no unit mounts"),
        ("etc/systemd/system/home.mount", "[Mount]\n", "[Mount]\nWhat=x:/y\nWhat=z:/y\n", ""),
        ("etc/hosts", "10.30.0.5", "10.30.0.6", "nas.lab.example.edu is 10.30.0.6, and 10.30.0.5 is planned"),
        ("etc/hosts", "10.30.0.5 nas", "10.30.0.6 nas.lab.example.edu\n10.30.0.5 nas", "10.30.0.5 and 10.30.0.6"),
        ("etc/hosts", "10.30.0.5 nas.lab.example.edu\n", "", "nas.lab.example.edu is no address"),
    ],
)
def test_another_server_export_or_address_is_refuted(
    tmp_path: Path, path: str, before: str, after: str, told: str
) -> None:
    tree = rendered(tmp_path, SPEC)
    (tree / "manifest.json").unlink(missing_ok=True)
    file = tree / NODE / path
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after))
    answer = command("verify", tree, "--spec", SPEC, cwd=tmp_path).stdout
    assert ("file-servers: REFUTED" in answer) is bool(told), answer
    assert told in answer


def test_a_drop_in_that_nothing_renders_leaves_the_claim_open(tmp_path: Path) -> None:
    tree = rendered(tmp_path, SPEC)
    (tree / "manifest.json").unlink(missing_ok=True)
    folder = tree / NODE / "etc/systemd/system/home.mount.d"
    folder.mkdir()
    (folder / "50-other.conf").write_text("[Mount]\nWhat=nas2.lab.example.edu:/export/home\n")
    answer = command("verify", tree, "--spec", SPEC, cwd=tmp_path).stdout
    assert "file-servers: not proven" in answer, answer


def test_names_are_left_to_nodes_whose_network_is_not_ours(tmp_path: Path) -> None:
    spec = changed(tmp_path, ("takes: [filter, network, limits, mounts]", "takes: [limits, mounts]"))
    answer = command("verify", spec, cwd=tmp_path).stdout
    assert "file-servers: proven." in answer
    assert "the nodes' own system resolves nas.lab.example.edu" in answer


def test_an_image_of_ours_mounts_it_with_tls(tmp_path: Path) -> None:
    """Only nodes that somebody else installed lack the programs of a protection."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(OVERLAY)
    assert not errors(spec)
    unit = settings_of((rendered(tmp_path, spec) / "gpu-p00r00n0/etc/systemd/system/home.mount").read_text())
    assert unit["What"] == "filer.example.net:/home"
    assert "xprtsec=mtls" in unit["Options"]
    answer = command("verify", spec, "--check", "file-servers", "--check", "encryption", cwd=tmp_path).stdout
    assert "file-servers: proven." in answer
    assert "encryption: proven." in answer


def test_an_address_of_a_switch_is_no_file_server(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    loopbacks = load_spec(SPEC.parents[3] / "inventory/lab-roce.yaml").fabrics[1].addressing
    assert loopbacks is not None
    pool = next(pool for key, pool in loopbacks.pools if key == "loopbacks")
    spec.write_text(OVERLAY.replace("fd00:1ab:f:fff0::9", str(pool[9])))
    assert any(line.startswith(f"CW576: {pool[9]} is among the addresses of ") for line in errors(spec))


def test_the_preview_says_when_it_is_mounted() -> None:
    changes = taken_over(build_plan(load_spec(SPEC)), NODE)
    assert "/home is mounted from nas.lab.example.edu at the next boot, or by `systemctl start`" in changes
