"""The files of a device tree: unpacking, comparing, replacing as a whole, and putting back what was there before.

Runs on the device, with nothing but Python's standard library.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import errno
import fcntl
import hashlib
import io
import json
import os
import stat
import tarfile
import tempfile
import time
from typing import Dict, Iterable, Iterator, Mapping, NamedTuple

STATE_FOLDER = "var/lib/clusterwright"
SCRATCH_PREFIX = ".clusterwright-"
LOCK_WAIT_S = 20


class Wanted(NamedTuple):
    """A file of the tree."""

    path: str
    mode: int
    content: bytes
    sha256: str


class Found(NamedTuple):
    """What lies on the device: ``kind`` is ``file``, or ``link`` with the link's target as ``content``."""

    kind: str
    mode: int
    uid: int
    gid: int
    content: bytes


class FileChange(NamedTuple):
    """A file to replace, to add (``before`` is None) or to remove (``after`` is None)."""

    path: str
    before: Found | None
    after: Wanted | None


WantedFiles = Mapping[str, Wanted]
Digests = Dict[str, str]


class Refused(Exception):
    """The tree cannot be applied; the text says why and, where there is a way, how to mend it."""


def unpack(payload: str) -> WantedFiles:
    """The wanted files by path, from base64 of a gzipped tar of plain files. Raises Refused for anything else."""
    try:
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(payload, validate=True)), mode="r:gz") as archive:
            members = [(member, archive.extractfile(member)) for member in archive.getmembers()]
            contents = [(member, stream.read() if stream else None) for member, stream in members]
    except (binascii.Error, tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise Refused(f"the tree did not arrive whole: {error}") from error
    wanted = {}
    for member, content in contents:
        parts = member.name.split("/")
        if content is None or not member.isreg() or any(part in ("", ".", "..") for part in parts):
            raise Refused(f"the tree holds {member.name!r}, which is not a plain file below the root")
        if member.name in wanted or member.name.startswith(STATE_FOLDER + "/"):
            raise Refused(f"the tree holds {member.name!r} twice, or over the record of what was deployed")
        wanted[member.name] = Wanted(member.name, member.mode & 0o7777, content, hashlib.sha256(content).hexdigest())
    return wanted


class Tree:
    """The files below ``root`` that belong to us, as the manifest on the device records them."""

    def __init__(self, root: str = "/") -> None:
        self.root = root
        self.state = os.path.join(root, STATE_FOLDER)
        self.manifest_path = os.path.join(self.state, "manifest.json")
        self._made_folders: list[str] = []

    def full(self, path: str) -> str:
        """Where ``path`` of the tree lies on this machine."""
        return os.path.join(self.root, path)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One deployment at a time on a device; raises Refused when another does not end within LOCK_WAIT_S."""
        os.makedirs(self.state, mode=0o700, exist_ok=True)
        with open(os.path.join(self.state, "lock"), "w") as lock:
            for _ in range(LOCK_WAIT_S * 2):
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError as error:
                    if error.errno not in (errno.EAGAIN, errno.EACCES):
                        raise
                    time.sleep(0.5)
            else:
                raise Refused(f"another deployment is at work on this device since more than {LOCK_WAIT_S} s")
            yield

    def managed(self) -> Digests:
        """Path -> SHA-256 of what was put here, from the manifest; nothing on a device never deployed to."""
        try:
            with open(self.manifest_path) as stream:
                files: Digests = json.load(stream)["files"]
                return files
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError) as error:
            raise Refused(
                f"{self.manifest_path} is damaged ({error}); remove it, and files that are no longer wanted stay"
            ) from error

    def record(self, files: Digests) -> None:
        """Write the manifest: ``files`` is path -> SHA-256."""
        text = json.dumps({"version": 1, "files": files}, indent=1, sort_keys=True) + "\n"
        self.write(self.manifest_path, text.encode(), 0o600)

    def find(self, path: str) -> Found | None:
        """What lies at ``path`` now, None where there is nothing. Raises Refused for folders and devices."""
        full = self.full(path)
        try:
            status = os.lstat(full)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISLNK(status.st_mode):
            return Found("link", 0o777, status.st_uid, status.st_gid, os.fsencode(os.readlink(full)))
        if not stat.S_ISREG(status.st_mode):
            raise Refused(f"/{path} is neither a file nor a link on this device; move it away")
        with open(full, "rb") as stream:
            return Found("file", stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, stream.read())

    def compare(self, wanted: WantedFiles) -> list[FileChange]:
        """The changes that make this device's files the wanted ones, in order of their paths."""
        changes = []
        for path in sorted(set(wanted) | set(self.managed())):
            before, after = self.find(path), wanted.get(path)
            if after is None:
                same = before is None
            else:
                same = (
                    before is not None and before[:4] == ("file", after.mode, 0, 0) and before.content == after.content
                )
            if not same:
                changes.append(FileChange(path, before, after))
        return changes

    def keep_previous(self, changes: Iterable[FileChange]) -> None:
        """Put what is about to be replaced into previous.tar.gz, for people: a failing run restores from memory."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for change in changes:
                if change.before is None:
                    continue
                member = tarfile.TarInfo(change.path)
                member.mode, member.uid, member.gid = change.before.mode, change.before.uid, change.before.gid
                if change.before.kind == "link":
                    member.type, member.linkname = tarfile.SYMTYPE, os.fsdecode(change.before.content)
                    archive.addfile(member)
                else:
                    member.size = len(change.before.content)
                    archive.addfile(member, io.BytesIO(change.before.content))
        self.write(os.path.join(self.state, "previous.tar.gz"), buffer.getvalue(), 0o600)

    def put(self, change: FileChange) -> None:
        """Carry out one change."""
        if change.after is not None:
            self.write(self.full(change.path), change.after.content, change.after.mode)
        elif change.before is not None:
            self._unlink(self.full(change.path))

    def put_back(self, change: FileChange) -> None:
        """Undo one change; also when it was carried out by half, or not at all."""
        full = self.full(change.path)
        if change.before is None:
            if os.path.lexists(full):
                self._unlink(full)
        elif change.before.kind == "link":
            if os.path.lexists(full):
                os.unlink(full)
            os.symlink(os.fsdecode(change.before.content), full)
        else:
            self.write(full, change.before.content, change.before.mode, change.before.uid, change.before.gid)

    def remove_made_folders(self) -> None:
        """Remove the folders that this run made, innermost first; those that are in use stay."""
        for folder in reversed(self._made_folders):
            with contextlib.suppress(OSError):
                os.rmdir(folder)

    def remove_scratch(self, paths: Iterable[str]) -> None:
        """Remove scratch files that a run killed in the middle left beside ``paths``."""
        for folder in sorted({os.path.dirname(self.full(path)) for path in paths} | {self.state}):
            if os.path.isdir(folder):
                for name in os.listdir(folder):
                    if name.startswith(SCRATCH_PREFIX):
                        os.unlink(os.path.join(folder, name))

    def write(self, full: str, content: bytes, mode: int, uid: int = 0, gid: int = 0) -> None:
        """Replace a file in one step: a reader, or a power cut, meets the old content or the new, never a part."""
        folder = os.path.dirname(full)
        self._make_folders(folder)
        descriptor, scratch = tempfile.mkstemp(prefix=SCRATCH_PREFIX, dir=folder)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
                os.fchown(stream.fileno(), uid, gid)
                os.fchmod(stream.fileno(), mode)
                stream.flush()
                os.fsync(stream.fileno())
            os.rename(scratch, full)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(scratch)
            raise
        _sync_folder(folder)

    def _make_folders(self, folder: str) -> None:
        missing = []
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for path in reversed(missing):
            os.mkdir(path, 0o755)
            self._made_folders.append(path)
            _sync_folder(os.path.dirname(path))

    @staticmethod
    def _unlink(full: str) -> None:
        os.unlink(full)
        _sync_folder(os.path.dirname(full))

    def read_back(self, paths: Iterable[str]) -> Digests:
        """Path -> SHA-256 of the plain files among ``paths`` as they lie on the device now."""
        held = {}
        for path in sorted(paths):
            found = self.find(path)
            if found is not None and found.kind == "file":
                held[path] = hashlib.sha256(found.content).hexdigest()
        return held


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
