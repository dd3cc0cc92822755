"""What inventory/distributions says of Debian's releases, and what is rendered of images, asked of Debian's archive."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.images.debian_archive import Archive, archive
from tests.plans import plan_with

from clusterwright.intent.image.packages import all_packages
from clusterwright.plan.model import Plan
from clusterwright.spec.distribution import Distribution, distribution_of, families

DEBIAN = families()["debian"]
NAMES = [f"Debian {release.name}" for release in DEBIAN.releases]
# Of the labs' own mirror.
OF_THE_SITE = {"mlnx-tools", "vault"}


def known(name: str) -> tuple[Distribution, Archive]:
    distribution = distribution_of(name)
    assert distribution is not None
    return distribution, archive(distribution.release)


def rendered(plan: Plan, distribution: Distribution) -> list[str]:
    """The packages of a plan's image that Debian's own archive is to have."""
    image = plan.spec.image("training")
    assert image is not None
    absent = {*DEBIAN.elsewhere, *OF_THE_SITE}
    return sorted({package.name for package in all_packages(plan, image, distribution)} - absent)


@pytest.mark.parametrize("name", NAMES)
def test_the_archive_has_the_packages_of_every_need(name: str) -> None:
    distribution, debian = known(name)
    needs = {*DEBIAN.needs, *distribution.of.packages}
    wanted = {package for need in needs for package in distribution.packages_for(need)}
    had = wanted - distribution.foreign_packages
    assert debian.install([*DEBIAN.base, DEBIAN.kernel.package, *sorted(had)]) == ""
    absent = distribution.foreign_packages
    assert [package for package in sorted(absent) if debian.candidate(package)[0]] == []


@pytest.mark.parametrize("name", NAMES)
def test_sections_and_slurm_s_release_are_the_archive_s(name: str) -> None:
    distribution, debian = known(name)
    for section, packages in DEBIAN.sections.items():
        assert {debian.candidate(package)[1] for package in packages} == {section}
    assert debian.candidate("slurmd")[0].startswith(f"{distribution.of.slurm}.")


@pytest.mark.parametrize("name", NAMES)
def test_apt_installs_what_is_rendered_and_a_driver_finds_compiler_and_headers(name: str, tmp_path: Path) -> None:
    """Of dkms and the driver's package neither comes by itself."""
    distribution, debian = known(name)
    driver = "{name: nvidia-open, version: '550', packages: [nvidia-open-kernel-dkms], modules: [nvidia], built: true}"
    plan = plan_with(tmp_path, "lab-roce", f"images:\n  - {{name: training, drivers: [{driver}]}}\n")
    packages = [each for each in rendered(plan, distribution) if each not in distribution.of.lacks]
    assert debian.install(packages) == ""
    installed = debian.installed_with(packages)
    kernels = {each.removeprefix("linux-image-") for each in installed if each.startswith("linux-image-")}
    headers = {each.removeprefix("linux-headers-") for each in installed if each.startswith("linux-headers-")}
    assert kernels <= headers
    assert {"dkms", "gcc", "make"} <= installed
    # The headers alone would come with nothing of it.
    assert not {
        each for each in debian.installed_with(["nvidia-open-kernel-dkms"]) if each.startswith("linux-headers-")
    }
