"""Plugins: additions of other installed packages and of this one's extras, discovered by their entry points.

``clusterwright.commands`` are click commands, ``clusterwright.rules`` modules with lint rules,
``clusterwright.systems`` switch systems, ``clusterwright.inventory_formats`` functions that list a cluster. A package
with systems carries their capabilities, models and templates in its own folders ``inventory/`` and ``templates/``,
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
    """The entry points of a group by name, in the order of the names. A name of this package cannot be overridden.

    Raises ClusterwrightError if two other packages give one name to different things.
    """
    by_name: dict[str, metadata.EntryPoint] = {}
    for entry in sorted(_entry_points().select(group=group), key=_own_first):
        other = by_name.setdefault(entry.name, entry)
        if other.value != entry.value and not is_extra(other):
            raise ClusterwrightError(
                f'{package_of(other)} and {package_of(entry)} both install "{entry.name}" as one of {group}.'
                " Remove one of the packages."
            )
    return MappingProxyType(by_name)


def is_extra(entry: metadata.EntryPoint) -> bool:
    """True for an entry point of this package."""
    return _package_name(entry) == __name__.partition(".")[0]


def _own_first(entry: metadata.EntryPoint) -> tuple[str, bool, str]:
    return entry.name, not is_extra(entry), entry.value


def _package_name(entry: metadata.EntryPoint) -> str:
    """The top package of an entry point's module."""
    return entry.module.partition(".")[0]


def load_plugin(entry: metadata.EntryPoint, kind: type) -> Any:
    """Load the object of an entry point. Raises ClusterwrightError if the import fails or the type is not ``kind``."""
    try:
        loaded = entry.load()
    except Exception as error:  # code of others: any failure becomes one clear error
        raise unusable_plugin(entry, f"cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(loaded, kind):
        raise unusable_plugin(entry, f"is of the type {type(loaded).__name__}, not {kind.__name__}")
    return loaded


def package_of(entry: metadata.EntryPoint) -> str:
    """The package of an entry point, with its version."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "a package without a name"


@cache
def _entry_points() -> metadata.EntryPoints:
    """All entry points of this environment: a scan of every package, which takes ten milliseconds."""
    return cast("metadata.EntryPoints", metadata.entry_points())


@cache
def plugin_packages() -> tuple[Path, ...]:
    """The folders of all other packages with plugins of any group, in order."""
    folders: set[Path] = set()
    for group in GROUPS:
        for entry in plugins(group).values():
            if not is_extra(entry):
                folders.add(_folder_of(entry))
    return tuple(sorted(folders))


def plugin_folders(name: str) -> tuple[Path, ...]:
    """The folders ``name`` (``inventory``, ``templates``) of packages with switch systems."""
    packages = sorted({_folder_of(entry) for entry in plugins(SYSTEMS).values()})
    return tuple(package / name for package in packages if (package / name).is_dir())


def _folder_of(entry: metadata.EntryPoint) -> Path:
    package = _package_name(entry)
    module = util.find_spec(package)
    if module is None or module.origin is None:
        raise unusable_plugin(entry, f"names the package {package}, which is not there")
    return Path(module.origin).parent


def unusable_plugin(entry: metadata.EntryPoint, why: str) -> ClusterwrightError:
    """The error of an unusable plugin; ``why`` follows its name in the sentence."""
    return ClusterwrightError(
        f'{package_of(entry)}: its "{entry.name}" ({entry.group}: {entry.value}) {why}. Update or remove the package.'
    )
