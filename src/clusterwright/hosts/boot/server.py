"""A boot server's files: DHCP reservations, boot scripts and overlays of its racks, and the images' files.

The first boot server also holds the images' definitions and builds them; the results are copied to the others, into a
folder of equal name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from clusterwright.artifact import Artifact
from clusterwright.hosts.boot.dhcp import kea_config, url_host
from clusterwright.hosts.boot.newc import newc
from clusterwright.hosts.boot.script import MARKS, boot_script, script_name, tree_path
from clusterwright.hosts.boot.served import HTTP
from clusterwright.hosts.image.identity import files_beside, identity_of
from clusterwright.hosts.image.install import install_files
from clusterwright.hosts.image.mkosi import mkosi_files
from clusterwright.hosts.image.shared import NodeFiles, of_overlay
from clusterwright.intent.node_nics import HostNic, nics_of
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.boot import (
    HTTP_PORT,
    BootNic,
    boot_nics,
    boot_server_family,
    ipxe_of,
    server_addresses,
    servers_by_rack,
)
from clusterwright.plan.model import Device, Plan, Subnet, format_address
from clusterwright.spec.distribution import distribution_of
from clusterwright.text.templates import template

KIND = "boot"
"""DHCP reservations, boot scripts, and the servers' own configuration."""
ARCHIVES = "boot-archives"
"""Images' definitions, and files of images and nodes as archives."""
DEFINITIONS = "srv/images"
MARKS_FOLDER = "/var/lib/nginx/installing"  # where nginx may write on every distribution


def applies(plan: Plan, device: Device) -> bool:
    """Boot servers."""
    return plan.spec.boot is not None and device.kind == "node" and device.node_group == plan.spec.boot.servers


def over(files: NodeFiles) -> Callable[[Plan, Device], Iterator[Artifact]]:
    """The renderer of boot servers, with the nodes' own files from ``files``."""

    def render(plan: Plan, device: Device) -> Iterator[Artifact]:
        nics = _nics(plan, device)
        if not nics:
            return
        address = _address(nics[0])
        yield from _scripts(plan, device, files)
        served = _served(plan, device.name)
        if served:
            version, kea = kea_config(plan, [(nic.interface, _address(nic)) for nic in nics], served)
            yield Artifact(device=device.name, path=f"etc/kea/kea-dhcp{version}.conf", source=kea, kind=KIND)
        folder, _, name = ipxe_of(plan.spec).rpartition("/")
        installs = _installs(plan, device.name)
        words = {
            "address": address,
            "host": url_host(address),
            "http_port": HTTP_PORT,
            "folder": folder,
            "name": name,
            "marks": MARKS if installs else "",
            "folder_of_marks": MARKS_FOLDER,
        }
        if installs:
            yield from _marking(plan, device, f"http://{url_host(address)}/{MARKS}")
        for path, name_of_template in (
            (f"{HTTP}/boot.ipxe", "boot.ipxe"),
            ("etc/dnsmasq.d/clusterwright-boot.conf", "tftp.conf"),
            ("etc/nginx/conf.d/clusterwright-boot.conf", "nginx.conf"),
        ):
            text = template(f"boot/{name_of_template}.j2").render(words)
            yield Artifact(device=device.name, path=path, source=text.encode(), kind=KIND)

    return render


def archives(files: NodeFiles, nodes: Collection[str] | None = None) -> Callable[[Plan, Device], Iterator[Artifact]]:
    """The renderer of archives on boot servers, with the nodes' own files from ``files``.

    With ``nodes``, it includes archives of these nodes alone.
    """

    def render(plan: Plan, device: Device) -> Iterator[Artifact]:
        nics = _nics(plan, device)
        if not nics:
            return
        yield from _images(plan, device, f"http://{url_host(_address(nics[0]))}", files)
        for name in _served_nodes(plan, device.name):
            if nodes is not None and name not in nodes:
                continue
            node = plan.by_name[name]
            if identity_of(plan, node.image or "", files) is not None:
                overlay = _overlay(plan, node, files)
                yield Artifact(device=device.name, path=f"{HTTP}/nodes/{name}.cpio", source=overlay, kind=ARCHIVES)

    return render


def _installs(plan: Plan, server: str) -> bool:
    """Whether any node of a server has an installed image."""
    images = {plan.by_name[name].image for name in _served_nodes(plan, server)}
    return any(image.delivery == "disk" for image in plan.spec.images if image.name in images)


def _marking(plan: Plan, device: Device, url: str) -> Iterator[Artifact]:
    """The folder for marks of installations, and the program to set them."""
    user = boot_server_family(plan.spec).web_server
    folder = template("boot/tmpfiles.conf.j2").render(folder=MARKS_FOLDER, user=user)
    yield Artifact(
        device=device.name, path="etc/tmpfiles.d/clusterwright-installing.conf", source=folder.encode(), kind=KIND
    )
    program = template("boot/mark-for-install.sh.j2").render(folder=MARKS_FOLDER, url=url)
    yield Artifact(
        device=device.name, path="usr/local/sbin/mark-for-install", source=program.encode(), kind=KIND, mode=0o755
    )


@per_plan
def _boot_nics(plan: Plan) -> dict[str, tuple[BootNic, ...]]:
    return dict(boot_nics(plan))


@per_plan
def _servers(plan: Plan) -> dict[str, tuple[str, ...]]:
    return dict(servers_by_rack(plan))


@per_plan
def _served_nodes(plan: Plan, server: str) -> tuple[str, ...]:
    """The nodes that boot from a server, as their first or second one."""
    servers_of_rack = _servers(plan)
    return tuple(name for name in _boot_nics(plan) if server in servers_of_rack.get(plan.by_name[name].rack, ()))


def _served(plan: Plan, server: str) -> list[tuple[Subnet, list[BootNic]]]:
    boot = plan.spec.boot
    by_switch: dict[str, list[BootNic]] = {}
    for name in _served_nodes(plan, server):
        for nic in _boot_nics(plan)[name]:
            by_switch.setdefault(nic.switch, []).append(nic)
    fabric = boot.fabric if boot is not None else ""
    return [(plan.host_subnet_of[fabric, switch], nics) for switch, nics in by_switch.items()]


def _images(plan: Plan, device: Device, url: str, files: NodeFiles) -> Iterator[Artifact]:
    """Archives and answer files of every booted image; definitions on the first server."""
    first_server = next(server.name for server in plan.devices if server.node_group == device.node_group)
    image_names = dict.fromkeys(plan.by_name[node].image or "" for node in _boot_nics(plan))
    for name in image_names:
        image, identity = plan.spec.image(name), identity_of(plan, name, files)
        distribution = distribution_of(image.distribution) if image is not None else None
        if image is None or identity is None or distribution is None:
            continue
        folder = tree_path(identity)
        archive = f"{folder}/tree.cpio"
        yield Artifact(
            device=device.name, path=f"{HTTP}/{archive}", source=newc(files_beside(plan, name, files)), kind=ARCHIVES
        )
        for path, text in install_files(plan, image, distribution, url, archive):
            yield Artifact(device=device.name, path=f"{HTTP}/{folder}/{path}", source=text.encode(), kind=ARCHIVES)
        if device.name == first_server:
            for path, text, mode in mkosi_files(plan, image, distribution, identity.version):
                yield Artifact(
                    device=device.name,
                    path=f"{DEFINITIONS}/{name}/{path}",
                    source=text.encode(),
                    kind=ARCHIVES,
                    mode=mode,
                )


def _scripts(plan: Plan, device: Device, files: NodeFiles) -> Iterator[Artifact]:
    """The script of every node of this server."""
    for name in _served_nodes(plan, device.name):
        node = plan.by_name[name]
        image, identity = plan.spec.image(node.image or ""), identity_of(plan, node.image or "", files)
        distribution = distribution_of(image.distribution) if image is not None else None
        if image is None or identity is None or distribution is None:
            continue
        urls = server_urls(plan)
        urls_of_rack = tuple(urls[server] for server in _servers(plan)[node.rack] if server in urls)
        script = boot_script(name, image, distribution, identity, urls_of_rack).encode()
        for nic in _boot_nics(plan)[name]:
            yield Artifact(device=device.name, path=f"{HTTP}/{script_name(nic.mac)}", source=script, kind=KIND)


def keep_overlay(plan: Plan, node: Device, artifacts: tuple[Artifact, ...], files: NodeFiles) -> None:
    """Make the archive of a network-booted node while its own files, ``artifacts``, are in memory."""
    if node.name in _boot_nics(plan) and node.name not in _overlays(plan):
        _overlays(plan)[node.name] = newc(of_overlay(plan, node, artifacts, files))


def _overlay(plan: Plan, node: Device, files: NodeFiles) -> bytes:
    """A node's archive, once for both of its servers."""
    overlays = _overlays(plan)
    if node.name not in overlays:
        keep_overlay(plan, node, files.for_device(plan, node), files)
    return overlays[node.name]


@per_plan
def _overlays(plan: Plan) -> dict[str, bytes]:
    """The archives made so far, by node."""
    return {}


def _nics(plan: Plan, device: Device) -> list[HostNic]:
    """A boot server's NICs on the boot fabric."""
    boot = plan.spec.boot
    if boot is None:
        return []
    on_fabric = [nic for nic in nics_of(plan, device) if nic.fabric.name == boot.fabric]
    return [nic for nic in on_fabric if nic.version]


@per_plan
def server_urls(plan: Plan) -> dict[str, str]:
    """Base URL of every boot server, by server."""
    boot = plan.spec.boot
    version = plan.address_version(boot.fabric) if boot is not None else 0
    addresses = server_addresses(plan)
    return {name: f"http://{url_host(format_address(address, version))}" for name, address in addresses.items()}


def _address(nic: HostNic) -> str:
    return format_address(nic.address or 0, nic.version)
