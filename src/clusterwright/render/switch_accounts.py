"""The operators' accounts on switches that are Linux hosts (SONiC, FBOSS): who logs in over SSH, and who becomes root.

Accounts have no password. Keys lie where root alone writes, one file to an operator, so that a session cannot add to
its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.render.templates import template

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.spec.site import Site

KEYS = "etc/ssh/authorized_keys.d"
PLAIN, SUDOERS = 0o644, 0o440
ADMINS = "netadmin"


@dataclass(frozen=True, slots=True)
class AccountFile:
    """A file of the host by its path on the device."""

    path: str
    content: bytes
    mode: int = PLAIN


def account_files(site: Site) -> Iterator[AccountFile]:
    """Accounts, their homes and keys, sshd's rules and sudo's; nothing where the spec names no operator.

    sysusers.d and tmpfiles.d are read at every boot, and by ``systemd-sysusers`` and ``systemd-tmpfiles --create``.
    """
    if not site.operators:
        return
    yield _file("etc/sysusers.d/clusterwright.conf", "sysusers.conf.j2", site)
    yield _file("etc/tmpfiles.d/clusterwright.conf", "tmpfiles.conf.j2", site)
    yield _file("etc/ssh/sshd_config.d/10-clusterwright.conf", "sshd.conf.j2", site)
    yield _file("etc/sudoers.d/clusterwright", "sudoers.j2", site, SUDOERS)
    for operator in site.operators:
        keys = "".join(f"{key}\n" for key in operator.keys)
        yield AccountFile(f"{KEYS}/{operator.name}", keys.encode())


def _file(path: str, name: str, site: Site, mode: int = PLAIN) -> AccountFile:
    text = template(f"switch/{name}").render(site=site, keys=f"/{KEYS}", admins=ADMINS)
    return AccountFile(path, text.encode(), mode)
