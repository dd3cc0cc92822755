"""Ed25519 signatures: signing with a person's key, and checking.

Records of nodes and of proofs, and approvals of changes, are signed this way. Keys are read in PEM and in OpenSSH's
form.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    load_pem_private_key,
    load_pem_public_key,
    load_ssh_private_key,
    load_ssh_public_key,
)

from clusterwright.finding import ClusterwrightError
from clusterwright.given_file import read_given

_OPENSSH = b"-----BEGIN OPENSSH PRIVATE KEY-----"


def public_key_in(path: Path) -> Ed25519PublicKey:
    """The public key in a PEM file. Raises ClusterwrightError."""
    try:
        key = load_pem_public_key(read_given(path))
    except ValueError:
        raise ClusterwrightError(f"{path}: this is no public key in PEM.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise ClusterwrightError(f"{path}: this is no Ed25519 key, with which records are signed.")
    return key


def public_key_of(text: str) -> Ed25519PublicKey | None:
    """The public key of a line in OpenSSH's form; None if that is no Ed25519 key."""
    try:
        key = load_ssh_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, Ed25519PublicKey) else None


def private_key_in(path: Path, ask: Callable[[], str]) -> Ed25519PrivateKey:
    """The private key in a file; ``ask`` supplies the passphrase if it is encrypted. Raises ClusterwrightError."""
    content = read_given(path)
    load = load_ssh_private_key if content.lstrip().startswith(_OPENSSH) else load_pem_private_key
    try:
        try:
            key = load(content, None)
        except TypeError:  # it is encrypted
            key = load(content, ask().encode())
    except (ValueError, UnsupportedAlgorithm, TypeError):
        raise ClusterwrightError(
            f"{path}: this is no private key in PEM or OpenSSH's form, or the passphrase is wrong"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ClusterwrightError(f"{path}: this is no Ed25519 key. `ssh-keygen -t ed25519` makes one.")
    return key


def sign(key: Ed25519PrivateKey, content: bytes) -> str:
    """The signature over ``content``, as text."""
    return base64.b64encode(key.sign(content)).decode()


def is_signed(key: Ed25519PublicKey, content: bytes, signature: object) -> bool:
    """Whether ``signature`` was made over ``content`` with the private half of ``key``."""
    try:
        key.verify(base64.b64decode(str(signature), validate=True), content)
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True
