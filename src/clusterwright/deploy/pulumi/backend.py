"""Backend of the stacks' state: a folder under the root, or a URL set by the operator."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from clusterwright.finding import ClusterwrightError

VARIABLE = "PULUMI_BACKEND_URL"

_SECRET_PARAMETER = re.compile(r"password|passphrase|secret|token|credential|signature|^sig$", re.IGNORECASE)
"""URL parameters with a secret as value: libpq's `password` and `sslpassword`, a signature of Azure's storage."""


def backend_url(root: Path) -> str:
    """The URL of the state backend. Raises ClusterwrightError for one with a secret in it."""
    url = os.environ.get(VARIABLE)
    if not url:
        return _file_backend(root)
    _require_no_secret(url)
    return url


def _require_no_secret(url: str) -> None:
    """Raises ClusterwrightError for a URL with a secret: Pulumi's messages and lists of processes show it.

    No message here quotes it.
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - a password with a slash in it is read as a port
    except ValueError as error:
        raise ClusterwrightError(f"The URL of the state backend is none ({_without_value(error)}).") from None
    if not re.match(r"[a-z][a-z0-9+.-]*://", url):
        raise ClusterwrightError("The URL of the state backend is none: write file:///srv/state, s3://bucket or alike.")
    if parts.password is not None or (parts.port and "@" in parts.path):  # of digits before a slash: a port
        _refuse("a password")
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if _SECRET_PARAMETER.search(name):
            _refuse(f"`{name}`")
        if re.match(r"[^/]*://[^/]*:[^/]*@", value):
            _refuse(f"a password in `{name}`")


def _refuse(secret: str) -> None:
    raise ClusterwrightError(
        f"The URL of the state backend holds {secret}, which messages and lists of processes show: leave it out. "
        "PGPASSFILE or PGPASSWORD, AWS_SECRET_ACCESS_KEY and AZURE_STORAGE_KEY bring it. Nothing was touched."
    )


def _without_value(error: ValueError) -> str:
    """The error of ``urlsplit`` without its quotation of the URL."""
    return str(error).partition(" as ")[0].partition(":")[0].partition("'")[0].strip()


def _file_backend(root: Path) -> str:
    """The URL of a state under ``root``, without sidecars for content types: a kill while writing one blocks the state.

    The engine replaces a state file as a whole, but writes `<file>.attrs` in place, and reads neither if that is
    truncated. A truncated one holds nothing needed, and is removed.
    """
    folder = root.resolve() / "state"
    for sidecar in folder.glob(".pulumi/**/*.attrs"):
        if not sidecar.read_bytes().endswith(b"}\n"):
            sidecar.unlink(missing_ok=True)
    return f"file://{folder}?metadata=skip"
