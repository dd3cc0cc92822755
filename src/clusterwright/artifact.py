"""Artifacts: rendered files of devices, as bytes with a digest.

This is the whole interface between rendering and the later stages. A deployer needs no plan and no template, only a
folder with a ``manifest.json`` and the files listed in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache


@dataclass(frozen=True, eq=False, slots=True)
class Artifact:
    """One file for one device.

    ``path`` is the absolute path on the device without its leading slash (``etc/sysctl.d/90-clusterwright.conf``),
    ``mode`` its permission bits, ``kind`` the renderer's name (``eos``, ``fboss``, ``opensm``, ``nftables``, ...).
    ``source`` is the content, or a function that returns its text, the same one at every call: kept as functions, the
    long texts of a cluster take a tenth of their memory.
    """

    device: str
    path: str
    source: bytes | Callable[[], str]
    kind: str
    mode: int = 0o644
    _sha256: str = field(default="", init=False, repr=False)

    @property
    def content(self) -> bytes:
        """The file's bytes, made at the first access."""
        source = self.source
        if not isinstance(source, bytes):
            source = source().encode()
            object.__setattr__(self, "source", source)
        return source

    def __eq__(self, other: object) -> bool:
        """Compare by content, also after the hash was computed."""
        if not isinstance(other, Artifact):
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[str, str, bytes, str, int]:
        return self.device, self.path, self.content, self.kind, self.mode

    @property
    def sha256(self) -> str:
        """The digest of the content in hexadecimal, computed at the first access: proofs never need it."""
        if not self._sha256:
            digest = _digest if len(self.content) <= _SMALL else _digest.__wrapped__
            object.__setattr__(self, "_sha256", digest(self.content))
        return self._sha256


_SMALL = 8192
"""Largest size in bytes of files shared by many devices. A larger file is unique to a device, and its lookup in the
cache would cost as much as its digest."""


@lru_cache(maxsize=256)
def _digest(content: bytes) -> str:
    """Cached for content shared by many devices: such content is one object with a cached hash."""
    return hashlib.sha256(content).hexdigest()
