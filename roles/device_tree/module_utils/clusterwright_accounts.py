"""Accounts, passwords and folders that files declare: sysusers.d and tmpfiles.d, which systemd reads at boot alone.

All are compared with what is there, and the system's own programs make what is missing, from our files only.
"""

from __future__ import annotations

import grp
import os
import pwd
import shlex
import stat
from typing import NamedTuple

from ansible.module_utils.clusterwright_files import Refused, Tree, WantedFiles
from ansible.module_utils.clusterwright_running import Changes, Exempt, RunningChange, lines_of, run_program

PASSWORDS_FILE = "etc/clusterwright/passwords"


class _Account(NamedTuple):
    name: str
    uid: int | None  # None: the system chooses one


class Accounts:
    """Users and groups of etc/sysusers.d. Nobody is removed, and nobody's number is changed."""

    def __init__(self, wanted: WantedFiles, exempt: Exempt, tree: Tree) -> None:
        self.tree = tree
        self.paths: list[str] = []
        self.users: list[_Account] = []
        self.groups: list[str] = []
        self.members: list[tuple[str, str]] = []
        self.exempted: list[str] = []
        for path, number, line in lines_of(wanted, "etc/sysusers.d"):
            if path not in self.paths:
                self.paths.append(path)
            words = shlex.split(line)
            if len(words) > 2 and words[0] == "u" and (words[2].isdigit() or words[2] == "-"):
                if exempt("account:" + words[1]):
                    self.exempted.append(words[1])
                else:
                    self.users.append(_Account(words[1], None if words[2] == "-" else int(words[2])))
            elif len(words) == 3 and words[0] == "m":
                self.members.append((words[1], words[2]))
            elif len(words) == 3 and words[0] == "g" and words[2] == "-":
                self.groups.append(words[1])
            else:
                raise Refused(f"/{path}:{number}: {line!r} is no user, no group without a number and no membership")
        self.members = [pair for pair in self.members if pair[0] not in self.exempted]

    def check(self) -> None:
        """Refuses a number that another account has, and an account that has another number."""
        for user in self.users:
            if user.uid is None:
                continue
            held = {entry.pw_name: entry.pw_uid for entry in pwd.getpwall()}
            owner = next((name for name, uid in held.items() if uid == user.uid and name != user.name), None)
            if held.get(user.name, user.uid) != user.uid:
                raise Refused(
                    f"account {user.name} has the number {held[user.name]}, not {user.uid}; nobody renumbers it"
                )
            if owner is not None:
                raise Refused(f"account {user.name} cannot have the number {user.uid}: it is that of {owner}")

    def compare(self) -> list[RunningChange]:
        """Accounts that are missing, and memberships of those that are there."""
        known = {entry.pw_name for entry in pwd.getpwall()}
        groups = {entry.gr_name: set(entry.gr_mem) for entry in grp.getgrall()}
        changes = [
            RunningChange("account:" + user.name, None, "there" if user.uid is None else f"number {user.uid}")
            for user in self.users
            if user.name not in known
        ]
        changes += [
            RunningChange("account:group " + group, None, "there") for group in self.groups if group not in groups
        ]
        return changes + [
            RunningChange(f"account:{user} in {group}", None, "member")
            for user, group in self.members
            if user not in groups.get(group, set())
        ]

    def converge(self, changes: Changes) -> None:
        """Have systemd-sysusers make what is missing."""
        if changes:
            files = [self.tree.full(path) for path in self.paths]
            run_program(["systemd-sysusers", *files], refused="systemd-sysusers makes no accounts")

    def restore(self, changes: Changes) -> None:
        """An account without a key opens nothing, and a removed one may own files: it stays."""


class Passwords:
    """The hashes of accounts' passwords, as the file for chpasswd has them. None of them is ever in an answer."""

    def __init__(self, wanted: WantedFiles, exempt: Exempt) -> None:
        self.wanted: dict[str, str] = {}
        self.exempted: list[str] = []
        self._before: dict[str, str] = {}
        content = wanted[PASSWORDS_FILE].content.decode() if PASSWORDS_FILE in wanted else ""
        for number, line in enumerate(content.splitlines(), 1):
            name, _, digest = line.partition(":")
            if not name or not digest or ":" in digest:
                raise Refused(f"/{PASSWORDS_FILE}:{number}: no account and hash with a colon between them")
            if exempt("account:" + name):
                self.exempted.append(name)
            else:
                self.wanted[name] = digest

    def check(self) -> None:
        """The accounts may come with the same tree."""

    def compare(self) -> list[RunningChange]:
        """Accounts whose hash is another one than it should be."""
        there = _shadow() if self.wanted else {}
        return [
            RunningChange("password:" + name, "another" if name in there else None, "as the tree has it")
            for name, digest in self.wanted.items()
            if there.get(name) != digest
        ]

    def converge(self, changes: Changes) -> None:
        """Set the hashes that differ."""
        there = _shadow() if changes else {}
        names = [change.name.partition(":")[2] for change in changes]
        self._before = {name: there[name] for name in names if name in there}
        self._set({name: self.wanted[name] for name in names})

    def restore(self, changes: Changes) -> None:
        """Set the hashes that were there before."""
        self._set(self._before)

    def _set(self, digests: dict[str, str]) -> None:
        if digests:
            lines = "".join(f"{name}:{digest}\n" for name, digest in digests.items())
            # What it says could repeat its input: none of it is passed on.
            if run_program(["chpasswd", "--encrypted"], lines).returncode != 0:
                raise Refused("chpasswd does not set the passwords of " + ", ".join(sorted(digests)))


def _shadow() -> dict[str, str]:
    """The hash of every account in /etc/shadow, by name."""
    with open("/etc/shadow") as stream:
        entries = [line.split(":") for line in stream]
    return {entry[0]: entry[1] for entry in entries if len(entry) > 1}


class Folders:
    """Folders of etc/tmpfiles.d (lines of type d): there, with their mode and owner. Other lines are left to boots."""

    def __init__(self, wanted: WantedFiles, exempt: Exempt, tree: Tree) -> None:
        self.tree = tree
        self.paths: list[str] = []
        self.folders: list[tuple[str, int, str]] = []
        self.exempted: list[str] = []
        for path, _, line in lines_of(wanted, "etc/tmpfiles.d"):
            words = shlex.split(line)
            if words[0] != "d" or len(words) < 4:
                continue
            if exempt("folder:" + words[1]):
                self.exempted.append(words[1])
                continue
            self.folders.append((words[1], int(words[2], 8), words[3] if words[3] != "-" else "root"))
            if path not in self.paths:
                self.paths.append(path)

    def check(self) -> None:
        """Owners may be accounts that come with the same tree."""

    def compare(self) -> list[RunningChange]:
        """Folders that are missing or other than declared."""
        changes = []
        for folder, mode, owner in self.folders:
            wanted, found = f"{mode:04o} {owner}", _found(folder)
            if found != wanted:
                changes.append(RunningChange("folder:" + folder, found, wanted))
        return changes

    def converge(self, changes: Changes) -> None:
        """Have systemd-tmpfiles make them."""
        if changes:
            files = [self.tree.full(path) for path in self.paths]
            run_program(["systemd-tmpfiles", "--create", *files], refused="systemd-tmpfiles makes no folders")

    def restore(self, changes: Changes) -> None:
        """A folder does no harm, and may already hold something: it stays."""


def _found(folder: str) -> str | None:
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        return None
    try:
        owner = pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        owner = str(status.st_uid)
    return f"{stat.S_IMODE(status.st_mode):04o} {owner}" + ("" if stat.S_ISDIR(status.st_mode) else ", no folder")
