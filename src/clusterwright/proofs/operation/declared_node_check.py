"""Planned expectations of the node check, computed from the plan independently of the renderers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import chain
from typing import Any

from clusterwright.hosts.linux.reader.nccl import NCCL
from clusterwright.plan.model import Cable, Device, Plan, fabric_of
from clusterwright.plan.nvlink import nvlink_domain_of
from clusterwright.proofs.infiniband.declared import DeclaredNccl, declared_nccl
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.accelerators import (
    BY_SWITCH_TRAYS,
    Vendor,
    fabric_manager_of,
    knows_fabric_state,
    vendor_of,
    vendor_of_module,
)
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.image import NETWORK, Driver, Health, Image, ImageCheck
from clusterwright.spec.zone_reach import data_partitions, internet_fabrics

# RDMA headers in an Ethernet packet, and the MTUs of RDMA (Linux, iboe_get_mtu).
_ROCE_HEADERS = 96
_RDMA_LENGTHS = (256, 512, 1024, 2048, 4096)
_PAGE_KIB = {"2M": 2048, "1G": 1048576}
_NO_LIMITS = frozenset({"interval_s", "leave_out"})
_MAPPED = 0xFFFF << 32
_INDEX = "NCCL_IB_PKEY"  # set in the spec: then the check looks for no partition


@dataclass(frozen=True, eq=False, slots=True)
class DeclaredCheck:
    """Expectations of nodes of one kind; one object for each kind.

    ``values`` has the keys returned by ``read_expected``.
    """

    values: Mapping[str, Any]
    interval_s: int
    answers_s: float
    """Seconds that the slowest answer may take."""
    lossless: frozenset[str]
    """Fabrics with checked lossless priorities."""


@dataclass(frozen=True, slots=True)
class CheckedNode:
    """A node with the GIDs of its RoCE adapters' own addresses, as numbers, by interface."""

    check: DeclaredCheck
    gids: Mapping[str, int]


def declared_node_checks(plan: Plan) -> Mapping[str, CheckedNode]:
    """Expected check of each node with an image."""
    images = {image.name: image for image in plan.spec.images}
    nccl = declared_nccl(plan)
    check_by_kind: dict[tuple[Any, ...], DeclaredCheck] = {}
    checks = {}
    for node in plan.devices:
        image = images.get(node.image or "")
        if node.kind != "node" or image is None:
            continue
        cables = _cables(plan, node)
        ends = tuple((cable.a.port, cable.fabric, cable.a.address is not None, cable.bond) for cable in cables)
        kind = (node.node_group, image.name, node.model, ends)
        if kind not in check_by_kind:
            check_by_kind[kind] = _check(plan, node, image, cables, nccl.get(node.name))
        checks[node.name] = CheckedNode(check_by_kind[kind], _gids(plan, node, cables))
    return checks


def _cables(plan: Plan, node: Device) -> list[Cable]:
    lower_ends = [cable for cable in plan.cables_of[node.name] if cable.a.device == node.name]
    return [cable for cable in lower_ends if cable.a.side == "host"]


def _gids(plan: Plan, node: Device, cables: list[Cable]) -> Mapping[str, int]:
    """GIDs of the addresses of RoCE adapters, by port: the kernel maps IPv4 addresses into IPv6."""
    devices = _rdma_devices(plan.spec.catalogue[node.model])
    gids = {}
    for cable in cables:
        address = cable.a.address
        if address is None or cable.bond is not None or devices.get(cable.a.port) is None:
            continue
        if fabric_of(plan, cable.fabric).technology == "roce":
            gids[cable.a.port] = address | _MAPPED if plan.address_version(cable.fabric) == 4 else address
    return gids


def _rdma_devices(model: HardwareModel) -> Mapping[str, str | None]:
    nics = chain.from_iterable(group.nics for group in model.nic_groups)
    return {nic.interface: nic.rdma_device for nic in nics}


def _check(plan: Plan, node: Device, image: Image, cables: list[Cable], nccl: DeclaredNccl | None) -> DeclaredCheck:
    model = plan.spec.catalogue[node.model]
    fabrics = {cable.fabric: fabric_of(plan, cable.fabric) for cable in cables}
    pages = image.hugepages
    values: dict[str, Any] = {
        **_gpus(model, image, shares_nvlink=nvlink_domain_of(plan, node) is not None),
        **_machine(model),
        "nics": _nics(model, cables, fabrics),
        "kernel.modules": [module.replace("-", "_") for module in image.modules],
        "kernel.hugepages": [{"kib": _PAGE_KIB[pages.size], "count": pages.count}] if pages is not None else [],
        "kernel.parameters": _kernel_parameters(image),
        **_driver_versions(model, image),
        "firmware.adapters": _adapter_firmware(image),
        "firmware.bios": next((firmware.version for firmware in image.firmware if firmware.device == "BIOS"), None),
        "direct_paths": model.gpus is not None and _has_direct_paths(plan, image),
        **({"time": "kernel" if plan.spec.site.ntp else None} if image.is_existing else {"image.name": image.name}),
        **(_default_routes(plan, node, cables) if image.owns(NETWORK) else {"owns_routes": False}),
        "commands": [_command(check) for check in image.own_checks],
        "left_out": sorted(image.health.leave_out),
        **_limits(image.health),
    }
    if nccl is not None:
        values.update(_partition(plan, node, nccl))
    return DeclaredCheck(
        values=values,
        interval_s=image.health.interval_s,
        answers_s=max([image.health.patience_s, *(check.timeout_s for check in image.own_checks)]),
        lossless=frozenset(name for name, fabric in fabrics.items() if _has_lossless_class(fabric)),
    )


def _command(check: ImageCheck) -> Mapping[str, Any]:
    return {"name": check.name, "run": check.run, "timeout_s": check.timeout_s}


def _partition(plan: Plan, node: Device, nccl: DeclaredNccl) -> Mapping[str, Any]:
    """Expected partition of NCCL; empty without a key, or with an index set in the spec."""
    profile = plan.spec.nccl(node.node_group)
    if nccl.key is None or profile is None or _INDEX in profile.variables:
        return {}
    return {
        "partition.name": data_partitions(plan.spec, profile, node.node_group)[0].name,
        "partition.key": nccl.key,
        "partition.devices": sorted(nccl.devices),
        "partition.file": f"/{NCCL}",
    }


def _adapter_firmware(image: Image) -> list[str]:
    return [firmware.version for firmware in image.firmware if firmware.device.startswith("ConnectX")]


def _default_routes(plan: Plan, node: Device, cables: list[Cable]) -> Mapping[str, Any]:
    """Interfaces with a default route; empty without a flow to the internet."""
    fabrics = {fabric.name for fabric in internet_fabrics(plan.spec, node.node_group)}
    version_by_interface = {}
    for cable in cables:
        if cable.fabric in fabrics and cable.a.address is not None:
            interface = cable.bond.interface if cable.bond is not None else cable.a.port
            version_by_interface[interface] = plan.address_version(cable.fabric)
    routes = [{"interface": name, "version": version} for name, version in sorted(version_by_interface.items())]
    return {"default_routes": routes} if routes else {}


def _gpus(model: HardwareModel, image: Image, *, shares_nvlink: bool) -> Mapping[str, Any]:
    """Expected values of GPUs; a single None for a vendor without a check."""
    vendor = declared_vendor(model, image)
    if model.gpus is None or vendor is None or vendor.node_check is None:
        return {"gpus": None}
    driver = _gpu_driver(image)
    return {
        "gpus.asked_by": vendor.node_check,
        "gpus.count": model.gpus.count,
        "gpus.model": model.gpus.model,
        "gpus.nvml_name": model.gpus.nvml_name,
        "gpus.memory_gb": model.gpus.memory_gb,
        "gpus.pci": list(model.pcie.gpus) if model.pcie is not None else [],
        "gpus.nvlinks": model.nvlinks,
        "gpus.has_pcie_width": fabric_manager_of(model) != BY_SWITCH_TRAYS,
        "gpus.has_fabric_state": knows_fabric_state(model),
        "gpus.driver": driver.version if driver is not None else None,
        "gpus.fatal_xids": list(vendor.fatal_xids),
        **({"gpus.shares_nvlink": True} if shares_nvlink and vendor.memory_exchange is not None else {}),
    }


def declared_vendor(model: HardwareModel, image: Image) -> Vendor | None:
    """Vendor of a model's GPUs: by their name, or else by the driver of the image."""
    by_name = vendor_of(model.gpus) if model.gpus is not None else None
    driver = _gpu_driver(image)
    if by_name is not None or driver is None:
        return by_name
    return next(filter(None, map(vendor_of_module, driver.modules)), None)


def _gpu_driver(image: Image) -> Driver | None:
    for driver in image.drivers:
        if any(vendor_of_module(module) is not None for module in driver.modules):
            return driver
    return None


def _driver_versions(model: HardwareModel, image: Image) -> Mapping[str, str]:
    """Versions of the modules loaded on a model, by key of the check; GPU modules need GPUs."""
    versions = {}
    for driver in image.drivers:
        for module in driver.modules:
            if model.gpus is not None or vendor_of_module(module) is None:
                versions[f"drivers.{module}"] = driver.version
    return versions


def _machine(model: HardwareModel) -> Mapping[str, Any]:
    """Parts of a machine counted in the catalogue."""
    values: dict[str, Any] = {"memory_gib": model.host.memory_gb if model.host is not None else None}
    counts = asdict(model.parts) if model.parts is not None else {}
    values.update({f"parts.{name}": count for name, count in counts.items() if count is not None})
    if not model.management:
        values["bmc"] = None
    if model.pcie is None:
        values["pcie"] = None
    else:
        values["pcie.speed_gts"] = model.pcie.link_speed_gts
        values["pcie.width"] = model.pcie.link_width
    return values


def _nics(model: HardwareModel, cables: list[Cable], fabrics: Mapping[str, Fabric]) -> Mapping[str, Mapping[str, Any]]:
    """Expected values of each cabled adapter, by interface."""
    cable_of = {cable.a.port: cable for cable in cables}
    nics = {}
    for group in model.nic_groups:
        for nic in group.nics:
            cable = cable_of.get(nic.interface)
            if cable is None:
                continue
            fabric = fabrics[cable.fabric]
            has_packets = fabric.technology != "infiniband" and cable.a.address is not None
            nics[nic.interface] = {
                "interface": nic.interface,
                "rdma": nic.rdma_device,
                "pci": nic.pci,
                "fabric": fabric.name,
                "link": fabric.technology,
                "rate_gbps": group.speed_gbps,
                "mtu": fabric.mtu if has_packets else None,
                "rdma_mtu": _rdma_mtu(fabric) if nic.rdma_device is not None else None,
                **({"bond": cable.bond.interface} if cable.bond is not None else {}),
            }
    return nics


def _rdma_mtu(fabric: Fabric) -> int | None:
    if fabric.technology == "roce":
        return max((length for length in _RDMA_LENGTHS if length <= fabric.mtu - _ROCE_HEADERS), default=None)
    return fabric.mtu if fabric.technology == "infiniband" else None


def _kernel_parameters(image: Image) -> list[str]:
    pages = image.hugepages
    reserved = [f"hugepagesz={pages.size}", f"hugepages={pages.count}"] if pages is not None else []
    return [*image.kernel_parameters, *reserved]


def _has_direct_paths(plan: Plan, image: Image) -> bool:
    """Whether GPUs and RDMA adapters reach each other, so that no PCIe switch may redirect packets."""
    groups = {device.node_group for device in plan.devices if device.image == image.name}
    with_gpus = {group.name for group in plan.spec.node_groups if group.model.gpus is not None}
    for fabric in plan.spec.fabrics:
        attached = {attach.nodes for attach in fabric.attach}
        if fabric.technology != "ethernet" and attached & groups & with_gpus:
            return True
    return False


def _limits(health: Health) -> Mapping[str, Any]:
    names = [field.name for field in fields(health) if field.name not in _NO_LIMITS]
    return {f"limits.{name}": getattr(health, name) for name in names}


def _has_lossless_class(fabric: Fabric) -> bool:
    if fabric.technology == "infiniband":
        return False
    return any(traffic_class.priority is not None for traffic_class in fabric.classes)
