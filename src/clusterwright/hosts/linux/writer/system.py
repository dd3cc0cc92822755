"""Settings of a node's operating system for the network: kernel, modules, limits, services, time and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.hosts.linux.writer.qos import is_lossless
from clusterwright.intent.credentials import log_authority
from clusterwright.intent.device_kind import NodeKind
from clusterwright.intent.gpu_services import (
    CONTAINER_DEVICES,
    ENROOT,
    ENROOT_FOLDERS,
    PODMAN,
    gpu_units,
    metrics_units,
    sees_gpus_in_containers,
    uses_enroot,
)
from clusterwright.intent.image.mounts import mounts_of
from clusterwright.intent.node_nics import is_managed
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.model import Device, Plan
from clusterwright.spec.distribution import Family, distribution_of, family_of
from clusterwright.spec.image import FILTER, LIMITS, NETWORK, Image
from clusterwright.spec.kernel_settings import dotted
from clusterwright.text.templates import template

KIND = "node-system"
_BASE_NEIGHBOURS = 1024  # where the kernel starts to refuse neighbours by itself (gc_thresh3)
_SYSTEMD_LIMITS = {
    "memlock": "DefaultLimitMEMLOCK",
    "nofile": "DefaultLimitNOFILE",
    "nproc": "DefaultLimitNPROC",
    "stack": "DefaultLimitSTACK",
    "core": "DefaultLimitCORE",
}
_BYTES_PER_KIB = 1024
_IN_KIB = frozenset({"memlock", "stack", "core"})  # limits.conf counts these in KiB, systemd in bytes


def applies(plan: Plan, device: Device) -> bool:
    """Nodes with an image."""
    return is_managed(device)


def shared(plan: Plan, kind: NodeKind) -> Iterator[SharedFile]:
    """sysctl, modules, limits, kernel command line, time, name service, log forwarding, and services at boot."""
    for path, content in _files(plan, kind.image, kind.node_group, shape_of(kind)):
        yield path, content, 0o644


WRITER = Writer(KIND, applies, shared=shared)


Shape = tuple[tuple[str, int], ...]


def shape_of(kind: NodeKind) -> Shape:
    """Numbers of NICs by fabric on nodes of a kind: the only input of kernel settings."""
    return tuple((fabric, len(nics)) for fabric, nics in kind.by_fabric().items())


def _files(plan: Plan, image_name: str, node_group: str, shape: Shape) -> tuple[tuple[str, bytes], ...]:
    image = plan.spec.image(image_name)
    if image is None:
        return ()
    if image.is_existing:
        return _files_beside_others(plan, image, node_group, shape)
    site = plan.spec.site
    settings = kernel_settings(plan, image, shape)
    files: list[tuple[str, str]] = [
        (
            "etc/sysctl.d/90-clusterwright.conf",
            template("node/sysctl.conf.j2").render(settings=sorted(settings.items())),
        ),
        ("etc/modules-load.d/clusterwright.conf", template("node/modules.conf.j2").render(modules=image.modules)),
        (
            "etc/systemd/system/multi-user.target.d/90-clusterwright.conf",
            template("node/boot.conf.j2").render(services=boot_services(plan, image, node_group, shape)),
        ),
        (
            "etc/systemd/system/systemd-networkd.service.d/90-clusterwright.conf",
            template("node/networkd-after-filter.conf.j2").render(),
        ),
    ]
    files.extend(_limit_files(image))
    if image.blacklist or image.module_options:
        options = sorted(image.module_options.items())
        text = template("node/modprobe.conf.j2").render(blacklist=image.blacklist, options=options)
        files.append(("etc/modprobe.d/90-clusterwright.conf", text))
    if image.containers is not None:
        locked_kib = image.containers.memlock_kib
        memlock = -1 if locked_kib is None else locked_kib * _BYTES_PER_KIB
        text = template("node/containers.conf.j2").render(view=image.containers, memlock=memlock)
        files.append(("etc/containers/containers.conf.d/90-clusterwright.conf", text))
    files.extend(_gpu_files(image))
    # An empty unit is masked (systemd.unit(5)); a link to /dev/null cannot be rendered as a file.
    files.extend((f"etc/systemd/system/{unit}", "") for unit in image.masked_units)
    files.extend(_distribution_files(plan, image))
    if site.dns:
        text = template("node/resolved.conf.j2").render(servers=" ".join(site.dns), domain=site.domain)
        files.append(("etc/systemd/resolved.conf.d/90-clusterwright.conf", text))
    return tuple((path, text.encode()) for path, text in files)


def _files_beside_others(plan: Plan, image: Image, node_group: str, shape: Shape) -> tuple[tuple[str, bytes], ...]:
    """Files on an existing system: limits, network settings of the kernel, and the parts' services."""
    files: list[tuple[str, str]] = []
    services = boot_services(plan, image, node_group, shape)
    if services:
        text = template("node/boot.conf.j2").render(services=services)
        files.append(("etc/systemd/system/multi-user.target.d/90-clusterwright.conf", text))
    if image.owns(NETWORK):
        text = template("node/sysctl.conf.j2").render(settings=sorted(kernel_settings(plan, image, shape).items()))
        files.append(("etc/sysctl.d/90-clusterwright.conf", text))
    if image.owns(NETWORK) and image.owns(FILTER):
        text = template("node/networkd-after-filter.conf.j2").render()
        files.append(("etc/systemd/system/systemd-networkd.service.d/90-clusterwright.conf", text))
    if image.owns(LIMITS):
        files.extend(_limit_files(image))
    return tuple((path, text.encode()) for path, text in files)


def _limit_files(image: Image) -> Iterator[tuple[str, str]]:
    """Limits of logins, and the same for services."""
    if image.limits:
        limits = sorted(image.limits.items())
        yield "etc/security/limits.d/90-clusterwright.conf", template("node/limits.conf.j2").render(limits=limits)
        text = template("node/system.conf.j2").render(limits=systemd_limits(image.limits))
        yield "etc/systemd/system.conf.d/90-clusterwright.conf", text


def _gpu_files(image: Image) -> Iterator[tuple[str, str]]:
    """Files for GPUs in containers, enroot's folder, and a single DCGM for the exporter."""
    if sees_gpus_in_containers(image, PODMAN):
        yield f"etc/systemd/system/{CONTAINER_DEVICES}", template("node/nvidia-cdi.service.j2").render()
    if image.containers is not None and image.containers.runtime == ENROOT:
        folder = image.containers.folder
        yield "etc/enroot/enroot.conf", template("node/enroot.conf.j2").render(folder=folder)
        folders = template("node/enroot-folders.service.j2").render(folder=folder)
        yield f"etc/systemd/system/{ENROOT_FOLDERS}", folders
    units = metrics_units(image)
    if image.gpu_metrics is not None and units:
        text = template("node/dcgm-exporter.conf.j2").render(port=image.gpu_metrics.port)
        yield f"etc/systemd/system/{units[-1]}.d/90-clusterwright.conf", text


def kernel_command_line(image: Image) -> tuple[str, ...]:
    """The kernel parameters of an image, those for its huge pages among them."""
    pages = image.hugepages
    if pages is None:
        return image.kernel_parameters
    return (*image.kernel_parameters, f"hugepagesz={pages.size}", f"hugepages={pages.count}")


def sets_time_by_chrony(family: Family) -> bool:
    """Whether the clock is set by chrony; otherwise by systemd-timesyncd."""
    return family.units.time == "chronyd.service"


def _distribution_files(plan: Plan, image: Image) -> Iterator[tuple[str, str]]:
    """Files by distribution: kernel command line and time; and log forwarding."""
    site = plan.spec.site
    family = family_of(image.distribution)
    parameters = " ".join(kernel_command_line(image))
    if parameters and family.units.tuned:
        yield "etc/tuned/clusterwright/tuned.conf", template("node/tuned.conf.j2").render(parameters=parameters)
        yield "etc/tuned/active_profile", "clusterwright\n"
        yield "etc/tuned/profile_mode", "manual\n"
    else:
        yield "etc/tmpfiles.d/91-clusterwright-processors.conf", template("node/processors.conf.j2").render()
    if parameters and not family.units.tuned:
        yield "etc/default/grub.d/90-clusterwright.cfg", template("node/kernel.cfg.j2").render(parameters=parameters)
    if site.ntp and sets_time_by_chrony(family):
        yield "etc/chrony.conf", template("node/chrony.conf.j2").render(servers=site.ntp)
    elif site.ntp:
        text = template("node/timesyncd.conf.j2").render(servers=" ".join(site.ntp))
        yield "etc/systemd/timesyncd.conf.d/90-clusterwright.conf", text
    if site.syslog:
        names = site.syslog_tls.names if site.syslog_tls is not None else (f"*.{site.domain}",)
        authority = log_authority(plan.spec)
        text = template("node/rsyslog.conf.j2").render(servers=site.syslog, authority=authority, names=names)
        yield "etc/rsyslog.d/90-clusterwright.conf", text


def kernel_settings(plan: Plan, image: Image, shape: Shape) -> dict[str, str]:
    """Kernel settings from the plan and from the image, by dotted name."""
    required = {**required_sysctl(plan, shape), **_container_settings(image)}
    if image.is_existing:
        required = {name: value for name, value in required.items() if name.startswith("net.")}
        # The system's containers may need forwarding; a rendered filter denies it anyway.
        del required["net.ipv4.ip_forward"], required["net.ipv6.conf.all.forwarding"]
    image_settings = {dotted(name): value for name, value in image.sysctl.items()}
    settings = dict(required)
    for name, value in image_settings.items():
        settings.setdefault(name, value)
    return settings


def _container_settings(image: Image) -> Mapping[str, str]:
    """Kernel settings for the start of containers on the image's distribution."""
    distribution = distribution_of(image.distribution)
    if distribution is None or not uses_enroot(image):
        return {}
    return distribution.of.sysctl.get(ENROOT, {})


def required_sysctl(plan: Plan, shape: Shape) -> dict[str, str]:
    """Kernel settings from the plan; ``spec.kernel_settings`` lists them as decided.

    Nodes do not forward and take no routes from the network. With several NICs in one IPv4 fabric each answers ARP for
    its own address alone, and the reverse path is checked loosely, because rules choose routes by source. Routes over
    two NICs spread connections by port too, or all those with one server would share a NIC. Neighbour tables have room
    for twice the neighbours of all NICs together.
    """
    settings = {
        "net.ipv4.ip_forward": "0",
        "net.ipv4.conf.all.accept_redirects": "0",
        "net.ipv4.conf.default.accept_redirects": "0",
        "net.ipv4.conf.all.rp_filter": "1",
        "net.ipv4.conf.default.rp_filter": "1",
        "net.ipv6.conf.all.forwarding": "0",
        "net.ipv6.conf.all.accept_ra": "0",
        "net.ipv6.conf.default.accept_ra": "0",
        "net.ipv6.conf.all.accept_redirects": "0",
        "net.ipv6.conf.default.accept_redirects": "0",
    }
    neighbours: dict[int, int] = {4: 0, 6: 0}
    for name, nics in shape:
        fabric = plan.spec.fabric(name)
        if fabric is None or fabric.addressing is None:
            continue
        version: int = fabric.addressing.hosts.version
        neighbours[version] += nics * _neighbours(plan, name)
        if fabric.technology == "ethernet" and nics > 1:
            settings[f"net.ipv{version}.fib_multipath_hash_policy"] = "1"
        if version == 4 and nics > 1:
            settings["net.ipv4.conf.all.rp_filter"] = settings["net.ipv4.conf.default.rp_filter"] = "2"
            settings["net.ipv4.conf.all.arp_ignore"] = "1"
            settings["net.ipv4.conf.all.arp_announce"] = "2"
    for version, count in neighbours.items():
        most = max(_BASE_NEIGHBOURS, 1 << (2 * count).bit_length())
        for step, value in ((1, most // 4), (2, most // 2), (3, most)):
            settings[f"net.ipv{version}.neigh.default.gc_thresh{step}"] = str(value)
    return settings


def systemd_limits(limits: Mapping[str, str]) -> list[tuple[str, str]]:
    """limits.conf(5) items as systemd's manager settings, by name."""
    settings = []
    for item, value in limits.items():
        name = _SYSTEMD_LIMITS[item]
        if value in ("unlimited", "infinity", "-1"):
            settings.append((name, "infinity"))
        elif item in _IN_KIB:
            settings.append((name, f"{value}K"))
        else:
            settings.append((name, value))
    return sorted(settings)


@per_plan
def _neighbours(plan: Plan, fabric_name: str) -> int:
    """The most neighbours of one NIC on a fabric: the hosts of the fullest switch, or the one at its link."""
    fabric = plan.spec.fabric(fabric_name)
    if fabric is None or fabric.addressing is None or fabric.addressing.host_links != "shared":
        return 1
    hosts_by_switch: Counter[str] = Counter()
    for cable in plan.cables:
        if cable.fabric == fabric_name and cable.a.side == "host":
            hosts_by_switch[cable.b.device] += cable.a.address is not None
    return max(hosts_by_switch.values(), default=1)


def boot_services(plan: Plan, image: Image, node_group: str, shape: Shape) -> tuple[str, ...]:
    """Services to start. A drop-in for multi-user.target lists them: a plain file, since links are not copied."""
    if image.is_existing:
        return _services_beside_others(plan, image, shape)
    units = family_of(image.distribution).units
    services = ["nftables.service", "systemd-networkd.service", units.ssh]
    if any(is_lossless(plan, fabric) for fabric, _ in shape):
        services.append("roce-qos.service")
    if plan.spec.site.ntp:
        services.append(units.time)
    if plan.spec.site.syslog:
        services.append("rsyslog.service")
    if kernel_command_line(image) and units.tuned:
        services.append(units.tuned)
    if plan.spec.site.dns:
        services.append("systemd-resolved.service")
    if mounts_of(plan, node_group):
        services.append("remote-fs.target")
    services.extend(_boot_server_services(plan, image, node_group))
    groups = [group for group in plan.spec.node_groups if group.name == node_group]
    services.extend(gpu_units(image, groups))
    services.extend(unit for unit in image.enabled_units if unit not in services)
    return tuple(services)


def _services_beside_others(plan: Plan, image: Image, shape: Shape) -> tuple[str, ...]:
    """The units of the owned parts on an existing system."""
    services = []
    if image.owns(FILTER):
        services.append("nftables.service")
    if image.owns(NETWORK):
        services.append("systemd-networkd.service")
        if any(is_lossless(plan, fabric) for fabric, _ in shape):
            services.append("roce-qos.service")
    return tuple(services)


def _boot_server_services(plan: Plan, image: Image, node_group: str) -> tuple[str, ...]:
    """Services for addresses, iPXE and images on boot servers."""
    boot, network = plan.spec.boot, plan.spec.boot_network
    if boot is None or network is None or boot.servers != node_group:
        return ()
    dhcp = family_of(image.distribution).units.dhcp.format(network[1].hosts.version)
    return ("dnsmasq.service", "nginx.service", dhcp)
