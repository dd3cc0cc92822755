"""Checks of the machine below the operating system: processors, memory, disks, power, places on PCIe."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.node_health.gpus import ASKED_BY
from clusterwright.node_health.readings import Readings, number
from clusterwright.node_health.verdict import Check, Expected, check

SENSORS_FILE = "/run/clusterwright/power-supplies"

_PCI = "/sys/bus/pci/devices"
_KIB_PER_GIB = 1024 * 1024
# The kernel keeps 1.6 % for its page table entries and some for itself; of the smallest module set, one in 32 is 3 %.
_MEMORY_SHARE = 0.97
_FULL_PERCENT = 95
# A bank's status after a machine check (arch/x86/kernel/cpu/mce/core.c), and its bit UC: correction did not mend it
# (Intel's manual, volume 3B, 17.3.2.2; AMD64 has the same).
_MACHINE_CHECK = re.compile(r"\[Hardware Error\]: CPU (\d+): Machine Check.* Bank \d+: ([0-9a-f]{16})$", re.M)
_UNCORRECTED = 1 << 61
# drivers/pci/pcie/aer.c; "Uncorrected" until Linux 6.8. block/blk-core.c says the other.
_BUS_ERROR = re.compile(r"([0-9a-f:.]+): PCIe Bus Error: severity=Uncorrect(?:ed|able) \((Fatal|Non-Fatal)\)", re.M)
_DISK_ERROR = re.compile(r"(?:I/O|critical (?:medium|target)) error, dev (\w+)", re.M)
# One log a controller, behind its name; nvme-cli's JSON has numbers where its text has units.
_WEAR = (
    "for each in /dev/nvme[0-9] /dev/nvme[0-9][0-9]; do [ -c $each ] || continue;"
    " echo $each; nvme smart-log --output-format=json $each || echo {}; done"
)
# A row of ipmitool's for a power supply: name, number, status, entity, what the sensor says.
_SUPPLY = re.compile(r"^(\S.*?) +\| [0-9A-F]{2}h \| (\S+) +\| +([\d.]+) \|(.*)$", re.M)
_HEALTHY_SUPPLY = re.compile(r" (Presence detected|Fully Redundant|[\d.]+ .+)")
# IPMI 2.0, table 43-13: entities 10.1, 10.2, ... are power supplies.
_SUPPLY_ENTITY = re.compile(r"10\.\d+")
_MODULE_SIZE = re.compile(r"^\s+Size: (\d+ [MG]B)$", re.M)


def machine_checks(readings: Readings, expected: Expected) -> Iterator[Check]:
    """What errs by the kernel's own log, memory that is there, full disks and ones taken from writers, lost lanes."""
    yield from _logged(readings, is_told=_asks_for_xids(expected))
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


def _asks_for_xids(expected: Expected) -> bool:
    gpus = expected.get("gpus")
    return bool(gpus and gpus["asked_by"] == ASKED_BY)


def _logged(readings: Readings, *, is_told: bool) -> Iterator[Check]:
    """Errors of processors, of PCIe and of disks since boot that correction did not mend.

    ``is_told`` says that another check tells where the log is not to be had: that of Xids, where GPUs are.
    """
    asked = readings.run("dmesg", "--notime", "--level=emerg,alert,crit,err,warn,notice")
    checks = (f"CPU {cpu}" for cpu, status in _MACHINE_CHECK.findall(asked.text) if int(status, 16) & _UNCORRECTED)
    buses = (f"{kind} error of {address}" for address, kind in _BUS_ERROR.findall(asked.text))
    disks = (f"errors of {disk}" for disk in _DISK_ERROR.findall(asked.text))
    for name, what, found in (
        ("cpu-errors", "machine check of ", checks),
        ("pci-errors", "", buses),
        ("disk-errors", "", disks),
    ):
        wrong = [f"{what}{each}" for each in dict.fromkeys(found)]
        trouble = [asked.trouble] if asked.trouble and not is_told else []
        yield check(name, f"{len(wrong)} logged", "none since boot", trouble or wrong)


def _memory(readings: Readings, planned_gib: int) -> Check:
    """What the kernel has of the planned memory: a module that is lost at boot is missing here, and nowhere else."""
    found = re.search(r"MemTotal:\s+(\d+) kB", readings.file("/proc/meminfo").text)
    held_gib = int(found.group(1)) / _KIB_PER_GIB if found is not None else 0
    wrong = [f"{held_gib:.0f} of {planned_gib} GiB"] if held_gib < planned_gib * _MEMORY_SHARE else []
    return check("memory-size", f"{held_gib:.0f} GiB", f"{planned_gib} GiB", wrong)


def _memory_modules(readings: Readings, planned: int) -> Check:
    """Memory modules that the firmware has found, each with its size; an empty slot says so, a lost one as well."""
    asked = readings.run("dmidecode", "--type", "17")
    sizes = _MODULE_SIZE.findall(asked.text)
    wrong = [f"{len(sizes)} of {planned} modules"] if len(sizes) != planned else []
    common = max(set(sizes), key=sizes.count) if sizes else ""
    wrong += [f"a module of {size}, others of {common}" for size in sorted(set(sizes) - {common})]
    return check("memory-modules", f"{len(sizes)} modules", planned, [asked.trouble] if asked.trouble else wrong)


def _memory_errors(readings: Readings) -> Check:
    """Errors that correction did not mend since boot, by memory controller (EDAC); corrected ones are no reason."""
    counts = readings.files("/sys/devices/system/edac/mc/mc*/ue_count")
    wrong = [f"{path.split('/')[-2]} counts {count} uncorrected" for path, count in counts.items() if count != "0"]
    return check("memory-errors", f"{len(counts)} controllers", "no uncorrected error", wrong)


def _disks(readings: Readings) -> Check:
    """Local file systems: the kernel makes one read-only whose disk fails, and a full one ends what writes to it."""
    columns = "TARGET,USE%,OPTIONS"
    asked = readings.run("findmnt", "--raw", "--noheadings", "--types", "ext4,xfs,btrfs", "--output", columns)
    rows = [line.split(" ") for line in asked.text.splitlines()]
    wrong = []
    for target, used, options in (row for row in rows if len(row) == 3):
        if "ro" in options.split(","):
            wrong.append(f"{target} is read-only")
        elif not number(used.rstrip("%")) < _FULL_PERCENT:
            wrong.append(f"{target} is {used} full")
    # Ended with 1: there is no such file system, on a node that was booted into memory.
    trouble = asked.trouble and "ended with 1:" not in asked.trouble
    return check("disks", f"{len(rows)} local", "written to, not full", [asked.trouble] if trouble else wrong)


def _wear(readings: Readings, most_percent: int, planned: int) -> Check:
    """What NVMe controllers say of themselves: dead, warning, worn beyond the limit, or with data that is lost."""
    states = readings.files("/sys/class/nvme/nvme*/state")
    asked = readings.run("sh", "-c", _WEAR)
    wrong = [f"{path.split('/')[-2]} is {state}" for path, state in states.items() if state != "live"]
    wrong += [f"{len(states)} of {planned} controllers"] if len(states) < planned else []
    logs = dict(re.findall(r"^/dev/(\w+)\n(.*?)(?=^/dev/|\Z)", asked.text, re.M | re.S))
    for name in (path.split("/")[-2] for path, state in states.items() if state == "live"):
        try:
            log = json.loads(logs.get(name, ""))
            worn, warning, lost = (int(log[each]) for each in ("percent_used", "critical_warning", "media_errors"))
        except (KeyError, TypeError, ValueError):
            wrong.append(f"{name} tells nothing of its wear")
            continue
        wrong += [f"{name} warns ({warning:#x})"] if warning else []
        wrong += [f"{name} is worn by {worn} %"] if worn > most_percent else []
        wrong += [f"{name} lost data {lost} times"] if lost else []
    return check("disk-wear", f"{len(states)} controllers", f"live, at most {most_percent} % worn", wrong)


def _power_supplies(readings: Readings, oldest_s: int, parts: Mapping[str, int]) -> Check:
    """Power supplies as the BMC sees them. It answers in seconds, so a unit of its own asks it and keeps the answer."""
    asked = readings.file(SENSORS_FILE)
    now = readings.file("/proc/uptime").text.split(" ")[0]
    asked_at, _, told = asked.text.partition("\n")
    rows = _SUPPLY.findall(told)
    wrong = []
    for name, status, _, said in rows:
        # A sensor of watts or volts has a threshold of its own, by which "ok" was said.
        is_healthy = status == "ok" and _HEALTHY_SUPPLY.fullmatch(said) is not None
        if not is_healthy and status != "ns":
            wrong.append(f"{name} is {said.strip() or 'not there'}")
    wrong += _lost_supplies(rows, parts.get("power_supplies", 0), parts.get("power_supply_sensors", 0))
    if asked.trouble or not rows:
        wrong = [asked.trouble or f"the BMC names no power supply: {told.strip() or 'no message'}"]
    elif not number(now) - number(asked_at.split(" ")[0]) <= oldest_s:
        wrong = ["the BMC was not asked for long"]
    return check("power-supplies", f"{len(rows)} sensors", "present, without failure", wrong)


def _lost_supplies(rows: list[tuple[str, str, str, str]], planned: int, sensors: int) -> Iterator[str]:
    """Supplies that are gone, and sensors of one that is there and give no reading.

    An empty bay's sensors give none either: where nobody planned a number, a supply without any reading counts as one.
    """
    readings_by_supply: dict[str, int] = {}
    silent: dict[str, list[str]] = {}
    for name, status, entity, _ in rows:
        if _SUPPLY_ENTITY.fullmatch(entity) is None:
            continue
        if status == "ns":
            silent.setdefault(entity, []).append(name)
        else:
            readings_by_supply[entity] = readings_by_supply.get(entity, 0) + 1
    if planned and len(readings_by_supply) < planned:
        yield f"{len(readings_by_supply)} of {planned} supplies"
    for entity, count in readings_by_supply.items():
        for name in silent.get(entity, ()):
            yield f"{name} gives no reading"
        if sensors and count + len(silent.get(entity, ())) < sensors:
            yield f"supply {entity} has {count} of {sensors} sensors"


def _governor(readings: Readings) -> Check:
    """How clocks are chosen; none where the firmware alone does it."""
    held = list(readings.files("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor").values())
    wrong = [f"{held.count(each)} processors at {each}" for each in sorted({*held} - {"performance"})]
    return check("cpu-governor", ", ".join(sorted({*held})) or "the firmware's", "performance", wrong)


def _adapters(readings: Readings, planned: Mapping[str, Any], adapters: list[Mapping[str, Any]]) -> Check:
    """Generation and lanes of PCIe under the RDMA adapters: a slot that fell back halves their rate in silence."""
    wrong = []
    for nic in adapters:
        speed, width = (
            readings.file(f"{_PCI}/{nic['pci']}/current_link_{what}").text.strip() or "nothing"
            for what in ("speed", "width")
        )
        if not number(speed.split(" ")[0]) >= planned["speed_gts"] or not number(width) >= planned["width"]:
            wrong.append(f"{nic['interface']} has {width} lanes of {speed}")
    observed = f"{len(adapters) - len(wrong)} of {len(adapters)}"
    return check("nic-pcie", observed, f"{planned['width']} lanes of {planned['speed_gts']:g} GT/s", wrong)
