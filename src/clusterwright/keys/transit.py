"""Vault's and OpenBao's transit engine over their HTTP API.

The token comes from the environment and goes into a header: never into a command line, an address or a message.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from clusterwright.finding import ClusterwrightError
from clusterwright.json_api import answer_text, open_server, reason_of
from clusterwright.keys.kms import KmsError, WrappingKey

if TYPE_CHECKING:
    import httpx

_TIMEOUT_S = 15


@dataclass(frozen=True, slots=True)
class TransitKms:
    """``Kms`` on a server. ``mount`` is the engine's mount point, ``authority`` the PEM file for the check of the
    server's certificate (None: the system's)."""

    address: str
    token: str = field(repr=False)
    mount: str = "transit"
    authority: Path | None = None

    def state(self, key: str) -> WrappingKey | None:
        """See ``Kms.state``."""
        answer = self._ask("GET", f"keys/{quote(key)}", missing=True)
        if answer is None:
            return None
        for name in ("latest_version", "min_available_version"):
            if not isinstance(answer.get(name), int):
                raise KmsError(f"{self.address} does not speak the transit API: keys/{key} is answered without {name}")
        # Versions that were not trimmed still exist, even if they no longer unwrap.
        return WrappingKey(answer["latest_version"], max(1, answer["min_available_version"]))

    def create(self, key: str) -> None:
        """See ``Kms.create``."""
        self._ask("POST", f"keys/{quote(key)}", {"type": "aes256-gcm96", "exportable": False})

    def rotate(self, key: str) -> None:
        """See ``Kms.rotate``."""
        self._ask("POST", f"keys/{quote(key)}/rotate", {})

    def data_key(self, key: str) -> str:
        """See ``Kms.data_key``."""
        return self._answer("POST", f"datakey/wrapped/{quote(key)}", {"bits": 256}, "ciphertext")

    def rewrap(self, key: str, wrapped: str) -> str:
        """See ``Kms.rewrap``."""
        return self._answer("POST", f"rewrap/{quote(key)}", {"ciphertext": wrapped}, "ciphertext")

    def unwrap(self, key: str, wrapped: str) -> bytes:
        """See ``Kms.unwrap``."""
        return base64.b64decode(self._answer("POST", f"decrypt/{quote(key)}", {"ciphertext": wrapped}, "plaintext"))

    def forget_before(self, key: str, version: int) -> None:
        """See ``Kms.forget_before``: older versions are first not used, then not unwrapped, then destroyed.

        The engine trims only versions below both bounds, so both are raised first.
        """
        bounds = {"min_encryption_version": version, "min_decryption_version": version}
        self._ask("POST", f"keys/{quote(key)}/config", bounds)
        self._ask("POST", f"keys/{quote(key)}/trim", {"min_available_version": version})

    def _answer(self, method: str, path: str, body: dict[str, Any], field_name: str) -> str:
        """The text documented for ``field_name``."""
        document = self._ask(method, path, body) or {}
        if not isinstance(document.get(field_name), str):
            raise KmsError(f"{self.address} does not speak the transit API: {path} is answered without {field_name}")
        return str(document[field_name])

    def _ask(
        self, method: str, path: str, body: dict[str, Any] | None = None, *, missing: bool = False
    ) -> dict[str, Any] | None:
        """The answer's ``data``; None without content, or for a missing key if it may be ``missing``.

        The API's pages document 200 with a JSON object with ``data``, and 204 without content; all else is refused.
        """
        import httpx

        try:
            with open_server(
                self.address, {"X-Vault-Token": self.token}, timeout_s=_TIMEOUT_S, authority=self.authority
            ) as server:
                answer = server.request(method, f"/v1/{quote(self.mount)}/{path}", json=body)
        except httpx.TransportError as error:
            raise KmsError(f"{self.address} cannot be reached: {reason_of(error)}") from None
        except ClusterwrightError as error:
            raise KmsError(str(error)) from None
        if missing and answer.status_code == httpx.codes.NOT_FOUND:
            return None
        if answer.status_code == httpx.codes.NO_CONTENT:
            return None
        if answer.status_code != httpx.codes.OK:
            raise KmsError(f"{self.address} refuses {path}: {_reason(answer)}")
        try:
            document: Any = answer.json()
        except ValueError:
            raise KmsError(f"{self.address} does not speak the transit API: {path} is answered by no JSON") from None
        if not isinstance(document, dict) or not isinstance(document.get("data"), dict | None):
            raise KmsError(f"{self.address} does not speak the transit API: {path} is answered by other JSON")
        if "data" not in document:
            raise KmsError(f"{self.address} does not speak the transit API: {path} is answered without data")
        data: dict[str, Any] | None = document["data"]
        return data


def _reason(answer: httpx.Response) -> str:
    """Vault's ``errors``, or else the server's text."""
    try:
        errors = "; ".join(answer.json()["errors"])
    except (ValueError, KeyError, TypeError):
        errors = ""
    return f"{answer.status_code}, {errors}" if errors else answer_text(answer)
