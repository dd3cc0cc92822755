"""The embedded service: wrapping keys in one file, each encrypted under a root key in another.

AES-256-GCM with the key's name and version as associated data. Destroying a version draws a new root key and encrypts
the rest under it, so that an old copy of the store needs a root key that no longer exists. Keep the root key file on
another medium than the store; a store on a file system cannot prevent copies of both.
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from clusterwright.durable import replace
from clusterwright.keys.kms import KmsError, WrappingKey, version_of

_KEY_BYTES = 32
_NONCE_BYTES = 12


class FileKms:
    """Implements ``Kms`` over the files ``store`` and ``root``; both are made on first use."""

    def __init__(self, store: Path, root: Path) -> None:
        self._store = store
        self._root = root
        self._keys: dict[str, dict[str, Any]] = {}
        self._open()

    def state(self, key: str) -> WrappingKey | None:
        """See ``Kms.state``."""
        entry = self._keys.get(key)
        if entry is None:
            return None
        versions = [int(version) for version in entry["versions"]]
        return WrappingKey(max(versions), min(versions))

    def create(self, key: str) -> None:
        """See ``Kms.create``."""
        if key not in self._keys:
            self._keys[key] = {"versions": {"1": os.urandom(_KEY_BYTES)}}
            self._write()

    def rotate(self, key: str) -> None:
        """See ``Kms.rotate``."""
        latest = self._existing(key).latest
        self._keys[key]["versions"][str(latest + 1)] = os.urandom(_KEY_BYTES)
        self._write()

    def data_key(self, key: str) -> str:
        """See ``Kms.data_key``."""
        return self._wrap(key, os.urandom(_KEY_BYTES))

    def rewrap(self, key: str, wrapped: str) -> str:
        """See ``Kms.rewrap``."""
        return self._wrap(key, self.unwrap(key, wrapped))

    def unwrap(self, key: str, wrapped: str) -> bytes:
        """See ``Kms.unwrap``."""
        self._existing(key)
        version = version_of(wrapped)
        material = self._keys[key]["versions"].get(str(version))
        if material is None:
            raise KmsError(f"version {version} of {key} was destroyed; what it wrapped cannot be read again")
        try:
            return _unseal(material, base64.b64decode(wrapped.split(":", 2)[2]), f"{key}:{version}")
        except (InvalidTag, ValueError):
            raise KmsError(f"this was not wrapped by version {version} of {key}, or it was changed since") from None

    def forget_before(self, key: str, version: int) -> None:
        """See ``Kms.forget_before``."""
        if version > self._existing(key).latest:
            raise KmsError(f"{key} has no version {version}; nothing was destroyed")
        kept = {number: material for number, material in self._keys[key]["versions"].items() if int(number) >= version}
        if len(kept) < len(self._keys[key]["versions"]):
            self._keys[key]["versions"] = kept
            self._write_under_new_root()

    def _existing(self, key: str) -> WrappingKey:
        """The state of a key. Raises KmsError for an unknown one."""
        state = self.state(key)
        if state is None:
            raise KmsError(f"the store {self._store} has no key {key}; run `clusterwright keys rotate` first")
        return state

    def _wrap(self, key: str, material: bytes) -> str:
        version = self._existing(key).latest
        sealed = _seal(self._keys[key]["versions"][str(version)], material, f"{key}:{version}")
        return f"vault:v{version}:{base64.b64encode(sealed).decode()}"

    def _open(self) -> None:
        """Read both files, and remove a former root key left by a crash."""
        if not self._store.exists():
            self._roots = {"1": os.urandom(_KEY_BYTES)}
            self._current = "1"
            if self._root.exists():
                self._roots = self._read_roots()
                self._current = max(self._roots, key=int)
            self._write_roots()
            self._write()
            return
        self._roots = self._read_roots()
        try:
            document = json.loads(self._store.read_bytes())
            self._current = document["root"]
            root = self._roots[self._current]
            for key, sealed_versions in document["keys"].items():
                versions = {}
                for version, sealed in sealed_versions.items():
                    versions[version] = _unseal(root, base64.b64decode(sealed), f"{key}:{version}")
                self._keys[key] = {"versions": versions}
        except OSError as error:
            raise KmsError(f"{self._store}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError, InvalidTag):
            raise KmsError(f"{self._store} is damaged, or {self._root} is another store's root key") from None
        if self._roots.keys() != {self._current}:
            self._roots = {self._current: root}
            self._write_roots()

    def _read_roots(self) -> dict[str, bytes]:
        try:
            return {name: base64.b64decode(text) for name, text in json.loads(self._root.read_bytes()).items()}
        except OSError as error:
            raise KmsError(f"{self._root}: {error.strerror}; without its root key the store cannot be read") from error
        except (ValueError, AttributeError):
            raise KmsError(f"{self._root} is no root key file; restore it") from None

    def _write(self) -> None:
        root = self._roots[self._current]
        document: dict[str, dict[str, str]] = {}
        for key, entry in self._keys.items():
            document[key] = {}
            for version, material in entry["versions"].items():
                sealed = _seal(root, material, f"{key}:{version}")
                document[key][version] = base64.b64encode(sealed).decode()
        replace(self._store, json.dumps({"root": self._current, "keys": document}, indent=1).encode())

    def _write_roots(self) -> None:
        text = {name: base64.b64encode(material).decode() for name, material in self._roots.items()}
        replace(self._root, json.dumps(text).encode())

    def _write_under_new_root(self) -> None:
        """Encrypt the store under a new root key.

        Both root keys exist until the store is written: a crash in between leaves a readable store."""
        old_root, self._current = self._current, str(int(self._current) + 1)
        self._roots[self._current] = os.urandom(_KEY_BYTES)
        self._write_roots()
        self._write()
        del self._roots[old_root]
        self._write_roots()


def _seal(key: bytes, material: bytes, bound_to: str) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, material, bound_to.encode())


def _unseal(key: bytes, sealed: bytes, bound_to: str) -> bytes:
    return AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], bound_to.encode())
