"""Checks of NVIDIA's GPUs, by what nvidia-smi and the kernel's log say."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from clusterwright.node_health.readings import Readings, number
from clusterwright.node_health.verdict import Check, Expected, check

ASKED_BY = "nvidia-smi"
FIELDS = (
    *("pci.bus_id", "name", "memory.total", "driver_version", "persistence_mode"),
    *("pcie.link.width.current", "pcie.link.width.max"),
    *("ecc.errors.uncorrected.volatile.total", "remapped_rows.pending", "remapped_rows.failure"),
    *("clocks_throttle_reasons.hw_thermal_slowdown", "clocks_throttle_reasons.hw_power_brake_slowdown"),
)
_LINK = re.compile(r"^\s*Link (\d+): (.*)$")
# Counters' names differ between generations: Replay and CRC up to the fourth, Malformed packet, Rx since the fifth.
_LINK_ERRORS = re.compile(r"^\s*Link (\d+): (.*Errors): (\S+)")
_GPU = re.compile(r"^GPU ([0-9A-Fa-f]{8}:\S+)$")
_FABRIC_WORD = re.compile(r"^        +(\S.*?) *: (.*)$")
# What nvidia-smi -q says of a fabric that is whole; N/A is said of what a generation does not have.
_WHOLE_FABRIC = {
    "State": ("Completed",),
    "Status": ("Success",),
    "Summary": ("Healthy", "N/A"),
    "Bandwidth": ("Full", "N/A"),
    "Route Recovery in progress": ("False", "N/A"),
    "Route Unhealthy": ("False", "N/A"),
    "Access Timeout Recovery": ("False", "N/A"),
    "Incorrect Configuration": ("None", "N/A"),
}
# What NCCL compares (src/mnnvl.cc): a cluster of zeros is no domain. Cliques are numbered from 0.
_CLUSTER = "ClusterUUID"
_EXCHANGE_READY = "READY"  # nvidia-imex-ctl -q, as DCGM reads it (dcgm_fields.h, DCGM_FI_IMEX_DAEMON_STATUS)
_WHOLE_QUERY_S = 10.0  # it asks everything of every GPU
# 154 tells of the action that the GPU asks for; that it asks for none any more is told by the same number.
_XID = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (?!154,.*\(None\)$)(\d+)", re.M)
_MIB = 1024 * 1024


def gpu_checks(readings: Readings, expected: Expected) -> Iterator[Check]:
    """Count, model, driver, PCIe, memory errors, slowdowns, NVLinks and Xid messages; none where no GPU of
    NVIDIA is planned."""
    gpus = expected.get("gpus")
    if not gpus or gpus["asked_by"] != ASKED_BY:
        return
    asked = readings.run("nvidia-smi", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits")
    rows = [dict(zip(FIELDS, map(str.strip, row))) for row in csv.reader(asked.text.splitlines()) if row]
    trouble = [asked.trouble] if asked.trouble else []
    # Rows that are no rows of ours (a message, a field of another driver) count as no answer.
    rows = [row for row in rows if len(row) == len(FIELDS)]
    seen = {_address(row["pci.bus_id"]) for row in rows}
    missing = [address for address in gpus["pci"] if address not in seen]
    wrong = [f"{len(rows)} of {gpus['count']} GPUs"] if len(rows) != gpus["count"] else []
    wrong += [f"no GPU at {', '.join(missing)}"] if missing and seen else []
    yield check("gpu-count", len(rows), gpus["count"], [*wrong, *trouble])

    model = gpus["model"].split("-")[0]
    fits = gpus["memory_gb"] * 0.9 * 1e9 / _MIB
    wrong = [
        f"{_at(row)} is {row['name']} with {row['memory.total']} MiB"
        for row in rows
        if not _is_model(row["name"], gpus["nvml_name"] or model, whole=bool(gpus["nvml_name"]))
        or not number(row["memory.total"]) >= fits
    ]
    yield check("gpu-model", _all(rows, "name"), gpus["nvml_name"] or gpus["model"], wrong)
    if gpus["driver"]:
        versions = sorted({row["driver_version"] for row in rows} - {gpus["driver"]})
        wrong = [f"driver {', '.join(versions)}"] if versions else []
        yield check("gpu-driver", _all(rows, "driver_version"), gpus["driver"], wrong)
    # Without it the driver lets go of a GPU after each process, with its counters, and takes seconds to begin anew.
    wrong = [f"{_at(row)} is not kept" for row in rows if row["persistence_mode"] != "Enabled"]
    yield check("gpu-persistence", _all(rows, "persistence_mode"), "Enabled", wrong)
    wrong = [
        f"{_at(row)} has {row['pcie.link.width.current']} of {row['pcie.link.width.max']} PCIe lanes"
        for row in rows
        if _has_lost_lanes(row, may_be_silent=not gpus["has_pcie_width"])
    ]
    yield check("gpu-pcie", _all(rows, "pcie.link.width.current"), "all lanes", wrong)
    most = expected["limits"]["uncorrected_ecc"]
    wrong = [
        f"{_at(row)} counts {row[name]} uncorrected ECC errors"
        for row in rows
        for name in ("ecc.errors.uncorrected.volatile.total",)
        if not number(row[name]) <= most
    ]
    yield check("gpu-ecc", _all(rows, "ecc.errors.uncorrected.volatile.total"), f"at most {most}", wrong)
    wrong = [
        f"{_at(row)}: remapped rows {name.split('.')[1]}, reset or replace it"
        for row in rows
        for name in ("remapped_rows.pending", "remapped_rows.failure")
        if row[name] not in ("0", "No")
    ]
    yield check("gpu-rows", "see reason" if wrong else "none", "no remapping pending or failed", wrong)
    wrong = [f"{_at(row)}: {name.split('.')[1]}" for row in rows for name in FIELDS[-2:] if row[name] != "Not Active"]
    yield check("gpu-slowdown", "see reason" if wrong else "none", "no hardware slowdown", wrong)
    if gpus["nvlinks"]:
        yield _nvlinks(readings, gpus["count"], gpus["nvlinks"])
        yield _nvlink_errors(readings, gpus["count"] * gpus["nvlinks"], expected["limits"]["nvlink_errors"])
    if gpus["has_fabric_state"]:
        yield _fabric(readings, gpus["count"], in_domain=gpus.get("shares_nvlink", False))
    if gpus.get("shares_nvlink"):
        yield _memory_exchange(readings)
    yield _xid(readings, expected)


def _has_lost_lanes(row: dict[str, str], *, may_be_silent: bool) -> bool:
    current, most = row["pcie.link.width.current"], row["pcie.link.width.max"]
    if may_be_silent and current == most == "[N/A]":
        return False
    return not number(current) >= number(most)


def _nvlinks(readings: Readings, count: int, links: int) -> Check:
    """Links that are up: a topology file hides a broken one from NCCL, and nothing else tells of it."""
    asked = readings.run("nvidia-smi", "nvlink", "--status")
    up: dict[str, dict[str, str]] = {}
    gpu = ""
    for line in asked.text.splitlines():
        link = _LINK.match(line)
        if line.startswith("GPU "):
            gpu = line.split(":")[0]
            up[gpu] = {}
        elif link is not None and link.group(2).endswith("GB/s"):
            up.setdefault(gpu, {})[link.group(1)] = link.group(2)
    rates = sorted(rate for of_gpu in up.values() for rate in of_gpu.values())
    common = max(set(rates), key=rates.count) if rates else ""
    wrong = [f"{gpu} has {len(found)} of {links} NVLinks up" for gpu, found in up.items() if len(found) != links]
    wrong += [f"{len(up)} of {count} GPUs tell of their NVLinks"] if len(up) != count else []
    wrong += [
        f"{gpu} link {number} runs at {rate}, others at {common}"
        for gpu, found in up.items()
        for number, rate in found.items()
        if rate != common
    ]
    if asked.trouble or not up:
        wrong = [asked.trouble or "nvidia-smi names no NVLinks"]
    return check("gpu-nvlink", f"{len(rates)} links up", f"{links} on each of {count}", wrong)


def _nvlink_errors(readings: Readings, links: int, most: int) -> Check:
    """Transfers over NVLink that were repeated, links that recovered: they slow every collective down in silence."""
    asked = readings.run("nvidia-smi", "nvlink", "--errorcounters")
    counts: dict[str, int] = {}
    silent: dict[str, list[str]] = {}
    counted: set[str] = set()
    gpu = ""
    for line in asked.text.splitlines():
        counter = _LINK_ERRORS.match(line)
        if line.startswith("GPU "):
            gpu = line.split(":")[0]
        elif counter is not None:
            link, name, text = f"{gpu} link {counter.group(1)}", counter.group(2), counter.group(3)
            if text.isdigit():
                counts[link] = counts.get(link, 0) + int(text)
                counted.add(name)
            else:
                silent.setdefault(name, []).append(link)
    wrong = [f"{link} counts {count}" for link, count in counts.items() if count > most]
    # What no link counts is a counter that this generation does not have.
    wrong += [f"{link} tells no {name}" for name in sorted(counted.intersection(silent)) for link in silent[name]]
    wrong += [f"{len(counts)} of {links} NVLinks count errors"] if len(counts) != links else []
    if asked.trouble or not counts:
        wrong = [asked.trouble or "nvidia-smi counts no errors of NVLinks"]
    return check("gpu-nvlink-errors", f"{len(counts)} links", f"at most {most} on each", wrong)


def _memory_exchange(readings: Readings) -> Check:
    """IMEX, without which no job shares memory over NVLink. Only this node's: others of the domain tell of theirs."""
    asked = readings.run("nvidia-imex-ctl", "-q")
    state = asked.text.strip()
    wrong = [] if state == _EXCHANGE_READY else [asked.trouble or f"nvidia-imex-ctl says {state or 'nothing'}"]
    return check("gpu-memory-exchange", state or "no answer", _EXCHANGE_READY, wrong)


def _fabric(readings: Readings, count: int, *, in_domain: bool) -> Check:
    """How far each GPU has joined the fabric of NVSwitches: one that has not takes no work, or hangs.

    GPUs of a node ``in_domain`` are in one: NCCL uses NVLink between those alone whose cluster and clique are the same.
    """
    asked = readings.run("nvidia-smi", "-q", limit_s=_WHOLE_QUERY_S)
    by_gpu: dict[str, dict[str, str]] = {}
    gpu, is_fabric = "", False
    for line in asked.text.splitlines():
        named = _GPU.match(line)
        word = _FABRIC_WORD.match(line)
        if named is not None:
            gpu, is_fabric = _address(named.group(1)), False
        elif re.match(r"^    \S", line):
            is_fabric = line.strip() == "Fabric"
        elif is_fabric and word is not None:
            by_gpu.setdefault(gpu, {})[word.group(1)] = word.group(2)
    wrong = []
    for address, words in by_gpu.items():
        states = [f"{name} {words.get(name, 'missing')}" for name in ("State", "Status") if name not in words]
        for name, text in words.items():
            if name in _WHOLE_FABRIC and text not in _WHOLE_FABRIC[name]:
                states.append(f"{name} {text}")
        wrong += [f"{address}: {', '.join(states)}"] if states else []
    if in_domain:
        clusters = {words.get(_CLUSTER, "missing") for words in by_gpu.values()}
        cliques = {words.get("CliqueId", "missing") for words in by_gpu.values()}
        wrong += [f"{_CLUSTER} of zeros"] if any(not cluster.strip("0-") for cluster in clusters) else []
        for name, said in ((_CLUSTER, clusters), ("CliqueId", cliques)):
            wrong += [f"{name} is {', '.join(sorted(said))}"] if len(said) > 1 or "missing" in said else []
    wrong += [f"{len(by_gpu)} of {count} GPUs tell of their fabric"] if len(by_gpu) != count else []
    return check("gpu-fabric", f"{len(by_gpu)} GPUs", "joined on each", [asked.trouble] if asked.trouble else wrong)


def _xid(readings: Readings, expected: Expected) -> Check:
    """Xid messages since boot that mean broken hardware; those that a faulty program causes do not count."""
    asked = readings.run("dmesg", "--notime", "--level=emerg,alert,crit,err,warn,notice")
    fatal = set(expected["gpus"]["fatal_xids"])
    found = {(address, int(number)) for address, number in _XID.findall(asked.text)}
    wrong = [f"Xid {number} of {address}" for address, number in sorted(found) if number in fatal]
    observed = ", ".join(sorted({str(number) for _, number in found})) or "none"
    return check("gpu-xid", observed, "none of broken hardware", [asked.trouble] if asked.trouble else wrong)


def _is_model(name: str, model: str, whole: bool) -> bool:
    """Slurm knows the GPUs by NVML's whole name, where the catalogue has it; else the model's word has to be in it."""
    return name == model if whole else model.lower() in name.lower().replace("-", " ").split()


def _address(bus_id: str) -> str:
    """nvidia-smi writes PCI domains with eight digits, the kernel with four."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def _at(row: dict[str, str]) -> str:
    return _address(row["pci.bus_id"])


def _all(rows: list[dict[str, str]], field: str) -> str:
    return ", ".join(sorted({row[field] for row in rows})) or "none"
