"""The definition of an image for mkosi 25: packages, their sources, and removed files.

An image holds packages and drivers compiled against its kernel. Rendered files are not in it: a node fetches them
beside it. So a changed file needs no new image. No secret and nothing of a single machine is in an image either: host
keys, munge's key and seeds are removed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.intent.image.packages import all_packages, changed_slurm_number, installed
from clusterwright.plan.model import Plan
from clusterwright.spec.distribution import Distribution
from clusterwright.spec.image import Image, Repository
from clusterwright.text.templates import template

MKOSI_VERSION = 25


@dataclass(frozen=True, slots=True)
class MkosiView:
    """Values of mkosi.conf."""

    mkosi_version: int
    image: str
    image_version: str
    release: str
    distribution: str
    packages: tuple[str, ...]
    driver_by_site: str
    """The component that installs the GPU driver on the site; "" if the image has it or the spec does not say."""


File = tuple[str, str, int]
"""Path below the definition's folder, text, mode."""


def build_digest(plan: Plan, image: Image, distribution: Distribution) -> str:
    """Digest of an image's sources: of its definition, without the version made of this digest."""
    digest = hashlib.sha256()
    for path, text, mode in mkosi_files(plan, image, distribution, version=""):
        digest.update(f"{path}\0{mode:o}\0{len(text)}\0{text}".encode())
    return digest.hexdigest()


def mkosi_files(plan: Plan, image: Image, distribution: Distribution, version: str) -> Iterator[File]:
    """mkosi.conf, package sources, final steps, and a script to compile drivers against the kernel."""
    packages = all_packages(plan, image, distribution)
    view = MkosiView(
        mkosi_version=MKOSI_VERSION,
        image=image.name,
        image_version=version,
        release=distribution.release,
        distribution=distribution.tool,
        packages=tuple(installed(package, distribution) for package in packages),
        driver_by_site=image.driver_by_site or "",
    )
    yield "mkosi.conf", template("image/mkosi.conf.j2").render(view=view), 0o644
    yield "mkosi.postoutput", template("image/mkosi.postoutput.j2").render(), 0o755
    if distribution.family.package_program == "dnf":
        if image.repositories:
            text = template("image/mkosi.repo.j2").render(repositories=image.repositories)
            yield "mkosi.sandbox/etc/yum.repos.d/mkosi.repo", text, 0o644
    else:
        text = template("image/mkosi.sources.j2").render(repositories=apt_repositories(image, distribution))
        yield "mkosi.sandbox/etc/apt/sources.list.d/mkosi.sources", text, 0o644
    built = tuple(f"{driver.name} {driver.version}" for driver in image.drivers if driver.is_built)
    number = changed_slurm_number(plan, image, distribution)
    if built or number is not None:
        text = template("image/mkosi.postinst.chroot.j2").render(built=built, slurm_number=number)
        yield "mkosi.postinst.chroot", text, 0o755


def apt_repositories(image: Image, distribution: Distribution) -> tuple[Repository, ...]:
    """The repositories of an apt system: the spec's, or the distribution's own mirror without any.

    The site's own dated mirror is better: it offers tomorrow what it offers today.
    """
    if image.repositories:
        return image.repositories
    repositories = []
    for archive in distribution.family.archives:
        repository = Repository(
            name=archive.name,
            url=archive.url,
            suites=tuple(suite.format(distribution.release) for suite in archive.suites),
            components=archive.components,
            key=distribution.family.keyring or "",
            path=(),
        )
        repositories.append(repository)
    return tuple(repositories)
