"""Hashes of accounts' passwords on Linux, in the form of ``chpasswd --encrypted``.

The hashes themselves are secrets: ``<secret NAME as crypt>`` stands in their place. The deployment sets them in
/etc/shadow on the running machine; they are in no image, and in no file of a boot server.
"""

from __future__ import annotations

from collections.abc import Iterable

PASSWORDS = "etc/clusterwright/passwords"
PASSWORDS_MODE = 0o600
# No password opens this account: what shadow(5) has for one whose password was taken away.
CLOSED = "*"


def password_lines(accounts: Iterable[tuple[str, str | None]]) -> str:
    """One line for each account with the name of its secret; nothing without a password."""
    account_names = tuple(accounts)
    if all(secret is None for _, secret in account_names):
        return ""
    return "".join(
        f"{name}:{CLOSED if secret is None else f'<secret {secret} as crypt>'}\n" for name, secret in account_names
    )
