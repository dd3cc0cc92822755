"""Images for fleets with disks: a kickstart for Red Hat's family, an autoinstall for Ubuntu.

Both install the packages of the definition and then lay the image's rendered files and the node's own over them, from
the same archives as for a boot into memory. Debian's installer has no such answer file here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.hosts.linux.writer.system import kernel_command_line
from clusterwright.intent.image.packages import all_packages, changed_slurm_number, installed
from clusterwright.plan.model import Plan
from clusterwright.spec.distribution import Distribution
from clusterwright.spec.image import Image, Repository
from clusterwright.text.templates import template


@dataclass(frozen=True, slots=True)
class InstallView:
    """Values of an answer file."""

    image: str
    server: str
    """URL of the boot server."""
    tree: str
    """Path of the archive of shared files there."""
    packages: tuple[str, ...]
    kernel: str
    parameters: str
    repositories: tuple[Repository, ...]
    disks: tuple[str, ...]
    """The disks to install on; none for the smallest one."""
    slurm_number: int | None
    """Number of the user slurm; None if packages choose it."""
    ipv6: bool
    """Whether the installer's network has IPv6 alone."""


def install_files(
    plan: Plan, image: Image, distribution: Distribution, server: str, tree: str
) -> Iterator[tuple[str, str]]:
    """The answer files of an image by name, as the boot server ``server`` offers them."""
    packages = all_packages(plan, image, distribution)
    kernel = image.kernel.name if image.kernel is not None else distribution.family.kernel.package
    kernel_package = next(package for package in packages if package.name == kernel)
    view = InstallView(
        image=image.name,
        server=server,
        tree=tree,
        packages=tuple(installed(package, distribution) for package in packages if package.name != kernel),
        kernel=installed(kernel_package, distribution),
        parameters=" ".join(kernel_command_line(image)),
        repositories=image.repositories,
        disks=image.disks,
        slurm_number=changed_slurm_number(plan, image, distribution),
        ipv6="[" in server,
    )
    installer = distribution.family.installer
    answers = installer.answers if installer is not None else ""
    if answers == "kickstart" and image.repositories:
        yield "ks.cfg", template("image/ks.cfg.j2").render(view=view)
    elif answers == "autoinstall":
        yield "user-data", template("image/user-data.j2").render(view=view)
        yield "meta-data", template("image/meta-data.j2").render(view=view)
