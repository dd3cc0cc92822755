"""Writing artifacts as a folder: ``DIR/<device>/<path on the device>`` and ``DIR/manifest.json``.

Common files are written once, as ``DIR/image/<node group>/<path on the device>`` or, for switches, as
``DIR/switch/<system>/<path on the device>``; the manifest lists the devices of each image.

Everything is written into a sibling of DIR, and takes DIR's place in one rename at the end: at any moment DIR is either
the old tree or the new one.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import stat
from collections import Counter
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from clusterwright.durable import took_lock
from clusterwright.finding import ClusterwrightError
from clusterwright.output.forked import fan_out
from clusterwright.output.rendering import FOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clusterwright.artifact import Artifact

MANIFEST = "manifest.json"
MANIFEST_VERSION = 2

_quote = lru_cache(maxsize=4096)(json.JSONEncoder().encode)
_MANY_DEVICES = 256
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


class TreeError(ClusterwrightError):
    """The folder cannot be written."""


class Written(NamedTuple):
    """Files written for one device or image: its ``lines`` of the manifest by path, number of files and bytes."""

    device: str
    lines: str
    files: int
    size_bytes: int


def write_tree(artifacts: Iterable[Artifact], out: Path, cluster: str) -> tuple[Written, ...]:
    """Write artifacts to the folder ``out``, in place of an earlier run's tree.

    Raises TreeError if ``out`` holds other files, or if writing fails; ``out`` is then unchanged.
    """
    with replacing(out, cluster) as aside:
        written = sorted(write_artifacts(artifacts, aside, out))
        write_manifest(written, aside, cluster)
    return tuple(written)


def write_artifacts(artifacts: Iterable[Artifact], folder: Path, earlier: Path) -> list[Written]:
    """Write files below ``folder``, each once and with its mode; returns a record for each device.

    Raises OSError, and TreeError for an unsafe name. Files of equal content and mode share one inode: two thirds of a
    cluster's files are equal to another's, and creating a file costs many times as much as a link. An unchanged file of
    the ``earlier`` tree shares its inode too: ext4 does not reuse an inode for minutes after its file is removed and
    checks each one it skips, so a third render took twice as long as the first.
    """
    existing_folders = {str(folder)}
    has_earlier = (earlier / MANIFEST).is_file()
    written: dict[tuple[str, int], str] = {}
    lines: dict[str, list[tuple[str, str]]] = {}
    sizes: Counter[str] = Counter()
    umask = _umask()
    for artifact in artifacts:
        _refuse_unsafe(artifact)
        directory, _, name = f"{folder}/{artifact.device}/{artifact.path}".rpartition("/")
        _make_folder(directory, existing_folders)
        path = f"{directory}/{name}"
        same = written.get((artifact.sha256, artifact.mode))
        if same is None and has_earlier:
            same = _unchanged(f"{earlier}/{artifact.device}/{artifact.path}", artifact)
        if same is None or not _linked(same, path):
            _write_file(path, artifact, umask)
            same = path
        written[artifact.sha256, artifact.mode] = same
        lines.setdefault(artifact.device, []).append((artifact.path, _line(artifact)))
        sizes[artifact.device] += len(artifact.content)
    records = []
    for device, entries in lines.items():
        text = ",\n".join(line for _, line in sorted(entries))
        records.append(Written(device=device, lines=text, files=len(entries), size_bytes=sizes[device]))
    return records


def write_manifest(
    written: Iterable[Written], folder: Path, cluster: str, groups: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Write ``manifest.json``: the cluster's name, one line for each file, devices in the given order.

    ``groups`` has, by the folder of an image, the devices with its files.
    """
    rows = ",\n".join(device.lines for device in written)
    artifacts = f"[\n{rows}\n  ]" if rows else "[]"
    images = json.dumps({image: [*members] for image, members in (groups or {}).items()})
    text = (
        f'{{\n  "version": {MANIFEST_VERSION},\n  "cluster": {_quote(cluster)},\n'
        f'  "groups": {images},\n  "artifacts": {artifacts}\n}}\n'
    )
    (folder / MANIFEST).write_bytes(text.encode())


def _line(artifact: Artifact) -> str:
    """An artifact as a JSON object on one line."""
    return (
        f'    {{"device": {_quote(artifact.device)}, "path": {_quote(artifact.path)}, "kind": {_quote(artifact.kind)}, '
        f'"mode": "{artifact.mode:04o}", "sha256": "{artifact.sha256}", "size": {len(artifact.content)}}}'
    )


@contextmanager
def replacing(out: Path, cluster: str) -> Iterator[Path]:
    """A new, empty folder beside ``out`` that replaces it when the block succeeds, and is removed otherwise.

    Raises TreeError if ``out`` is not a tree of this program, or one of another ``cluster``, if another run is writing
    it, or if writing fails.
    """
    try:
        out = out.resolve()
        _refuse_foreign(out, cluster)
        aside = out.with_name(f".{out.name}.part")
        aside.mkdir(parents=True, exist_ok=True)
        lock = os.open(
            aside, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        )  # its content is removed: never follow a link
    except OSError as error:
        raise _cannot_write(out, error) from error
    try:
        _claim(lock, aside, out)
        try:
            yield aside
            _take_place(aside, out)
        finally:
            _remove(aside)
    except OSError as error:
        raise _cannot_write(out, error) from error
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a replaced tree as far as possible, on every processor, because it takes as long as writing."""
    if not folder.is_dir():  # there was no earlier tree
        return
    devices = [entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    if len(devices) >= _MANY_DEVICES:
        count = len(os.sched_getaffinity(0))
        with suppress(ClusterwrightError):
            fan_out(_remove_all, [devices[start::count] for start in range(count)])
    shutil.rmtree(folder, ignore_errors=True)


def _remove_all(folders: Sequence[str]) -> list[None]:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return []


def _make_folder(path: str, existing: set[str]) -> None:
    """Create a folder and its parents, up to a folder in ``existing``; one system call for each new folder."""
    if path in existing:
        return
    _make_folder(path.rpartition("/")[0], existing)
    os.mkdir(path)  # noqa: PTH102 - a cluster has 41,000 folders, and a Path costs half as much as the folder
    existing.add(path)


def _unchanged(path: str, artifact: Artifact) -> str | None:
    """``path`` if its file is ours and has the artifact's mode and content."""
    size = len(artifact.content)
    try:
        # Never follow a link, and never wait for the other end of a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        attributes = (status.st_mode, status.st_uid, status.st_size)
        if attributes != (stat.S_IFREG | artifact.mode, os.geteuid(), size):
            return None
        return path if os.read(descriptor, size + 1) == artifact.content else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _linked(first: str, path: str) -> bool:
    """Make ``path`` another name of ``first``; False if the file system supports no links, or no more of them."""
    try:
        os.link(first, path)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True


def _write_file(path: str, artifact: Artifact, umask: int) -> None:
    """Create one file with the artifact's mode, regardless of the umask."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, artifact.mode)
    try:
        if artifact.mode & umask:
            os.fchmod(descriptor, artifact.mode)
        written = os.write(descriptor, artifact.content)
        while written < len(artifact.content):
            written += os.write(descriptor, artifact.content[written:])
    finally:
        os.close(descriptor)


def _umask() -> int:
    """The process's umask; the system call for it sets it as well."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _cannot_write(out: Path, error: OSError) -> TreeError:
    return TreeError(f"{out}: cannot be written: {error.strerror or error}. Name another folder, or fix the cause.")


def _refuse_unsafe(artifact: Artifact) -> None:
    folder, _, owner = artifact.device.rpartition("/")
    is_apart = folder in FOLDERS if folder else owner not in FOLDERS
    if not (is_apart and _is_inside(owner) and _is_inside(artifact.path)):
        raise TreeError(f"{artifact.device}: {artifact.path!r} would be written outside the device's folder")


@lru_cache(maxsize=4096)
def _is_inside(path: str) -> bool:
    """True for a path that stays below its start. Cached: devices of a kind have the same paths."""
    return not any(part in {"", ".", ".."} for part in path.split("/"))


def _refuse_foreign(out: Path, cluster: str) -> None:
    """Raises TreeError for a folder of another program or of another cluster."""
    if not out.exists():
        return
    if not out.is_dir():
        raise TreeError(f"{out}: there is a file of this name. Name a folder.")
    if not any(out.iterdir()):
        return
    try:
        manifest = json.loads((out / MANIFEST).read_bytes())
        is_ours = 1 <= manifest["version"] <= MANIFEST_VERSION and isinstance(manifest["artifacts"], list)
        written_cluster = manifest["cluster"]
    except (OSError, ValueError, KeyError, TypeError):
        is_ours, written_cluster = False, ""
    if not is_ours:
        raise TreeError(f"{out}: the folder holds files of another origin (no {MANIFEST} of ours). Name an empty one.")
    if written_cluster != cluster:
        raise TreeError(
            f"{out}: the folder holds what was rendered of {written_cluster}. Name another, or remove it before."
        )


def _claim(lock: int, aside: Path, out: Path) -> None:
    """Lock ``aside`` for this run, and remove the files of a killed run."""
    if not took_lock(lock):
        raise TreeError(f"{out}: another run is writing this folder. Wait for it, or name another.")
    for entry in aside.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _take_place(aside: Path, out: Path) -> None:
    """Swap the two folders in one step; ``aside`` then holds the old tree, if there was one."""
    if out.exists() and any(out.iterdir()):
        _exchange(aside, out)
    else:
        aside.rename(out)


def _exchange(first: Path, second: Path) -> None:
    """Exchange two folders by renameat2(2), or by two renames on a file system without RENAME_EXCHANGE."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        return
    code = ctypes.get_errno()
    if code not in {errno.EINVAL, errno.ENOSYS}:
        raise OSError(code, os.strerror(code), str(second))
    old = second.with_name(f".{second.name}.old")
    second.rename(old)
    try:
        first.rename(second)
    except OSError:
        old.rename(second)
        raise
    old.rename(first)
