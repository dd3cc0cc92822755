"""Check that only the current user can change a file with code to run.

As git does for ``safe.directory``: the file and every folder above it must belong to this user or to root, and must not
be writable to others. In a folder with the sticky bit, such as /tmp, only the owner of a file can replace it.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

TRUSTED = "CLUSTERWRIGHT_TRUSTED"
"""Environment variable: folders with trusted settings, joined by colons, whatever their owner."""


def doubt_about(file: Path) -> str | None:
    """A sentence's beginning on another user able to change ``file``; None for a protected or trusted file."""
    real = file.resolve()
    for folder in os.environ.get(TRUSTED, "").split(os.pathsep):
        if folder and real.is_relative_to(Path(folder).resolve()):
            return None
    places = dict.fromkeys((file.absolute(), *file.absolute().parents, real, *real.parents))
    for place in places:
        if doubt := _doubt_about(place):
            return doubt
    return None


def _doubt_about(place: Path) -> str | None:
    status = place.stat()
    if status.st_uid not in _users():
        return f"{place} belongs to {_user_name(status.st_uid)}"
    is_sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    if is_sticky:
        return None
    if status.st_mode & stat.S_IWOTH:
        return f"everybody may write {place}"
    if status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid, status.st_uid):
        return f"the group {_group_name(status.st_gid)} may write {place}"
    return None


def _users() -> frozenset[int]:
    """The trusted owners: root, this user and, under sudo, its caller."""
    users = {0, os.geteuid()}
    caller = os.environ.get("SUDO_UID", "")
    if os.geteuid() == 0 and caller.isdecimal():
        users.add(int(caller))
    return frozenset(users)


def _is_private(group: int, owner: int) -> bool:
    """True if ``group`` is root's or the owner's own, as distributions create for each user, without other members."""
    try:
        entry, user = grp.getgrgid(group), pwd.getpwuid(owner)
    except KeyError:
        return False
    return (group == 0 or entry.gr_name == user.pw_name) and set(entry.gr_mem) <= {"root", user.pw_name}


def _user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _group_name(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
