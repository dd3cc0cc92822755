"""Targets by the name that a stack's configuration gives them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from clusterwright.deploy.ansible_target import AnsibleTarget
from clusterwright.deploy.directory import DirectoryTarget
from clusterwright.deploy.eapi import EapiAccess
from clusterwright.deploy.secret_sources import PulumiStack, SecretFile
from clusterwright.deploy.secrets import ResolvingTarget, Values
from clusterwright.deploy.ssh import Access
from clusterwright.deploy.target import Target
from clusterwright.finding import ClusterwrightError, SpecError
from clusterwright.spec.reader import read_document
from clusterwright.spec.schema import check

DIRECTORY, ANSIBLE = "directory", "ansible"
TARGETS = (DIRECTORY, ANSIBLE)


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
            target: Target = DirectoryTarget(self.root / "flash")
        else:
            target = AnsibleTarget(self.root / "ansible", self._access())
        return target if self.secrets is None else ResolvingTarget(target, self.fetch_secrets, self.root / self.name)

    @property
    def is_content_with_placeholders(self) -> bool:
        """Whether no sources are needed: a directory is a rehearsal."""
        return self.name == DIRECTORY

    def fetch_secrets(self) -> Values:
        """Every secret of the sources, none where no source is named. Raises ClusterwrightError."""
        return {} if self.secrets is None else SecretFile(self.secrets).fetch(self.stack)

    def carries(self, devices: Collection[str]) -> tuple[str, ...]:
        """Those of ``devices`` that the target can reach, in their order. Raises as ``open`` does."""
        if self.name == DIRECTORY:
            return tuple(devices)
        access = self._access()
        reached = set(access.addresses) | set(access.eapi.addresses if access.eapi else ())
        return tuple(device for device in devices if device in reached)

    def _access(self) -> Access:
        if self.name != ANSIBLE:
            raise ClusterwrightError(f"there is no target {self.name!r}; choose one of: {', '.join(TARGETS)}")
        if self.access is None:
            raise ClusterwrightError("the target ansible needs an access file (--access FILE): keys and addresses")
        return read_access(self.access)


def read_access(path: Path) -> Access:
    """The access file; its form is ``access.schema.json``. Raises SpecError with every mistake in it."""
    document = read_document(path)
    findings = check(document, "access")
    if findings:
        raise SpecError(findings)
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
    return Access(**data)


def _beside(path: Path, name: str) -> Path:
    return (path.parent / name).resolve()
