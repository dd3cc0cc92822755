"""Checks of the operating system: kernel, drivers, firmware, PCIe paths, mounts, time, units and image."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from clusterwright.node_health.readings import Readings, number
from clusterwright.node_health.verdict import Check, Expected, check

IMAGE_FILE = "/usr/lib/clusterwright/image.json"
# Time spans as systemd prints them, such as "1min 2.345s" (systemd.time(7)).
_SECONDS_BY_UNIT = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SPAN_PART = re.compile(r"([\d.]+)([a-z]+)")
# chronyc -c tracking (chrony's client.c, process_cmd_tracking): fields of its one line.
_CHRONY_OFFSET = 4
_CHRONY_LEAP_STATUS = 13
_CHRONY_SYNCHRONISED = ("Normal", "Insert second", "Delete second")


def system_checks(readings: Readings, expected: Expected) -> Iterator[Check]:
    """Checks of everything except GPUs, networks and hardware."""
    yield from _kernel(readings, expected["kernel"])
    yield from _versions(readings, expected)
    if expected["direct_paths"]:
        yield _access_control(readings)
        yield _iommu(readings)
    yield _mounts(readings, expected["mounts"])
    if expected["time"]:
        yield _time(readings, expected["time"], expected["limits"]["clock_offset_ms"])
    yield _units(readings, expected["units"])
    if expected["image"]:
        yield _image(readings, expected["image"])
    for command in expected["commands"]:
        yield _command(readings, command)


def _kernel(readings: Readings, kernel: Mapping[str, Any]) -> Iterator[Check]:
    parameters = readings.file("/proc/cmdline").text.split()
    missing_parameters = [parameter for parameter in kernel["parameters"] if parameter not in parameters]
    planned_parameters = " ".join(kernel["parameters"])
    yield check("kernel-parameters", " ".join(parameters), planned_parameters, _missing(missing_parameters))
    missing_modules = sorted(set(kernel["modules"]) - readings.names("/sys/module"))
    planned_modules = " ".join(kernel["modules"])
    yield check("kernel-modules", f"{len(missing_modules)} missing", planned_modules, _missing(missing_modules))
    yield _settings(readings, kernel["settings"])
    for pages in kernel["hugepages"]:
        yield _hugepages(readings, pages["kib"], pages["count"])


def _missing(names: list[str]) -> list[str]:
    return [f"{', '.join(names)} missing"] if names else []


def _settings(readings: Readings, settings: Mapping[str, str]) -> Check:
    # As in sysctl.d(5): dots separate folders, and a slash stands for a dot in a name.
    path_by_name = {name: f"/proc/sys/{name.translate(str.maketrans('./', '/.'))}" for name in settings}
    value_by_path = readings.files(*path_by_name.values())
    reasons = []
    for name, planned in settings.items():
        path = path_by_name[name]
        if value_by_path.get(path, "").split() != planned.split():
            reasons.append(f"{name} is {value_by_path.get(path, 'missing')}")
    return check("kernel-settings", f"{len(settings) - len(reasons)} as planned", len(settings), reasons)


def _hugepages(readings: Readings, kib: int, planned: int) -> Check:
    count = readings.line(f"/sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages") or "none"
    reasons = []
    if not count.isdigit() or int(count) < planned:
        reasons.append(f"{count} of {planned} pages")
    return check("hugepages", count, planned, reasons)


def _versions(readings: Readings, expected: Expected) -> Iterator[Check]:
    drivers = expected["drivers"]
    if drivers:
        versions = {name: readings.line(f"/sys/module/{name}/version") for name in drivers}
        yield _same_versions("driver-versions", versions, drivers)
    firmware = expected["firmware"]
    if firmware["adapters"]:
        yield _adapter_firmware(readings, expected["nics"], firmware["adapters"])
    if firmware["bios"]:
        version = readings.line("/sys/class/dmi/id/bios_version")
        yield _same_versions("bios", {"BIOS": version}, {"BIOS": firmware["bios"]})


def _adapter_firmware(readings: Readings, nics: list[Mapping[str, Any]], allowed: list[str]) -> Check:
    planned_devices = [nic["rdma"] for nic in nics if nic["rdma"]]
    present = readings.names("/sys/class/infiniband")
    # Before the first reading no device is known to be present: all are read.
    devices = [name for name in planned_devices if name in present] or planned_devices
    versions = {name: readings.line(f"/sys/class/infiniband/{name}/fw_ver") for name in devices}
    reasons = [f"{name} has {version or 'none'}" for name, version in versions.items() if version not in allowed]
    return check("adapter-firmware", ", ".join(sorted(set(versions.values()))), " or ".join(allowed), reasons)


def _same_versions(check_name: str, versions: Mapping[str, str], planned: Mapping[str, str]) -> Check:
    reasons = []
    for name, version in versions.items():
        if version != planned[name]:
            reasons.append(f"{name} is {version or 'missing'}")
    observed = ", ".join(f"{name} {version}" for name, version in versions.items())
    expected = ", ".join(f"{name} {planned[name]}" for name in versions)
    return check(check_name, observed, expected, reasons)


def _access_control(readings: Readings) -> Check:
    """PCIe bridges with access control services (ACS), which send peer-to-peer traffic through the root complex."""
    listing = readings.run("lspci", "-vvv")
    bridges = []
    for device in re.split(r"\n\s*\n", listing.text):
        if re.search(r"ACSCtl:\s+SrcValid\+", device):
            bridges.append(device.split()[0])
    reasons = [f"ACS is on at {', '.join(bridges[:4])}"] if bridges else []
    return check("pci-acs", f"on at {len(bridges)}", "off everywhere", reasons, listing.error)


def _iommu(readings: Readings) -> Check:
    group_types = set(readings.files("/sys/kernel/iommu_groups/*/type").values())
    reasons = [f"groups of type {group_type}" for group_type in sorted(group_types - {"identity"})]
    return check("pci-iommu", ", ".join(sorted(group_types)) or "no IOMMU", "identity or no IOMMU", reasons)


def _mounts(readings: Readings, mounts: list[Mapping[str, Any]]) -> Check:
    """Planned mounts, present and answering: a mount of an unreachable server blocks ``stat``."""
    source_and_type = {}
    for line in readings.file("/proc/self/mounts").text.splitlines():
        fields = line.split(" ")
        if len(fields) > 2:
            source_and_type[fields[1]] = (fields[0], fields[2])
    reasons = []
    for mount in mounts:
        target = mount["where"]
        source, file_system = source_and_type.get(target, ("", ""))
        error = readings.run("stat", "--file-system", "--format=%T", target).error
        if not source:
            reasons.append(f"{target} is not mounted")
        elif source != mount["what"] or file_system not in mount["types"]:
            reasons.append(f"{target} is {source} ({file_system}), not {mount['what']} ({mount['types'][0]})")
        elif error:
            reasons.append(f"{target}: {error}")
    return check("mounts", f"{len(mounts) - len(reasons)} as planned", len(mounts), reasons)


class _Clock(NamedTuple):
    """Clock of the node, as the client of its time service reports it."""

    is_synchronised: bool
    offset_s: float | None
    """Without its sign; None for an unknown one."""
    error: str
    """Of the client; "" for none."""


def _time(readings: Readings, source: str, maximum_ms: float) -> Check:
    clock = _chrony_clock(readings) if source == "chrony" else _timesyncd_clock(readings)
    observed = "unknown"
    reasons = []
    if not clock.is_synchronised:
        reasons.append("the clock is not synchronised")
    if clock.offset_s is not None:
        offset_ms = clock.offset_s * 1000
        observed = f"off by {offset_ms:.3f} ms"
        if not offset_ms <= maximum_ms:
            reasons.append(f"the clock is off by {offset_ms:.3f} ms")
    return check("time", observed, f"at most {maximum_ms:g} ms off", reasons, clock.error)


def _chrony_clock(readings: Readings) -> _Clock:
    tracking = readings.run("chronyc", "-c", "-n", "tracking")
    fields = tracking.text.strip().split(",")
    if len(fields) <= _CHRONY_LEAP_STATUS:
        return _Clock(is_synchronised=False, offset_s=None, error=tracking.error)
    is_synchronised = fields[_CHRONY_LEAP_STATUS] in _CHRONY_SYNCHRONISED
    offset_s = abs(number(fields[_CHRONY_OFFSET]))
    return _Clock(is_synchronised=is_synchronised, offset_s=offset_s, error=tracking.error)


def _timesyncd_clock(readings: Readings) -> _Clock:
    properties = readings.run("timedatectl", "show")
    is_synchronised = "NTPSynchronized=yes" in properties.text.split()
    status = readings.run("timedatectl", "timesync-status").text
    offset = re.search(r"Offset: [+-]?(.+)", status)
    offset_s = _span_s(offset.group(1)) if offset is not None else None
    return _Clock(is_synchronised=is_synchronised, offset_s=offset_s, error=properties.error)


def _span_s(span: str) -> float:
    """Seconds of a printed time span; NaN for another text, with which the check fails."""
    seconds = 0.0
    for word in span.split():
        part = _SPAN_PART.fullmatch(word)
        if part is None or part.group(2) not in _SECONDS_BY_UNIT:
            return float("nan")
        seconds += number(part.group(1)) * _SECONDS_BY_UNIT[part.group(2)]
    return seconds


def _units(readings: Readings, units: list[str]) -> Check:
    """Active units; one that a deployment is restarting counts as active, or Slurm would drain the node for it."""
    state_by_unit = _unit_states(readings, units)
    reasons = []
    for unit in units:
        state = state_by_unit.get(unit, "unknown")
        if state != "active":
            reasons.append(f"{unit} is {state}")
    return check("units", f"{len(units) - len(reasons)} active", len(units), reasons)


def _unit_states(readings: Readings, units: list[str]) -> dict[str, str]:
    if not units:
        return {}
    properties = "--property=Id,Type,ActiveState,SubState,ActiveEnterTimestampMonotonic,Job"
    sections = readings.run("systemctl", "show", properties, *units).text.strip().split("\n\n")
    state_by_unit = {}
    # systemctl prints a section for each unit, in the order of its arguments.
    for unit, section in zip(units, sections):
        state_by_unit[unit] = _unit_state(_unit_properties(section))
    return state_by_unit


def _unit_properties(section: str) -> dict[str, str]:
    properties = {}
    for line in section.splitlines():
        name, separator, value = line.partition("=")
        if separator:
            properties[name] = value
    return properties


def _unit_state(properties: Mapping[str, str]) -> str:
    """State of a unit in systemd; ``active`` for one that starts, restarts or reloads, as the next check sees it."""
    state = properties.get("ActiveState", "unknown")
    # A failed unit before its next attempt is in SubState auto-restart, which is not a start.
    is_starting = properties.get("SubState", "").startswith("start")
    # Between its stop and its start a restarted unit is inactive, with a queued job.
    is_queued = state == "inactive" and properties.get("Job", "") not in ("", "0")
    was_active = properties.get("ActiveEnterTimestampMonotonic", "0") != "0"
    is_restarting = was_active and (is_starting or is_queued or state == "deactivating")
    # A oneshot unit is active only after its program has ended.
    is_first_start = is_starting and properties.get("Type") != "oneshot"
    if state == "reloading" or is_restarting or is_first_start:
        return "active"
    return state


def _image(readings: Readings, image: Mapping[str, str]) -> Check:
    """Booted image against the planned one, compared by name and by the digest of its parts that need a reboot."""
    file = readings.file(IMAGE_FILE)
    booted = {} if file.error else _json_object(file.text)
    reasons = []
    if not booted:
        reasons.append(f"{IMAGE_FILE} is damaged")
    elif booted.get("name") != image["name"]:
        reasons.append(f"booted {booted.get('name')}, not {image['name']}")
    elif booted.get("boot_digest") != image["boot_digest"]:
        reasons.append(f"booted an older {image['name']}, reboot it")
    observed = f"{booted.get('name')} {str(booted.get('boot_digest'))[:12]}"
    return check("image", observed, f"{image['name']} {image['boot_digest'][:12]}", reasons, file.error)


def _json_object(text: str) -> dict[str, Any]:
    """A JSON object; empty for any other text."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _command(readings: Readings, command: Mapping[str, Any]) -> Check:
    """A check of the spec: a shell command that ends with status 0 on a healthy node."""
    error = readings.run("sh", "-c", command["run"], timeout_s=command["timeout_s"]).error
    return check(f"check-{command['name']}", "failed" if error else "passed", "passed", error=error)
