"""The isolation watch as nodes run it: rendered, in a network namespace with real rules; and its records checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.pages.shown import assert_whole, shown_by
from tests.plans import plan_of

from clusterwright import data_files
from clusterwright.extras.lab.namespaces import run_ip
from clusterwright.hosts.linux.writer import nftables
from clusterwright.hosts.node_checks import health as node_health
from clusterwright.hosts.node_checks import watch as node_watch
from clusterwright.node_watch.record import append

NAMESPACE = f"cwtest-watch-{os.getpid()}"  # tests of this module may run in several processes at once
NODE = "gpu-p00r00n0"
COMMAND = Path(sys.executable).with_name("clusterwright")


def run(*words: object, status: int = 0, text: str | None = None) -> str:
    done = subprocess.run(list(map(str, words)), input=text, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


class Node:
    """A node's files in a folder, with a network namespace in place of its network."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = folder / "isolation.jsonl"
        plan = plan_of("lab-roce")
        device = plan.by_name[NODE]
        for renderer in (node_health, node_watch, nftables):
            for artifact in renderer.WRITER.render(plan, device):
                path = folder / artifact.path
                path.parent.mkdir(parents=True, exist_ok=True)
                # The node's root is this folder: the paths that its files name lie in it.
                path.write_bytes(
                    artifact.content.replace(b'"/usr/local/lib', f'"{folder}/usr/local/lib'.encode()).replace(
                        b'"/etc/nftables.conf"', f'"{folder}/etc/nftables.conf"'.encode()
                    )
                )
        self.key, self.public_key = folder / "key.pem", folder / "public.pem"
        run("openssl", "genpkey", "-algorithm", "ed25519", "-out", self.key)
        run("openssl", "pkey", "-in", self.key, "-pubout", "-out", self.public_key)
        self.nft("-f", folder / "etc/nftables.conf")

    def inside(self, *words: object, status: int = 0) -> str:
        return run("ip", "netns", "exec", NAMESPACE, *words, status=status)

    def nft(self, *words: object) -> str:
        return self.inside("nft", *words)

    def look(self, status: int = 0) -> str:
        """Run the rendered program as its unit does."""
        program = self.folder / node_watch.PROGRAM
        options = ["--expected", self.folder / "etc/clusterwright", "--record", self.record, "--key", self.key]
        return self.inside(sys.executable, "-I", program, *options, status=status)

    def verify(self, status: int = 0, public_key: Path | None = None) -> str:
        return run(
            *(COMMAND, "verify", "--records", self.record, "--public-key", public_key or self.public_key), status=status
        )


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    run_ip(f"netns add {NAMESPACE}\n")
    try:
        run_ip("link set lo up\n", NAMESPACE)
        yield Node(tmp_path_factory.mktemp("node"))
    finally:
        run_ip(f"netns del {NAMESPACE}\n")


@pytest.fixture
def node(machine: Node, tmp_path: Path) -> Node:
    """The node with its rendered rules and no record yet."""
    machine.nft("-f", machine.folder / "etc/nftables.conf")
    machine.record = tmp_path / "isolation.jsonl"
    return machine


@pytest.fixture(scope="module")
def log(machine: Node) -> list[str]:
    """Three records, the second of them of rules that accept everything."""
    machine.record = machine.folder / "log.jsonl"
    machine.look()
    machine.nft("add", "rule", "inet", "clusterwright", "input", "accept")
    machine.look(status=1)
    machine.nft("-f", machine.folder / "etc/nftables.conf")
    machine.look()
    return machine.record.read_text().splitlines(keepends=True)


def test_a_closed_node_says_so_and_an_opened_one_says_what_differs(node: Node) -> None:
    assert "record 1 ok digest" in node.look()
    assert "record 2 ok digest" in node.look()
    assert f"{NODE}: 2 records from " in node.verify()
    node.nft("insert", "rule", "inet", "clusterwright", "input", "tcp", "dport", "8080", "accept")
    said = node.look(status=1)
    assert "record 3 WRONG" in said
    assert "packet-filter: the running rules are not those of" in said
    assert "+ tcp dport 8080 accept" in said
    assert "record 3: + tcp dport 8080 accept" in node.verify(status=1)
    node.nft("-f", node.folder / "etc/nftables.conf")
    assert "record 4 ok" in node.look()


def test_a_way_to_the_internet_is_found(node: Node) -> None:
    run_ip(
        "link add e0 type veth peer name e1\nlink set e0 up\nlink set e1 up\naddr add 10.9.0.1/24 dev e0\n", NAMESPACE
    )
    run_ip("route add default via 10.9.0.2 dev e0\n", NAMESPACE)
    assert "default-route: default route of IPv4 by e0" in node.look(status=1)
    run_ip("route del default\nroute add local 198.41.0.4/32 dev lo\n", NAMESPACE)
    # Whoever refuses is there: a closed port of a machine that answers.
    assert "egress: 198.41.0.4 port 53 answers" in node.look(status=1)
    run_ip("route del local 198.41.0.4/32 dev lo\nlink del e0\n", NAMESPACE)


def edit_one(lines: list[str]) -> list[str]:
    return [lines[0], lines[1].replace('"ok": false', '"ok": true'), *lines[2:]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (edit_one, ":2: the line was changed after it was written"),
        (lambda lines: [lines[0], lines[2]], ":2: a line before it is missing, or stands elsewhere"),
        (lambda lines: lines[1:], ":1: a line before it is missing, or stands elsewhere"),
        (lambda lines: [lines[1], lines[0], lines[2]], ":1: a line before it is missing, or stands elsewhere"),
        (lambda lines: [*lines[:2], "{}\n"], ":3: not a line of this log; it was changed"),
        (lambda lines: [], "holds no record"),
    ],
    ids=["edited", "one left out", "the first left out", "two exchanged", "another one", "none"],
)
def test_a_log_that_was_touched_is_refused(
    log: list[str], node: Node, change: Callable[[list[str]], list[str]], words: str
) -> None:
    node.record.write_text("".join(log))
    assert "record 2: + accept" in node.verify(status=1)
    node.record.write_text("".join(change(log)))
    assert words in node.verify(status=1)


def test_a_forged_record_is_refused_even_with_right_digests(node: Node) -> None:
    from clusterwright import chain

    node.look()
    entry = json.loads(node.record.read_text())
    forged = {name: value for name, value in entry.items() if name not in {"sequence", "previous", "digest"}}
    chain.append(node.record, chain.head_of([entry]), forged)
    assert ":2: was not signed with this node's key" in node.verify(status=1)


def test_keys_and_files_that_do_not_fit_are_named(node: Node, tmp_path: Path) -> None:
    node.look()
    other = tmp_path / "other.pem"
    run("openssl", "genpkey", "-algorithm", "ed25519", "-out", tmp_path / "other.key")
    run("openssl", "pkey", "-in", tmp_path / "other.key", "-pubout", "-out", other)
    assert ":1: was not signed with this node's key" in node.verify(status=1, public_key=other)
    assert "this is no public key" in node.verify(status=2, public_key=node.record)
    key, node.key = node.key, tmp_path / "none"
    try:
        assert "openssl does not sign" in node.look(status=2)
    finally:
        node.key = key
    assert "Name a spec" in run(COMMAND, "verify", status=2)
    assert "Name a spec" in run(COMMAND, "verify", "--records", node.record, status=2)


def test_proofs_leave_records_too(node: Node) -> None:
    spec = data_files.folder("inventory") / "lab-ib.yaml"
    command = [COMMAND, "verify", spec, "--check", "ib-lid-space", "--continuous", node.record]
    for number in (1, 2):
        assert f"record {number} of " in run(*command, "--key", node.key)
    assert "lab-ib: 2 records from " in node.verify()
    assert "name both" in run(*command, status=2)
    assert "no record was left: openssl does not sign" in run(*command, "--key", node.record, status=2)


def test_a_watch_that_was_stopped_shows_in_the_longest_time_without_a_record(node: Node) -> None:
    for at in ("14:00:07", "14:15:11", "18:00:11", "18:15:11"):
        entry = {"time": f"2026-11-20T{at}Z", "node": NODE, "ok": True, "checks": [], "differences": []}
        append(str(node.record), str(node.key), entry)
    assert "longest time without a record: 3:45:00, after 2026-11-20T14:15:11Z\n" in node.verify()


def test_the_page_shows_the_records_of_a_day(node: Node, tmp_path: Path) -> None:
    """One record each quarter of an hour, one of them ten seconds late."""
    start = datetime(2026, 11, 20, 14, 0, 7, tzinfo=UTC)
    seconds_off = {35: -4, 36: 10, 95: 4}
    for index in range(96):
        moment = start + timedelta(minutes=15 * index, seconds=seconds_off.get(index, 0))
        entry = {"time": f"{moment:%Y-%m-%dT%H:%M:%SZ}", "node": NODE, "ok": True, "checks": [], "differences": []}
        append(str(node.record), str(node.key), entry)
    assert_whole(shown_by("isolation.md", "clusterwright verify --records"), node.verify())


def test_systemd_takes_the_units(node: Node, tmp_path: Path) -> None:
    units = [tmp_path / "isolation-watch.service", tmp_path / "isolation-watch.timer"]
    for unit in units:
        text = (node.folder / "etc/systemd/system" / unit.name).read_text()
        unit.write_text(text.replace("ExecStart=/usr", f"ExecStart={node.folder}/usr"))
    (node.folder / node_watch.PROGRAM).chmod(0o755)
    result = run("systemd-analyze", "verify", "--man=no", *units)
    assert not [line for line in result.splitlines() if "isolation-watch" in line], result
