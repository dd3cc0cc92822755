"""Who gets in to switches beside those that the spec names is told at its line, on every system."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.plans import plan_with
from tests.proofs.isolation.trees import AGENT, EOS, SONIC, Edit, declaration, text_of, tree

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.proof import ISOLATION, KINDS
from clusterwright.proofs.tree import RenderedFile, RenderedTree, tree_of

NVUE = "etc/clusterwright/nvue.yaml"
SYSUSERS, SSHD, SUDOERS = (
    "etc/sysusers.d/clusterwright.conf",
    "etc/ssh/sshd_config.d/10-clusterwright.conf",
    "etc/sudoers.d/clusterwright",
)
SNMPD, PAM, KEYS = "etc/snmp/snmpd.conf", "etc/pam.d/sshd", "etc/ssh/authorized_keys.d/netops"
SWITCH = {EOS: ("lab-roce", "ctsw-p00-00"), AGENT: ("lab-roce", "rsw-p00r00"), SONIC: ("lab-sonic", "rtsw-p00r00")}
SWITCH |= {NVUE: ("lab-nvue", "rtsw-p00r00")}
SWITCH |= dict.fromkeys((SYSUSERS, SSHD, SUDOERS, SNMPD, PAM, KEYS), SWITCH[AGENT])


def put(old: str, new: str) -> Edit:
    def edit(text: str) -> str:
        found = re.sub(old, new, text, count=1, flags=re.M)
        assert found != text
        return found

    return edit


def judged(path: str, edit: Edit) -> Verdict:
    spec, device = SWITCH[path]
    return ISOLATION.run(tree(spec, device, edits={(device, path): edit}))


END = r"^end$"
FAULTS: dict[str, tuple[str, Edit]] = {
    "EOS: an account": (EOS, put(END, "username eve privilege 1 role network-operator secret sha512 $6$x\nend")),
    "EOS: a key": (EOS, put(END, "username netops ssh-key ssh-rsa AAAA\nend")),
    "EOS: an SNMP user": (EOS, put(END, "snmp-server user eve MONITOR v3 auth sha x priv aes y\nend")),
    "EOS: a server by its name": (EOS, put(END, "ntp server vrf MGMT time.example.com\nend")),
    "NVUE: an account": (
        NVUE,
        put(r"^        user:\n", "        user:\n          eve:\n            role: nvue-monitor\n"),
    ),
    "NVUE: a key": (NVUE, put(r"(?<=authorized-key:\n)", "                x:\n                  key: A\n")),
    "NVUE: an SNMP user": (NVUE, put(r"^        username:\n", "        username:\n          eve: {}\n")),
    "NVUE: a server of time": (
        NVUE,
        put(r"(?<=      ntp:\n        mgmt:\n          server:\n)", "            time.example.com: {}\n"),
    ),
    "NVUE: a server of logins": (NVUE, put(r'host: "10.98.240.49"', 'host: "198.51.100.1"')),
    "SONiC: an SNMP user": (SONIC, put(r'^  "SNMP_USER": \{', '    "SNMP_USER": {\n "eve": {},')),
    "SONiC: a server of logins": (
        SONIC,
        put(r'^  "TACPLUS_SERVER": \{', '    "TACPLUS_SERVER": {\n "198.51.100.1": {},'),
    ),
    "Linux: an account": (SYSUSERS, lambda text: f"{text}u eve -\n"),
    "Linux: a key": (KEYS, lambda text: f"{text}ssh-rsa AAAA\n"),
    "Linux: an SNMP user": (SNMPD, lambda text: f"{text}rouser eve priv\n"),
    "Linux: a server of logins": (PAM, put(r"server=\S+", "server=198.51.100.1")),
}


@pytest.mark.parametrize("name", FAULTS)
def test_who_nobody_planned_is_told_at_the_line(name: str) -> None:
    path, edit = FAULTS[name]
    before = ISOLATION.run(tree(*SWITCH[path]))
    assert not before.counterexamples
    assert not before.unread
    (found, *_) = judged(path, edit).counterexamples
    assert (found.device, found.file) == (SWITCH[path][1], path)
    assert found.line > 0


UNKNOWN: dict[str, tuple[str, Edit]] = {
    "passwords are taken": (SSHD, put("^PasswordAuthentication no", "PasswordAuthentication yes")),
    "root logs in": (SSHD, lambda text: f"{text}PermitRootLogin yes\n"),
    "another admin": (SUDOERS, lambda text: f"{text}eve ALL=(ALL) NOPASSWD: ALL\n"),
    "a community": (SNMPD, lambda text: f"{text}rocommunity public\n"),
    "everybody is whom they say": (PAM, put("^auth ", "auth sufficient pam_permit.so\nauth ")),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_line_that_nobody_knows_leaves_isolation_not_proven(name: str) -> None:
    path, edit = UNKNOWN[name]
    result = judged(path, edit)
    assert not result.is_proven
    assert f"no reader knows {SWITCH[path][1]}:/{path}:" in result.unjudged


@pytest.mark.parametrize(
    "path", ["etc/sudoers.d/more", "etc/ssh/sshd_config.d/00-first.conf", "etc/sysusers.d/more.conf"]
)
def test_a_file_beside_those_that_are_read_is_unread(path: str) -> None:
    spec, device = SWITCH[AGENT]
    subject = tree(spec, device)
    added = RenderedFile(device, path, "fboss", lambda: "x\n")
    planted = RenderedTree(subject.cluster, {**subject.files, (device, path): added}, subject.declaration)
    assert [place.unread.file for place in ISOLATION.run(planted).unread] == [path]


def test_an_account_that_the_spec_adds_by_hand_is_planned(tmp_path: Path) -> None:
    overlay = """extra_config:
  - role: ctsw
    lines: ["username script privilege 1 role network-operator secret sha512 <secret script>"]
    reason: "a test"
"""
    plan = plan_with(tmp_path, "lab-roce", overlay)
    own = [artifact for artifact in Rendering(plan).of_device("ctsw-p00-00") if artifact.kind in KINDS]
    assert "username script" in next(each.content.decode() for each in own if each.path == EOS)
    assert not ISOLATION.run(tree_of("lab-roce", own, Declaration(plan))).counterexamples
    assert ISOLATION.run(tree_of("lab-roce", own, declaration("lab-roce"))).counterexamples
    assert "username script" not in text_of("lab-roce", "ctsw-p00-00", EOS)


@pytest.mark.parametrize("path", [EOS, SONIC, NVUE])
def test_accounts_of_the_factory_are_named(path: str) -> None:
    """They open with what everybody knows, and the verdict may not leave a reader to think that they are closed."""
    spec, device = SWITCH[path]
    named = [note for note in ISOLATION.run(tree(spec, device)).notes if "the factory's account" in note]
    assert any(device in note or "switches with" in note for note in named), named


def test_an_account_that_text_speaks_of_is_not_the_factory_s() -> None:
    rename = put("^username netops ", "username admin ")
    notes = ISOLATION.run(tree("lab-roce", "ctsw-p00-00", edits={("ctsw-p00-00", EOS): rename})).notes
    assert not [note for note in notes if "the factory's account" in note and "ctsw-p00-00" in note]


@pytest.mark.parametrize("methods", ["local", "group CENTRAL local"])
def test_an_eos_account_that_may_only_read_changes_a_switch_where_no_line_asks_for_its_role(
    methods: str, tmp_path: Path
) -> None:
    """EOS authorizes every command of everybody before `aaa authorization commands` names who is asked."""
    overlay = """site:
  aaa: {protocol: PROTOCOL}
  operators:
    - {name: watcher, role: monitor, keys: ["ssh-ed25519 WATCHER watcher@lab"]}
""".replace("WATCHER", "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4g").replace(
        "PROTOCOL", "radius" if methods == "local" else "tacacs"
    )
    plan = plan_with(tmp_path, "lab-roce", overlay)
    own = {artifact.path: artifact for artifact in Rendering(plan).of_device("ctsw-p00-00") if artifact.kind in KINDS}
    text = own[EOS].content.decode()
    line = f"aaa authorization commands all default {methods}\n"
    assert line in text
    for edited, faults in ((text, 0), (text.replace(line, ""), 1)):
        files = [
            Artifact(each.device, each.path, edited.encode(), each.kind) if each.path == EOS else each
            for each in own.values()
        ]
        verdict = ISOLATION.run(tree_of(plan.spec.name, files, Declaration(plan)))
        examples = [example for example in verdict.counterexamples if "watcher" in example.message]
        assert len(examples) == faults, examples


def test_logins_by_radius_are_read_to_the_end(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-roce", "site:\n  aaa: {protocol: radius, secret: radius-key}\n")
    files = [item for item in Rendering(plan).of_device(SWITCH[PAM][1]) if item.kind in KINDS]
    result = ISOLATION.run(tree_of(plan.name, files, Declaration(plan)))
    assert not [place for place in result.unread if place.unread.file == PAM]
    (pam,) = (item for item in files if item.path == PAM)
    other = replace(pam, source=pam.content.replace(b"pam_radius_auth.so", b"pam_permit.so", 1))
    result = ISOLATION.run(tree_of(plan.name, [other if item is pam else item for item in files], Declaration(plan)))
    assert [place.unread.text for place in result.unread if place.unread.file == PAM] == [
        "auth       sufficient   pam_permit.so"
    ]
