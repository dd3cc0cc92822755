"""Keys are sound exactly where OpenSSH's own ssh-keygen reads them."""

from __future__ import annotations

import random
import string
import subprocess
from pathlib import Path

import pytest

from clusterwright.spec.text.ssh_key import ssh_key_defect

KINDS = [("ed25519", ""), ("rsa", "1024"), ("rsa", "3072"), ("ecdsa", "256"), ("ecdsa", "384"), ("ecdsa", "521")]
ALPHABET = string.ascii_letters + string.digits + "+/"


def public_key(folder: Path, kind: str, bits: str) -> str:
    """A new key of ``ssh-keygen``: type, base64 and comment."""
    size = ["-b", bits] if bits else []
    file = folder / f"{kind}{bits}"
    subprocess.run(["ssh-keygen", "-q", "-t", kind, *size, "-N", "", "-C", "a@b", "-f", file], check=True)
    return file.with_suffix(".pub").read_text().strip()


def is_read(folder: Path, key: str) -> bool:
    """Whether ``ssh-keygen`` reads the key."""
    file = folder / "key.pub"
    file.write_text(key + "\n")
    return subprocess.run(["ssh-keygen", "-l", "-f", file], capture_output=True, check=False).returncode == 0


def edits(key: str, draw: random.Random) -> list[str]:
    """The key with one of its first characters changed, cut, doubled, and called by another type."""
    kind, encoded, comment = key.split()
    index = draw.randrange(8)
    other = draw.choice(ALPHABET.replace(encoded[index], ""))
    other_kind = "ssh-rsa" if kind != "ssh-rsa" else "ssh-ed25519"
    return [
        f"{kind} {encoded[:index]}{other}{encoded[index + 1 :]} {comment}",
        f"{kind} {encoded[:-8]} {comment}",
        f"{kind} {encoded[: len(encoded) // 8 * 4]} {comment}",
        f"{kind} XXXX{encoded[4:]} {comment}",
        f"{other_kind} {encoded} {comment}",
    ]


@pytest.mark.parametrize(("kind", "bits"), KINDS)
def test_a_key_is_sound_where_openssh_reads_it(tmp_path: Path, kind: str, bits: str) -> None:
    key = public_key(tmp_path, kind, bits)
    assert ssh_key_defect(key) == ""
    refused = 0
    for edited in edits(key, random.Random(f"{kind}{bits}")):
        expected = is_read(tmp_path, edited)
        assert (ssh_key_defect(edited) == "") is expected, edited
        refused += not expected
    assert refused >= 4
