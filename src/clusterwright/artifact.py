"""Artifacts: the files that devices get, as bytes with a digest.

This is the whole interface between rendering and everything after it. A deployer needs no plan and no template, only a
folder with a ``manifest.json`` and the files it lists.
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
    ``source`` is the content, or what makes its text, always the same, when somebody asks: who keeps a cluster's long
    texts keeps a tenth of their length so.
    """

    device: str
    path: str
    source: bytes | Callable[[], str]
    kind: str
    mode: int = 0o644
    _known: str = field(default="", init=False, repr=False)

    @property
    def content(self) -> bytes:
        """The file's bytes, made when they are first asked for."""
        source = self.source
        if not isinstance(source, bytes):
            source = source().encode()
            object.__setattr__(self, "source", source)
        return source

    def __eq__(self, other: object) -> bool:
        """Compared by content, also after its hash was computed."""
        return self._compared() == other._compared() if isinstance(other, Artifact) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[str, str, bytes, str, int]:
        return self.device, self.path, self.content, self.kind, self.mode

    @property
    def sha256(self) -> str:
        """The digest of the content in hexadecimal, computed when it is first asked for: proofs never do."""
        if not self._known:
            digest = _digest if len(self.content) <= _SMALL else _digest.__wrapped__
            object.__setattr__(self, "_known", digest(self.content))
        return self._known


_SMALL = 8192
"""Bytes of the files that many devices share. A greater one is a device's own: to look it up would cost what a digest
costs."""


@lru_cache(maxsize=256)
def _digest(content: bytes) -> str:
    """Remembered for the content that many devices share, which then is one object that knows its hash."""
    return hashlib.sha256(content).hexdigest()
