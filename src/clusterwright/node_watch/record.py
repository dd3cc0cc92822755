"""Signed records: JSON lines, each with the digest of the one before, and a signature with Ed25519.

The form is that of the project's other logs (``clusterwright.chain``), which read it: the digest is over a line without
it, in the order of its keys; the signature is over the line without digest and signature.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any

_START = "0" * 64


class RecordError(Exception):
    """A record could not be written; the text says why."""


def append(path: str, key: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Sign an entry with the private key in the file ``key`` and write it behind the last line; returns the line.

    Raises RecordError where the log does not end in a record, OSError where a file cannot be read or written.
    """
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "a+", encoding="utf-8") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        os.fchmod(log.fileno(), 0o640)
        log.seek(0)
        sequence, previous = _end(path, log.read())
        body = {"sequence": sequence + 1, **entry, "previous": previous}
        body["signature"] = _signature(key, canonical(body))
        line = {**body, "digest": hashlib.sha256(canonical(body)).hexdigest()}
        log.write(json.dumps(line) + "\n")
        log.flush()
        os.fsync(log.fileno())
    return line


def canonical(body: Mapping[str, Any]) -> bytes:
    """What is signed and digested."""
    return json.dumps(body, sort_keys=True).encode()


def _end(path: str, text: str) -> tuple[int, str]:
    if not text:
        return 0, _START
    try:
        last = json.loads(text.splitlines()[-1])
        return int(last["sequence"]), str(last["digest"])
    except (ValueError, KeyError, TypeError, IndexError):
        raise RecordError(f"{path}: its last line is no record; move the file aside, and ask who changed it") from None


def _signature(key: str, content: bytes) -> str:
    # openssl signs with Ed25519 only what it can read as a file.
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        ended = subprocess.run(
            ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", file.name], capture_output=True, check=False
        )
    if ended.returncode != 0:
        said = ended.stderr.decode(errors="replace").strip().splitlines()
        raise RecordError(f"openssl does not sign with {key}: {said[0] if said else 'no message'}")
    return base64.b64encode(ended.stdout).decode()
