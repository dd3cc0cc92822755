"""Checks of a machine's hardware: processors, memory, disks, power supplies, PCIe slots."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from clusterwright.node_health.gpus import ASKED_BY
from clusterwright.node_health.readings import Readings, number
from clusterwright.node_health.verdict import Check, Expected, check

SENSORS_FILE = "/run/clusterwright/power-supplies"

_PCI = "/sys/bus/pci/devices"
_KIB_PER_GIB = 1024 * 1024
# The kernel keeps 1.6 % for its page table entries and some for itself; of the smallest module set, one in 32 is 3 %.
_MEMORY_SHARE = 0.97
_FULL_PERCENT = 95
# A bank's status after a machine check (arch/x86/kernel/cpu/mce/core.c), and its bit UC: an uncorrected error
# (Intel's manual, volume 3B, 17.3.2.2; AMD64 has the same).
_MACHINE_CHECK = re.compile(r"\[Hardware Error\]: CPU (\d+): Machine Check.* Bank \d+: ([0-9a-f]{16})$", re.M)
_UNCORRECTED = 1 << 61
# drivers/pci/pcie/aer.c ("Uncorrected" until Linux 6.8) and block/blk-core.c.
_BUS_ERROR = re.compile(r"([0-9a-f:.]+): PCIe Bus Error: severity=Uncorrect(?:ed|able) \((Fatal|Non-Fatal)\)", re.M)
_DISK_ERROR = re.compile(r"(?:I/O|critical (?:medium|target)) error, dev (\w+)", re.M)
# SMART logs of all controllers, each behind its device name; nvme-cli's JSON has numbers where its text has units.
# A changed command would not find its output in older transcripts.
_SMART_LOGS = (
    "for each in /dev/nvme[0-9] /dev/nvme[0-9][0-9]; do [ -c $each ] || continue;"
    " echo $each; nvme smart-log --output-format=json $each || echo {}; done"
)
_SMART_LOG = re.compile(r"^/dev/(\w+)\n(.*?)(?=^/dev/|\Z)", re.M | re.S)
# A row of `ipmitool sdr`: name, number, status, entity, reading.
_SENSOR = re.compile(r"^(\S.*?) +\| [0-9A-F]{2}h \| (\S+) +\| +([\d.]+) \|(.*)$", re.M)
_NO_READING = "ns"
_HEALTHY_READING = re.compile(r" (Presence detected|Fully Redundant|[\d.]+ .+)")
# IPMI 2.0, table 43-13: entities 10.1, 10.2, ... are power supplies.
_SUPPLY_ENTITY = re.compile(r"10\.\d+")
_MODULE_SIZE = re.compile(r"^\s+Size: (\d+ [MG]B)$", re.M)
# findmnt's status without a file system of the requested types, as on a node booted into memory.
_NO_FILE_SYSTEM = "ended with 1:"


class _Sensor(NamedTuple):
    """A sensor of a power supply, as ipmitool lists it."""

    name: str
    status: str
    entity: str
    reading: str

    @property
    def is_healthy(self) -> bool:
        """Whether the sensor has no reading or a good one; thresholds of watts and volts are in its status."""
        if self.status == _NO_READING:
            return True
        return self.status == "ok" and _HEALTHY_READING.fullmatch(self.reading) is not None


def machine_checks(readings: Readings, expected: Expected) -> Iterator[Check]:
    """Checks of the kernel's hardware errors, memory, disks, power supplies, CPU governor and adapters' PCIe links."""
    yield from _logged_errors(readings, reports_log_error=not _has_xid_check(expected))
    if expected.get("memory_gib"):
        yield _memory(readings, expected["memory_gib"])
    parts = expected.get("parts", {})
    if parts.get("memory_modules"):
        yield _memory_modules(readings, parts["memory_modules"])
    yield _memory_errors(readings)
    yield _disks(readings)
    yield _wear(readings, expected["limits"]["disk_wear_percent"], parts.get("disks", 0))
    if expected.get("bmc"):
        yield _power_supplies(readings, expected["bmc"]["oldest_s"], parts)
    yield _governor(readings)
    adapters = [nic for nic in expected["nics"] if nic["pci"] and nic["link"] != "ethernet"]
    if expected.get("pcie") and adapters:
        yield _adapters(readings, expected["pcie"], adapters)


def _has_xid_check(expected: Expected) -> bool:
    gpus = expected.get("gpus")
    return bool(gpus and gpus["asked_by"] == ASKED_BY)


def _logged_errors(readings: Readings, *, reports_log_error: bool) -> Iterator[Check]:
    """Uncorrected errors of processors, PCIe and disks in the kernel log since boot.

    ``reports_log_error``: an unreadable log fails these checks. On nodes with NVIDIA's GPUs it fails that of Xids.
    """
    log = readings.run("dmesg", "--notime", "--level=emerg,alert,crit,err,warn,notice")
    error = log.error if reports_log_error else ""
    machine_checks = []
    for cpu, status in _MACHINE_CHECK.findall(log.text):
        if int(status, 16) & _UNCORRECTED:
            machine_checks.append(f"machine check of CPU {cpu}")
    bus_errors = [f"{severity} error of {address}" for address, severity in _BUS_ERROR.findall(log.text)]
    disk_errors = [f"errors of {disk}" for disk in _DISK_ERROR.findall(log.text)]
    yield _logged("cpu-errors", machine_checks, error)
    yield _logged("pci-errors", bus_errors, error)
    yield _logged("disk-errors", disk_errors, error)


def _logged(name: str, messages: Iterable[str], error: str) -> Check:
    distinct_messages = list(dict.fromkeys(messages))
    return check(name, f"{len(distinct_messages)} logged", "none since boot", distinct_messages, error)


def _memory(readings: Readings, planned_gib: int) -> Check:
    """Memory of the kernel against the planned size: a module lost at boot shows only here."""
    total = re.search(r"MemTotal:\s+(\d+) kB", readings.file("/proc/meminfo").text)
    total_gib = int(total.group(1)) / _KIB_PER_GIB if total is not None else 0
    reasons = []
    if total_gib < planned_gib * _MEMORY_SHARE:
        reasons.append(f"{total_gib:.0f} of {planned_gib} GiB")
    return check("memory-size", f"{total_gib:.0f} GiB", f"{planned_gib} GiB", reasons)


def _memory_modules(readings: Readings, planned: int) -> Check:
    """Number and sizes of the memory modules in the firmware's table; a failed module is listed as an empty slot."""
    table = readings.run("dmidecode", "--type", "17")
    sizes = _MODULE_SIZE.findall(table.text)
    reasons = []
    if len(sizes) != planned:
        reasons.append(f"{len(sizes)} of {planned} modules")
    common_size = max(sizes, key=sizes.count, default="")
    for size in sorted({*sizes} - {common_size}):
        reasons.append(f"a module of {size}, others of {common_size}")
    return check("memory-modules", f"{len(sizes)} modules", planned, reasons, table.error)


def _memory_errors(readings: Readings) -> Check:
    """Uncorrected errors since boot, by memory controller (EDAC); corrected ones do not count."""
    counts = readings.files("/sys/devices/system/edac/mc/mc*/ue_count")
    reasons = []
    for path, count in counts.items():
        if count != "0":
            reasons.append(f"{path.split('/')[-2]} counts {count} uncorrected")
    return check("memory-errors", f"{len(counts)} controllers", "no uncorrected error", reasons)


def _disks(readings: Readings) -> Check:
    """Local file systems: writable (the kernel remounts one read-only when its disk fails) and not full."""
    columns = "TARGET,USE%,OPTIONS"
    mounts = readings.run("findmnt", "--raw", "--noheadings", "--types", "ext4,xfs,btrfs", "--output", columns)
    rows = [line.split(" ") for line in mounts.text.splitlines()]
    reasons = []
    for row in rows:
        if len(row) != 3:
            continue
        target, used, options = row
        if "ro" in options.split(","):
            reasons.append(f"{target} is read-only")
        elif not number(used.rstrip("%")) < _FULL_PERCENT:
            reasons.append(f"{target} is {used} full")
    error = "" if _NO_FILE_SYSTEM in mounts.error else mounts.error
    return check("disks", f"{len(rows)} local", "written to, not full", reasons, error)


def _wear(readings: Readings, maximum_percent: int, planned: int) -> Check:
    """State and SMART log of NVMe controllers: critical warnings, wear and media errors."""
    log_by_name = dict(_SMART_LOG.findall(readings.run("sh", "-c", _SMART_LOGS).text))
    state_by_name = {}
    for path, state in readings.files("/sys/class/nvme/nvme*/state").items():
        state_by_name[path.split("/")[-2]] = state
    reasons = [f"{name} is {state}" for name, state in state_by_name.items() if state != "live"]
    if len(state_by_name) < planned:
        reasons.append(f"{len(state_by_name)} of {planned} controllers")
    for name, state in state_by_name.items():
        if state == "live":
            reasons.extend(_smart_reasons(name, log_by_name.get(name, ""), maximum_percent))
    return check("disk-wear", f"{len(state_by_name)} controllers", f"live, at most {maximum_percent} % worn", reasons)


def _smart_reasons(name: str, log_text: str, maximum_percent: int) -> Iterator[str]:
    try:
        log = json.loads(log_text)
        used_percent = int(log["percent_used"])
        warning = int(log["critical_warning"])
        media_errors = int(log["media_errors"])
    except (KeyError, TypeError, ValueError):
        yield f"{name} tells nothing of its wear"
        return
    if warning:
        yield f"{name} warns ({warning:#x})"
    if used_percent > maximum_percent:
        yield f"{name} is worn by {used_percent} %"
    if media_errors:
        yield f"{name} lost data {media_errors} times"


def _power_supplies(readings: Readings, maximum_age_s: int, parts: Mapping[str, int]) -> Check:
    """Power supplies in the BMC's sensors, which power-supplies.service saves: a BMC takes seconds to answer."""
    saved = readings.file(SENSORS_FILE)
    # The file's first line is /proc/uptime as of the time of reading.
    saved_uptime, _, sensor_list = saved.text.partition("\n")
    age_s = _uptime_s(readings.file("/proc/uptime").text) - _uptime_s(saved_uptime)
    sensors = [_Sensor(*fields) for fields in _SENSOR.findall(sensor_list)]
    reasons = []
    error = ""
    for sensor in sensors:
        if not sensor.is_healthy:
            reasons.append(f"{sensor.name} is {sensor.reading.strip() or 'not there'}")
    reasons.extend(_lost_supplies(sensors, parts.get("power_supplies", 0), parts.get("power_supply_sensors", 0)))
    if saved.error:
        error = saved.error
    elif not sensors:
        error = f"the BMC names no power supply: {sensor_list.strip() or 'no message'}"
    elif not age_s <= maximum_age_s:
        error = "the BMC was not asked for long"
    return check("power-supplies", f"{len(sensors)} sensors", "present, without failure", reasons, error)


def _uptime_s(text: str) -> float:
    return number(text.partition(" ")[0])


def _lost_supplies(sensors: Iterable[_Sensor], planned: int, planned_sensors: int) -> Iterator[str]:
    """Missing supplies, and sensors of a present supply without a reading.

    A supply is present if any of its sensors has a reading: sensors of an empty bay have none. Without a planned
    number, a supply without any reading is taken for an empty bay.
    """
    reading_count: dict[str, int] = {}
    silent_sensors: dict[str, list[str]] = {}
    for sensor in sensors:
        if _SUPPLY_ENTITY.fullmatch(sensor.entity) is None:
            continue
        if sensor.status == _NO_READING:
            silent_sensors.setdefault(sensor.entity, []).append(sensor.name)
        else:
            reading_count[sensor.entity] = reading_count.get(sensor.entity, 0) + 1
    if planned and len(reading_count) < planned:
        yield f"{len(reading_count)} of {planned} supplies"
    for entity, count in reading_count.items():
        silent_names = silent_sensors.get(entity, [])
        for name in silent_names:
            yield f"{name} gives no reading"
        if count + len(silent_names) < planned_sensors:
            yield f"supply {entity} has {count} of {planned_sensors} sensors"


def _governor(readings: Readings) -> Check:
    """Frequency governors of the processors; none where the firmware sets the frequency."""
    governors = list(readings.files("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor").values())
    distinct_governors = sorted({*governors})
    reasons = []
    for governor in distinct_governors:
        if governor != "performance":
            reasons.append(f"{governors.count(governor)} processors at {governor}")
    return check("cpu-governor", ", ".join(distinct_governors) or "the firmware's", "performance", reasons)


def _adapters(readings: Readings, planned: Mapping[str, Any], adapters: list[Mapping[str, Any]]) -> Check:
    """PCIe speed and width of the RDMA adapters: a degraded link halves their rate without an error."""
    reasons = []
    for nic in adapters:
        device = f"{_PCI}/{nic['pci']}"
        speed = readings.line(f"{device}/current_link_speed") or "nothing"
        width = readings.line(f"{device}/current_link_width") or "nothing"
        is_fast_enough = number(speed.split(" ")[0]) >= planned["speed_gts"]
        is_wide_enough = number(width) >= planned["width"]
        if not is_fast_enough or not is_wide_enough:
            reasons.append(f"{nic['interface']} has {width} lanes of {speed}")
    observed = f"{len(adapters) - len(reasons)} of {len(adapters)}"
    return check("nic-pcie", observed, f"{planned['width']} lanes of {planned['speed_gts']:g} GT/s", reasons)
