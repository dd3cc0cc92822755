"""Vault's and OpenBao's transit engine over their HTTP API.

The token comes from the environment and goes into a header: never into a command line, an address or a message.
"""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from clusterwright.keys.kms import KmsError, WrappingKey

_TIMEOUT_S = 15


@dataclass(frozen=True, slots=True)
class TransitKms:
    """Implements ``Kms``. ``mount`` is where the engine is mounted, ``authority`` the PEM file that the server's
    certificate is checked with (None: the system's)."""

    address: str
    token: str = field(repr=False)
    mount: str = "transit"
    authority: Path | None = None

    def state(self, key: str) -> WrappingKey | None:
        """See ``Kms.state``."""
        found = self._ask("GET", f"keys/{quote(key)}", missing=True)
        if found is None:
            return None
        # What was not trimmed still exists, even where it no longer unwraps.
        return WrappingKey(int(found["latest_version"]), max(1, int(found["min_available_version"])))

    def create(self, key: str) -> None:
        """See ``Kms.create``."""
        self._ask("POST", f"keys/{quote(key)}", {"type": "aes256-gcm96", "exportable": False})

    def rotate(self, key: str) -> None:
        """See ``Kms.rotate``."""
        self._ask("POST", f"keys/{quote(key)}/rotate", {})

    def data_key(self, key: str) -> str:
        """See ``Kms.data_key``."""
        return str(self._answer("POST", f"datakey/wrapped/{quote(key)}", {"bits": 256})["ciphertext"])

    def rewrap(self, key: str, wrapped: str) -> str:
        """See ``Kms.rewrap``."""
        return str(self._answer("POST", f"rewrap/{quote(key)}", {"ciphertext": wrapped})["ciphertext"])

    def unwrap(self, key: str, wrapped: str) -> bytes:
        """See ``Kms.unwrap``."""
        return base64.b64decode(self._answer("POST", f"decrypt/{quote(key)}", {"ciphertext": wrapped})["plaintext"])

    def forget_before(self, key: str, version: int) -> None:
        """See ``Kms.forget_before``: nothing older is used, then nothing older unwraps, then nothing older exists.

        The engine trims only versions that are below both bounds, so that both are raised first.
        """
        bounds = {"min_encryption_version": version, "min_decryption_version": version}
        self._ask("POST", f"keys/{quote(key)}/config", bounds)
        self._ask("POST", f"keys/{quote(key)}/trim", {"min_available_version": version})

    def _answer(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        found = self._ask(method, path, body)
        if found is None:
            raise KmsError(f"{self.address}: no answer to {path}")
        return found

    def _ask(
        self, method: str, path: str, body: dict[str, Any] | None = None, *, missing: bool = False
    ) -> dict[str, Any] | None:
        if urlsplit(self.address).scheme not in ("http", "https"):
            raise KmsError(f"{self.address} is no address such as https://kms.example.net:8200")
        url = f"{self.address.rstrip('/')}/v1/{self.mount}/{path}"
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, content, {"X-Vault-Token": self.token}, method=method)  # noqa: S310 - scheme checked above
        context = ssl.create_default_context(cafile=self.authority) if url.startswith("https") else None
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=context) as reply:  # noqa: S310 - as above
                text = reply.read()
        except urllib.error.HTTPError as error:
            if missing and error.code == 404:
                return None
            raise KmsError(f"{self.address} refuses {path}: {_reason(error)}") from None
        except OSError as error:
            raise KmsError(f"{self.address} cannot be reached: {getattr(error, 'reason', error)}") from None
        try:
            data = json.loads(text).get("data") if text else None
        except ValueError:
            raise KmsError(f"{self.address} does not speak the transit API: {path} is answered by no JSON") from None
        return data if isinstance(data, dict) else None


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        told = json.loads(error.read())["errors"]
        return f"{error.code}, {'; '.join(told) or error.reason}"
    except (ValueError, KeyError, TypeError):
        return f"{error.code}, {error.reason}"
