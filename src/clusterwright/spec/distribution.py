"""Distributions for images, as data: one file of inventory/distributions for each family.

The files have the names of programs, packages and users, the releases and their particularities, each with its source.
Packages, users and rules are derived from them, and no code depends on a distribution's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Annotated

from clusterwright import data_files
from clusterwright.finding import SpecError
from clusterwright.spec.choices.walk import Walk
from clusterwright.spec.schema.check import check
from clusterwright.spec.structuring import Key, Structuring
from clusterwright.spec.text.reader import read_document

PackageNames = Mapping[str, tuple[str, ...]]
"""Packages by their purpose."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """The distribution's kernel; ``headers`` is the pattern of its package of headers, with the part after ``prefix``
    in it."""

    package: str
    prefix: str
    headers: str


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive of packages; ``{}`` in ``suites`` stands for the release."""

    name: str
    url: str
    suites: tuple[str, ...]
    components: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """A release, with its name in specs (``title name``) and in mkosi (``tool code``).

    ``slurm`` and ``kea`` are the releases in its archive, None if they were not looked up. ``packages`` are those with
    another name than in its family, ``lacks`` the missing ones, ``within`` those contained in another package.
    """

    name: str
    tool: str
    code: str
    title: str | None
    also: tuple[str, ...]
    slurm: Annotated[str | None, Key("slurm", "release")]
    kea: Annotated[str | None, Key("kea", "release")]
    packages: PackageNames
    lacks: tuple[str, ...]
    within: tuple[str, ...]
    sysctl: Mapping[str, Mapping[str, str]]
    walk: Walk | None = None
    """Extent of tests with it, if it differs from the family's."""


@dataclass(frozen=True, slots=True)
class SlurmPackages:
    """Slurm packages from another source, by the packages of the distribution that they replace."""

    name: str
    packages: PackageNames


@dataclass(frozen=True, slots=True)
class UnitNames:
    """Services with distribution-specific unit names; ``{}`` in ``dhcp`` stands for the version of IP."""

    ssh: str
    time: str
    dhcp: str
    tuned: str | None


@dataclass(frozen=True, slots=True)
class Installer:
    """Kernel parameters of the installer, and its address configuration for either version of IP.

    ``answers`` is the form of its answers: kickstart or autoinstall.
    """

    answers: str
    arguments: tuple[str, ...]
    over_ipv4: Annotated[str, Key("addresses", "ipv4")]
    over_ipv6: Annotated[str, Key("addresses", "ipv6")]


@dataclass(frozen=True, slots=True)
class Family:
    """Distributions with the same names of packages, users and services."""

    name: str
    title: str
    package_program: Annotated[str, Key("packages")]
    """apt or dnf."""
    kernel: Kernel
    releases: tuple[Release, ...]
    base: tuple[str, ...]
    needs: PackageNames
    units: UnitNames
    web_server: Annotated[str, Key("users", "web_server", "name")]
    masked: Annotated[tuple[str, ...], Key("host_keys", "masked")]
    ipxe: Annotated[str, Key("ipxe", "file")]
    slurm_number: Annotated[int | None, Key("users", "slurm", "number")]
    """User ID of slurm set by packages; None if they take a free one."""
    archives: tuple[Archive, ...]
    keyring: str | None
    elsewhere: tuple[str, ...]
    """Packages outside of its archives."""
    sections: PackageNames
    """Packages of a component other than the first."""
    other_slurm: tuple[SlurmPackages, ...]
    kubelet: Annotated[str, Key("kubelet", "file")]
    in_memory: Annotated[tuple[str, ...], Key("in_memory", "arguments")]
    """Kernel arguments for an image used as first root."""
    installer: Installer | None
    walk: Walk | None = None
    """Extent of tests with releases without an entry of their own."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A release of a family."""

    family: Family
    of: Release

    @property
    def name(self) -> str:
        """The name in a spec: "Debian 13"."""
        return f"{self.of.title or self.family.title} {self.of.name}"

    @property
    def walk(self) -> Walk:
        """Extent of tests with images of it. Raises LookupError if its file has no entry."""
        walk = self.of.walk or self.family.walk
        if walk is None:
            raise LookupError(f"{self.name}: its file does not say how far tests went")
        return walk

    @property
    def tool(self) -> str:
        """The distribution's name in mkosi."""
        return self.of.tool

    @property
    def release(self) -> str:
        """The release's name in mkosi and archives."""
        return self.of.code

    def packages_for(self, need: str) -> tuple[str, ...]:
        """The packages for ``need``, with the names of this release."""
        names = self.of.packages.get(need, self.family.needs.get(need, ()))
        return tuple(name for name in names if name not in self.of.within)

    @property
    def foreign_packages(self) -> frozenset[str]:
        """The packages of rendered files that no archive of this release has."""
        return frozenset((*self.family.elsewhere, *self.of.lacks))

    def section_of(self, package: str) -> str | None:
        """The section of a package that is not in the first one of the archive; None for any other package."""
        for section, packages in self.family.sections.items():
            if package in packages:
                return section
        return None

    def headers_of(self, kernel: str) -> str | None:
        """The package of the headers of a kernel's package; None for a kernel of another origin."""
        kernel_family = self.family.kernel
        if not kernel.startswith(kernel_family.prefix):
            return None
        return kernel_family.headers.format(kernel.removeprefix(kernel_family.prefix))


@cache
def families() -> Mapping[str, Family]:
    """Every family in the package's data, by name. Raises SpecError for an invalid file."""
    families = {}
    for path in sorted((data_files.folder("inventory") / "distributions").glob("*.yaml")):
        document = read_document(path)
        findings = check(document, "distribution")
        if findings:
            raise SpecError(findings)
        families[document.data["name"]] = Structuring("distribution").typed(Family, document.data, ())
    return MappingProxyType(families)


@cache
def _distributions() -> Mapping[tuple[str, str], Distribution]:
    """Every release by all of its names in specs, in lower case."""
    distributions = {}
    for family in families().values():
        for release in family.releases:
            title = release.title or family.title
            for name in (title.lower(), *release.also):
                distributions[name, release.name.lower()] = Distribution(family, release)
    return distributions


def distribution_of(text: str) -> Distribution | None:
    """The distribution named ``text`` in a spec, as "Debian 13" or "CentOS Stream 10"; None for an unknown one."""
    name, _, release = text.lower().rpartition(" ")
    return _distributions().get((name, release))


def known_distributions() -> tuple[str, ...]:
    """The names of all known distributions."""
    return tuple(dict.fromkeys(distribution.name for distribution in _distributions().values()))


def slurm_number() -> int:
    """The user ID of slurm on all machines of a cluster: the one fixed by some distribution's packages."""
    (number,) = {family.slurm_number for family in families().values() if family.slurm_number is not None}
    return number


def family_of(text: str) -> Family:
    """The family of a distribution in a spec; Debian's for an unknown one."""
    distribution = distribution_of(text)
    return distribution.family if distribution is not None else families()["debian"]
