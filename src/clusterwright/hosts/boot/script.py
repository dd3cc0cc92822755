"""A node's iPXE script: fetch kernel, image and files from the rack's first boot server, or else the second.

An installed node starts from its disk, unless its mark lies on the first server. The mark is an order to wipe the
disks; the installer removes it before it wipes, and wipes nothing without one.
"""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.hosts.image.boot_files import FIRST_INIT
from clusterwright.hosts.image.identity import ImageIdentity
from clusterwright.hosts.linux.writer.system import kernel_command_line
from clusterwright.plan.boot import format_mac
from clusterwright.spec.distribution import Distribution
from clusterwright.spec.image import Image
from clusterwright.text.templates import template

MARKS = "installing"
"""The folder of boot servers, as URLs have it, that marks lie in."""
_INITRDS = ("initrd=image", "initrd=shared", "initrd=overlay")  # in the order in which the kernel unpacks them

What = tuple[str, str, tuple[tuple[str, str], ...]]
"""Kernel, its parameters, and archives by name."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """One attempt: the files from one server, the kernel's command line, and the label for a failure."""

    label: str
    otherwise: str
    kernel: str
    parameters: str
    archives: tuple[tuple[str, str], ...]


def boot_script(
    node: str, image: Image, distribution: Distribution, identity: ImageIdentity, servers: tuple[str, ...]
) -> str:
    """The script of one node; ``servers`` are the addresses of its boot servers as URLs write them."""
    is_installed = image.delivery == "disk"
    mark = mark_url(servers[0], node) if is_installed and servers else ""

    def what(server: str) -> What:
        if is_installed:
            return _installer(node, distribution, identity, server, mark)
        return _image(node, image, distribution, identity, server)

    fetches = tuple(
        Fetch(f"server{number}", f"server{number + 1}" if number + 1 < len(servers) else "failed", *what(server))
        for number, server in enumerate(servers)
    )
    words = {"node": node, "image": identity, "fetches": fetches, "servers": servers, "mark": mark}
    return template("boot/node.ipxe.j2").render(words)


def mark_url(server: str, node: str) -> str:
    """URL of a node's mark for installation on a boot server."""
    return f"{server}/{MARKS}/{node}"


def tree_path(identity: ImageIdentity) -> str:
    """Path of the archive of an image's shared files on a boot server, beside answer files."""
    return f"images/{identity.name}/{identity.version}"


def script_name(mac: int) -> str:
    """Name of an adapter's script for iPXE: ``${netX/mac:hexhyp}``."""
    return f"by-mac/{format_mac(mac).replace(':', '-')}.ipxe"


def _image(node: str, image: Image, distribution: Distribution, identity: ImageIdentity, server: str) -> What:
    """The whole system as the kernel's first root, with shared files and the node's own unpacked over it."""
    files = f"{server}/images/{identity.name}_{identity.version}"
    archives = (
        ("image", f"{files}.cpio.zst"),
        ("shared", f"{server}/{tree_path(identity)}/tree.cpio"),
        ("overlay", f"{server}/nodes/{node}.cpio"),
    )
    command_line = (*kernel_command_line(image), *distribution.family.in_memory)
    words = (*_INITRDS, f"rdinit=/{FIRST_INIT}", *command_line, f"clusterwright.node={node}")
    return f"{files}.vmlinuz", " ".join(words), archives


def _installer(node: str, distribution: Distribution, identity: ImageIdentity, server: str, mark: str) -> What:
    """The distribution's installer, placed beside the images by the site, with the answers for this image."""
    folder = f"{server}/install/{distribution.tool}-{distribution.release}"
    places = {"answers": f"{server}/{tree_path(identity)}", "folder": folder}
    family_words: tuple[str, ...] = ()
    installer = distribution.family.installer
    if installer is not None:
        arguments = tuple(argument.format(**places) for argument in installer.arguments)
        family_words = (*arguments, installer.over_ipv6 if "[" in server else installer.over_ipv4)
    words = ("initrd=installer", *family_words, f"clusterwright.node={node}", f"clusterwright.mark={mark}")
    return f"{folder}/vmlinuz", " ".join(words), (("installer", f"{folder}/initrd.img"),)
