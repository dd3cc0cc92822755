"""Targets by the name that a stack's configuration gives them.

The modules of a target are imported when it is opened: a stack's program only names it, and starts the faster.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
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

# Ansible takes these for templates wherever a path stands in an inventory.
_TEMPLATE = re.compile(r"\{[{%#]")
# OpenSSH puts values in the place of % and ${}, and takes apart at blanks and quotes (ssh_config(5), TOKENS).
_NOT_FOR_SSH = re.compile(r"[\s%$\"'\\]|" + _TEMPLATE.pattern)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which target, and where: ``root`` is the deployment's folder, ``access`` the file that Ansible needs.

    ``secrets`` says where secrets come from, ``stack`` whose configuration may hold some.
    """

    name: str
    root: Path
    access: Path | None = None
    secrets: Path | None = None
    stack: PulumiStack | None = None

    def open(self) -> Target:
        """The target. Raises ClusterwrightError for an unknown name, and for an access file that is missing or bad."""
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
        """Settings of a stack's provider for the target: whole paths, since it runs in another folder."""
        settings = {"root": str(self.root.resolve()), "target": self.name}
        if self.access:
            settings["access"] = str(self.access.resolve())
        if self.secrets:
            settings["secrets"] = str(self.secrets.resolve())
        return settings

    def of_stack(self, name: str) -> Chosen:
        """The same target with the secrets that lie in the configuration of the stack of this name."""
        from clusterwright.deploy.pulumi.project import pulumi_environment
        from clusterwright.deploy.secrets.sources import PulumiStack

        root = self.root.resolve()
        return replace(self, stack=PulumiStack(root / "project", name, pulumi_environment(self.root)))

    def devices(self) -> Devices | None:
        """The devices themselves, to be asked; None for a directory, which answers nothing. Raises as ``open`` does."""
        if self.name == DIRECTORY:
            return None
        from clusterwright.deploy.ansible.query import Devices

        return Devices(self._access())

    @property
    def is_content_with_placeholders(self) -> bool:
        """Whether no sources are needed: a directory is a rehearsal."""
        return self.name == DIRECTORY

    def fetch_secrets(self) -> Values:
        """Every secret of the sources, none where no source is named. Raises ClusterwrightError."""
        sources = self._sources()
        return sources.fetch(self.stack) if sources else {}

    def secret_versions(self) -> Mapping[str, str]:
        """The labels of the secrets' present values, which the files of a manifest carry. Raises ClusterwrightError."""
        sources = self._sources()
        return sources.versions() if sources else {}

    def secret_version_files(self) -> Mapping[Path, str]:
        """Inputs of ``secret_versions``, with SHA-256. Raises ClusterwrightError."""
        sources = self._sources()
        return sources.version_files() if sources else {}

    def secret_variables(self) -> frozenset[str]:
        """The environment variables that sources name; none where they cannot be read, which reading secrets tells."""
        sources = self._sources()
        if sources is None:
            return frozenset()
        with suppress(SpecError):
            return frozenset(
                source.key or source.name for source in sources.sources() if source.source == "environment"
            )
        return frozenset()

    def _sources(self) -> SecretFile | None:
        if self.secrets is None:
            return None
        from clusterwright.deploy.secrets.sources import SecretFile

        return SecretFile(self.secrets, self.root / "keys")

    def carries(self, devices: Collection[str]) -> tuple[str, ...]:
        """Those of ``devices`` that the target can reach, in their order. Raises as ``open`` does."""
        if self.name == DIRECTORY:
            return tuple(devices)
        access = self._access()
        reached = set(access.addresses) | set(access.eapi.addresses if access.eapi else ())
        return tuple(device for device in devices if device in reached)

    def ssh_access(self) -> Access | None:
        """The access file; None for a directory. Raises as ``open`` does."""
        return None if self.name == DIRECTORY else self._access()

    def _access(self) -> Access:
        if self.name != ANSIBLE:
            raise ClusterwrightError(f"there is no target {self.name!r}; choose one of: {', '.join(TARGETS)}")
        if self.access is None:
            raise ClusterwrightError("the target ansible needs an access file (--access FILE): keys and addresses")
        return read_access(self.access)


def read_access(path: Path) -> Access:
    """The access file; its form is ``access.schema.json``. Raises SpecError with every mistake in it.

    Paths in it count from its folder, and are refused where they would arrive at ssh or Ansible as something else.
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
    paths = [
        *((key, _NOT_FOR_SSH) for key in ("private_key", "known_hosts")),
        *((f"eapi.{key}", _TEMPLATE) for key in ("ca", "certificate", "key", "password_file")),
    ]
    problems = [
        finding
        for name, wrong in paths
        if (finding := _misread(document, path, tuple(name.split(".")), wrong)) is not None
    ]
    if problems:
        raise SpecError(problems)
    data = dict(document.data)
    for key in ("private_key", "known_hosts"):
        data[key] = _beside(path, data[key])
    for key in ("exempt", "switch_overs"):
        data[key] = tuple(data.get(key, ()))
    if "eapi" in data:
        eapi = dict(data["eapi"])
        for key in ("ca", "certificate", "key", "password_file"):
            if key in eapi:
                eapi[key] = _beside(path, eapi[key])
        data["eapi"] = EapiAccess(**eapi)
    if "execution" in data:
        data["execution"] = read_execution(_beside(path, data["execution"]))
    return Access(**data)


def _beside(path: Path, name: str) -> Path:
    return (path.parent / name).resolve()


def _misread(document: Document, path: Path, key: tuple[str, ...], wrong: re.Pattern[str]) -> Finding | None:
    """The finding for the file of ``key``, where its resolved path matches ``wrong``."""
    name = document.at(key)
    if name is None:
        return None
    file = _beside(path, name)
    match = wrong.search(str(file))
    if match is None:
        return None
    message = f"{file} has {match[0]!r} in it, which ssh or Ansible would read as something else."
    hint = "Rename the file or the folders above it, or put it into another folder and name that."
    return Finding(
        code=OUT_OF_BOUNDS,
        severity=Severity.ERROR,
        message=message,
        hint=hint,
        position=document.locate(key),
        path=format_path(key),
        place=key,
    )


def _require_plain(folder: Path) -> None:
    """Raises ClusterwrightError where the runs' folder would become a template in their inventories."""
    match = _TEMPLATE.search(str(folder.resolve()))
    if match is not None:
        raise ClusterwrightError(
            f"{folder.resolve()} has {match[0]!r} in it, which Ansible takes for a template; deploy from another folder"
        )
