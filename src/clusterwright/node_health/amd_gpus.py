"""Checks of AMD's GPUs, by the files of their driver amdgpu in /sys: no program of ROCm has to be installed."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.node_health.readings import Readings, number
from clusterwright.node_health.verdict import Check, Expected, check

ASKED_BY = "amdgpu"
# By render node: lines of `grep` end a path at its first colon, and a PCI address has several.
_NODES = "/sys/class/drm/renderD*"
_FIRST = 128
_MEMORY_SHARE = 0.9


def amd_gpu_checks(readings: Readings, expected: Expected) -> Iterator[Check]:
    """Count and places, memory, PCIe lanes and uncorrected errors; none where no GPU of AMD is planned."""
    gpus = expected.get("gpus")
    if not gpus or gpus["asked_by"] != ASKED_BY:
        return
    memory = _by_node(readings, "mem_info_vram_total")
    planned = {f"renderD{_FIRST + index}": address for index, address in enumerate(gpus["pci"])}
    places = {name: readings.target(f"/sys/class/drm/{name}/device") for name in planned}
    seen = {place.rpartition("/")[2] for place in places.values()}
    missing = [address for address in planned.values() if address not in seen]
    wrong = [f"{len(memory)} of {gpus['count']} GPUs"] if len(memory) != gpus["count"] else []
    wrong += [f"no GPU at {', '.join(missing)}"] if missing and memory else []
    yield check("gpu-count", len(memory), gpus["count"], wrong)

    least = gpus["memory_gb"] * _MEMORY_SHARE * 1e9
    wrong = [f"{name} has {size} bytes" for name, size in memory.items() if not number(size) >= least]
    yield check("gpu-model", len(memory) - len(wrong), f"{gpus['memory_gb']} GB each", wrong)

    widths, most = _by_node(readings, "current_link_width"), _by_node(readings, "max_link_width")
    wrong = []
    for name in memory:
        width = widths.get(name, "nothing")
        if not number(width) >= number(most.get(name, "")):
            wrong.append(f"{name} has {width} of {most.get(name, 'nothing')} PCIe lanes")
    yield check("gpu-pcie", ", ".join(sorted(set(widths.values()))) or "none", "all lanes", wrong)

    # Linux, Documentation/gpu/amdgpu/ras.rst: the first line of the file counts uncorrected errors.
    allowed = expected["limits"]["uncorrected_ecc"]
    counts = _by_node(readings, "ras/umc_err_count")
    wrong = []
    for name in memory:
        count = counts.get(name, "nothing").removeprefix("ue: ")
        if not number(count) <= allowed:
            wrong.append(f"{name} counts {count} uncorrected ECC errors")
    yield check("gpu-ecc", f"{len(counts)} GPUs", f"at most {allowed}", wrong)


def _by_node(readings: Readings, name: str) -> dict[str, str]:
    """The first line of a file of each GPU, by its render node."""
    lines = readings.files(f"{_NODES}/device/{name}")
    return {path.removeprefix("/sys/class/drm/").partition("/")[0]: line for path, line in lines.items()}
