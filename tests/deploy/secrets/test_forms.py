"""The forms in which devices keep secrets, judged by pyavd's own filters and by the system's crypt(3)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyavd.j2filters import decrypt, encrypt
from tests.deploy.secrets.repeating import Repeating

from clusterwright.artifact import Artifact
from clusterwright.deploy.secrets.forms import FORMS, LONGEST_BGP_PASSWORD, FormError, in_form
from clusterwright.deploy.secrets.secrets import ResolvingTarget, SecretError, names_in, resolve

CAK = "0123456789abcdef" * 4
PASSWORDS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=LONGEST_BGP_PASSWORD)


@given(PASSWORDS, st.sampled_from(["CTSW", "BORDER-SITE-A", "10.0.0.1"]))
def test_bgp_passwords_are_written_as_pyavd_writes_them(password: str, group: str) -> None:
    ours = in_form(password, "eos-bgp", group)
    assert ours == encrypt(password, passwd_type="bgp", key=group)
    assert decrypt(ours, passwd_type="bgp", key=group) == password


@given(PASSWORDS)
def test_type_7_is_what_pyavd_writes_and_reads(password: str) -> None:
    ours = in_form(password, "eos-type-7", "")
    assert ours == encrypt(password, passwd_type="tacacs", salt=int(ours[:2]))
    assert decrypt(ours, passwd_type="tacacs") == password


def test_keys_of_links_are_hexadecimal_and_written_in_type_7() -> None:
    assert decrypt(in_form(CAK, "eos-cak", ""), passwd_type="tacacs") == CAK
    assert in_form(CAK[:32], "eos-cak", "") == in_form(CAK[:32], "eos-type-7", "")


def test_hashes_of_the_system_pass_and_are_not_changed() -> None:
    made = subprocess.run(
        ["openssl", "passwd", "-6", "-stdin"], input="a word", capture_output=True, text=True, check=True
    )
    digest = made.stdout.strip()
    assert in_form(digest, "sha512-crypt", "") == in_form(digest, "crypt", "") == digest
    yescrypt = "$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7"
    assert in_form(yescrypt, "crypt", "") == yescrypt


SHA512 = "$6$saltsalt$" + "a" * 86
REFUSED = [
    ("eos-cak", "0123456789abcdefg" * 2, "hexadecimal"),
    ("eos-cak", CAK[:-2], "hexadecimal"),
    ("eos-bgp", "p" * (LONGEST_BGP_PASSWORD + 1), "80 bytes"),
    ("sha512-crypt", "plain-text-password", "no hash"),
    ("sha512-crypt", SHA512[:-1], "no hash"),
    ("sha512-crypt", SHA512.replace("$6$", "$6$rounds=9000$"), "no hash"),
    ("crypt", "$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/", "no hash"),
    ("crypt", SHA512 + ":0", "no hash"),
    ("munge-key", "k" * 31, "munge"),
    ("munge-key", "k" * 1025, "munge"),
    ("munge-key", "k" * 40 + "\n", "munge"),
    ("m-key", "0", "M_Key"),
    ("m-key", "0x0000", "M_Key"),
    ("m-key", "0x12345678901234567", "M_Key"),
    ("m-key", "12ab", "M_Key"),
    ("slurm-password", "with#in-it", "has a blank"),
    ("slurm-password", "two\nlines", "has a blank"),
    ("pem", "0123456789abcdef", "no PEM"),
    ("rot13", "anything", "no form"),
]


@pytest.mark.parametrize(("form", "value", "reason"), REFUSED)
def test_a_value_of_another_kind_is_refused_without_being_shown(form: str, value: str, reason: str) -> None:
    with pytest.raises(FormError, match=reason) as caught:
        in_form(value, form, "")
    assert value not in str(caught.value) or value == "0"
    with pytest.raises(SecretError, match=f'secret "one" .*{reason}') as said:
        resolve(f"x <secret one as {form} here>".encode(), {"one": value})
    assert value not in str(said.value) or value == "0"


def test_every_form_is_refused_something() -> None:
    assert {form for form, _, _ in REFUSED} >= FORMS.keys() - {"eos-type-7"}


def test_placeholders_with_a_form_name_their_secret() -> None:
    text = b"   neighbor CTSW password 7 <secret bgp as eos-bgp CTSW>\n      key 0a01 7 <secret cak as eos-cak>\n"
    assert names_in(text) == {"bgp", "cak"}
    done = resolve(text, {"bgp": "shared", "cak": CAK}).decode()
    assert done == (
        f"   neighbor CTSW password 7 {encrypt('shared', passwd_type='bgp', key='CTSW')}\n"
        f"      key 0a01 7 {encrypt(CAK, passwd_type='tacacs', salt=7)}\n"
    )


def test_a_form_is_no_way_out_either(tmp_path: Path) -> None:
    """Type 7 is read by anybody: what a device repeats in it gets its placeholder back like a plain value."""
    text = "neighbor CTSW password 7 <secret bgp as eos-bgp CTSW>\nkey 0a01 7 <secret cak as eos-cak>\n"
    target = ResolvingTarget(Repeating(tmp_path), lambda: {"bgp": "shared-word", "cak": CAK}, tmp_path)
    outcome = target.apply({"sw": (Artifact("sw", "config", text.encode(), "eos"),)})["sw"]
    assert outcome.message == outcome.diff == (tmp_path / "stdout").read_text() == text
