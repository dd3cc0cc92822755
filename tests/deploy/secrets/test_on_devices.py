"""Secrets on their way to real devices: over SSH into a host of its own, over eAPI into a server that speaks it."""

from __future__ import annotations

import base64
import contextlib
import gzip
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.deploy.ansible.test_eapi import fleet as switches_of
from tests.deploy.ansible.test_eapi import target_for as eapi_target
from tests.deploy.ansible.test_eapi import tree as switch_tree
from tests.deploy.ansible.test_fleet import fleet_of, target_for

from clusterwright.artifact import Artifact
from clusterwright.deploy.directory import DirectoryTarget
from clusterwright.deploy.secrets.forms import in_form
from clusterwright.deploy.secrets.secrets import ResolvingTarget, SecretError
from clusterwright.deploy.target import DeviceTree, Status
from clusterwright.switches.eos.reader.sections import PATH

VALUES = {
    "snmp-auth": "MarkerOfTheAuthentication",
    "tacacs-key": 'Marker"Of\\Tacacs',
    "bgp": "MarkerOfTheSession",
    "cak": "fade0c0ffee" + "5" * 53,
    "hash": "$6$MarkerOfAHash$" + "h" * 86,
    "m-key": "0xfade0c0ffee70001",
}
# What devices are given in place of some: whoever reads that reads the secret.
FORMS = {"bgp": (in_form(VALUES["bgp"], "eos-bgp", "CTSW"),), "cak": (in_form(VALUES["cak"], "eos-cak", ""),)}
CONFIG_DB = '{"TACPLUS": {"global": {"passkey": "<secret/tacacs-key>"}}, "S": {"P": "<secret/snmp-auth>"}}\n'
LINES = b"""snmp-server user m MONITOR v3 auth sha <secret snmp-auth>
username ops privilege 15 secret sha512 <secret hash as sha512-crypt>
mac security
   profile buildings
      key 0a01 7 <secret cak as eos-cak>
router bgp 65001
   neighbor CTSW password 7 <secret bgp as eos-bgp CTSW>
"""
RESOLVED = '{"TACPLUS": {"global": {"passkey": "Marker\\"Of\\\\Tacacs"}}, "S": {"P": "MarkerOfTheAuthentication"}}\n'


def markers_in(content: bytes) -> list[str]:
    """The secrets in some bytes, also where JSON escaped them once or twice, in base64 at any offset, or packed."""
    found = []
    with contextlib.suppress(OSError, EOFError):
        content += gzip.decompress(content)
    forms = [(name, form) for name, value in VALUES.items() for form in (value, *FORMS.get(name, ()))]
    for name, value in forms:
        plain = value.encode()
        once = plain.replace(b"\\", rb"\\").replace(b'"', rb"\"")
        twice = once.replace(b"\\", rb"\\").replace(b'"', rb"\"")
        coded = [base64.b64encode(b"x" * index + plain)[4 * bool(index) : -4] for index in range(3)]
        if any(form in content for form in (plain, once, twice, *coded)):
            found.append(name)
    return found


@contextlib.contextmanager
def watched() -> Iterator[set[str]]:
    """Every secret that shows on a command line or in an environment of any process while the block runs."""
    leaks: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            for path in (*Path("/proc").glob("[0-9]*/cmdline"), *Path("/proc").glob("[0-9]*/environ")):
                with contextlib.suppress(OSError):
                    leaks.update(markers_in(path.read_bytes()))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield leaks
    finally:
        over.set()
        thread.join()


def assert_nothing_left(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == "stdout" for path in files), "what Ansible printed is among what is searched"
    assert not {str(path): names for path in files if (names := markers_in(path.read_bytes()))}


def told(outcomes: Mapping[str, object]) -> list[str]:
    return markers_in(repr(outcomes).encode())


def ssh_tree(device: str) -> DeviceTree:
    return (
        Artifact(device, "etc/hostname", f"{device}\n".encode(), "test"),
        Artifact(device, "etc/sonic/config_db.json", CONFIG_DB.encode(), "sonic"),
        Artifact(device, "etc/snmp/snmpd.conf", b"createUser m SHA <secret snmp-auth>\n", "fboss"),
        Artifact(device, "etc/sysusers.d/ops.conf", b"u cwops - ops /home/cwops /bin/sh\n", "node-logins"),
        Artifact(device, "etc/clusterwright/passwords", b"cwops:<secret hash as crypt>\n", "node-secrets"),
        Artifact(device, "etc/opensm/m-key", b"<secret m-key as m-key>\n", "node-secrets", 0o600),
    )


def test_secrets_reach_a_host_over_ssh_and_stay_nowhere_else(tmp_path: Path) -> None:
    with fleet_of("a0") as fleet, watched() as leaks:
        runs = tmp_path / "runs"
        target = ResolvingTarget(target_for(fleet, tmp_path), lambda: VALUES, runs)
        foreseen = target.apply({"a0": ssh_tree("a0")}, check=True)
        applied = target.apply({"a0": ssh_tree("a0")})
        again = target.apply({"a0": ssh_tree("a0")})
        assert applied["a0"].status is Status.APPLIED, applied["a0"].message
        assert again["a0"].status is Status.UNCHANGED
        assert "/etc/snmp/snmpd.conf" in foreseen["a0"].diff
        script = "cat /etc/sonic/config_db.json /etc/snmp/snmpd.conf; stat -c %a /etc/snmp/snmpd.conf"
        there = fleet.run("a0", "sh", "-c", script)
        nodes = "cat /etc/opensm/m-key; stat -c %a /etc/opensm/m-key; grep ^cwops: /etc/shadow | cut -d: -f2"
        assert fleet.run("a0", "sh", "-c", nodes) == f"{VALUES['m-key']}\n600\n{VALUES['hash']}\n"
        assert there == f"{RESOLVED}createUser m SHA MarkerOfTheAuthentication\n600\n"
        assert not told({"foreseen": foreseen, "applied": applied, "again": again})
    assert not leaks
    assert_nothing_left(runs)


def test_secrets_reach_a_switch_over_eapi_and_stay_nowhere_else(tmp_path: Path) -> None:
    with switches_of(tmp_path, s1={}) as (switches, access), watched() as leaks:
        artifact = switch_tree("s1")[0]
        text = artifact.content + LINES
        tree = (Artifact("s1", PATH, text, "eos"),)
        target = ResolvingTarget(eapi_target(tmp_path, access), lambda: VALUES, tmp_path / "runs")
        foreseen = target.apply({"s1": tree}, check=True)
        applied = target.apply({"s1": tree})
        assert applied["s1"].status is Status.APPLIED, applied["s1"].message
        assert "auth sha MarkerOfTheAuthentication" in switches["s1"].running
        assert f"secret sha512 {VALUES['hash']}" in switches["s1"].running
        assert f"password 7 {FORMS['bgp'][0]}" in switches["s1"].running
        assert f"key 0a01 7 {FORMS['cak'][0]}" in switches["s1"].running
        assert not told({"foreseen": foreseen, "applied": applied})
    assert not leaks
    assert_nothing_left(tmp_path / "runs")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"key 0a01 7 <secret hash as eos-cak>\n", "32 or 64 hexadecimal digits"),
        (b"username a secret sha512 <secret bgp as sha512-crypt>\n", "no hash of the form"),
    ],
)
def test_a_secret_of_another_form_stops_everything_unseen(tmp_path: Path, line: bytes, reason: str) -> None:
    with switches_of(tmp_path, s1={}) as (switches, access):
        before = switches["s1"].running
        target = ResolvingTarget(eapi_target(tmp_path, access), lambda: VALUES, tmp_path / "runs")
        with pytest.raises(SecretError, match=reason) as said:
            target.apply({"s1": (Artifact("s1", PATH, b"hostname s1\n" + line, "eos"),)})
        assert not markers_in(str(said.value).encode())
        assert (switches["s1"].running, switches["s1"].commits) == (before, 0)


@pytest.mark.parametrize("planted", ["<secret snmp-auth>", "<secret/snmp-auth>", "<secret Snmp_Auth>", "<secret/x>"])
def test_nothing_is_sent_while_a_placeholder_is_left(tmp_path: Path, planted: str) -> None:
    with switches_of(tmp_path, s1={}) as (switches, access):
        before = switches["s1"].running
        tree = (Artifact("s1", PATH, f"hostname s1\nsnmp-server community {planted}\n".encode(), "eos"),)
        outcome = eapi_target(tmp_path, access).apply({"s1": tree})["s1"]
        assert outcome.status is Status.FAILED
        assert outcome.message == f"/{PATH} holds {planted} in place of a secret: nothing was sent"
        assert (switches["s1"].running, switches["s1"].commits) == (before, 0)


def test_names_that_no_source_can_have_are_refused_before_any_device(tmp_path: Path) -> None:
    target = ResolvingTarget(DirectoryTarget(tmp_path), lambda: VALUES)
    tree = (Artifact("sw", "config", b"key <secret snmp-auth> <secret Tacacs_Key>", "eos"),)
    with pytest.raises(SecretError, match="sw: /config holds <secret Tacacs_Key> in place of a secret"):
        target.apply({"sw": tree})
    assert not list(tmp_path.iterdir())
