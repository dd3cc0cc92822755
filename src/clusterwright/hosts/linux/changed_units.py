"""Changed settings of a systemd unit, each with the unit's type: the effect of a change depends on both.

The role has systemd read changed units again, which neither runs a oneshot again nor restarts a service.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

UNIT_FILE = re.compile(r"etc/systemd/system/[^/]+\.(service|(service|target)\.d/[^/]+\.conf)")
"""Services, and drop-ins of services and targets."""

_STAYS = "RemainAfterExit"
_DROP_IN = re.compile(r".*\.(service|target)\.d/[^/]+")
_TRUE = frozenset({"1", "yes", "true", "on"})

Setting = tuple[str, str, str]
"""Section, key and value."""


def unit_places(path: str, was: bytes | None, will: bytes | None) -> Iterator[str]:
    """The changed places, each after the unit's type.

    ``oneshot`` ends after its run, ``RemainAfterExit`` is a oneshot that stays active, ``service`` keeps running, and
    ``drop-in`` changes a package's unit of unknown type. ``wants`` names the units of a target. A unit without content
    is ``masked``.
    """
    before, after = settings_of(was or b""), settings_of(will or b"")
    if ".target.d/" in path:
        wanted: set[str] = set()
        for _, _, units in set(before) ^ set(after):
            wanted.update(units.split())
        yield from (f"wants > {unit}" for unit in sorted(wanted))
        return
    if was == b"" or will == b"":
        yield "masked"
        return
    settings = before if will is None else after
    kind = "drop-in" if _DROP_IN.fullmatch(path) else _kind_of(settings)
    if was is None:
        yield f"{kind} > new"
        return
    if will is None:
        yield f"{kind} > gone"
        return
    keys = {f"{kind} > {section} > {key}" for section, key in _changed_keys(before, after)}
    yield from sorted(keys) or [""]


def settings_of(content: bytes) -> tuple[Setting, ...]:
    """The settings of a file of systemd.syntax(7), in its order."""
    settings: list[Setting] = []
    section = ""
    for line in content.decode("utf-8", "replace").splitlines():
        if line.startswith("["):
            section = line.strip("[] ")
        elif "=" in line and not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            settings.append((section, key.strip(), value.strip()))
    return tuple(settings)


def _kind_of(settings: tuple[Setting, ...]) -> str:
    """The kind of a unit of systemd.service(5), by Type= and RemainAfterExit=."""
    values = {key: value for section, key, value in settings if section == "Service"}
    if values.get("Type") != "oneshot":
        return "service"
    return _STAYS if values.get(_STAYS, "").lower() in _TRUE else "oneshot"


def _changed_keys(before: tuple[Setting, ...], after: tuple[Setting, ...]) -> set[tuple[str, str]]:
    """The keys whose values differ; commands count in their order."""
    keys = {(section, key) for section, key, _ in (*before, *after)}
    return {place for place in keys if _values(before, place) != _values(after, place)}


def _values(settings: tuple[Setting, ...], place: tuple[str, str]) -> list[str]:
    """All values of a section's key, in their order."""
    return [value for section, key, value in settings if (section, key) == place]
