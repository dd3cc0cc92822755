"""The files for ``lint`` to check: the files named, and the specs in the folders named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from clusterwright.finding import ClusterwrightError
from clusterwright.rules.settings import ProjectSettings
from clusterwright.spec.text.boundary import obstacle

# The top-level keys of a file of ours. `version: 3.8` belongs to another program.
_VERSION = re.compile(r"^[\"']?version[\"']?\s*:\s*[\"']?\d*[\"']?\s*(?:#.*)?$", re.MULTILINE)
_NAME = re.compile(r"^[\"']?name[\"']?\s*:", re.MULTILINE)
_EXTENDS = re.compile(r"^[\"']?extends[\"']?\s*:\s*[^\[{\s]", re.MULTILINE)
_KIND = re.compile(
    r"^[\"']?kind[\"']?\s*:\s*[\"']?(?:hardware|system|platforms|distribution|accelerator|secrets)\b", re.MULTILINE
)
_FLOW = re.compile(r"\A(?:\s*(?:#.*)?\n)*\s*\{")
# Folders of ours, whatever the content of their files.
_CATALOGUES = frozenset({"hardware", "systems", "distributions", "accelerators"})
_INSTALLED = frozenset({"site-packages", "node_modules"})
_ALLOCATED = ".allocated.yaml"
_MOST_READ = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SpecFiles:
    """The files to check, in order, each once; and the skipped YAML files of folders."""

    files: tuple[str, ...]
    skipped: tuple[str, ...]


def spec_files(paths: tuple[str, ...], settings: ProjectSettings) -> SpecFiles:
    """The files of ``paths``; without any those of the project's settings, of ./inventory, or else of this folder.

    Raises ClusterwrightError for a path without any.
    """
    named = paths or _without_being_told(settings)
    files: dict[str, None] = {}
    skipped: dict[str, None] = {}
    for path in named:
        try:
            os.lstat(path)
        except PermissionError as error:
            raise ClusterwrightError(f"{path}: {error.strerror}. Check its permissions and its folder's.") from error
        except (OSError, ValueError):
            raise ClusterwrightError(f"{path}: there is no such file or folder. Check the path.") from None
        if not Path(path).is_dir():
            files[path] = None
            continue
        inside = list(_yaml_below(Path(path), settings))
        ours = [file for file in inside if _is_ours(file)]
        if not inside:
            raise ClusterwrightError(
                f"{path}: there is no *.yaml file in this folder. Name one that has specs; `clusterwright init` writes"
                " a first spec."
            )
        if not ours:
            raise ClusterwrightError(
                f"{path}: none of the {len(inside)} YAML files in this folder is a spec, which says `version:` and"
                " `name:`. Name a file to have it checked all the same; `clusterwright init` writes a first spec."
            )
        files.update((str(file), None) for file in ours)
        skipped.update((str(file), None) for file in inside if file not in set(ours))
    return SpecFiles(tuple(files), tuple(file for file in skipped if file not in files))


def _without_being_told(settings: ProjectSettings) -> Iterable[str]:
    if settings.paths:
        return [os.path.relpath(settings.folder / path) for path in settings.paths]
    return ["inventory" if Path("inventory").is_dir() else "."]


def _yaml_below(folder: Path, settings: ProjectSettings) -> Iterator[Path]:
    """The *.yaml and *.yml files below ``folder`` in order, without hidden, installed and excluded ones."""
    for here, folders, names in os.walk(folder):
        place = Path(here)
        folders[:] = sorted(name for name in folders if _is_searched(place / name, settings))
        for name in sorted(names):
            file = place / name
            if name.endswith((".yaml", ".yml")) and not name.startswith(".") and not _is_excluded(file, settings):
                yield file


def _is_searched(folder: Path, settings: ProjectSettings) -> bool:
    """False for hidden, installed and excluded folders."""
    if folder.name.startswith(".") or folder.name in _INSTALLED:
        return False
    return not _is_excluded(folder, settings)


def _is_excluded(path: Path, settings: ProjectSettings) -> bool:
    """True if a pattern of the settings covers ``path`` or a folder above it; one without / covers any name."""
    if not settings.exclude:
        return False
    relative = os.path.relpath(path.absolute(), settings.folder)
    return any(_matches(pattern, relative, path.name) for pattern in settings.exclude)


def _matches(pattern: str, relative: str, name: str) -> bool:
    if fnmatch(relative, pattern.rstrip("/")) or fnmatch(relative, pattern.removesuffix("/**")):
        return True
    return "/" not in pattern and fnmatch(name, pattern)


def _is_ours(file: Path) -> bool:
    """True for a spec, a catalogue, an allocation, and an unreadable file: lint reports it."""
    if file.name.endswith(_ALLOCATED) or file.parent.name in _CATALOGUES:
        return True
    if not file.is_file() or obstacle(file) is not None:
        return True
    try:
        with file.open("rb") as stream:
            text = stream.read(_MOST_READ).decode("utf-8", "replace").removeprefix("\ufeff").replace("\r", "")
    except OSError:
        return True
    if _FLOW.match(text):
        return all(re.search(rf"[\"']?{key}[\"']?\s*:", text) for key in ("version", "name"))
    return bool((_VERSION.search(text) and _NAME.search(text)) or _EXTENDS.search(text) or _KIND.search(text))
