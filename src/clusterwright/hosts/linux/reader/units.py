"""Read systemd units as systemd does: the effective values of repeated keys."""

from __future__ import annotations

from collections.abc import Mapping

_LISTS = ("Wants", "Requires", "After", "Before", "ExecStartPre", "ExecStart")

Unit = Mapping[str, str]
LOCAL_TYPES = ("ext4", "xfs", "tmpfs")
"""File systems on a node's own disks or in its memory."""


def unit_of(text: str) -> Unit:
    """The keys of a unit with their effective values, those of a list joined by line ends.

    The last value of a key counts. Lists grow instead; an empty value empties a list of commands, and leaves one of
    dependencies as it is (systemd.service(5), systemd.unit(5)). Comments are ignored.
    """
    unit: dict[str, str] = {}
    for line in text.split("\n"):
        name, equals, value = line.partition("=")
        if not equals or line.startswith(("#", ";")):
            continue
        is_emptied_list = not value and name.startswith("Exec")
        if name not in _LISTS or is_emptied_list:
            unit[name] = value
        elif value:
            unit[name] = f"{unit[name]}\n{value}" if unit.get(name) else value
    return unit
