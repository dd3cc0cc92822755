"""CW337, CW610 to CW613 and CW615: an image's settings, compared with those of fabrics and NCCL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusterwright.finding import Severity
from clusterwright.intent.traffic_classes import lossless_numbers
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.image import LIMITS, Image
from clusterwright.spec.model import ClusterSpec, NodeGroup
from clusterwright.spec.runtime.switches import c_number

_PASS_THROUGH = frozenset({"iommu=pt", "iommu.passthrough=1", "iommu=off", "intel_iommu=off", "amd_iommu=off"})
_TRANSLATES = frozenset(
    {"intel_iommu=on", "amd_iommu=on", "iommu=force", "iommu=strict", "iommu.strict=1", "iommu.passthrough=0"}
)
# NCCL's user guide, "Sharing Data": containers need --shm-size of a gigabyte or more.
_SHARED_MEMORY_GB = 1
_VERBS = "/dev/infiniband"
# The package of mlnx_qos and cma_roce_tos, and NVIDIA's packages depending on it (DOCA installation guide, profiles).
_LOSSLESS_TOOLS = frozenset({"mlnx-tools", "doca-ofed", "doca-roce", "doca-networking", "doca-all", "mlnx-ofed-all"})
_RELAXED_ORDERING = "NCCL_IB_PCI_RELAXED_ORDERING"


def _nodes_with_images(spec: ClusterSpec) -> Iterator[tuple[NodeGroup, Image]]:
    for group in spec.node_groups:
        image = spec.image(group.image) if group.image is not None else None
        if image is not None:
            yield group, image


def _has_verbs(spec: ClusterSpec, group: NodeGroup) -> bool:
    rdma_fabrics = (fabric for fabric in spec.fabrics if fabric.technology != "ethernet")
    return _first_attached(rdma_fabrics, group) is not None


@rule("CW610", Severity.ERROR)
def translating_iommu(subject: Subject) -> Iterator[Problem]:
    """Kernel parameters of nodes with both GPUs and RDMA adapters."""
    spec = subject.spec
    checked: set[str] = set()
    for group, image in _nodes_with_images(spec):
        if group.model.gpus is None or not _has_verbs(spec, group) or image.name in checked or image.is_existing:
            continue
        checked.add(image.name)
        yield from _iommu_parameters(image)


def _iommu_parameters(image: Image) -> Iterator[Problem]:
    parameters = image.kernel_parameters
    if _PASS_THROUGH.isdisjoint(parameters):
        path = (*image.path, "kernel_parameters" if parameters else "name")
        message = f"{image.name} leaves the IOMMU translating between GPUs and adapters."
        yield Problem(path, message, "Add `iommu=pt`.")
    for index, parameter in enumerate(parameters):
        is_passed_through = parameter.endswith("_iommu=on") and "iommu=pt" in parameters
        if parameter in _TRANSLATES and not is_passed_through:
            message = f"{parameter} makes the IOMMU translate between GPUs and adapters."
            yield Problem((*image.path, "kernel_parameters", index), message, "Remove it.")


@rule("CW611", Severity.ERROR)
def locked_memory(subject: Subject) -> Iterator[Problem]:
    """The memlock limit of nodes with RDMA adapters."""
    names = _image_names_with_verbs(subject.spec)
    for image in subject.spec.images:
        if image.name not in names:
            continue
        limit = image.limits.get("memlock")
        if not image.owns(LIMITS) or limit in ("unlimited", "infinity", "-1"):
            continue
        path, effect = (*image.path, "name"), "leaves locked memory at the kernel's default"
        if limit:
            path, effect = (*image.path, "limits", "memlock"), f"lets processes lock {limit} KiB"
        yield Problem(path, f"{image.name} {effect}, and its nodes use RDMA.", "Write `memlock: unlimited`.")


def _image_names_with_verbs(spec: ClusterSpec) -> set[str]:
    """The images of nodes with RDMA adapters."""
    return {image.name for group, image in _nodes_with_images(spec) if _has_verbs(spec, group)}


@rule("CW612", Severity.ERROR)
def containers(subject: Subject) -> Iterator[Problem]:
    """Container settings insufficient for RDMA and NCCL."""
    names = _image_names_with_verbs(subject.spec)
    for image in subject.spec.images:
        settings = image.containers
        if settings is None or image.name not in names:
            continue
        if settings.memlock_kib is not None:
            message = f"Containers may lock {settings.memlock_kib} KiB, and verbs lock all that they register."
            yield Problem((*settings.path, "memlock"), message, "Write `memlock: unlimited`.")
        if _VERBS not in settings.devices:
            yield Problem((*settings.path, "devices"), f"Containers do not see {_VERBS}.", f"Add {_VERBS}.")
        if settings.ipc != "host" and settings.shm_size_gb < _SHARED_MEMORY_GB:
            message = f"Containers have {settings.shm_size_gb} GB of shared memory of their own."
            yield Problem((*settings.path, "shm_size_gb"), message, "Give them 1 GB or more, or write `ipc: host`.")


@rule("CW613", Severity.ERROR)
def status_listener(subject: Subject) -> Iterator[Problem]:
    """NCCL_RAS_ADDR among the variables of the profile."""
    for nccl in subject.spec.nccl_profiles:
        value = nccl.variables.get("NCCL_RAS_ADDR")
        if value is None or nccl.variables.get("NCCL_RAS_ENABLE") == "0":
            continue
        host = value.rpartition(":")[0].strip("[]") or value
        if host not in ("localhost", "127.0.0.1", "::1"):
            message = f"NCCL_RAS_ADDR={value} listens beyond the node itself."
            yield Problem(
                (*nccl.path, "variables", "NCCL_RAS_ADDR"), message, "Remove it: localhost:28028 is the default."
            )


@rule("CW615", Severity.WARNING)
def strict_ordering(subject: Subject) -> Iterator[Problem]:
    """NCCL profiles disabling relaxed ordering."""
    for nccl in subject.spec.nccl_profiles:
        value = nccl.variables.get(_RELAXED_ORDERING)
        if value is not None and c_number(value) == 0:
            message = f"{' and '.join(nccl.nodes)} write to memory in strict order."
            yield Problem((*nccl.path, "variables", _RELAXED_ORDERING), message, "Remove it, or set 1 or 2.")


@rule("CW337", Severity.ERROR)
def lossless_without_tools(subject: Subject) -> Iterator[Problem]:
    """Images without the vendor's tools on nodes of a lossless fabric."""
    spec = subject.spec
    lossless = [fabric for fabric in spec.fabrics if fabric.technology != "infiniband" and lossless_numbers(fabric)]
    reported: set[str] = set()
    for group, image in _nodes_with_images(spec):
        fabric = _first_attached(lossless, group)
        packages = {package.name for package in image.packages}
        for driver in image.drivers:
            packages.update(package.name for package in driver.packages)
        if image.is_existing:
            continue  # the packages of another owner's system are not known
        if fabric is not None and image.name not in reported and packages.isdisjoint(_LOSSLESS_TOOLS):
            reported.add(image.name)
            message = f"{image.name} has no mlnx_qos, which sets the lossless class of {fabric.name} on its nodes."
            has_packages = bool(image.packages)
            path = (*image.path, "packages" if has_packages else "name")
            yield Problem(path, message, "Add `mlnx-tools`, and a repository that has it.", key=has_packages)


def _first_attached(fabrics: Iterable[Fabric], group: NodeGroup) -> Fabric | None:
    for fabric in fabrics:
        if any(attach.nodes == group.name for attach in fabric.attach):
            return fabric
    return None
