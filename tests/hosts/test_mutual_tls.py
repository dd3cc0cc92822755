"""Mutual TLS between a node and its storage, in network namespaces, with the files that tlshd's configuration names.

tlshd itself takes its handshakes from the kernel's NFS client, which cannot be had here: what is tried is that these
certificates, this trust store and this list let the right peer in and keep every other out, with packets on a wire.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from tests.hosts import tls_peers
from tests.hosts.tls_authority import Authority
from tests.plans import plan_of

from clusterwright.output.rendering import Rendering

CASES = {
    "the right two": ("node", "storage", "served", "served"),
    "a node whose certificate has ended": ("ended", "storage", "refused", "CERTIFICATE_VERIFY_FAILED"),
    "a node whose certificate was withdrawn": ("withdrawn-node", "storage", "refused", "CERTIFICATE_VERIFY_FAILED"),
    "a node of another authority": ("stranger", "storage", "refused", "CERTIFICATE_VERIFY_FAILED"),
    "a node without a certificate": ("anonymous", "storage", "refused", "PEER_DID_NOT_RETURN_A_CERTIFICATE"),
    "a node that speaks in clear": ("plaintext", "storage", "refused", "WRONG_VERSION_NUMBER"),
    "storage under another name": ("node", "elsewhere", "node refuses: Hostname mismatch", ""),
    "storage whose certificate has ended": ("node", "ended-storage", "node refuses: certificate has expired", ""),
    "storage whose certificate was withdrawn": ("node", "withdrawn-storage", "node refuses: certificate revoked", ""),
    "storage of another authority": ("node", "impostor", "node refuses: unable to get local issuer", ""),
    "the right two again": ("node", "storage", "served", "served"),
}

SCRIPT = """
set -e
mkdir -p {folder}/upper {folder}/work
mount -t overlay overlay -o lowerdir=/etc,upperdir={folder}/upper,workdir={folder}/work /etc
exec {python} {peers} drive /etc/tlshd/config '{cases}'
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """What both ends said in every case, all of it in one pair of namespaces."""
    folder = tmp_path_factory.mktemp("tls")
    pki = folder / "upper/pki/clusterwright"
    pki.mkdir(parents=True)
    (config,) = (a for a in Rendering(plan_of("lab-roce")).of_device("gpu-p00r00n0") if a.path == "etc/tlshd/config")
    (folder / "upper/tlshd").mkdir()
    (folder / "upper/tlshd/config").write_bytes(config.content)
    ours, theirs = Authority(pki, "authorities"), Authority(pki, "strangers")
    storage, node = [tls_peers.STORAGE_NAME], ["gpu-p00r00n0.lab.example.net"]
    past = timedelta(days=-1)
    ours.issue("node", node)
    ours.issue("ended", node, past)
    ours.issue("withdrawn-node", node, withdrawn=True)
    theirs.issue("stranger", node)
    ours.issue("storage", storage)
    ours.issue("elsewhere", ["other.lab.example.net"])
    ours.issue("ended-storage", storage, past)
    ours.issue("withdrawn-storage", storage, withdrawn=True)
    theirs.issue("impostor", storage)
    ours.list_withdrawn("withdrawn")
    cases = json.dumps([{"client": case[0], "server": case[1]} for case in CASES.values()])
    script = SCRIPT.format(folder=folder, python=sys.executable, peers=Path(tls_peers.__file__), cases=cases)
    run = subprocess.run(
        ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return dict(zip(CASES, json.loads(run.stdout), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_only_the_right_peers_talk(answers: dict[str, dict[str, str]], name: str) -> None:
    _, _, node, server = CASES[name]
    assert answers[name]["node"].startswith(node), answers[name]
    assert not server or answers[name]["server"] == server, answers[name]


def test_nothing_but_the_plaintext_node_puts_data_on_the_wire_in_clear(answers: dict[str, dict[str, str]]) -> None:
    clear = [name for name, answer in answers.items() if answer["in_clear"]]
    assert clear == ["a node that speaks in clear"]  # which shows that the capture sees what is there
