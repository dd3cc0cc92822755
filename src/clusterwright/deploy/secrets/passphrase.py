"""Check the passphrase of a deployment's stacks before anything is begun: the engine asks for it in the middle.

A stack's configuration carries ``encryptionsalt``, ``v1:SALT:v1:NONCE:TEXT`` in base64: the text is ``pulumi``, sealed
by AES-GCM with a key made of passphrase and salt (pulumi/sdk, resource/config/crypt.go).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from clusterwright.finding import ClusterwrightError

VARIABLE, FILE_VARIABLE = "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"
_ROUNDS, _KEY_BYTES = 1_000_000, 32

_SALT_OF_NONE = "v1:DgHbvP98ERg=:v1:+gZ0prZPSvN6vLOH:pvNOz18aCe49Q8YYVMZB7O/z7hOjNQ=="
"""Made by Pulumi with the empty passphrase. Checking it would cost a sixth of a second in each command."""


def salt_of_none(environment: Mapping[str, str]) -> str:
    """A fixed salt for stacks with an empty, unprotected passphrase; "" for any other passphrase.

    There is none for a state in a service either: it has keys of its own.
    """
    is_kept_here = environment.get("PULUMI_BACKEND_URL", "").startswith("file://")
    return _SALT_OF_NONE if is_kept_here and _passphrase(environment) == "" else ""


def require_passphrase(project: Path, stacks: Iterable[str], environment: Mapping[str, str]) -> None:
    """Raises ClusterwrightError if the passphrase of ``environment`` does not open one of ``stacks``.

    ``project`` holds the stacks' configurations; one without a salt takes any passphrase.
    """
    salts: dict[str, str] = {}
    for stack in stacks:
        salts.setdefault(_salt(project / f"Pulumi.{stack}.yaml"), stack)
    salts.pop("", None)
    phrase = _passphrase(environment) if salts else ""
    for salt, stack in salts.items():
        if not _opens(phrase, salt):
            raise ClusterwrightError(
                f"{stack} was made with another passphrase: {_mismatch(environment)}. Set {VARIABLE}, or "
                f"{FILE_VARIABLE}, to that which the stack was first deployed with. Nothing was touched."
            )


def _mismatch(environment: Mapping[str, str]) -> str:
    for variable in (VARIABLE, FILE_VARIABLE):
        if environment.get(variable):
            return f"{variable} holds another one"
    return f"{VARIABLE} is empty"


def _passphrase(environment: Mapping[str, str]) -> str:
    """The engine's passphrase: the variable takes precedence if it is set, even to nothing."""
    if VARIABLE in environment or not environment.get(FILE_VARIABLE):
        return environment.get(VARIABLE, "")
    path = Path(environment[FILE_VARIABLE])
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise ClusterwrightError(f"{FILE_VARIABLE}: {path} cannot be read: {error}. Nothing was touched.") from None


def _salt(file: Path) -> str:
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, yaml.YAMLError, UnicodeDecodeError):  # a truncated file is reported by its next reader
        return ""
    return str(content.get("encryptionsalt") or "") if isinstance(content, dict) else ""


def _opens(phrase: str, state: str) -> bool:
    """Whether ``phrase`` opens a salt; the engine decides on an unknown form."""
    if state == _SALT_OF_NONE:
        return phrase == ""
    # Imported only here: a preview without changes does not need it.
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    match state.split(":"):
        case ["v1", salt, "v1", nonce, text]:
            try:
                key = hashlib.pbkdf2_hmac("sha256", phrase.encode(), base64.b64decode(salt), _ROUNDS, _KEY_BYTES)
                AESGCM(key).decrypt(base64.b64decode(nonce), base64.b64decode(text), None)
            except InvalidTag:
                return False
            except binascii.Error:
                return True
    return True
