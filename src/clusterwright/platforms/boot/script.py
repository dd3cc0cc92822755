"""What iPXE does on a node: fetch kernel, image and overlay from the rack's first boot server, or else the second."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.plan.boot import format_mac
from clusterwright.platforms.image.identity import ImageIdentity
from clusterwright.platforms.linux.writer.system import kernel_command_line
from clusterwright.platforms.templates import template
from clusterwright.spec.distribution import Distribution
from clusterwright.spec.image import Image

_INITRDS = ("initrd=image", "initrd=overlay")  # in the order in which the kernel unpacks them

What = tuple[str, str, tuple[tuple[str, str], ...]]
"""Kernel, its parameters, and archives by name."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """One attempt: what is fetched from one server, the kernel's command line, and where to go when it fails."""

    label: str
    otherwise: str
    kernel: str
    parameters: str
    archives: tuple[tuple[str, str], ...]


def boot_script(
    node: str, image: Image, distribution: Distribution, identity: ImageIdentity, servers: tuple[str, ...]
) -> str:
    """The script of one node; ``servers`` are the addresses of its boot servers as URLs write them."""

    def what(server: str) -> What:
        if image.delivery == "disk":
            return _installer(node, distribution, identity, server)
        return _image(node, image, distribution, identity, server)

    fetches = tuple(
        Fetch(f"server{at}", f"server{at + 1}" if at + 1 < len(servers) else "failed", *what(server))
        for at, server in enumerate(servers)
    )
    return template("boot/node.ipxe.j2").render(node=node, image=identity, fetches=fetches)


def tree_path(identity: ImageIdentity) -> str:
    """Where a boot server offers the archive of an image's shared files, and the answer files beside it."""
    return f"images/{identity.name}/{identity.version}"


def script_name(mac: int) -> str:
    """The file by which iPXE asks for an adapter's script: ``${netX/mac:hexhyp}``."""
    return f"by-mac/{format_mac(mac).replace(':', '-')}.ipxe"


def _image(node: str, image: Image, distribution: Distribution, identity: ImageIdentity, server: str) -> What:
    """The whole system as the kernel's first root, the overlay unpacked over it."""
    files = f"{server}/images/{identity.name}_{identity.version}"
    archives = (("image", f"{files}.cpio.zst"), ("overlay", f"{server}/nodes/{node}.cpio"))
    # An archive carries no labels: with the policy enforced, what is unpacked from one could do nothing.
    labels = ("selinux=0",) if distribution.family == "red-hat" else ()
    command_line = (*kernel_command_line(image), *labels)
    words = (*_INITRDS, "rdinit=/usr/lib/systemd/systemd", *command_line, f"clusterwright.node={node}")
    return f"{files}.vmlinuz", " ".join(words), archives


def _installer(node: str, distribution: Distribution, identity: ImageIdentity, server: str) -> What:
    """The distribution's installer, which the site puts beside the images, with the answers for this image."""
    answers = f"{server}/{tree_path(identity)}"
    folder = f"{server}/install/{distribution.tool}-{distribution.release}"
    own = {
        "red-hat": (f"inst.ks={answers}/ks.cfg", "inst.text", "ip=dhcp"),
        "ubuntu": ("autoinstall", f"ds=nocloud;s={answers}/", f"url={folder}/installer.iso", "ip=dhcp"),
    }
    words = ("initrd=installer", *own.get(distribution.family, ()), f"clusterwright.node={node}")
    return f"{folder}/vmlinuz", " ".join(words), (("installer", f"{folder}/initrd.img"),)
