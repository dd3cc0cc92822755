"""Hashes of accounts' passwords on Linux, in the form of ``chpasswd --encrypted``.

The hashes themselves are secrets: ``<secret NAME as crypt>`` stands in their place. The deployment sets them in
/etc/shadow on the running machine; they are in no image, and in no file of a boot server.
"""

from __future__ import annotations

from collections.abc import Iterable

PASSWORDS = "etc/clusterwright/passwords"
PASSWORDS_MODE = 0o600
# shadow(5): no password opens an account with this in place of a hash.
CLOSED = "*"


def password_lines(accounts: Iterable[tuple[str, str | None]]) -> str:
    """One line for each account with the name of its secret; nothing without a password."""
    lines = []
    has_password = False
    for name, secret in accounts:
        if secret is None:
            lines.append(f"{name}:{CLOSED}\n")
        else:
            lines.append(f"{name}:<secret {secret} as crypt>\n")
            has_password = True
    return "".join(lines) if has_password else ""
