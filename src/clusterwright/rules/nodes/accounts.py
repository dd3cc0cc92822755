"""CW166 and CW167: accounts with the name of a system account, and operators' keys invalid for OpenSSH."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.text.ssh_key import ssh_key_defect

# base-passwd's passwd.master (Debian 12, Ubuntu 24.04), setup's /etc/passwd (Rocky 9), the accounts of systemd's units
# by sysusers.d, and those of packages installed by images.
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
    """Image users with the name of an account made by a distribution or a package."""
    for image in subject.spec.images:
        for user in image.users:
            if user.name in SYSTEM_ACCOUNTS:
                message = f"{user.name} is an account of the system, whose number is not {user.uid}."
                yield Problem((*user.path, "name"), message, "Choose a name that no package takes, such as ops.")


@rule("CW167", Severity.ERROR)
def unreadable_keys(subject: Subject) -> Iterator[Problem]:
    """Operators' public keys ignored by OpenSSH: their owners cannot log in."""
    for operator in subject.spec.site.operators:
        for index, key in enumerate(operator.keys):
            defect = ssh_key_defect(key)
            if defect:
                message = f"OpenSSH does not read this key of {operator.name}: {defect}."
                yield Problem((*operator.path, "keys", index), message, "Copy the whole line of the .pub file.")
