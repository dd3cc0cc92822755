"""The interface of targets, which carry files to devices.

A target gets the whole tree of each device and answers with the digest of its files afterwards. Order, batches and
failure budgets are the caller's decision.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from clusterwright.artifact import Artifact

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

DeviceTree = tuple[Artifact, ...]
"""All files of one device; files of an earlier tree missing in this one are removed."""


class Status(Enum):
    """Result of the attempt on one device."""

    APPLIED = "applied"  # something was changed, and the device holds the wanted state
    UNCHANGED = "unchanged"  # the device held the wanted state already
    FAILED = "failed"  # the device refused, and holds its previous configuration
    UNREACHABLE = "unreachable"  # nothing was tried
    UNKNOWN = "unknown"  # no trustworthy answer: read the device before anything else is done to it


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one device.

    ``changed`` names changed parts (in check mode: those that would change), sorted: paths without their leading slash,
    and repaired running state as ``sysctl:net.ipv4.ip_forward`` or ``nftables:running``. ``digest`` is ``tree_digest``
    of the device's files afterwards (in check mode: now), read back from it; "" if unknown. ``diff`` has the changed
    lines as text. ``notice`` is a warning about a success: another machine than the intended one did the work.
    """

    status: Status
    changed: tuple[str, ...] = ()
    message: str = ""
    digest: str = ""
    diff: str = ""
    notice: str = ""

    @property
    def ok(self) -> bool:
        """Whether the device is known to hold the wanted state."""
        return self.status in (Status.APPLIED, Status.UNCHANGED)


@dataclass(frozen=True, slots=True)
class Holding:
    """Files put on a device by a target: path without its leading slash -> SHA-256.

    An unmanaged device holds nothing: an empty mapping.
    """

    files: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The digest of the files, comparable with ``tree_digest``."""
        return holding_digest(self.files)


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A device that could not be read, with the reason."""

    message: str


class Target(Protocol):
    """Receives trees: a directory in place of the devices' flash, or the devices themselves over SSH."""

    def apply(self, batch: Mapping[str, DeviceTree], *, check: bool = False) -> Mapping[str, Outcome]:
        """Bring each device of ``batch`` (by name) to its tree; an empty tree removes all files of the target.

        Each device is changed as a whole or not at all. With ``check`` nothing is changed and the outcomes have the
        pending changes. Every device of ``batch`` has an outcome; a failure of one device does not affect another.
        Raises ClusterwrightError only if no device could be tried at all.
        """
        ...

    def rename(self, names: Mapping[str, str]) -> None:
        """Move the files of devices from their former name, the key, to their new one.

        Nothing is done for files kept by the device itself, nor without files under the old name. Raises
        ClusterwrightError.
        """
        ...

    def read(self, devices: Collection[str]) -> Mapping[str, Holding | Unreachable]:
        """Present files of each of ``devices``, all with an answer. Raises ClusterwrightError like ``apply``."""
        ...


def tree_digest(tree: DeviceTree) -> str:
    """SHA-256 over paths and contents of a tree, independent of the order of its files."""
    return holding_digest({artifact.path: artifact.sha256 for artifact in tree})


def holding_digest(files: Mapping[str, str]) -> str:
    """SHA-256 over sorted ``path NUL sha256 LF`` records."""
    text = "".join(f"{path}\0{sha256}\n" for path, sha256 in sorted(files.items()))
    return hashlib.sha256(text.encode()).hexdigest()
