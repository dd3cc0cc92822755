"""Distributions that images can be built from, as data: one file of inventory/distributions for each family.

What programs, packages and users are called, which releases there are, and what each of them brings, stands there with
its source. Packages, users and rules are made from it, and nobody asks for a distribution by its name.
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
"""Packages by what needs them."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """The distribution's own kernel; ``headers`` is the package of a kernel's, with what follows ``prefix`` in it."""

    package: str
    prefix: str
    headers: str


@dataclass(frozen=True, slots=True)
class Archive:
    """Where packages come from; ``{}`` in ``suites`` stands for the release."""

    name: str
    url: str
    suites: tuple[str, ...]
    components: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """A release as a spec names it (``title name``), and as mkosi does (``tool code``).

    ``slurm`` and ``kea`` are the releases in its archive, None where nobody has looked them up. ``packages`` are those
    that it calls otherwise than its family, ``lacks`` what it does not have, ``within`` what another package has the
    files of.
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
    """How far tests went with it, where that is not alike for the whole family."""


@dataclass(frozen=True, slots=True)
class SlurmPackages:
    """Somebody's own packages of Slurm, by those of the distribution that they replace."""

    name: str
    packages: PackageNames


@dataclass(frozen=True, slots=True)
class UnitNames:
    """Services whose units are called differently; ``{}`` in ``dhcp`` stands for the version of IP."""

    ssh: str
    time: str
    dhcp: str
    tuned: str | None


@dataclass(frozen=True, slots=True)
class Installer:
    """Kernel parameters of the installer, and its way to an address over either version of IP.

    ``answers`` is the form of its answers: kickstart or autoinstall.
    """

    answers: str
    arguments: tuple[str, ...]
    over_ipv4: Annotated[str, Key("addresses", "ipv4")]
    over_ipv6: Annotated[str, Key("addresses", "ipv6")]


@dataclass(frozen=True, slots=True)
class Family:
    """Distributions whose packages, users and services are called alike.

    ``package_program`` is apt or dnf. ``slurm_number`` is the number that packages give the user slurm, None where it
    is whatever is free. ``in_memory`` is what the kernel is told of an image that is its first root. ``elsewhere`` are
    packages that none of its archives has, ``sections`` those of a component that is not the first.
    """

    name: str
    title: str
    package_program: Annotated[str, Key("packages")]
    kernel: Kernel
    releases: tuple[Release, ...]
    base: tuple[str, ...]
    needs: PackageNames
    units: UnitNames
    web_server: Annotated[str, Key("users", "web_server", "name")]
    masked: Annotated[tuple[str, ...], Key("host_keys", "masked")]
    ipxe: Annotated[str, Key("ipxe", "file")]
    slurm_number: Annotated[int | None, Key("users", "slurm", "number")]
    archives: tuple[Archive, ...]
    keyring: str | None
    elsewhere: tuple[str, ...]
    sections: PackageNames
    other_slurm: tuple[SlurmPackages, ...]
    kubelet: Annotated[str, Key("kubelet", "file")]
    in_memory: Annotated[tuple[str, ...], Key("in_memory", "arguments")]
    installer: Installer | None
    walk: Walk | None = None
    """How far tests went with releases that say nothing of their own."""


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
        """How far tests went with images of it. Raises LookupError where its file does not say."""
        walk = self.of.walk or self.family.walk
        if walk is None:
            raise LookupError(f"{self.name}: its file does not say how far tests went")
        return walk

    @property
    def tool(self) -> str:
        """The distribution as mkosi calls it."""
        return self.of.tool

    @property
    def release(self) -> str:
        """The release as mkosi and archives call it."""
        return self.of.code

    def packages_for(self, need: str) -> tuple[str, ...]:
        """The packages that something needs, as this release has them."""
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
        """The package of the headers of a kernel's package; None where its name tells nothing of them."""
        kernel_family = self.family.kernel
        if not kernel.startswith(kernel_family.prefix):
            return None
        return kernel_family.headers.format(kernel.removeprefix(kernel_family.prefix))


@cache
def families() -> Mapping[str, Family]:
    """Every family that travels with the package, by name. Raises SpecError for a file that does not read."""
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
    """Every release by the names, in small letters, that a spec may call it."""
    distributions = {}
    for family in families().values():
        for release in family.releases:
            title = release.title or family.title
            for name in (title.lower(), *release.also):
                distributions[name, release.name.lower()] = Distribution(family, release)
    return distributions


def distribution_of(text: str) -> Distribution | None:
    """The distribution that a spec writes as "Debian 13" or "CentOS Stream 10"; None for one that is not known."""
    name, _, release = text.lower().rpartition(" ")
    return _distributions().get((name, release))


def known_distributions() -> tuple[str, ...]:
    """Every distribution that can be written, as a spec writes it."""
    return tuple(dict.fromkeys(distribution.name for distribution in _distributions().values()))


def slurm_number() -> int:
    """The number of the user slurm on all machines of a Slurm: the one that some distribution's packages insist on."""
    (number,) = {family.slurm_number for family in families().values() if family.slurm_number is not None}
    return number


def family_of(text: str) -> Family:
    """How programs are called on the distribution that a spec writes; Debian's way where lint does not know it."""
    distribution = distribution_of(text)
    return distribution.family if distribution is not None else families()["debian"]
