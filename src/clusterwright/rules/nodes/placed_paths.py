"""CW163 and CW164: paths on devices owned by the operating system, and conflicting paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import PurePosixPath
from typing import NamedTuple

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.schema.string_kinds import KindedString
from clusterwright.spec.text.document import Path, format_path

MOUNTPOINT, FOLDER, FILE = "mountpoint", "folder", "placed_file"

# Filesystem Hierarchy Standard 3.0, chapters 3 to 6, and file-hierarchy(7) of systemd: folders of the kernel, the
# firmware, root or the packages, with everything below them.
CLOSED = frozenset(
    {"/bin", "/boot", "/dev", "/efi", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/proc", "/root"}
    | {"/sbin", "/sys", "/usr", "/var/lock", "/var/run"}
)
_OPEN_BELOW = frozenset({"/usr/local"})  # in closed folders: for software installed beside the packages
# The same chapters: folders of every system, open for other folders inside.
STANDARD = frozenset(
    {"/", "/home", "/media", "/mnt", "/opt", "/run", "/srv", "/tmp", "/usr/local", "/var", "/var/home"}  # noqa: S108
    | {f"/usr/local/{name}" for name in ("bin", "etc", "games", "include", "lib", "man", "sbin", "share", "src")}
    | {f"/var/{name}" for name in ("backups", "cache", "crash", "lib", "local", "log", "mail", "opt", "spool", "tmp")}
    | {f"/run/{name}" for name in ("lock", "log", "systemd", "udev", "user", "dbus", "sshd", "credentials")}
)
# Of these, the mount points: the same chapters call them so, or leave them to the site.
MOUNTABLE = frozenset({"/home", "/media", "/mnt", "/opt", "/srv"})
# Folders of a base system's packages: `dpkg -S` on Debian 12 and Ubuntu 24.04, `rpm -qf` on Rocky 9, and those created
# by systemd (StateDirectory=, CacheDirectory=, LogsDirectory= of its units).
OF_PACKAGES = frozenset(
    {f"/var/cache/{name}" for name in ("apt", "debconf", "dnf", "ldconfig", "man", "private", "snapd", "yum")}
    | {f"/var/lib/{name}" for name in ("NetworkManager", "alternatives", "apt", "cloud", "dbus", "dhcp", "dkms", "dnf")}
    | {
        f"/var/lib/{name}"
        for name in ("dpkg", "grub", "initramfs-tools", "logrotate", "misc", "nfs", "pam", "polkit-1")
    }
    | {f"/var/lib/{name}" for name in ("private", "python", "rpm", "rpm-state", "selinux", "shells.state", "snapd")}
    | {f"/var/lib/{name}" for name in ("sss", "sudo", "systemd", "tpm2-tss", "ucf", "update-manager")}
    | {f"/var/log/{name}" for name in ("apt", "audit", "chrony", "dist-upgrade", "journal", "private", "sssd")}
    | {f"/var/spool/{name}" for name in ("anacron", "at", "cron", "mail", "postfix", "rsyslog")}
)
# File name endings of credentials: PEM and DER by OpenSSL's and Kerberos' pages. No program's own file has one of them.
_ENDINGS = frozenset({".cer", ".cert", ".crl", ".crt", ".der", ".key", ".keytab", ".pem"})
# The distribution's trusted authorities: packages overwrite them (update-ca-certificates(8), update-ca-trust(8)).
BUNDLES = frozenset({"/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem", "/etc/pki/tls/cert.pem"})
_BUNDLE_FOLDERS = ("/etc/pki/ca-trust/extracted", "/etc/pki/tls/certs", "/etc/ssl/certs")


class Placed(NamedTuple):
    """A path of the spec, and the node groups with it; None for all."""

    string: KindedString
    nodes: frozenset[str] | None

    @property
    def path(self) -> PurePosixPath:
        """The path on the device."""
        return PurePosixPath(self.string.value)


@rule("CW163", Severity.ERROR)
def paths_of_the_system(subject: Subject) -> Iterator[Problem]:
    """Folders, mount points and files in places owned by the operating system."""
    homes: set[str] = set()
    for image in subject.spec.images:
        for user in image.users:
            homes.update((f"/home/{user.name}", f"/var/home/{user.name}"))
    for item in _placed(subject):
        path, kind = item.string.value, item.string.kind
        if kind == FILE:
            owner = _owner_of_file(path)
            hint = "Name a file in a folder of your own, such as /etc/pki/SITE/authorities.pem."
        else:
            owner = _owner_of_folder(path, kind, homes)
            hint = "Name a folder that nothing else uses, such as /srv/NAME or /var/log/NAME."
        if owner is not None:
            yield Problem(item.string.path, f"{path} {owner}.", hint)


@rule("CW164", Severity.ERROR)
def paths_in_each_others_way(subject: Subject) -> Iterator[Problem]:
    """Two paths equal on a device, or one below the other's file."""
    for first, second in combinations(_placed(subject), 2):
        if first.nodes is not None and second.nodes is not None and not first.nodes & second.nodes:
            continue
        if what := _conflict(first, second):
            place = format_path(first.string.path, subject.spec.document.data)
            message = f"{second.string.value} {what} {first.string.value}, which `{place}` names."
            yield Problem(second.string.path, message, "Give each a path of its own, none below the other.")


def _placed(subject: Subject) -> Sequence[Placed]:
    placed = []
    for string in subject.strings:
        if string.kind in (MOUNTPOINT, FOLDER, FILE):
            nodes = _node_groups(_nodes_above(subject, string.path))
            placed.append(Placed(string=string, nodes=nodes))
    return placed


def _nodes_above(subject: Subject, path: Path) -> object:
    """The value of `nodes` in the nearest section around a path; None without one."""
    for length in range(len(path) - 1, 0, -1):
        section = subject.spec.document.at(path[:length])
        if isinstance(section, dict) and "nodes" in section:
            return section["nodes"]
    return None


def _node_groups(nodes: object) -> frozenset[str] | None:
    if isinstance(nodes, str):
        return frozenset({nodes})
    return frozenset(nodes) if isinstance(nodes, list) else None


def _owner_of_folder(path: str, kind: str, homes: set[str]) -> str | None:
    """The reason against making or mounting a folder at this path, as the end of a sentence; None without one."""
    if closed := _closed_above(path):
        return "belongs to the operating system" if closed == path else f"lies in {closed}, the operating system's"
    if path in STANDARD and not (kind == MOUNTPOINT and path in MOUNTABLE):
        return "is a folder of the operating system, which others use as well"
    for folder in OF_PACKAGES:
        if path == folder or path.startswith(f"{folder}/"):
            return f"belongs to the packages that keep their data in {folder}"
    if kind == FOLDER and path in homes:
        return "is the home of an account of the spec"
    return None


def _owner_of_file(path: str) -> str | None:
    """The reason against placing a credential at this path, as the end of a sentence; None without one."""
    file = PurePosixPath(path)
    if file.suffix not in _ENDINGS:
        endings = ", ".join(sorted(_ENDINGS))
        return f"has none of the endings of keys and certificates, {endings}, and may be a file of a program"
    if path in BUNDLES or str(file.parent) in _BUNDLE_FOLDERS:
        return "is kept by the distribution, which writes its trusted authorities anew there"
    closed = _closed_above(path)
    if closed not in (None, "/etc"):
        return f"lies in {closed}, the operating system's"
    return None


def _closed_above(path: str) -> str | None:
    """The closed folder equal to ``path`` or above it; None without one."""
    folders = [path, *(str(folder) for folder in PurePosixPath(path).parents)]
    if any(folder in _OPEN_BELOW for folder in folders):
        return None
    return next((folder for folder in folders if folder in CLOSED), None)


def _conflict(first: Placed, second: Placed) -> str | None:
    """The conflict of the second path with the first, as a verb phrase; None without one."""
    kinds = {first.string.kind, second.string.kind}
    if first.path == second.path:
        both_are_authorities = {first.string.path[-1], second.string.path[-1]} <= {"truststore", "authority"}
        return None if both_are_authorities else "is the same as"
    if FILE not in kinds:
        return None  # a folder on a mount, a mount on another one
    if first.path in second.path.parents:
        return "lies below"
    if second.path in first.path.parents:
        return "lies above"
    return None
