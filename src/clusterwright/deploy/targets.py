"""Targets by their name in a stack's configuration.

The modules of a target are imported when it is opened: a stack's program only has its name, and starts faster.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError, Finding, Severity, SpecError
from clusterwright.spec.schema.messages import OUT_OF_BOUNDS
from clusterwright.spec.text.document import Document, format_path

if TYPE_CHECKING:
    from clusterwright.deploy.ansible.query import Devices
    from clusterwright.deploy.ansible.ssh import Access
    from clusterwright.deploy.secrets.secrets import Values
    from clusterwright.deploy.secrets.sources import PulumiStack, SecretFile
    from clusterwright.deploy.target import Target

DIRECTORY, ANSIBLE = "directory", "ansible"
TARGETS = (DIRECTORY, ANSIBLE)

_SSH_FILES = ("private_key", "known_hosts")
_EAPI_FILES = ("ca", "certificate", "key", "password_file")
# Ansible takes these for templates in every path of an inventory.
_TEMPLATE = re.compile(r"\{[{%#]")
# OpenSSH puts values in the place of % and ${}, and takes apart at blanks and quotes (ssh_config(5), TOKENS).
_NOT_FOR_SSH = re.compile(r"[\s%$\"'\\]|" + _TEMPLATE.pattern)


@dataclass(frozen=True, slots=True)
class TargetSettings:
    """A target with its settings: ``root`` is the deployment's folder, ``access`` the access file of Ansible.

    ``secrets`` is the file of the secrets' sources, ``stack`` the stack with secrets in its configuration.
    """

    name: str
    root: Path
    access: Path | None = None
    secrets: Path | None = None
    stack: PulumiStack | None = None

    def open(self) -> Target:
        """The target. Raises ClusterwrightError for an unknown name, and for a missing or invalid access file."""
        if self.name == DIRECTORY:
            from clusterwright.deploy.directory import DirectoryTarget

            target: Target = DirectoryTarget(self.root / "flash")
        else:
            from clusterwright.deploy.ansible.target import AnsibleTarget

            access = self._access()
            _require_plain(self.root / "ansible")
            target = AnsibleTarget(self.root / "ansible", access)
        if self.secrets is None:
            return target
        from clusterwright.deploy.secrets.secrets import ResolvingTarget

        return ResolvingTarget(target, self.fetch_secrets, self.root / self.name)

    @property
    def provider_settings(self) -> dict[str, str]:
        """Settings of a stack's provider for the target: absolute paths, since it runs in another folder."""
        settings = {"root": str(self.root.resolve()), "target": self.name}
        if self.access:
            settings["access"] = str(self.access.resolve())
        if self.secrets:
            settings["secrets"] = str(self.secrets.resolve())
        return settings

    def of_stack(self, name: str) -> TargetSettings:
        """The target with the secrets in the configuration of the stack of this name."""
        from clusterwright.deploy.pulumi.project import pulumi_environment
        from clusterwright.deploy.secrets.sources import PulumiStack

        root = self.root.resolve()
        return replace(self, stack=PulumiStack(root / "project", name, pulumi_environment(self.root)))

    def devices(self) -> Devices | None:
        """The devices, for queries; None for a directory. Raises ClusterwrightError like ``open``."""
        if self.name == DIRECTORY:
            return None
        from clusterwright.deploy.ansible.query import Devices

        return Devices(self._access())

    @property
    def is_content_with_placeholders(self) -> bool:
        """Whether no sources are needed: a directory is a rehearsal."""
        return self.name == DIRECTORY

    def fetch_secrets(self) -> Values:
        """All secrets of the sources, none without sources. Raises ClusterwrightError."""
        sources = self._sources()
        return sources.fetch(self.stack) if sources else {}

    def secret_versions(self) -> Mapping[str, str]:
        """Version labels of the secrets' present values. Raises ClusterwrightError."""
        sources = self._sources()
        return sources.versions() if sources else {}

    def secret_version_files(self) -> Mapping[Path, str]:
        """Files read by ``secret_versions``, with SHA-256. Raises ClusterwrightError."""
        sources = self._sources()
        return sources.version_files() if sources else {}

    def secret_variables(self) -> frozenset[str]:
        """Environment variables of the sources; none for unreadable sources, reported with reading the secrets."""
        sources = self._sources()
        if sources is None:
            return frozenset()
        with suppress(SpecError):
            in_environment = [source for source in sources.sources() if source.source == "environment"]
            return frozenset(source.key or source.name for source in in_environment)
        return frozenset()

    def _sources(self) -> SecretFile | None:
        if self.secrets is None:
            return None
        from clusterwright.deploy.secrets.sources import SecretFile

        return SecretFile(self.secrets, self.root / "keys")

    def carries(self, devices: Collection[str]) -> tuple[str, ...]:
        """The ``devices`` in the target's reach, in their order. Raises ClusterwrightError like ``open``."""
        if self.name == DIRECTORY:
            return tuple(devices)
        access = self._access()
        reached = set(access.addresses) | set(access.eapi.addresses if access.eapi else ())
        return tuple(device for device in devices if device in reached)

    def ssh_access(self) -> Access | None:
        """The access file; None for a directory. Raises ClusterwrightError like ``open``."""
        return None if self.name == DIRECTORY else self._access()

    def _access(self) -> Access:
        if self.name != ANSIBLE:
            raise ClusterwrightError(f"there is no target {self.name!r}; choose one of: {', '.join(TARGETS)}")
        if self.access is None:
            raise ClusterwrightError("the target ansible needs an access file (--access FILE): keys and addresses")
        return read_access(self.access)


def read_access(path: Path) -> Access:
    """Read an access file in the form of ``access.schema.json``. Raises SpecError with all mistakes in it.

    Paths in it are relative to its folder, and refused if ssh or Ansible would read them as something else.
    """
    from clusterwright.deploy.ansible.eapi import EapiAccess
    from clusterwright.deploy.ansible.execution import read_execution
    from clusterwright.deploy.ansible.ssh import Access
    from clusterwright.spec.schema.check import check
    from clusterwright.spec.text.reader import read_document

    document = read_document(path)
    findings = check(document, "access")
    if findings:
        raise SpecError(findings)
    _require_plain_paths(document, path)
    data = dict(document.data)
    for key in _SSH_FILES:
        data[key] = _beside(path, data[key])
    for key in ("exempt", "switch_overs"):
        data[key] = tuple(data.get(key, ()))
    if "eapi" in data:
        eapi = dict(data["eapi"])
        for key in _EAPI_FILES:
            if key in eapi:
                eapi[key] = _beside(path, eapi[key])
        data["eapi"] = EapiAccess(**eapi)
    if "execution" in data:
        data["execution"] = read_execution(_beside(path, data["execution"]))
    return Access(**data)


def _require_plain_paths(document: Document, path: Path) -> None:
    """Raises SpecError for paths that ssh or Ansible would read as something else."""
    problems: list[Finding] = []
    for key in _SSH_FILES:
        problems.extend(_misread(document, path, (key,), _NOT_FOR_SSH))
    for key in _EAPI_FILES:
        problems.extend(_misread(document, path, ("eapi", key), _TEMPLATE))
    if problems:
        raise SpecError(problems)


def _beside(path: Path, name: str) -> Path:
    return (path.parent / name).resolve()


def _misread(document: Document, path: Path, key: tuple[str, ...], wrong: re.Pattern[str]) -> Iterator[Finding]:
    """A finding about the file of ``key``, if its resolved path matches ``wrong``."""
    name = document.at(key)
    if name is None:
        return
    file = _beside(path, name)
    match = wrong.search(str(file))
    if match is None:
        return
    message = f"{file} has {match[0]!r} in it, which ssh or Ansible would read as something else."
    hint = "Rename the file or the folders above it, or put it into another folder and name that."
    yield Finding(
        code=OUT_OF_BOUNDS,
        severity=Severity.ERROR,
        message=message,
        hint=hint,
        position=document.locate(key),
        path=format_path(key),
        place=key,
    )


def _require_plain(folder: Path) -> None:
    """Raises ClusterwrightError if Ansible would read the path of the runs' folder as a template."""
    match = _TEMPLATE.search(str(folder.resolve()))
    if match is not None:
        raise ClusterwrightError(
            f"{folder.resolve()} has {match[0]!r} in it, which Ansible takes for a template; deploy from another folder"
        )
