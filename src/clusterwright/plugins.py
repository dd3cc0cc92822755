"""Plugins: what other installed packages add, found by their entry points.

``clusterwright.commands`` are click commands, ``clusterwright.rules`` modules with lint rules,
``clusterwright.systems`` switch systems, ``clusterwright.inventory_formats`` functions that list a cluster. A package
with systems carries their capabilities, models and templates in folders of its own: ``inventory/`` and ``templates/``
beside its modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import metadata, util
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from clusterwright.finding import ClusterwrightError

COMMANDS = "clusterwright.commands"
RULES = "clusterwright.rules"
SYSTEMS = "clusterwright.systems"
INVENTORY_FORMATS = "clusterwright.inventory_formats"
GROUPS = (COMMANDS, RULES, SYSTEMS, INVENTORY_FORMATS)


@cache
def plugins(group: str) -> Mapping[str, metadata.EntryPoint]:
    """The entry points of a group by name, in the order of the names.

    Raises ClusterwrightError where two packages give one name to different things.
    """
    by_name: dict[str, metadata.EntryPoint] = {}
    for entry in sorted(_entry_points().select(group=group), key=lambda entry: (entry.name, entry.value)):
        other = by_name.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise ClusterwrightError(
                f'{package_of(other)} and {package_of(entry)} both install "{entry.name}" as one of {group}.'
                " Remove one of the packages."
            )
    return MappingProxyType(by_name)


def load_plugin(entry: metadata.EntryPoint, kind: type) -> Any:
    """What an entry point names. Raises ClusterwrightError where it cannot be imported or is not of ``kind``."""
    try:
        loaded = entry.load()
    except Exception as error:  # code of others: whatever it does wrong is one clear error
        raise unusable_plugin(entry, f"cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(loaded, kind):
        raise unusable_plugin(entry, f"is of the type {type(loaded).__name__}, not {kind.__name__}")
    return loaded


def package_of(entry: metadata.EntryPoint) -> str:
    """The package that installed an entry point, with its version."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "a package without a name"


@cache
def _entry_points() -> metadata.EntryPoints:
    """All of this environment: a scan of every package, which takes ten milliseconds."""
    return cast("metadata.EntryPoints", metadata.entry_points())


@cache
def plugin_packages() -> tuple[Path, ...]:
    """The folders of all packages with plugins of any group, in order."""
    return tuple(sorted({_folder_of(entry) for group in GROUPS for entry in plugins(group).values()}))


@cache
def plugin_folders(name: str) -> tuple[Path, ...]:
    """The folders ``name`` (``inventory``, ``templates``) of packages with switch systems."""
    packages = sorted({_folder_of(entry) for entry in plugins(SYSTEMS).values()})
    return tuple(package / name for package in packages if (package / name).is_dir())


def _folder_of(entry: metadata.EntryPoint) -> Path:
    package = entry.module.partition(".")[0]
    found = util.find_spec(package)
    if found is None or found.origin is None:
        raise unusable_plugin(entry, f"names the package {package}, which is not there")
    return Path(found.origin).parent


def unusable_plugin(entry: metadata.EntryPoint, why: str) -> ClusterwrightError:
    """The error that a plugin cannot be used; ``why`` is the sentence behind its name."""
    return ClusterwrightError(
        f'{package_of(entry)}: its "{entry.name}" ({entry.group}: {entry.value}) {why}. Update or remove the package.'
    )
