"""Checks of NVIDIA's GPUs by nvidia-smi and the kernel log."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from clusterwright.node_health.readings import Readings, number
from clusterwright.node_health.verdict import Check, Expected, check

ASKED_BY = "nvidia-smi"
_ECC_ERRORS = "ecc.errors.uncorrected.volatile.total"
_ROW_REMAPPING = ("remapped_rows.pending", "remapped_rows.failure")
_SLOWDOWNS = ("clocks_throttle_reasons.hw_thermal_slowdown", "clocks_throttle_reasons.hw_power_brake_slowdown")
FIELDS = (
    *("pci.bus_id", "name", "memory.total", "driver_version", "persistence_mode"),
    *("pcie.link.width.current", "pcie.link.width.max"),
    *(_ECC_ERRORS, *_ROW_REMAPPING),
    *_SLOWDOWNS,
)
_NOT_AVAILABLE = "[N/A]"
_LINK = re.compile(r"^\s*Link (\d+): (.*)$")
# Counters' names differ between generations: Replay and CRC up to the fourth, Malformed packet, Rx since the fifth.
_LINK_ERRORS = re.compile(r"^\s*Link (\d+): (.*Errors): (\S+)")
_GPU = re.compile(r"^GPU ([0-9A-Fa-f]{8}:\S+)$")
_SECTION = re.compile(r"^    \S")
_FABRIC_ATTRIBUTE = re.compile(r"^        +(\S.*?) *: (.*)$")
# Attributes of a healthy fabric in `nvidia-smi -q`; N/A on generations without them.
_HEALTHY_FABRIC = {
    "State": ("Completed",),
    "Status": ("Success",),
    "Summary": ("Healthy", "N/A"),
    "Bandwidth": ("Full", "N/A"),
    "Route Recovery in progress": ("False", "N/A"),
    "Route Unhealthy": ("False", "N/A"),
    "Access Timeout Recovery": ("False", "N/A"),
    "Incorrect Configuration": ("None", "N/A"),
}
# NCCL compares these (src/mnnvl.cc): a cluster of zeros is no domain. Cliques are numbered from 0.
_CLUSTER, _CLIQUE = "ClusterUUID", "CliqueId"
_EXCHANGE_READY = "READY"  # nvidia-imex-ctl -q, as DCGM reads it (dcgm_fields.h, DCGM_FI_IMEX_DAEMON_STATUS)
_WHOLE_QUERY_S = 10.0  # nvidia-smi -q reads every attribute of every GPU
# Xid 154 reports the recovery action of a GPU; with the action None it is no error.
_XID = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (?!154,.*\(None\)$)(\d+)", re.M)
_MIB = 1024 * 1024
_MEMORY_SHARE = 0.9

Row = Mapping[str, str]
"""Fields of one GPU in nvidia-smi's table."""
Gpus = Mapping[str, Any]
"""The plan's GPUs of a node: ``gpus`` of its expected state."""


class _LinkCounter(NamedTuple):
    """An error counter of one NVLink."""

    link: str
    """Such as ``GPU 3 link 11``."""
    name: str
    value: str
    """Digits, or ``N/A``."""


def gpu_checks(readings: Readings, expected: Expected) -> Iterator[Check]:
    """Checks of the table of nvidia-smi, NVLinks, fabric and Xid messages; none without planned GPUs of NVIDIA."""
    gpus = expected.get("gpus")
    if not gpus or gpus["asked_by"] != ASKED_BY:
        return
    limits = expected["limits"]
    yield from _table_checks(readings, gpus, limits["uncorrected_ecc"])
    if gpus["nvlinks"]:
        yield _nvlinks(readings, gpus["count"], gpus["nvlinks"])
        yield _nvlink_errors(readings, gpus["count"] * gpus["nvlinks"], limits["nvlink_errors"])
    if gpus["has_fabric_state"]:
        yield _fabric(readings, gpus["count"], in_domain=gpus.get("shares_nvlink", False))
    if gpus.get("shares_nvlink"):
        yield _memory_exchange(readings)
    yield _xids(readings, frozenset(gpus["fatal_xids"]))


def _table_checks(readings: Readings, gpus: Gpus, maximum_ecc_errors: int) -> Iterator[Check]:
    table = readings.run("nvidia-smi", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits")
    rows = _rows(table.text)
    yield _count(rows, gpus, table.error)
    yield _models(rows, gpus)
    if gpus["driver"]:
        yield _driver(rows, gpus["driver"])
    yield _persistence(rows)
    yield _pcie_lanes(rows, has_pcie_width=gpus["has_pcie_width"])
    yield _ecc_errors(rows, maximum_ecc_errors)
    yield _row_remapping(rows)
    yield _slowdowns(rows)


def _rows(table: str) -> list[Row]:
    """Rows of nvidia-smi's table; a message, or a table of other fields, is no row."""
    rows: list[Row] = []
    for values in csv.reader(table.splitlines()):
        row = dict(zip(FIELDS, map(str.strip, values)))
        if len(row) == len(FIELDS):
            rows.append(row)
    return rows


def _count(rows: list[Row], gpus: Gpus, error: str) -> Check:
    addresses = {_row_address(row) for row in rows}
    missing = [address for address in gpus["pci"] if address not in addresses]
    reasons = []
    if len(rows) != gpus["count"]:
        reasons.append(f"{len(rows)} of {gpus['count']} GPUs")
    if missing and addresses:
        reasons.append(f"no GPU at {', '.join(missing)}")
    if error:
        reasons.append(error)
    return check("gpu-count", len(rows), gpus["count"], reasons)


def _models(rows: list[Row], gpus: Gpus) -> Check:
    minimum_mib = gpus["memory_gb"] * _MEMORY_SHARE * 1e9 / _MIB
    reasons = []
    for row in rows:
        has_memory = number(row["memory.total"]) >= minimum_mib
        if not _is_model(row["name"], gpus) or not has_memory:
            reasons.append(f"{_row_address(row)} is {row['name']} with {row['memory.total']} MiB")
    return check("gpu-model", _distinct_values(rows, "name"), gpus["nvml_name"] or gpus["model"], reasons)


def _is_model(name: str, gpus: Gpus) -> bool:
    """Whether NVML's name equals the catalogue's or, where the catalogue has none, contains the model's word.

    Slurm identifies GPUs by NVML's full name.
    """
    if gpus["nvml_name"]:
        return bool(name == gpus["nvml_name"])
    model = gpus["model"].split("-")[0]
    return model.lower() in name.lower().replace("-", " ").split()


def _driver(rows: list[Row], planned: str) -> Check:
    other_versions = sorted({row["driver_version"] for row in rows} - {planned})
    reasons = [f"driver {', '.join(other_versions)}"] if other_versions else []
    return check("gpu-driver", _distinct_values(rows, "driver_version"), planned, reasons)


def _persistence(rows: list[Row]) -> Check:
    """Persistence mode: without it the driver unloads after each process, loses counters and starts for seconds."""
    reasons = [f"{_row_address(row)} is not kept" for row in rows if row["persistence_mode"] != "Enabled"]
    return check("gpu-persistence", _distinct_values(rows, "persistence_mode"), "Enabled", reasons)


def _pcie_lanes(rows: list[Row], *, has_pcie_width: bool) -> Check:
    reasons = []
    for row in rows:
        width, maximum = row["pcie.link.width.current"], row["pcie.link.width.max"]
        is_unavailable = width == maximum == _NOT_AVAILABLE
        if is_unavailable and not has_pcie_width:
            continue
        if not number(width) >= number(maximum):
            reasons.append(f"{_row_address(row)} has {width} of {maximum} PCIe lanes")
    return check("gpu-pcie", _distinct_values(rows, "pcie.link.width.current"), "all lanes", reasons)


def _ecc_errors(rows: list[Row], maximum: int) -> Check:
    reasons = []
    for row in rows:
        if not number(row[_ECC_ERRORS]) <= maximum:
            reasons.append(f"{_row_address(row)} counts {row[_ECC_ERRORS]} uncorrected ECC errors")
    return check("gpu-ecc", _distinct_values(rows, _ECC_ERRORS), f"at most {maximum}", reasons)


def _row_remapping(rows: list[Row]) -> Check:
    reasons = []
    for row in rows:
        for field in _ROW_REMAPPING:
            if row[field] not in ("0", "No"):
                reasons.append(f"{_row_address(row)}: remapped rows {field.split('.')[1]}, reset or replace it")
    return check("gpu-rows", "see reason" if reasons else "none", "no remapping pending or failed", reasons)


def _slowdowns(rows: list[Row]) -> Check:
    reasons = []
    for row in rows:
        for field in _SLOWDOWNS:
            if row[field] != "Not Active":
                reasons.append(f"{_row_address(row)}: {field.split('.')[1]}")
    return check("gpu-slowdown", "see reason" if reasons else "none", "no hardware slowdown", reasons)


def _nvlinks(readings: Readings, gpu_count: int, links_per_gpu: int) -> Check:
    """Active NVLinks and their rates: NCCL's topology file hides a failed link, and no other check sees it."""
    status = readings.run("nvidia-smi", "nvlink", "--status")
    rates_by_gpu = _link_rates(status.text)
    all_rates = sorted(rate for rates in rates_by_gpu.values() for rate in rates.values())
    common_rate = max(all_rates, key=all_rates.count, default="")
    reasons = []
    for gpu, rates in rates_by_gpu.items():
        if len(rates) != links_per_gpu:
            reasons.append(f"{gpu} has {len(rates)} of {links_per_gpu} NVLinks up")
    if len(rates_by_gpu) != gpu_count:
        reasons.append(f"{len(rates_by_gpu)} of {gpu_count} GPUs tell of their NVLinks")
    for gpu, rates in rates_by_gpu.items():
        for link, rate in rates.items():
            if rate != common_rate:
                reasons.append(f"{gpu} link {link} runs at {rate}, others at {common_rate}")
    error = status.error
    if not error and not rates_by_gpu:
        error = "nvidia-smi names no NVLinks"
    return check("gpu-nvlink", f"{len(all_rates)} links up", f"{links_per_gpu} on each of {gpu_count}", reasons, error)


def _link_rates(status: str) -> dict[str, dict[str, str]]:
    """Rates of the active links by GPU and link number, of ``nvidia-smi nvlink --status``."""
    rates_by_gpu: dict[str, dict[str, str]] = {}
    gpu = ""
    for line in status.splitlines():
        if line.startswith("GPU "):
            gpu = line.split(":")[0]
            rates_by_gpu[gpu] = {}
            continue
        link = _LINK.match(line)
        if link is not None and link.group(2).endswith("GB/s"):
            rates_by_gpu.setdefault(gpu, {})[link.group(1)] = link.group(2)
    return rates_by_gpu


def _nvlink_errors(readings: Readings, links: int, maximum: int) -> Check:
    """Replays, recoveries and other errors of NVLinks, which slow down every collective without an error."""
    listing = readings.run("nvidia-smi", "nvlink", "--errorcounters")
    total_by_link: dict[str, int] = {}
    counter_names: set[str] = set()
    silent_links: dict[str, list[str]] = {}
    for counter in _link_counters(listing.text):
        if counter.value.isdigit():
            total_by_link[counter.link] = total_by_link.get(counter.link, 0) + int(counter.value)
            counter_names.add(counter.name)
        else:
            silent_links.setdefault(counter.name, []).append(counter.link)
    reasons = [f"{link} counts {total}" for link, total in total_by_link.items() if total > maximum]
    # A generation of GPUs lacks the counters that none of its links has.
    for name in sorted(counter_names.intersection(silent_links)):
        for link in silent_links[name]:
            reasons.append(f"{link} tells no {name}")
    if len(total_by_link) != links:
        reasons.append(f"{len(total_by_link)} of {links} NVLinks count errors")
    error = listing.error
    if not error and not total_by_link:
        error = "nvidia-smi counts no errors of NVLinks"
    return check("gpu-nvlink-errors", f"{len(total_by_link)} links", f"at most {maximum} on each", reasons, error)


def _link_counters(listing: str) -> Iterator[_LinkCounter]:
    """Counters of ``nvidia-smi nvlink --errorcounters``."""
    gpu = ""
    for line in listing.splitlines():
        if line.startswith("GPU "):
            gpu = line.split(":")[0]
            continue
        counter = _LINK_ERRORS.match(line)
        if counter is not None:
            number_of_link, name, value = counter.groups()
            yield _LinkCounter(link=f"{gpu} link {number_of_link}", name=name, value=value)


def _memory_exchange(readings: Readings) -> Check:
    """State of this node's IMEX daemon, without which no job shares memory over NVLink."""
    status = readings.run("nvidia-imex-ctl", "-q")
    state = status.text.strip()
    reasons = []
    if state != _EXCHANGE_READY:
        reasons.append(status.error or f"nvidia-imex-ctl says {state or 'nothing'}")
    return check("gpu-memory-exchange", state or "no answer", _EXCHANGE_READY, reasons)


def _fabric(readings: Readings, gpu_count: int, *, in_domain: bool) -> Check:
    """Registration of each GPU with the NVSwitch fabric: an unregistered one takes no work, or hangs.

    NCCL uses multi-node NVLink only between GPUs of one cluster and clique. With ``in_domain`` all GPUs of the node
    have to be in one.
    """
    query = readings.run("nvidia-smi", "-q", timeout_s=_WHOLE_QUERY_S)
    attributes_by_gpu = _fabric_attributes(query.text)
    reasons = []
    for gpu, attributes in attributes_by_gpu.items():
        differences = _fabric_differences(attributes)
        if differences:
            reasons.append(f"{gpu}: {', '.join(differences)}")
    if in_domain:
        reasons.extend(_domain_reasons(attributes_by_gpu.values()))
    if len(attributes_by_gpu) != gpu_count:
        reasons.append(f"{len(attributes_by_gpu)} of {gpu_count} GPUs tell of their fabric")
    return check("gpu-fabric", f"{len(attributes_by_gpu)} GPUs", "joined on each", reasons, query.error)


def _fabric_attributes(query: str) -> dict[str, dict[str, str]]:
    """Attributes in the section Fabric of ``nvidia-smi -q``, by GPU."""
    attributes_by_gpu: dict[str, dict[str, str]] = {}
    gpu = ""
    is_fabric_section = False
    for line in query.splitlines():
        heading = _GPU.match(line)
        attribute = _FABRIC_ATTRIBUTE.match(line)
        if heading is not None:
            gpu = _kernel_address(heading.group(1))
            is_fabric_section = False
        elif _SECTION.match(line):
            is_fabric_section = line.strip() == "Fabric"
        elif is_fabric_section and attribute is not None:
            name, value = attribute.groups()
            attributes_by_gpu.setdefault(gpu, {})[name] = value
    return attributes_by_gpu


def _fabric_differences(attributes: Mapping[str, str]) -> list[str]:
    differences = [f"{name} missing" for name in ("State", "Status") if name not in attributes]
    for name, value in attributes.items():
        if name in _HEALTHY_FABRIC and value not in _HEALTHY_FABRIC[name]:
            differences.append(f"{name} {value}")
    return differences


def _domain_reasons(attributes_of_gpus: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """Why the GPUs are not in one NVLink domain: no cluster, or different clusters or cliques."""
    values: dict[str, set[str]] = {_CLUSTER: set(), _CLIQUE: set()}
    for attributes in attributes_of_gpus:
        for name, distinct_values in values.items():
            distinct_values.add(attributes.get(name, "missing"))
    if any(not cluster.strip("0-") for cluster in values[_CLUSTER]):
        yield f"{_CLUSTER} of zeros"
    for name, distinct_values in values.items():
        if len(distinct_values) > 1 or "missing" in distinct_values:
            yield f"{name} is {', '.join(sorted(distinct_values))}"


def _xids(readings: Readings, fatal_xids: frozenset[int]) -> Check:
    """Xid messages of broken hardware since boot; those of a faulty program do not count."""
    log = readings.run("dmesg", "--notime", "--level=emerg,alert,crit,err,warn,notice")
    messages = {(address, int(xid)) for address, xid in _XID.findall(log.text)}
    reasons = [f"Xid {xid} of {address}" for address, xid in sorted(messages) if xid in fatal_xids]
    observed = ", ".join(sorted({str(xid) for _, xid in messages})) or "none"
    return check("gpu-xid", observed, "none of broken hardware", reasons, log.error)


def _kernel_address(bus_id: str) -> str:
    """PCI address with the four digits of the kernel's domain; nvidia-smi writes eight."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def _row_address(row: Row) -> str:
    return _kernel_address(row["pci.bus_id"])


def _distinct_values(rows: Iterable[Row], field: str) -> str:
    return ", ".join(sorted({row[field] for row in rows})) or "none"
