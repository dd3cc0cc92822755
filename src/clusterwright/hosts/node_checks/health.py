"""The node check: its program, the plan's expectations of a node, its timer, and Slurm's call of it.

The program is the package ``clusterwright.node_health`` in an archive: nodes have no clusterwright. Its expectations
are in two files, one shared by equal nodes and one of a node alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from itertools import chain
from math import ceil
from typing import Any

from clusterwright.artifact import Artifact
from clusterwright.device_files.writer import SharedFile, Writer
from clusterwright.hosts.image.definition import boot_digest_of
from clusterwright.hosts.linux.effects import LIMITS_FILE
from clusterwright.hosts.linux.writer.mounts import mounted
from clusterwright.hosts.linux.writer.nftables import RUNNING_PATH, running_digest
from clusterwright.hosts.linux.writer.qos import is_lossless, nic_priorities, pfc_vector
from clusterwright.hosts.linux.writer.system import (
    boot_services,
    kernel_command_line,
    sets_time_by_chrony,
    shape_of,
)
from clusterwright.hosts.linux.writer.system import kernel_settings as kernel_settings_of
from clusterwright.hosts.node_checks.program_archive import archive_of, archive_path
from clusterwright.intent.device_kind import KindNic, NodeKind, kind_of
from clusterwright.intent.gpu_services import gpu_driver, gpu_vendor, memory_exchange
from clusterwright.intent.image.packages import has_direct_paths
from clusterwright.intent.nccl_settings import NCCL_CONF, port_key
from clusterwright.intent.node_nics import HostNic, is_managed, nics_of
from clusterwright.intent.partitions import nccl_partition
from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.traffic_classes import (
    data_class_of,
    has_several_classes,
    lossless_numbers,
    marked_numbers,
    traffic_class_byte,
)
from clusterwright.plan.model import Device, Plan, fabric_of
from clusterwright.spec.distribution import family_of
from clusterwright.spec.fabric import Bond, Fabric
from clusterwright.spec.hardware.accelerators import (
    BY_SWITCH_TRAYS,
    fabric_manager_of,
    knows_fabric_state,
    vendor_of_module,
)
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.image import FILTER, NETWORK, SLURM, USUAL_HEALTH, Health, Image, ImageCheck
from clusterwright.spec.zone_reach import internet_fabrics
from clusterwright.text.json_lines import dump_lines
from clusterwright.text.templates import template

KIND = "node-health"
PACKAGE = "clusterwright.node_health"
_PROGRAMS = (
    ("node-health", "Says whether this node is fit to run a job.", ""),
    ("node-health-prolog", "Slurm starts it before every job; a failure drains the node.", '"--prolog", "--write"'),
    ("node-health-drain", "Slurm starts it now and then; it drains the node itself.", '"--drain", "--write"'),
)
_PAGE_KIB = {"2M": 2048, "1G": 1024 * 1024}
_ROCE_V2 = "RoCE v2"
# Linux, iboe_get_mtu: what a RoCE connection leaves of an Ethernet MTU for headers, and the MTUs that RDMA knows.
_ROCE_HEADER_BYTES = 40 + 8 + 12 + 4 + 28 + 4
_NO_LIMITS = ("interval_s", "leave_out")
_USUAL_S = 60  # what the unit is given at least
_MISSED_LOOKS = 3  # a BMC that is busy once or twice is no reason
_RDMA_MTUS = (4096, 2048, 1024, 512, 256)


def applies(plan: Plan, device: Device) -> bool:
    """Nodes with an image."""
    return is_managed(device)


def shared(plan: Plan, kind: NodeKind) -> Iterator[SharedFile]:
    """The program and its units, and the expectations of every node of the kind."""
    image = plan.spec.image(kind.image)
    if image is not None:
        yield from _program(plan, image.name)
        yield LIMITS_FILE, _expectations(plan, kind), 0o644


def for_device(plan: Plan, device: Device) -> Iterator[Artifact]:
    """The expectations of one node."""
    if plan.spec.image(device.image or "") is not None:
        yield Artifact(
            device=device.name,
            path="etc/clusterwright/health-node.json",
            source=dump_lines(_own(plan, device), 2),
            kind=KIND,
        )


WRITER = Writer(kind=KIND, applies=applies, for_device=for_device, shared=shared)


@per_plan
def _program(plan: Plan, image_name: str) -> tuple[SharedFile, ...]:
    image = plan.spec.image(image_name)
    health = image.health if image is not None else USUAL_HEALTH
    archive = archive_path(PACKAGE)
    files = [(archive, archive_of(PACKAGE), 0o644)]
    for name, purpose, arguments in _PROGRAMS:
        text = template("health/program.py.j2").render(archive=f"/{archive}", purpose=purpose, arguments=arguments)
        files.append((f"usr/local/sbin/{name}", text.encode(), 0o755))
    units = "etc/systemd/system"
    files += [
        ("usr/local/sbin/power-supplies", template("health/power-supplies.sh.j2").render().encode(), 0o755),
        (f"{units}/power-supplies.service", template("health/power-supplies.service.j2").render().encode(), 0o644),
        (f"{units}/power-supplies.timer", _timer(health, "Asks the BMC for its power supplies"), 0o644),
        (f"{units}/node-health.service", _service(health, image.own_checks if image is not None else ()), 0o644),
        (f"{units}/node-health.timer", _timer(health, "Looks at this node again and again"), 0o644),
        (f"{units}/multi-user.target.d/95-node-health.conf", template("health/wants.conf.j2").render().encode(), 0o644),
    ]
    return tuple(sorted(files))


def _service(health: Health, checks: Sequence[ImageCheck]) -> bytes:
    """The unit of the check; its time limit is twice that of the slowest query, for busy machines.

    All queries run at once.
    """
    slowest_s = max([health.patience_s, *(check.timeout_s for check in checks)])
    longest_s = max(_USUAL_S, ceil(2 * slowest_s))
    return template("health/node-health.service.j2").render(longest_s=longest_s).encode()


def _timer(health: Health, purpose: str) -> bytes:
    spread_s = health.interval_s // 10
    return template("health/timer.j2").render(purpose=purpose, interval_s=health.interval_s, spread_s=spread_s).encode()


def _own(plan: Plan, device: Device) -> dict[str, Any]:
    """Expectations of a single node: its name, addresses as GIDs, its mounts' servers, its packet filter."""
    own_nics = {}
    for nic in nics_of(plan, device):
        gid = _gid(nic)
        if gid:
            own_nics[nic.interface] = gid
    mounts = []
    for where, what, kind in mounted(plan, device):
        # The kernel shows the negotiated version of a mount of type nfs.
        types = [kind, "nfs4"] if kind == "nfs" else [kind]
        mounts.append({"where": where, "what": what, "types": types})
    return {"node": device.name, "own_nics": own_nics, "mounts": mounts, **_filter(plan, device)}


def _filter(plan: Plan, device: Device) -> dict[str, Any]:
    """The packet filter, if the image owns it; not ``alone`` if other programs have tables beside it."""
    image = plan.spec.image(device.image or "")
    if image is None or not image.owns(FILTER):
        return {}
    expected: dict[str, Any] = {"path": f"/{RUNNING_PATH}", "sha256": running_digest(plan, kind_of(plan, device))}
    if image.is_existing:
        expected["alone"] = False
    return {"filter": expected}


def _gid(nic: HostNic) -> dict[str, str]:
    """The kernel's GID for a RoCE adapter's address: an IPv4 address mapped into IPv6."""
    if nic.fabric.technology != "roce" or nic.rdma_device is None or nic.address is None:
        return {}
    address = nic.address
    if nic.version == 4:
        address |= 0xFFFF << 32
    digits = f"{address:032x}"
    groups = [digits[start : start + 4] for start in range(0, 32, 4)]
    return {"gid": ":".join(groups), "gid_type": _ROCE_V2}


def _expectations(plan: Plan, kind: NodeKind) -> bytes:
    image = plan.spec.image(kind.image)
    if image is None:
        return b""
    hardware = plan.spec.catalogue[kind.model]
    has_gpus = hardware.gpus is not None
    document = {
        "gpus": _gpus(plan, image, kind),
        "bmc": {"oldest_s": _MISSED_LOOKS * image.health.interval_s} if hardware.management else None,
        "memory_gib": hardware.host.memory_gb if hardware.host is not None else None,
        **_parts(hardware),
        "pcie": _pcie(hardware),
        "nics": _nics(plan, kind.model, kind.nics),
        "lossless": _lossless_fabrics(plan, kind),
        "kernel": _kernel(plan, image, kind),
        "drivers": _driver_versions(image, has_gpus=has_gpus),
        "firmware": _firmware(image),
        "direct_paths": has_direct_paths(plan, image.name) and has_gpus,
        "time": _clock(plan, image),
        **_partition(plan, kind),
        "units": _units(plan, image, kind),
        **_default_routes(plan, image, kind),
        "image": _image(plan, image),
        "commands": [_command(check) for check in image.own_checks],
        "limits": _limits(image.health),
        "left_out": sorted(image.health.leave_out),
    }
    return dump_lines(document, 2)


def _pcie(hardware: HardwareModel) -> dict[str, Any] | None:
    """Speed and width of the links of GPUs and adapters."""
    if hardware.pcie is None:
        return None
    return {"speed_gts": hardware.pcie.link_speed_gts, "width": hardware.pcie.link_width}


def _lossless_fabrics(plan: Plan, kind: NodeKind) -> dict[str, Any]:
    names = [name for name in kind.by_fabric() if is_lossless(plan, name)]
    return {name: _lossless(plan, name, kind.node_group) for name in names}


def _kernel(plan: Plan, image: Image, kind: NodeKind) -> dict[str, Any]:
    hugepages = []
    if image.hugepages is not None:
        hugepages.append({"kib": _PAGE_KIB[image.hugepages.size], "count": image.hugepages.count})
    return {
        "parameters": kernel_command_line(image),
        "modules": [module.replace("-", "_") for module in image.modules],
        "hugepages": hugepages,
        "settings": kernel_settings_of(plan, image, shape_of(kind)),
    }


def _firmware(image: Image) -> dict[str, Any]:
    """Versions of the adapters' firmware, and of the first BIOS in the image."""
    bios = [firmware.version for firmware in image.firmware if firmware.device == "BIOS"]
    return {
        "adapters": [firmware.version for firmware in image.firmware if firmware.device.startswith("ConnectX")],
        "bios": bios[0] if bios else None,
    }


def _units(plan: Plan, image: Image, kind: NodeKind) -> list[str]:
    """The units that have to run."""
    units = boot_services(plan, image, kind.node_group, shape_of(kind))
    return [*units, *kind.slurm_units] if image.owns(SLURM) else [*units]


def _image(plan: Plan, image: Image) -> dict[str, str] | None:
    """The image that the node has to be booted with."""
    boot_digest = boot_digest_of(plan, image.name)
    if boot_digest is None:
        return None
    return {"name": image.name, "boot_digest": boot_digest}


def _command(check: ImageCheck) -> dict[str, Any]:
    return {"name": check.name, "run": check.run, "timeout_s": check.timeout_s}


def _parts(hardware: HardwareModel) -> dict[str, Any]:
    """The numbers of a machine's parts in the catalogue."""
    counts = asdict(hardware.parts) if hardware.parts is not None else {}
    planned = {name: count for name, count in counts.items() if count is not None}
    return {"parts": planned} if planned else {}


def _partition(plan: Plan, kind: NodeKind) -> dict[str, Any]:
    """The partition of NCCL's data as seen by a node, and the file with its index."""
    nccl = plan.spec.nccl(kind.node_group)
    partition = nccl_partition(plan, kind.node_group)
    if nccl is None or partition is None or "NCCL_IB_PKEY" in nccl.variables:
        return {}
    nics = kind.by_fabric().get(nccl.fabric, ())
    devices = [port.rdma_device for port in chain.from_iterable(nic.ports for nic in nics)]
    expected = {"name": partition.name, "key": port_key(partition), "devices": devices, "file": NCCL_CONF}
    return {"partition": expected}


def _default_routes(plan: Plan, image: Image, kind: NodeKind) -> dict[str, Any]:
    """The interfaces with a default route for a flow to the internet; no other default route may exist.

    On a node whose routes belong to another program, the check looks at none.
    """
    if not image.owns(NETWORK):
        return {"owns_routes": False}
    fabrics = {fabric.name for fabric in internet_fabrics(plan.spec, kind.node_group)}
    nics = [nic for nic in kind.nics if nic.version and nic.fabric in fabrics]
    if not nics:
        return {}
    nics.sort(key=lambda nic: nic.interface)
    return {"default_routes": [{"interface": nic.interface, "version": nic.version} for nic in nics]}


def _clock(plan: Plan, image: Image) -> str | None:
    """The source of the clock's state: the time service, or the kernel's flag on an existing system."""
    if not plan.spec.site.ntp:
        return None
    if image.is_existing:
        return "kernel"
    return "chrony" if sets_time_by_chrony(family_of(image.distribution)) else "timesyncd"


def _driver_versions(image: Image, *, has_gpus: bool) -> dict[str, str]:
    """The version of each module of an image's drivers; a GPU's module does not stay loaded without a GPU."""
    versions: dict[str, str] = {}
    for driver in image.drivers:
        for module in driver.modules:
            if has_gpus or vendor_of_module(module) is None:
                versions[module] = driver.version
    return versions


def _limits(health: Health) -> dict[str, float]:
    """Limits of counters, by the spec's own names."""
    return {field.name: getattr(health, field.name) for field in fields(health) if field.name not in _NO_LIMITS}


def _gpus(plan: Plan, image: Image, kind: NodeKind) -> dict[str, Any] | None:
    hardware = plan.spec.catalogue[kind.model]
    group = plan.spec.node_group(kind.node_group)
    if hardware.gpus is None:
        return None
    pcie = hardware.pcie
    driver = gpu_driver(image)
    vendor = gpu_vendor(hardware, image)
    if vendor is None or vendor.node_check is None:
        return None
    expected = {
        "asked_by": vendor.node_check,
        "count": hardware.gpus.count,
        "model": hardware.gpus.model,
        "nvml_name": hardware.gpus.nvml_name,
        "memory_gb": hardware.gpus.memory_gb,
        "pci": list(pcie.gpus) if pcie is not None else [],
        "nvlinks": hardware.nvlinks,
        # The GPUs of superchips are connected to their processors by NVLink-C2C, not by PCIe.
        "has_pcie_width": fabric_manager_of(hardware) != BY_SWITCH_TRAYS,
        "has_fabric_state": knows_fabric_state(hardware),
        "driver": driver.version if driver is not None else None,
        "fatal_xids": list(vendor.fatal_xids),
    }
    if group is not None and memory_exchange(group, image) is not None:
        expected["shares_nvlink"] = True
    return expected


def _nics(plan: Plan, model: str, nics: Sequence[KindNic]) -> list[dict[str, Any]]:
    """The expectations of every NIC, members of a bond one by one."""
    expected: list[dict[str, Any]] = []
    for nic in nics:
        expected.extend(_nic(plan, model, port, nic.bond) for port in nic.ports)
    return expected


def _nic(plan: Plan, model: str, nic: KindNic, bond: Bond | None) -> dict[str, Any]:
    fabric = fabric_of(plan, nic.fabric)
    groups = plan.spec.catalogue[model].nic_groups
    group = next(group for group in groups if any(item.interface == nic.interface for item in group.nics))
    expected = {
        "interface": nic.interface,
        "rdma": nic.rdma_device,
        "pci": nic.pci,
        "fabric": nic.fabric,
        "link": fabric.technology,
        "rate_gbps": group.speed_gbps,
        "mtu": fabric.mtu if fabric.technology != "infiniband" and nic.version else None,
        "rdma_mtu": _rdma_mtu(fabric) if nic.rdma_device is not None else None,
    }
    if bond is not None:
        expected["bond"] = bond.interface
    return expected


def _rdma_mtu(fabric: Fabric) -> int | None:
    """The MTU of RDMA connections over a fabric; None on plain Ethernet, and for an MTU too small for RoCE."""
    if fabric.technology == "infiniband":
        return fabric.mtu
    if fabric.technology != "roce":
        return None
    fitting = [mtu for mtu in _RDMA_MTUS if mtu <= fabric.mtu - _ROCE_HEADER_BYTES]
    return max(fitting, default=None)


def _lossless(plan: Plan, name: str, node_group: str) -> dict[str, Any]:
    fabric = plan.spec.fabric(name)
    if fabric is None:
        return {}
    by_priority: dict[str, list[int]] = {}
    for dscp, priority in enumerate(nic_priorities(fabric)):
        by_priority.setdefault(str(priority), []).append(dscp)
    lossless, marked = lossless_numbers(fabric), marked_numbers(fabric)
    data = data_class_of(plan, fabric, node_group)
    traffic_class = None
    if data is not None and data.dscp and not has_several_classes(plan, fabric, node_group):
        traffic_class = traffic_class_byte(data.dscp[0])
    return {
        "pfc": pfc_vector(fabric),
        "priorities": dict(sorted(by_priority.items())),
        "dcqcn": {str(priority): priority in marked for priority in lossless},
        "traffic_class": traffic_class,
    }
