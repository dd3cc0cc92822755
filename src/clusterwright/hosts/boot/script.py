"""A node's iPXE script: fetch kernel, image and files from the rack's first boot server, or else the second.

An installed node starts from its disk, unless its mark is on the first server. The mark is an order to wipe the
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
"""The folder of marks on boot servers, as in URLs."""
_INITRDS = ("initrd=image", "initrd=shared", "initrd=overlay")  # in the order in which the kernel unpacks them


@dataclass(frozen=True, slots=True)
class BootFiles:
    """The files of one boot from one server."""

    kernel: str
    """URL of the kernel."""
    parameters: str
    """Its command line."""
    archives: tuple[tuple[str, str], ...]
    """Name and URL of each archive for it."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """One attempt to boot from one server."""

    label: str
    """Label of the attempt in the script."""
    otherwise: str
    """Label to go to after a failure."""
    kernel: str
    parameters: str
    archives: tuple[tuple[str, str], ...]


def boot_script(
    node: str, image: Image, distribution: Distribution, identity: ImageIdentity, servers: tuple[str, ...]
) -> str:
    """The script of one node; ``servers`` are the base URLs of its boot servers, the preferred one first."""
    is_installed = image.delivery == "disk"
    mark = mark_url(servers[0], node) if is_installed and servers else ""
    fetches = []
    for number, server in enumerate(servers):
        if is_installed:
            files = _installer(node, distribution, identity, server, mark)
        else:
            files = _image(node, image, distribution, identity, server)
        is_last = number + 1 == len(servers)
        fetch = Fetch(
            label=f"server{number}",
            otherwise="failed" if is_last else f"server{number + 1}",
            kernel=files.kernel,
            parameters=files.parameters,
            archives=files.archives,
        )
        fetches.append(fetch)
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


def _image(node: str, image: Image, distribution: Distribution, identity: ImageIdentity, server: str) -> BootFiles:
    """The whole system as the kernel's first root, with shared files and the node's own unpacked over it."""
    files = f"{server}/images/{identity.name}_{identity.version}"
    archives = (
        ("image", f"{files}.cpio.zst"),
        ("shared", f"{server}/{tree_path(identity)}/tree.cpio"),
        ("overlay", f"{server}/nodes/{node}.cpio"),
    )
    command_line = (*kernel_command_line(image), *distribution.family.in_memory)
    words = (*_INITRDS, f"rdinit=/{FIRST_INIT}", *command_line, f"clusterwright.node={node}")
    return BootFiles(kernel=f"{files}.vmlinuz", parameters=" ".join(words), archives=archives)


def _installer(node: str, distribution: Distribution, identity: ImageIdentity, server: str, mark: str) -> BootFiles:
    """The distribution's installer, placed beside the images by the site, with the answers for this image."""
    folder = f"{server}/install/{distribution.tool}-{distribution.release}"
    places = {"answers": f"{server}/{tree_path(identity)}", "folder": folder}
    family_words: tuple[str, ...] = ()
    installer = distribution.family.installer
    if installer is not None:
        arguments = tuple(argument.format(**places) for argument in installer.arguments)
        network_argument = installer.over_ipv6 if "[" in server else installer.over_ipv4
        family_words = (*arguments, network_argument)
    words = ("initrd=installer", *family_words, f"clusterwright.node={node}", f"clusterwright.mark={mark}")
    initrd = ("installer", f"{folder}/initrd.img")
    return BootFiles(kernel=f"{folder}/vmlinuz", parameters=" ".join(words), archives=(initrd,))
