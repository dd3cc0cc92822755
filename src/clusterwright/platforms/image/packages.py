"""What an image has to be installed with: the spec's own packages, and those that the rendered files need."""

from __future__ import annotations

from clusterwright.intent.gpu_services import ENROOT, PODMAN, sees_gpus_in_containers
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.scheduling import is_controller, keeps_accounts, works_for_slurm
from clusterwright.plan.model import Plan
from clusterwright.platforms.linux.writer.mounts import mounts_of, options_of
from clusterwright.spec.distribution import Distribution
from clusterwright.spec.image import Image, Package

_BASE = {
    "debian": (
        "dbus",
        "iproute2",
        "kmod",
        "nftables",
        "openssh-server",
        "openssl",
        "python3",
        "systemd",
        "systemd-sysv",
        "udev",
    ),
    "red-hat": (
        "dbus",
        "iproute",
        "kmod",
        "nftables",
        "openssh-server",
        "openssl",
        "python3",
        "systemd",
        "systemd-networkd",
        "systemd-udev",
    ),
}
_BASE["ubuntu"] = _BASE["debian"]
# For apt systems and for Red Hat's.
_NAMES = {
    "time": (("systemd-timesyncd",), ("chrony",)),
    "names": (("systemd-resolved",), ("systemd-resolved",)),
    "logs": (("ca-certificates", "rsyslog", "rsyslog-openssl"), ("ca-certificates", "rsyslog", "rsyslog-openssl")),
    "verbs": (("ethtool", "ibverbs-utils", "rdma-core"), ("ethtool", "libibverbs-utils", "rdma-core")),
    "nfs": (("nfs-common",), ("nfs-utils",)),
    "nfs-tls": (("ktls-utils",), ("ktls-utils",)),
    # With scontrol, by which the node check drains, and srun, which batch scripts call.
    "jobs": (("munge", "procps", "slurm-client", "slurmd"), ("munge", "procps-ng", "slurm", "slurm-slurmd")),
    "jobs-controller": (("munge", "slurm-client", "slurmctld"), ("munge", "slurm", "slurm-slurmctld")),
    "jobs-accounting": (("munge", "slurmdbd"), ("munge", "slurm-slurmdbd")),
    "kernel-parameters": ((), ("tuned",)),
    "administrators": (("sudo",), ("sudo",)),
    "subnet-manager": (("opensm",), ("opensm",)),
    "boot-server": (("dnsmasq", "ipxe", "nginx"), ("dnsmasq", "ipxe-bootimgs-x86", "kea", "nginx")),
    "boot-server-4": (("kea-dhcp4-server",), ()),
    "boot-server-6": (("kea-dhcp6-server",), ()),
    "direct-paths": (("pciutils",), ("pciutils",)),
    # NVIDIA's names, alike for both families; pyxis is the part of enroot that srun and sbatch load.
    "podman": (("podman",), ("podman",)),
    "podman-gpus": (("nvidia-container-toolkit",), ("nvidia-container-toolkit",)),
    "enroot": (("enroot", "enroot+caps", "nvslurm-plugin-pyxis"),) * 2,
    "enroot-gpus": (("libnvidia-container-tools",), ("libnvidia-container-tools",)),
    # What the node check asks.
    "disks": (("nvme-cli",), ("nvme-cli",)),
    "power-supplies": (("ipmitool",), ("ipmitool",)),
}


def all_packages(plan: Plan, image: Image, distribution: Distribution) -> tuple[Package, ...]:
    """The packages of an image by name: kernel, what rendered files need, drivers', and the spec's own.

    A version that the spec fixes holds for a package that is needed anyway.
    """
    found = {name: Package(name, None) for name in _needed(plan, image.name, distribution.family)}
    kernel = image.kernel or Package(distribution.kernel, None)
    drivers = [package for driver in image.drivers for package in driver.packages]
    metrics = image.gpu_metrics.packages if image.gpu_metrics is not None else ()
    for package in (kernel, *drivers, *metrics, *image.packages):
        found[package.name] = package
    return tuple(found[name] for name in sorted(found))


def installed(package: Package, family: str) -> str:
    """A package as apt (``name=version``) or dnf (``name-version``) is asked for it."""
    if package.version is None:
        return package.name
    return f"{package.name}{'-' if family == 'red-hat' else '='}{package.version}"


def groups_of(plan: Plan, image: str) -> tuple[str, ...]:
    """The node groups with nodes that run ``image``, in plan order."""
    return tuple(dict.fromkeys(device.node_group for device in plan.devices if device.image == image))


def has_direct_paths(plan: Plan, image: str) -> bool:
    """True for an image of nodes whose GPUs and RDMA adapters reach each other over PCIe."""
    spec = plan.spec
    groups = [group for name in groups_of(plan, image) if (group := spec.node_group(name)) and group.model.gpus]
    served = {attach.nodes for fabric in spec.fabrics if fabric.technology != "ethernet" for attach in fabric.attach}
    return any(group.name in served for group in groups)


@per_plan
def _needed(plan: Plan, image_name: str, family: str) -> tuple[str, ...]:
    spec = plan.spec
    groups = groups_of(plan, image_name)
    mounts = [mount for group in groups for mount in mounts_of(plan, group) if mount.type.startswith("nfs")]
    fabrics = [fabric for fabric in spec.fabrics if any(attach.nodes in groups for attach in fabric.attach)]
    managers = [fabric.subnet_manager.nodes for fabric in spec.fabrics if fabric.subnet_manager]
    image = spec.image(image_name)
    boots = spec.boot is not None and spec.boot.servers in groups
    models = {device.model for device in plan.devices if device.image == image_name}
    containers = image.containers if image is not None else None
    spoken = spec.boot_network[1].hosts.version if spec.boot_network is not None else 0
    wanted = {
        "time": bool(spec.site.ntp),
        "names": bool(spec.site.dns),
        "logs": bool(spec.site.syslog),
        "verbs": any(fabric.technology != "ethernet" for fabric in fabrics),
        "nfs": bool(mounts),
        "nfs-tls": any("xprtsec=" in options_of(mount) for mount in mounts),
        "jobs": any(works_for_slurm(plan, group) for group in groups),
        "jobs-controller": any(is_controller(plan, device) for device in plan.devices if device.image == image_name),
        "jobs-accounting": any(keeps_accounts(plan, device) for device in plan.devices if device.image == image_name),
        "kernel-parameters": image is not None and bool(image.kernel_parameters),
        "administrators": image is not None and any(user.becomes_root for user in image.users),
        "direct-paths": has_direct_paths(plan, image_name),
        "subnet-manager": any(name in groups for name in managers),
        "boot-server": boots,
        **{
            key: value
            for runtime in (PODMAN, ENROOT)
            for key, value in (
                (runtime, containers is not None and containers.runtime == runtime),
                (f"{runtime}-gpus", image is not None and sees_gpus_in_containers(image, runtime)),
            )
        },
        "disks": True,
        "power-supplies": any(spec.catalogue[model].management is not None for model in models),
        **{f"boot-server-{version}": boots and version == spoken for version in (4, 6)},
    }
    found = {*_BASE[family]}
    for need, is_wanted in wanted.items():
        if is_wanted:
            found.update(_NAMES[need][family == "red-hat"])
    return tuple(sorted(found))
