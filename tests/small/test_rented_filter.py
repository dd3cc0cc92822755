"""Rented nodes with the addresses that the provider gave: names and addresses by list, and a filter made of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.small.answers import errors, rendered
from tests.small.docker_node import CONNECT, LISTEN, entered

SPECS = Path(__file__).parent / "specs"
SPEC = SPECS / "rented-filter.yaml"
PAGE = Path(__file__).parents[2] / "docs" / "rented-nodes.md"
NODE_FILTER = "bm-a1/etc/nftables.conf"


def copied(folder: Path, *changes: tuple[str, str]) -> Path:
    """The spec and its lists in a folder, with changes in whichever file has their text."""
    for name in ("rented-filter.yaml", "rented-names.csv", "rented-ips.csv"):
        shutil.copy(SPECS / name, folder / name)
    for before, after in changes:
        holders = [path for path in folder.iterdir() if path.is_file() and before in path.read_text()]
        assert len(holders) == 1, before
        holders[0].write_text(holders[0].read_text().replace(before, after))
    return folder / "rented-filter.yaml"


def test_the_filter_is_made_of_the_given_addresses_and_stands_on_the_page(tmp_path: Path) -> None:
    assert not errors(SPEC)
    assert "rented-filter.yaml" in PAGE.read_text()
    text = (rendered(tmp_path, SPEC) / NODE_FILTER).read_text()
    for address in ("10.3.0.11", "10.3.0.12", "10.3.0.17", "10.3.0.90"):
        assert f"\t\t\t{address}/32,\n" in text
    assert "10.3.0.0/24" not in text, "others have machines in this network too"
    assert 'iifname { "eth0" }' in text
    assert not list((tmp_path / "out").rglob("*.network"))


def test_the_claim_says_that_the_fabric_is_the_providers(tmp_path: Path) -> None:
    told = command("verify", SPEC, cwd=tmp_path).stdout
    assert "isolation: not checked: the fabrics backend and frontend are the provider's" in told
    assert "  nodes with a filter: 5\n" in told
    assert "REFUTED" not in told
    for claim in ("ib-nccl", "slurm"):
        assert f"{claim}: proven." in told


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rendered(tmp_path_factory.mktemp("rented"), SPEC)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("10.3.0.90/32", "10.3.0.91/32"),
        ("10.3.0.90/32", "10.3.0.90/31"),
        ("10.3.0.5/32", "10.3.0.0/24"),
        ('iifname { "eth0" } ip saddr @head', 'iifname { "eth1" } ip saddr @head'),
        ("tcp dport { 22, 6818 }", "tcp dport { 22-23, 6818 }"),
    ],
)
def test_a_filter_with_another_address_interface_or_port_is_refuted(tree: Path, before: str, after: str) -> None:
    path = tree / NODE_FILTER
    text = path.read_text()
    assert before in text
    (tree / "manifest.json").unlink(missing_ok=True)
    try:
        path.write_text(text.replace(before, after))
        answer = command("verify", tree, "--spec", SPEC, cwd=tree).stdout
        assert "isolation: REFUTED" in answer
    finally:
        path.write_text(text)


SENDERS = {"a2": ("10.3.0.12", True), "hd": ("10.3.0.5", False), "oc": ("10.3.0.77", False)}


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_the_kernel_takes_nodes_of_the_list_and_no_neighbour(tree: Path) -> None:
    """gpu nodes reach port 32768 of each other; another customer's machine in the same network reaches nothing."""
    node, switch = f"rn{os.getpid()}", f"rs{os.getpid()}"
    commands = [f"netns add {node}", f"netns add {switch}", f"-n {switch} link add br0 type bridge"]
    commands += [f"-n {switch} link set br0 up", f"-n {node} link set lo up"]
    machines = {node: ("eth0", "10.3.0.11")}
    for label, (address, _) in SENDERS.items():
        commands.append(f"netns add {label}{os.getpid()}")
        machines[f"{label}{os.getpid()}"] = ("eth0", address)
    for number, (name, (interface, address)) in enumerate(machines.items()):
        commands += [
            f"-n {name} link add {interface} type veth peer name p{number} netns {switch}",
            f"-n {switch} link set p{number} master br0 up",
            f"-n {name} address add {address}/24 dev {interface}",
            f"-n {name} link set {interface} up",
        ]
    try:
        for line in commands:
            subprocess.run(["ip", *line.split()], check=True)
        listen = entered(node, sys.executable, "-c", LISTEN, "22", "32768")
        with subprocess.Popen(listen, stdout=subprocess.PIPE, text=True) as listener:
            assert listener.stdout is not None
            assert listener.stdout.readline() == "listening\n"
            subprocess.run(entered(node, "nft", "-f", str(tree / NODE_FILTER)), check=True)
            for label, (address, reaches_ranks) in SENDERS.items():
                for port, is_open in ((32768, reaches_ranks), (22, label == "hd")):
                    words = entered(f"{label}{os.getpid()}", sys.executable, "-c", CONNECT, "10.3.0.11", str(port))
                    answer = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
                    assert answer == (address if is_open else "no"), (label, port)
            listener.kill()
    finally:
        for name in (*machines, switch):
            subprocess.run(["ip", "netns", "delete", name], check=False)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("bm-a4,eth0,10.3.0.90/24\n", "", "CW519: rented-ips.csv has no address of bm-a4 eth0."),
        ("bm-a4,eth0", "bm-a5,eth0", "CW519: rented-ips.csv has bm-a5 eth0 (line 5), and no such adapter"),
        ("bm-a4,eth0", "bm-a3,eth0", "CW519: bm-a3 eth0 has an address already, on line 4."),
        ("10.3.0.90/24", "10.3.0.17/24", "CW519: bm-a3 eth0 on line 4 has this address already."),
        ("10.3.0.90/24", "10.3.1.90/24", "CW519: 10.3.1.90/24 is not in 10.3.0.0/24"),
        ("10.3.0.90/24", "10.3.0.255/24", "CW519: 10.3.0.255/24 is the address of a network"),
        ("10.3.0.90/24", "10.3.0.90", 'CW519: "10.3.0.90" is not an address with the length of its network.'),
        ("device,port,address", "device,port,ip", 'CW519: the header has no column "address".'),
        ("takes: [nccl,", "takes: [network, nccl,", "CW516: ubuntu sets up the network of its nodes, and frontend is"),
        ("addresses: rented-ips.csv", "addresses: other.csv", "CW101: "),
    ],
)
def test_a_list_that_does_not_fit_is_refused(tmp_path: Path, before: str, after: str, told: str) -> None:
    found = errors(copied(tmp_path, (before, after)))
    assert any(line.startswith(told) for line in found), found


def test_lists_and_the_report_have_names_and_addresses(tmp_path: Path) -> None:
    listed = command("inventory", SPEC, "--format", "json", cwd=tmp_path).stdout
    assert '"10.3.0.90' in listed
    assert "(gateway)" not in listed, "the provider's gateway is not known"
    hosts = command("inventory", SPEC, "--format", "ansible", cwd=tmp_path).stdout
    assert "bm-head" in hosts
    assert command("report", SPEC, "--out", tmp_path / "report", cwd=tmp_path).returncode == 0
