"""Who gets in to a node, read from the text: each door that is opened beside the spec's is told with its line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.node_logins import NODE_LOGINS
from clusterwright.proofs.tree import RenderedTree, tree_of

NODE = "gpu-s01r01n0"
SSHD = "etc/ssh/sshd_config.d/10-clusterwright.conf"
ACCOUNTS = "etc/sysusers.d/90-clusterwright.conf"
SUDOERS = "etc/sudoers.d/90-clusterwright"
KEYS = "etc/ssh/authorized_keys.d/ops"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIP//////////////////////////////////////////"
Edit = Callable[[str], str]


@cache
def whole() -> RenderedTree:
    plan = plan_of("lab-ib")
    own, images = Rendering(plan).of_kinds_by_image(NODE_LOGINS.kinds)
    return tree_of(plan.name, own, Declaration(plan), ((image.members, image.files) for image in images))


def verdict(path: str, edit: Edit | None, *, declared: bool = True) -> Verdict:
    """The verdict with one file of one node edited, taken away where there is no edit, or added."""
    tree = whole()
    files = dict(tree.files)
    before = files.pop((NODE, path), None)
    if edit is not None:
        text = before.read() if before is not None else ""
        assert edit(text) != text
        files.update(tree_of(tree.cluster, [Artifact(NODE, path, edit(text).encode(), "node-logins")]).files)
    return NODE_LOGINS.run(replace(tree, files=files, declaration=tree.declaration if declared else None))


def added(line: str) -> Edit:
    return lambda text: f"{text}{line}\n"


def changed(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


def test_what_we_render_is_proven() -> None:
    result = NODE_LOGINS.run(whole())
    assert result.is_proven, result.word
    assert [fact.value for fact in result.facts] == [16, 1]


@pytest.mark.parametrize(
    ("path", "edit", "message"),
    [
        (SSHD, changed("PasswordAuthentication no", "PasswordAuthentication yes"), "passwords open accounts"),
        (SSHD, changed("PasswordAuthentication no", "PermitTTY no"), "passwords open accounts"),
        (SSHD, changed("prohibit-password", "yes"), "root logs in with a password"),
        (SSHD, lambda text: "KbdInteractiveAuthentication yes\n" + text, "questions instead of keys"),
        (SSHD, None, "the file is missing"),
        (ACCOUNTS, added('u eve 3000 "eve" /var/home/eve /bin/bash'), "eve is no account of the spec"),
        (ACCOUNTS, changed("m ops sudo", "m ops docker"), "ops has the number 2000 in docker"),
        (ACCOUNTS, changed("ops 2000", "ops 0"), "ops has the number 0 in sudo"),
        (ACCOUNTS, None, "the account ops is missing"),
        (KEYS, added(f"{KEY} eve"), "a key opens ops that none of its operators has"),
        (KEYS, changed("ssh-ed25519 ", 'from="*" ssh-ed25519 '), "a key opens ops that none"),
        (KEYS, None, "keys of operators do not open ops"),
        ("etc/ssh/authorized_keys.d/root", added(KEY), "keys of root, which is no account"),
        (SUDOERS, added("eve ALL=(ALL:ALL) NOPASSWD: ALL"), "eve becomes root, and is no account"),
        (SUDOERS, None, "ops does not become root"),
    ],
)
def test_an_open_door_is_told(path: str, edit: Edit | None, message: str) -> None:
    result = verdict(path, edit)
    assert result.is_refuted, result.word
    assert {example.device for example in result.counterexamples} == {NODE}
    assert any(message in example.message for example in result.counterexamples), result.counterexamples


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (SSHD, "AuthorizedKeysCommand /usr/local/bin/keys"),
        (SSHD, "Match Address 10.0.0.0/8"),
        (SUDOERS, "#includedir /tmp"),
        (SUDOERS, "%users ALL=(ALL) ALL"),
        (ACCOUNTS, "r - 500-900"),
        (ACCOUNTS, "u eve"),
        (ACCOUNTS, "m ops"),
        (ACCOUNTS, "m ops docker wheel"),
        ("etc/ssh/sshd_config.d/00-first.conf", "PasswordAuthentication yes"),
        ("etc/sudoers.d/zz", "eve ALL=(ALL) ALL"),
    ],
)
def test_a_line_that_nobody_knows_leaves_the_claim_open(path: str, line: str) -> None:
    result = verdict(path, added(line))
    assert not result.is_proven
    assert result.is_refuted or path in result.word


BARE = "node-without-image"


@pytest.mark.parametrize(
    ("path", "line", "message"),
    [
        (ACCOUNTS, 'u eve 3000 "eve" /var/home/eve /bin/bash', "eve is no account of the spec"),
        ("etc/ssh/authorized_keys.d/root", KEY, "keys of root, which is no account"),
        (SUDOERS, "eve ALL=(ALL:ALL) NOPASSWD: ALL", "eve becomes root, and is no account"),
        (SSHD, "PermitRootLogin yes", "root logs in with a password"),
    ],
)
def test_a_login_on_a_device_without_planned_accounts_is_refuted(path: str, line: str, message: str) -> None:
    """Each file alone, on a device that the spec plans no account for."""
    tree = whole()
    extra = tree_of(tree.cluster, [Artifact(BARE, path, f"{line}\n".encode(), "node-logins")])
    result = NODE_LOGINS.run(replace(tree, files={**tree.files, **extra.files}))
    assert {example.device for example in result.counterexamples} == {BARE}
    assert any(message in example.message for example in result.counterexamples), result.counterexamples


def test_a_folder_without_a_spec_shows_doors_that_need_none() -> None:
    assert verdict(KEYS, added(f"{KEY} eve"), declared=False).is_proven
    assert verdict(SSHD, changed("PasswordAuthentication no", "PasswordAuthentication yes"), declared=False).is_refuted


def test_a_key_that_is_to_end_has_to_say_so(tmp_path: Path) -> None:
    """An operator with a last day: a key without it, or with another one, opens the account for longer."""
    plan = plan_with(tmp_path, "lab-ib", "site:\n  operators:\n    - {name: netops, until: 2026-12-01}\n")
    tree = replace(whole(), declaration=Declaration(plan))
    text = tree.files[NODE, KEYS].read()

    def faults(keys: str) -> list[str]:
        files = {**tree.files, **tree_of(tree.cluster, [Artifact(NODE, KEYS, keys.encode(), "node-logins")]).files}
        counterexamples = NODE_LOGINS.run(replace(tree, files=files)).counterexamples
        return [example.message for example in counterexamples if example.device == NODE]

    assert not faults(text.replace("ssh-ed25519", 'expiry-time="20261201235959" ssh-ed25519'))
    assert faults(text)
    assert faults(text.replace("ssh-ed25519", 'expiry-time="20991201235959" ssh-ed25519'))
