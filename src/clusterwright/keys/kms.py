"""The interface of a key management service: wrapping keys that never leave it, and wrapped data keys.

Only ``unwrap`` returns a data key in clear; rotation does not call it, readers of the data do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from clusterwright.finding import ClusterwrightError

_WRAPPED = re.compile(r"vault:v([1-9][0-9]*):\S+")


class KmsError(ClusterwrightError):
    """The service refused, is not available, or no longer has the requested version."""


@dataclass(frozen=True, slots=True)
class WrappingKey:
    """The state of one wrapping key: its newest version, and the oldest that can still unwrap."""

    latest: int
    oldest: int


class Kms(Protocol):
    """Versioned wrapping keys. Every method raises KmsError."""

    def state(self, key: str) -> WrappingKey | None:
        """The key's state; None for an unknown key."""
        ...

    def create(self, key: str) -> None:
        """Make version 1 of a key; an existing key stays as it is."""
        ...

    def rotate(self, key: str) -> None:
        """Add a version and wrap with it from now on."""
        ...

    def data_key(self, key: str) -> str:
        """A new data key of 256 bits, wrapped under the newest version and never shown in clear."""
        ...

    def rewrap(self, key: str, wrapped: str) -> str:
        """The same data key, wrapped under the newest version."""
        ...

    def unwrap(self, key: str, wrapped: str) -> bytes:
        """A data key in clear, to encrypt or decrypt data."""
        ...

    def forget_before(self, key: str, version: int) -> None:
        """Destroy every version below ``version``: keys wrapped under them can't be unwrapped again."""
        ...


def version_of(wrapped: str) -> int:
    """The version of the wrapping key named in a wrapped key. Raises KmsError for any other text."""
    match = _WRAPPED.fullmatch(wrapped)
    if match is None:
        raise KmsError("a wrapped key does not read vault:vN:...; restore the ledger from a copy")
    return int(match[1])
