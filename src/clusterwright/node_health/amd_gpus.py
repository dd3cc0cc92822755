"""Checks of AMD's GPUs by the files of their driver amdgpu in /sys: no program of ROCm has to be installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.node_health.readings import Readings, number
from clusterwright.node_health.verdict import Check, Expected, check

ASKED_BY = "amdgpu"
_DRM = "/sys/class/drm"
_FIRST_RENDER_NODE = 128
_MEMORY_SHARE = 0.9


def amd_gpu_checks(readings: Readings, expected: Expected) -> Iterator[Check]:
    """Count and places, memory, PCIe lanes and uncorrected errors; none without planned GPUs of AMD."""
    gpus = expected.get("gpus")
    if not gpus or gpus["asked_by"] != ASKED_BY:
        return
    memory_by_node = _by_render_node(readings, "mem_info_vram_total")
    yield _count(readings, gpus, len(memory_by_node))
    yield _memory(memory_by_node, gpus["memory_gb"])
    yield _pcie_lanes(readings, memory_by_node)
    yield _memory_errors(readings, memory_by_node, expected["limits"]["uncorrected_ecc"])


def _count(readings: Readings, gpus: Mapping[str, Any], count: int) -> Check:
    planned_count, planned_addresses = gpus["count"], gpus["pci"]
    targets = []
    for index in range(len(planned_addresses)):
        targets.append(readings.target(f"{_DRM}/renderD{_FIRST_RENDER_NODE + index}/device"))
    addresses = {target.rpartition("/")[2] for target in targets}
    missing = [address for address in planned_addresses if address not in addresses]
    reasons = []
    if count != planned_count:
        reasons.append(f"{count} of {planned_count} GPUs")
    if missing and count:
        reasons.append(f"no GPU at {', '.join(missing)}")
    return check("gpu-count", count, planned_count, reasons)


def _memory(memory_by_node: Mapping[str, str], planned_gb: int) -> Check:
    minimum = planned_gb * _MEMORY_SHARE * 1e9
    reasons = [f"{name} has {size} bytes" for name, size in memory_by_node.items() if not number(size) >= minimum]
    return check("gpu-model", len(memory_by_node) - len(reasons), f"{planned_gb} GB each", reasons)


def _pcie_lanes(readings: Readings, render_nodes: Mapping[str, str]) -> Check:
    width_by_node = _by_render_node(readings, "current_link_width")
    maximum_by_node = _by_render_node(readings, "max_link_width")
    reasons = []
    for name in render_nodes:
        width = width_by_node.get(name, "nothing")
        maximum = maximum_by_node.get(name, "nothing")
        if not number(width) >= number(maximum):
            reasons.append(f"{name} has {width} of {maximum} PCIe lanes")
    observed = ", ".join(sorted(set(width_by_node.values()))) or "none"
    return check("gpu-pcie", observed, "all lanes", reasons)


def _memory_errors(readings: Readings, render_nodes: Mapping[str, str], maximum: int) -> Check:
    # Linux, Documentation/gpu/amdgpu/ras.rst: the first line of the file counts uncorrected errors.
    line_by_node = _by_render_node(readings, "ras/umc_err_count")
    reasons = []
    for name in render_nodes:
        count = line_by_node.get(name, "nothing").removeprefix("ue: ")
        if not number(count) <= maximum:
            reasons.append(f"{name} counts {count} uncorrected ECC errors")
    return check("gpu-ecc", f"{len(line_by_node)} GPUs", f"at most {maximum}", reasons)


def _by_render_node(readings: Readings, file: str) -> dict[str, str]:
    """First line of a file of each GPU, by render node.

    Paths of render nodes have no colon, unlike PCI addresses: ``grep`` separates path and line by the first one.
    """
    line_by_node = {}
    for path, line in readings.files(f"{_DRM}/renderD*/device/{file}").items():
        node = path.removeprefix(f"{_DRM}/").partition("/")[0]
        line_by_node[node] = line
    return line_by_node
