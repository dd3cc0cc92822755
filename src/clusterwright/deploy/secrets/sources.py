"""Sources of secrets: the spec's ``secrets:`` or a file of the same form, and readers of the six kinds."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.deploy.secrets.secrets import SecretError, Values
from clusterwright.finding import SpecError
from clusterwright.keys.file_store import FileKms
from clusterwright.keys.kms import Kms, KmsError
from clusterwright.keys.ledger import read_ledger
from clusterwright.keys.rotation import LEDGER, newest
from clusterwright.keys.transit import TransitKms
from clusterwright.spec.encryption import SecretSource
from clusterwright.spec.schema.check import check
from clusterwright.spec.structuring import Structuring
from clusterwright.spec.text.extends import read_spec_document
from clusterwright.spec.text.reader import read_document
from clusterwright.spec.text.source import noting_reads

VAULT_PASSWORD = "ANSIBLE_VAULT_PASSWORD_FILE"  # noqa: S105 - Ansible's own variable


@dataclass(frozen=True, slots=True)
class PulumiStack:
    """A stack with secrets in its configuration; ``environment`` is Pulumi's, None for this process's own."""

    project: Path
    name: str
    environment: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A spec, or a file with a ``secrets:`` list alone; paths in it are relative to its own folder."""

    path: Path
    keys: Path = Path("up/keys")
    """The key store of sources without their own."""

    def sources(self) -> tuple[SecretSource, ...]:
        """The listed sources. Raises SpecError for an unreadable file, or one of another form."""
        document = read_document(self.path)
        is_spec = isinstance(document.data, Mapping) and ("nodes" in document.data or "extends" in document.data)
        document = read_spec_document(self.path) if is_spec else document
        findings = () if is_spec else check(document, "secrets")
        if findings:
            raise SpecError(findings)
        listed = enumerate(document.data.get("secrets", ()))
        return tuple(Structuring("secrets").typed(SecretSource, item, ("secrets", index)) for index, item in listed)

    def fetch(self, stack: PulumiStack | None) -> Values:
        """All secrets by name. Raises SecretError with the secret and its source, never with a value."""
        values: dict[str, str] = {}
        for source in self.sources():
            if source.source == "folder":
                values.update(_folder(source.name, (self.path.parent / (source.file or "")).resolve()))
            else:
                values[source.name] = self._read(source, stack)
        return values

    def versions(self) -> Mapping[str, str]:
        """Version labels by secret: the source's own, or a scheduled key's newest number; none for other secrets.

        No value is read. Raises SpecError like ``sources``, and ClusterwrightError for a damaged ledger of keys.
        """
        version_by_source = {source.name: self._version(source) for source in self.sources()}
        return {name: version for name, version in version_by_source.items() if version is not None}

    def version_files(self) -> Mapping[Path, str]:
        """Files read by ``versions`` with their SHA-256, "" for an absent file."""
        with noting_reads() as read:
            sources = self.sources()
        paths = {*read, *(self._store(source) / LEDGER for source in sources if source.source == "keys")}
        digests: dict[Path, str] = {}
        for path in sorted(paths):
            digests[path] = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
        return digests

    def _version(self, source: SecretSource) -> str | None:
        if source.source != "keys" or source.version is not None:
            return source.version
        live = read_ledger(self._store(source) / LEDGER).live(source.key or source.name)
        return str(max(version.number for version in live)) if live else None

    def _store(self, source: SecretSource) -> Path:
        return (self.path.parent / source.file).resolve() if source.file is not None else self.keys.resolve()

    def _read(self, source: SecretSource, stack: PulumiStack | None) -> str:
        key = source.key or source.name
        file = self.path.parent / (source.file or "")
        readers: dict[str, Callable[[], str]] = {
            "environment": lambda: _environment(key),
            "file": lambda: _file(file.resolve()),
            "pulumi": lambda: _pulumi(key, stack),
            "ansible-vault": lambda: _ansible_vault(file.resolve(), key),
            "keys": lambda: _newest_key(self._store(source), key),
        }
        try:
            return readers[source.source]()
        except SecretError as error:
            raise SecretError(f'secret "{source.name}": {error}') from None


def _environment(variable: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise SecretError(f"the environment has no {variable}")
    return value


def _file(path: Path) -> str:
    """The text of a file without its last line end. Raises SecretError for a file readable by other users."""
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise SecretError(f"{path} may be read by others than its owner; chmod 600 it")
        return path.read_text(encoding="utf-8").removesuffix("\n")
    except OSError as error:
        raise SecretError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SecretError(f"{path} is no text") from None


def _folder(name: str, path: Path) -> Values:
    """Texts of a folder's files, one a device, by the secret's name and the device's."""
    try:
        return {f"{name}.{file.name}": _file(file) for file in sorted(path.iterdir())}
    except SecretError as error:
        raise SecretError(f'secret "{name}": {error}') from None
    except OSError as error:
        raise SecretError(f'secret "{name}": {path}: {error.strerror}') from None


def _pulumi(key: str, stack: PulumiStack | None) -> str:
    if stack is None:
        raise SecretError(f"{key} is in a stack's configuration, and no stack is being deployed")
    command = ("pulumi", "config", "get", key, "--stack", stack.name, "--cwd", str(stack.project), "--non-interactive")
    try:
        answer = subprocess.run(command, env=stack.environment, capture_output=True, text=True, check=False)
    except OSError as error:
        raise SecretError(f"pulumi cannot be started: {error.strerror}") from None
    if answer.returncode != 0:
        raise SecretError(
            f"stack {stack.name} has no {key}; `pulumi config set --secret {key} --stack {stack.name}` in "
            f"{stack.project} asks for it"
        )
    return answer.stdout.removesuffix("\n")


def _ansible_vault(path: Path, key: str) -> str:
    from ansible.errors import AnsibleError
    from ansible.parsing.vault import VaultLib, VaultSecret

    password = os.environ.get(VAULT_PASSWORD)
    if not password:
        raise SecretError(f"${VAULT_PASSWORD} names no file with the password of {path}")
    try:
        vault = VaultLib([("default", VaultSecret(_file(Path(password)).encode()))])
        text: Any = vault.decrypt(path.read_bytes())
    except OSError as error:
        raise SecretError(f"{path}: {error.strerror}") from None
    except AnsibleError:
        raise SecretError(f"{path} is no ansible-vault file, or its password is another") from None
    return _entry(bytes(text), path, key)


def _entry(text: bytes, path: Path, key: str) -> str:
    import yaml

    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError:
        raise SecretError(f"{path} holds no YAML") from None  # the parser's own message would quote the value
    value = data.get(key) if isinstance(data, Mapping) else None
    if not isinstance(value, str):
        raise SecretError(f"{path} has no text under {key}")
    return value


def _newest_key(store: Path, key: str) -> str:
    """The newest version of a scheduled key, in hexadecimal, from the embedded service or the one of $VAULT_ADDR."""
    ledger = read_ledger(store / LEDGER)
    version = newest(ledger, key)
    address, token = os.environ.get("VAULT_ADDR"), os.environ.get("VAULT_TOKEN", "")
    kms: Kms = TransitKms(address, token) if address else FileKms(store / "kms.json", store / "root.key")
    for name in sorted(ledger.versions):
        with suppress(KmsError):  # the wrapping key is not in the ledger, and every other key fails
            return kms.unwrap(name, version.wrapped or "").hex()
    raise SecretError(f"no wrapping key unwraps {key} version {version.number}")
