"""The operators' accounts on Linux-based switches (SONiC, FBOSS): SSH logins and sudo.

SSH takes keys alone; an operator's password opens the console. Keys lie in a folder writable by root alone, one file to
an operator, so that a session cannot add to its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.hosts.linux.writer.passwords import PASSWORDS, PASSWORDS_MODE, password_lines
from clusterwright.text.templates import template

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.device_files.writer import SharedFile
    from clusterwright.intent.device_kind import SwitchKind
    from clusterwright.plan.model import Plan
    from clusterwright.spec.site import Site

KEYS = "etc/ssh/authorized_keys.d"
PLAIN, SUDOERS = 0o644, 0o440
ADMINS = "netadmin"


def account_files(plan: Plan, kind: SwitchKind) -> tuple[SharedFile, ...]:
    """Accounts, their homes and keys, sshd's rules and sudo's; nothing without an operator in the spec.

    sysusers.d and tmpfiles.d are read at every boot, and by ``systemd-sysusers`` and ``systemd-tmpfiles --create``.
    """
    return tuple(_files(plan.spec.site))


def _files(site: Site) -> Iterator[SharedFile]:
    if not site.operators:
        return
    yield _file("etc/sysusers.d/clusterwright.conf", "sysusers.conf.j2", site)
    yield _file("etc/tmpfiles.d/clusterwright.conf", "tmpfiles.conf.j2", site)
    yield _file("etc/ssh/sshd_config.d/10-clusterwright.conf", "sshd.conf.j2", site)
    yield _file("etc/sudoers.d/clusterwright", "sudoers.j2", site, SUDOERS)
    for operator in site.operators:
        keys = "".join(f"{key}\n" for key in operator.authorized_keys)
        yield f"{KEYS}/{operator.name}", keys.encode(), PLAIN
    passwords = password_lines((operator.name, operator.password) for operator in site.operators)
    if passwords:
        yield PASSWORDS, passwords.encode(), PASSWORDS_MODE


def _file(path: str, name: str, site: Site, mode: int = PLAIN) -> SharedFile:
    text = template(f"switch/{name}").render(site=site, keys=f"/{KEYS}", admins=ADMINS)
    return path, text.encode(), mode
