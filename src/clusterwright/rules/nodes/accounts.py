"""CW126, CW166 and CW167: accounts with the name of a system account or group, and keys invalid for OpenSSH."""

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
# Groups of base-passwd's group.master (Debian 12, Ubuntu 24.04), setup's /etc/group (Rocky 9), systemd's
# sysusers.d/basic.conf and packages, and the rendered one of switches' administrators. systemd-sysusers makes an
# account of the same name their member.
_BASE_GROUPS = (
    "adm tty disk kmem dialout fax voice cdrom floppy tape sudo wheel audio dip src shadow utmp video sasl plugdev "
    "staff users nogroup mem lock input kvm render sgx"
)
_OTHER_GROUPS = "netadmin docker lxd crontab netdev ssl-cert systemd-journal redis frrvty"
SYSTEM_GROUPS = frozenset(f"{_BASE_GROUPS} {_OTHER_GROUPS}".split())
_LONGEST = 31  # letters of an account: systemd's valid_user_group_name
# Factory accounts with every right (inventory/systems): their groups stay theirs, whatever the role of an operator is.
_FACTORY_ADMINS = frozenset({"admin", "cumulus"})


@rule("CW126", Severity.ERROR)
def operators_of_the_system(subject: Subject) -> Iterator[Problem]:
    """Operators with the name of a system account or group, or with one too long for Linux."""
    for operator in subject.spec.site.operators:
        name = operator.name
        if name in SYSTEM_ACCOUNTS:
            message = f"{name} is an account of the switch's system: the operator would have its rights."
        elif name in SYSTEM_GROUPS:
            message = f"{name} is a group of the switch's system: an account of this name is a member of it."
        elif name in _FACTORY_ADMINS and operator.role != "admin":
            message = f"{name} is a factory account with every right, and its operator is to have fewer."
        elif len(name) > _LONGEST:
            message = f"{name} has {len(name)} characters, and an account of Linux has {_LONGEST} at most."
        else:
            continue
        yield Problem((*operator.path, "name"), message, "Choose a name that no package takes, such as netops.")


@rule("CW166", Severity.ERROR)
def accounts_of_the_system(subject: Subject) -> Iterator[Problem]:
    """Image users with the name of an account or a group made by a distribution or a package."""
    for image in subject.spec.images:
        for user in image.users:
            if user.name in SYSTEM_ACCOUNTS:
                message = f"{user.name} is an account of the system, whose number is not {user.uid}."
            elif user.name in SYSTEM_GROUPS:
                message = f"{user.name} is a group of the system: an account of this name is a member of it."
            else:
                continue
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
