"""CW166: accounts of nodes that take the name of one which the system has."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule

# base-passwd's passwd.master (Debian 12, Ubuntu 24.04), setup's /etc/passwd (Rocky 9), the accounts that systemd's
# units make by sysusers.d, and those of packages that images install.
_DEBIAN = (
    "root daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc _apt nobody messagebus sshd "
    "polkitd tss syslog uuidd tcpdump landscape pollinate fwupd-refresh usbmux dhcpcd _chrony statd _rpc"
)
_RED_HAT = "adm shutdown halt operator ftp dbus chrony rpc rpcuser nfsnobody sssd setroubleshoot cockpit-ws clevis"
_SYSTEMD = "systemd-network systemd-resolve systemd-timesync systemd-coredump systemd-oom systemd-journal-remote"
_PACKAGES = "slurm munge frr prometheus dnsmasq postgres nvidia-persistenced receptor"
SYSTEM_ACCOUNTS = frozenset(f"{_DEBIAN} {_RED_HAT} {_SYSTEMD} {_PACKAGES}".split())


@rule("CW166", Severity.ERROR)
def accounts_of_the_system(subject: Subject) -> Iterator[Problem]:
    """Users of images called as an account that a distribution or a package makes with another number."""
    for image in subject.spec.images:
        for user in image.users:
            if user.name in SYSTEM_ACCOUNTS:
                message = f"{user.name} is an account of the system, whose number is not {user.uid}."
                yield Problem((*user.path, "name"), message, "Choose a name that no package takes, such as ops.")
