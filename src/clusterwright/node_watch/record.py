"""Signed records: JSON lines with the digest of the line before, chained and signed with Ed25519.

The format is that of the project's other logs, which ``clusterwright.chain`` reads: the digest covers a line's other
keys, in sorted order; the signature covers those other than digest and signature.
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

_FIRST_PREVIOUS = "0" * 64


class RecordError(Exception):
    """A record could not be written; the message is the cause."""


def append(path: str, key: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Sign an entry with the private key in the file ``key`` and append it to the log; returns the written line.

    Raises RecordError if the log's last line is no record or openssl fails, OSError for an unusable file.
    """
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "a+", encoding="utf-8") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        os.fchmod(log.fileno(), 0o640)
        log.seek(0)
        sequence, previous = _last_record(path, log.read())
        body = {"sequence": sequence + 1, **entry, "previous": previous}
        body["signature"] = _signature(key, canonical(body))
        line = {**body, "digest": hashlib.sha256(canonical(body)).hexdigest()}
        log.write(json.dumps(line) + "\n")
        log.flush()
        os.fsync(log.fileno())
    return line


def canonical(body: Mapping[str, Any]) -> bytes:
    """Canonical form of a line, for its signature and digest."""
    return json.dumps(body, sort_keys=True).encode()


def _last_record(path: str, log: str) -> tuple[int, str]:
    """Sequence number and digest of the last record; those before the first one for an empty log."""
    if not log:
        return 0, _FIRST_PREVIOUS
    try:
        record = json.loads(log.splitlines()[-1])
        return int(record["sequence"]), str(record["digest"])
    except (ValueError, KeyError, TypeError, IndexError):
        raise RecordError(f"{path}: its last line is no record; move the file aside, and ask who changed it") from None


def _signature(key: str, content: bytes) -> str:
    # For Ed25519 openssl needs a file as its input.
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        openssl = subprocess.run(
            ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", file.name], capture_output=True, check=False
        )
    if openssl.returncode != 0:
        messages = openssl.stderr.decode(errors="replace").strip().splitlines()
        raise RecordError(f"openssl does not sign with {key}: {messages[0] if messages else 'no message'}")
    return base64.b64encode(openssl.stdout).decode()
