"""CW680 to CW683: units, settings and packages of an image, compared with the files rendered for its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from clusterwright.finding import Severity
from clusterwright.intent.credentials import credentials_of
from clusterwright.intent.gpu_services import gpu_units
from clusterwright.intent.needs.jobs import controller_group
from clusterwright.intent.scheduling import (
    ACCOUNTING,
    AUTHENTICATION,
    CONTROLLER_UNITS,
    LOGIN_UNITS,
    WORKER_UNITS,
    login_groups,
)
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.encryption import KRB5P
from clusterwright.spec.firewalls import FIREWALL_UNITS, FIREWALLS
from clusterwright.spec.image import Image
from clusterwright.spec.infiniband import OPENSM
from clusterwright.spec.job import Scheduler
from clusterwright.spec.kernel_settings import decided, dotted
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path

# Units required on every node, with their purpose.
_ALWAYS = {
    **dict.fromkeys(("nftables.service", "isolation-watch.service", "isolation-watch.timer"), "the packet filter"),
    **dict.fromkeys(("systemd-networkd.service", "network-online.target", "network.target"), "the network"),
    **dict.fromkeys(
        ("multi-user.target", "basic.target", "sysinit.target", "local-fs.target"), "the start of the node"
    ),
    "network-pre.target": "a packet filter that is loaded before the network",
    "systemd-sysctl.service": "the settings of the kernel",
    "systemd-modules-load.service": "the modules of the kernel",
    **dict.fromkeys(
        (
            *("systemd-udevd.service", "systemd-udevd-control.socket", "systemd-udevd-kernel.socket"),
            *("systemd-udev-trigger.service", "systemd-udev-settle.service", "rdma-names.service"),
        ),
        "the names of network devices",
    ),
    "systemd-sysusers.service": "the operators' accounts",
    "systemd-tmpfiles-setup.service": "the operators' homes",
    **dict.fromkeys(("ssh.service", "sshd.service", "ssh-host-key.service"), "SSH"),
    **dict.fromkeys(("systemd-journald.service", "systemd-journald.socket"), "the logs"),
    **dict.fromkeys(
        (
            "node-health.service",
            "node-health.timer",
            "power-supplies.service",
            "power-supplies.timer",
            "image-check.service",
        ),
        "the checks of the node",
    ),
    **dict.fromkeys(
        (
            *("roce-qos.service", "roce-qos-again.service", "sys-kernel-config.mount"),
            *("acs-off.service", "nccl-partition.service", "nccl-topology.service"),
        ),
        "what NICs are set to",
    ),
    **dict.fromkeys(("no-swap.service",), "what keeps memory off the disks"),
    "clusterwright-receptor.service": "the mesh of execution nodes",
}
# The names of Red Hat's family and of Debian's.
_KEA = ("kea-dhcp4.service", "kea-dhcp4-server.service", "kea-dhcp6.service", "kea-dhcp6-server.service")
_GATE = "dataset-gate@"
_KEY_UNITS = ("munge-key.path", "munge-key.service")


@rule("CW682", Severity.ERROR)
def masked_need(subject: Subject) -> Iterator[Problem]:
    """Entries of `units.mask` required by something rendered."""
    for image in subject.spec.images:
        for index, unit in enumerate(image.masked_units):
            purpose = needed_for(subject.spec, image, unit)
            if purpose is not None:
                message = f"{image.name} masks {unit}, without which {purpose} would be missing."
                yield Problem((*image.path, "units", "mask", index), message, "Remove it from `mask`.")


def needed_for(spec: ClusterSpec, image: Image, unit: str) -> str | None:
    """The purpose of ``unit`` on nodes of ``image``; None for a unit not needed."""
    if unit.startswith(_GATE):
        return "the gate before encrypted data sets"
    return _ALWAYS.get(unit) or dict(_chosen(spec, image)).get(unit)


def _chosen(spec: ClusterSpec, image: Image) -> Iterator[tuple[str, str]]:
    """Units needed by a section of the spec, with their purpose."""
    node_groups = [group for group in spec.node_groups if group.image == image.name]
    groups = {group.name for group in node_groups}
    slurms = [scheduler for scheduler in spec.schedulers if scheduler.slurm is not None]
    managers = [fabric.subnet_manager for fabric in spec.fabrics if fabric.subnet_manager is not None]
    works = any(not groups.isdisjoint(slurm.nodes) for slurm in slurms)
    logs_in = any(not groups.isdisjoint(login_groups(slurm)) for slurm in slurms)
    controls = any(controller_group(spec, slurm) in groups for slurm in slurms)
    records = not groups.isdisjoint(_accounting_groups(slurms))
    boots = spec.boot is not None and spec.boot.servers in groups
    manages = not groups.isdisjoint(manager.nodes for manager in managers if manager.kind == OPENSM)
    services = (
        (spec.site.ntp, ("chronyd.service", "systemd-timesyncd.service"), "the right time"),
        (spec.site.dns, ("systemd-resolved.service",), "the name service"),
        (spec.site.syslog, ("rsyslog.service", "syslog.socket"), "log forwarding"),
        (image.kernel_parameters or image.hugepages, ("tuned.service",), "the kernel's command line"),
        (works, (*WORKER_UNITS, *_KEY_UNITS), "Slurm"),
        (logs_in, (*LOGIN_UNITS, *_KEY_UNITS), "Slurm's commands"),
        (controls, (*CONTROLLER_UNITS, *_KEY_UNITS), "Slurm's controller"),
        (records, (AUTHENTICATION, ACCOUNTING, *_KEY_UNITS), "Slurm's accounting"),
        (boots, ("nginx.service", "dnsmasq.service", *_KEA), "booting over the network"),
        (manages, ("opensm.service", "opensm@.service"), "the subnet manager"),
        (node_groups, tuple(gpu_units(image, node_groups)), "its GPUs, or what sees them"),
    )
    for wanted, units, purpose in services:
        if wanted:
            for unit in units:
                yield unit, purpose
    yield from _of_file_systems(spec, groups)
    for name in sorted(groups):
        for credential in credentials_of(spec, name):
            yield f"{credential.unit}.path", f"what waits for {credential.file}"
            yield f"{credential.unit}.service", f"what waits for {credential.file}"


def _of_file_systems(spec: ClusterSpec, groups: Set[str]) -> Iterator[tuple[str, str]]:
    """Units of mounts and scratch disks on the node groups, with their purpose."""
    mounts = [mount for mount in spec.mounts if groups & set(mount.nodes)]
    if mounts:
        yield "remote-fs.target", "mounted file systems"
        yield "remote-fs-pre.target", "mounted file systems"
    protections = [mount.protection for mount in mounts if mount.protection is not None]
    if any(protection.kind == KRB5P for protection in protections):
        yield "gssproxy.service", "Kerberos"
        yield "nfs-client.target", "Kerberos"
    scratch = [disk for disk in spec.encryption.scratch if groups & set(disk.nodes)]
    for disk in scratch:
        yield f"scratch-{disk.name}.service", f"the encryption of {disk.device}"
    mountpoints = [mount.mountpoint for mount in mounts] + [disk.mountpoint for disk in scratch]
    for mountpoint in mountpoints:
        if "-" not in mountpoint:
            yield _mount_unit(mountpoint), f"the file system at {mountpoint}"


def _accounting_groups(schedulers: Iterable[Scheduler]) -> Iterator[str | None]:
    """The node groups with Slurm's accounting database."""
    for scheduler in schedulers:
        if scheduler.slurm is not None and scheduler.slurm.accounting is not None:
            yield scheduler.slurm.accounting.nodes


def _mount_unit(mountpoint: str) -> str:
    """The unit of a mount point without characters to escape; no escaped name can stand under ``mask``."""
    return "-".join(part for part in mountpoint.split("/") if part) + ".mount"


_PARAMETER = "sysctl."  # Linux, Documentation/admin-guide/kernel-parameters.txt: a setting at boot


@rule("CW680", Severity.ERROR)
def decided_setting(subject: Subject) -> Iterator[Problem]:
    """Image settings and kernel parameters contradicting the rendered ones."""
    for image in subject.spec.images:
        for name, value, path in _settings(image):
            setting = decided(name)
            if setting is not None and (setting.value is None or value.strip() != setting.value):
                message = f"{dotted(name)} cannot be set by an image: {setting.because}."
                yield Problem(path, message, "Remove it.", key=isinstance(path[-1], str))


@rule("CW681", Severity.ERROR)
def setting_twice(subject: Subject) -> Iterator[Problem]:
    """Two settings of an image with the same meaning."""
    for image in subject.spec.images:
        seen: dict[str, str] = {}
        for name, _, path in _settings(image):
            first = seen.setdefault(dotted(name), name)
            if first != name:
                message = f"{name} and {first} are one setting."
                yield Problem(path, message, "Keep one of them.", key=isinstance(path[-1], str))


def _settings(image: Image) -> Iterator[tuple[str, str, Path]]:
    """Every setting of an image: its name as spelled, its value and its place."""
    for name, value in image.sysctl.items():
        yield name, value, (*image.path, "sysctl", name)
    for index, parameter in enumerate(image.kernel_parameters):
        name, _, value = parameter.partition("=")
        if name.startswith(_PARAMETER):
            yield name.removeprefix(_PARAMETER), value, (*image.path, "kernel_parameters", index)


def _packages_with_paths(image: Image) -> Iterator[tuple[str, Path]]:
    """The packages of an image and of its drivers."""
    for index, package in enumerate(image.packages):
        yield package.name, (*image.path, "packages", index)
    for driver in image.drivers:
        for index, package in enumerate(driver.packages):
            yield package.name, (*driver.path, "packages", index)


@rule("CW683", Severity.ERROR)
def other_filters(subject: Subject) -> Iterator[Problem]:
    """Packages and enabled units of images with a packet filter of their own."""
    for image in subject.spec.images:
        masked = frozenset(image.masked_units)
        for name, path in _packages_with_paths(image):
            units = FIREWALLS.get(name.partition(":")[0], ())
            running = [unit for unit in units if unit not in masked]
            if running:
                message = f"{image.name} installs {name}, a packet filter beside the rendered one."
                yield Problem(path, message, f"Remove it, or mask {' and '.join(running)}.")
        for index, unit in enumerate(image.enabled_units):
            if unit in FIREWALL_UNITS and unit not in masked:
                message = f"{image.name} starts {unit}, a packet filter beside the rendered one."
                yield Problem((*image.path, "units", "enable", index), message, "Remove it from `enable`.")
