"""Cache of renderings of a stack, valid while none of their inputs has changed.

A note under the deployment's folder has the manifest with all of its inputs: each file of the spec, this installation
byte for byte, the versions of Python and of the libraries, the target and its access file, and the files with the
versions of its secrets. All of them are compared by SHA-256 before a note is used, and every object of the manifest has
to be in the store. A truncated, damaged or different note counts as none: then the stack is rendered.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from io import FileIO
from operator import attrgetter
from pathlib import Path

from clusterwright import data_files, durable
from clusterwright.deploy.pulumi.manifest import Manifest, load_manifest
from clusterwright.deploy.store import MissingObject, Store
from clusterwright.deploy.targets import TargetSettings
from clusterwright.plugins import plugin_packages

ReadFiles = Mapping[Path, frozenset[str]]
"""The files of a spec, each with the SHA-256 of every reading."""

_FORM = 2  # of a note
_PACKAGE = Path(data_files.__file__).parent
_FOLDERS = (
    "templates",
    "roles",
    "inventory/hardware",
    "inventory/schema",
    "inventory/systems",
    "inventory/distributions",
    "inventory/accelerators",
    "inventory/nccl",
)


@dataclass(frozen=True, slots=True)
class TargetLayer:
    """A layer of a spec on a target: the subject of a note."""

    spec: Path
    layer: str
    target: TargetSettings

    @property
    def note(self) -> Path:
        """Path of the note."""
        key = f"{self.spec.resolve()}\0{self.layer}\0{self.target.name}"
        return self.target.root / "manifests" / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


def installation_digest() -> str:
    """SHA-256 of the package, its data files, plugins, Python, and the versions of its required libraries."""
    whole = hashlib.sha256(sys.version.encode())
    for folder in filter(Path.is_dir, (_PACKAGE, *map(_data_folder, _FOLDERS), *plugin_packages())):
        for place, content in _files_below(str(folder), folder.name):
            whole.update(f"{place}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    for name, version in sorted(_libraries()):
        whole.update(f"{name}=={version}\n".encode())
    return whole.hexdigest()


def is_of_installation(path: Path) -> bool:
    """Whether ``path`` is a file of the program itself; shipped specs are not."""
    return any(path.is_relative_to(_data_folder(name)) for name in _FOLDERS)


def recall(
    question: TargetLayer, read: ReadFiles | None = None, installation: Callable[[], str] = installation_digest
) -> Manifest | None:
    """The cached manifest of a stack; None if it has to be rendered.

    ``read`` are the files of the spec as read by this process; they count in place of the files' present contents. For
    many stacks, ``installation`` computes the digest once for all of them.
    """
    try:
        recorded = json.loads(question.note.read_bytes())
        content = recorded["note"]
        if recorded["sha256"] != _digest_of(content) or content["ingredients"] != _ingredients(question, installation):
            return None
        files: Mapping[str, str] = content["files"]
        now = _as_noted(read) if read is not None else {name: _present_digest(Path(name)) for name in files}
        secrets: Mapping[str, str] = content["secrets"]
        if now != files or {name: _present_digest(Path(name)) for name in secrets} != secrets:
            return None
        store = Store(question.target.root / "objects")
        manifest = load_manifest(store, content["manifest"])
        is_whole = manifest.layer == question.layer and not store.lacks(_objects(store, manifest))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, MissingObject):
        return None
    return manifest if is_whole else None


def remember(
    question: TargetLayer,
    read: ReadFiles,
    manifest: Manifest,
    installation: Callable[[], str] = installation_digest,
) -> None:
    """Note the rendering of a stack from the files ``read``; ``installation`` as in ``recall``.

    Nothing is noted if a file changed meanwhile. Raises ClusterwrightError if the note cannot be written.
    """
    files = _as_noted(read)
    if not files:
        return
    content = {
        "ingredients": _ingredients(question, installation),
        "files": files,
        "secrets": {str(path): digest for path, digest in question.target.secret_version_files().items()},
        "manifest": manifest.digest,
    }
    question.note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    durable.replace(question.note, json.dumps({"note": content, "sha256": _digest_of(content)}).encode())


def _files_below(folder: str, place: str) -> Iterator[tuple[str, bytes]]:
    """Contents of all files below ``place``, in one order."""
    for entry in sorted(os.scandir(folder), key=attrgetter("name")):
        here = f"{place}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            if entry.name != "__pycache__":
                yield from _files_below(entry.path, here)
        elif entry.is_file():
            with FileIO(entry.path) as stream:
                yield here, stream.readall()


def _as_noted(read: ReadFiles) -> dict[str, str]:
    """Digests by name; empty if a file changed between two readings.

    The installation's own files are skipped: they count as a whole, and a process reads them only once.
    """
    if any(len(digests) != 1 for digests in read.values()):
        return {}
    noted: dict[str, str] = {}
    for path, digests in read.items():
        if not is_of_installation(path):
            noted[str(path)] = next(iter(digests))
    return noted


def _ingredients(question: TargetLayer, installation: Callable[[], str]) -> dict[str, object]:
    access, secrets = question.target.access, question.target.secrets
    return {
        "form": _FORM,
        "spec": str(question.spec.resolve()),
        "layer": question.layer,
        "target": question.target.name,
        "access": _file_digest(access) if access else "",
        "secrets": str(secrets.resolve()) if secrets and secrets.resolve() != question.spec.resolve() else "",
        "installation": installation(),
    }


def _data_folder(name: str) -> Path:
    top, _, below = name.partition("/")
    return data_files.folder(top) / below


_OWN = ("clusterwright", "clusterwright-core")  # the distributions of this program
_OF_ALL = ("extra == 'full'", 'extra == "full"')  # the requirements of deployments


def _libraries() -> Iterator[tuple[str, str]]:
    for distribution in _OWN:
        try:
            requirements = metadata.requires(distribution) or ()
        except metadata.PackageNotFoundError:
            continue
        for requirement in requirements:
            if "extra ==" in requirement and not requirement.endswith(_OF_ALL):
                continue
            name = re.split(r"[;\[ <>=!~(]", requirement, maxsplit=1)[0]
            if name not in _OWN:
                yield name, metadata.version(name)


def _objects(store: Store, manifest: Manifest) -> set[str]:
    """Digests of all objects of a manifest. Raises MissingObject."""
    digests: set[str] = set()
    for tree in set(manifest.trees.values()):
        digests.update(file["sha256"] for file in json.loads(store.get(tree)))
    for pods in manifest.downlinks.values():
        digests.update(downlink.rpartition(", ")[2] for downlink in pods.values())
    return digests


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _present_digest(path: Path) -> str:
    """The digest of a file; "" without a file."""
    return _file_digest(path) if path.exists() else ""


def _digest_of(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
