"""Checks of the operating system: kernel, drivers, firmware, PCIe paths, mounts, time, units and image."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusterwright.node_health.readings import Readings, number
from clusterwright.node_health.verdict import Check, Expected, check

IMAGE_FILE = "/usr/lib/clusterwright/image.json"
_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def system_checks(readings: Readings, expected: Expected) -> Iterator[Check]:
    """Everything of a node that is neither GPU nor network."""
    kernel = expected["kernel"]
    held = readings.file("/proc/cmdline").text.split()
    missing = [word for word in kernel["parameters"] if word not in held]
    yield check("kernel-parameters", " ".join(held), " ".join(kernel["parameters"]), _lacking(missing))
    missing = sorted(set(kernel["modules"]) - readings.names("/sys/module"))
    yield check("kernel-modules", f"{len(missing)} missing", " ".join(kernel["modules"]), _lacking(missing))
    yield _settings(readings, kernel["settings"])
    for pages in kernel["hugepages"]:
        path = f"/sys/kernel/mm/hugepages/hugepages-{pages['kib']}kB/nr_hugepages"
        text = readings.file(path).text.strip() or "none"
        short = not text.isdigit() or int(text) < pages["count"]
        yield check("hugepages", text, pages["count"], [f"{text} of {pages['count']} pages"] if short else [])
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
        answer = readings.run("sh", "-c", command["run"], limit_s=command["timeout_s"])
        yield check(
            f"check-{command['name']}", "failed" if answer.trouble else "passed", "passed", _some(answer.trouble)
        )


def _settings(readings: Readings, settings: Mapping[str, str]) -> Check:
    paths = {name: f"/proc/sys/{name.translate(str.maketrans('./', '/.'))}" for name in settings}
    held = readings.files(*paths.values())
    wrong = [
        f"{name} is {held.get(paths[name], 'missing')}"
        for name, value in settings.items()
        if held.get(paths[name], "").split() != value.split()
    ]
    return check("kernel-settings", f"{len(settings) - len(wrong)} as planned", len(settings), wrong)


def _versions(readings: Readings, expected: Expected) -> Iterator[Check]:
    drivers = expected["drivers"]
    if drivers:
        held = {name: readings.file(f"/sys/module/{name}/version").text.strip() for name in drivers}
        yield _same("driver-versions", held, drivers)
    firmware = expected["firmware"]
    if firmware["adapters"]:
        planned = [nic["rdma"] for nic in expected["nics"] if nic["rdma"]]
        devices = [name for name in planned if name in readings.names("/sys/class/infiniband")] or planned
        held = {name: readings.file(f"/sys/class/infiniband/{name}/fw_ver").text.strip() for name in devices}
        wrong = [f"{name} has {value or 'none'}" for name, value in held.items() if value not in firmware["adapters"]]
        observed = ", ".join(sorted(set(held.values())))
        yield check("adapter-firmware", observed, " or ".join(firmware["adapters"]), wrong)
    if firmware["bios"]:
        yield _same("bios", {"BIOS": readings.file("/sys/class/dmi/id/bios_version").text.strip()}, firmware)


def _same(name: str, held: Mapping[str, str], wanted: Mapping[str, Any]) -> Check:
    by_name = {key.lower(): value for key, value in wanted.items()}
    wrong = [f"{key} is {value or 'missing'}" for key, value in held.items() if value != by_name[key.lower()]]
    observed = ", ".join(f"{key} {value}" for key, value in held.items())
    return check(name, observed, ", ".join(f"{key} {by_name[key.lower()]}" for key in held), wrong)


def _access_control(readings: Readings) -> Check:
    """Bridges that send traffic between adapter and GPU through the root complex."""
    asked = readings.run("lspci", "-vvv")
    bridges = [part.split()[0] for part in re.split(r"\n\s*\n", asked.text) if re.search(r"ACSCtl:\s+SrcValid\+", part)]
    wrong = [f"ACS is on at {', '.join(bridges[:4])}"] if bridges else []
    return check("pci-acs", f"on at {len(bridges)}", "off everywhere", [asked.trouble] if asked.trouble else wrong)


def _iommu(readings: Readings) -> Check:
    kinds = set(readings.files("/sys/kernel/iommu_groups/*/type").values())
    wrong = [f"groups of type {kind}" for kind in sorted(kinds - {"identity"})]
    return check("pci-iommu", ", ".join(sorted(kinds)) or "no IOMMU", "identity or no IOMMU", wrong)


def _mounts(readings: Readings, mounts: list[Mapping[str, Any]]) -> Check:
    lines = (line.split(" ") for line in readings.file("/proc/self/mounts").text.splitlines())
    held = {parts[1]: (parts[0], parts[2]) for parts in lines if len(parts) > 2}
    wrong = []
    for mount in mounts:
        what, kind = held.get(mount["where"], ("", ""))
        asked = readings.run("stat", "--file-system", "--format=%T", mount["where"])
        if not what:
            wrong.append(f"{mount['where']} is not mounted")
        elif what != mount["what"] or kind not in mount["types"]:
            wrong.append(f"{mount['where']} is {what} ({kind}), not {mount['what']} ({mount['types'][0]})")
        elif asked.trouble:
            wrong.append(f"{mount['where']}: {asked.trouble}")
    return check("mounts", f"{len(mounts) - len(wrong)} as planned", len(mounts), wrong)


def _time(readings: Readings, source: str, most_ms: float) -> Check:
    if source == "chrony":
        asked = readings.run("chronyc", "-c", "-n", "tracking")
        fields = asked.text.strip().split(",")
        offset_s = abs(number(fields[4])) if len(fields) > 13 else None
        synchronised = len(fields) > 13 and fields[13] in ("Normal", "Insert second", "Delete second")
    else:
        asked = readings.run("timedatectl", "show")
        synchronised = "NTPSynchronized=yes" in asked.text.split()
        found = re.search(r"Offset: [+-]?([\d.]+)(us|ms|s)", readings.run("timedatectl", "timesync-status").text)
        offset_s = number(found.group(1)) * _UNITS_S[found.group(2)] if found is not None else None
    wrong = [] if synchronised else ["the clock is not synchronised"]
    if offset_s is not None and not offset_s * 1000 <= most_ms:
        wrong.append(f"the clock is off by {offset_s * 1000:.3f} ms")
    observed = "unknown" if offset_s is None else f"off by {offset_s * 1000:.3f} ms"
    return check("time", observed, f"at most {most_ms:g} ms off", [asked.trouble] if asked.trouble else wrong)


def _units(readings: Readings, units: list[str]) -> Check:
    """What has to run. A unit that a deployment starts anew this moment is well: Slurm would drain a node for it."""
    asked = ("systemctl", "show", "--property=Id,Type,ActiveState,SubState,ActiveEnterTimestampMonotonic,Job", *units)
    parts = readings.run(*asked).text.strip().split("\n\n") if units else []
    held = dict(
        zip(units, (_state(dict(line.split("=", 1) for line in part.splitlines() if "=" in line)) for part in parts))
    )
    wrong = [f"{unit} is {held.get(unit, 'unknown')}" for unit in units if held.get(unit) != "active"]
    return check("units", f"{len(units) - len(wrong)} active", len(units), wrong)


def _state(shown: Mapping[str, str]) -> str:
    """The state that systemd says; ``active`` for a unit on its way back, which is looked at again next time."""
    held = shown.get("ActiveState", "unknown")
    # One that ended and waits to be tried again is in auto-restart, and what runs once has not done its work yet.
    comes = shown.get("SubState", "").startswith("start")
    # Between its stop and its start a restarted unit is inactive, with a job that systemd has for it.
    waits = held == "inactive" and shown.get("Job", "") not in ("", "0")
    ran = shown.get("ActiveEnterTimestampMonotonic", "0") != "0"
    again = ran and (comes or waits or held == "deactivating")
    return "active" if again or held == "reloading" or (comes and shown.get("Type") != "oneshot") else held


def _image(readings: Readings, image: Mapping[str, str]) -> Check:
    """Whether the node was booted with what its image now is, as far as that takes a reboot."""
    asked = readings.file(IMAGE_FILE)
    try:
        booted = json.loads(asked.text)
    except ValueError:
        booted = {}
    wrong = []
    if asked.trouble or not isinstance(booted, dict) or not booted:
        wrong = [asked.trouble or f"{IMAGE_FILE} is damaged"]
        booted = {}
    elif booted.get("name") != image["name"]:
        wrong = [f"booted {booted.get('name')}, not {image['name']}"]
    elif booted.get("boot_digest") != image["boot_digest"]:
        wrong = [f"booted an older {image['name']}, reboot it"]
    observed = f"{booted.get('name')} {str(booted.get('boot_digest'))[:12]}"
    return check("image", observed, f"{image['name']} {image['boot_digest'][:12]}", wrong)


def _lacking(names: list[str]) -> list[str]:
    return [f"{', '.join(names)} missing"] if names else []


def _some(text: str) -> list[str]:
    return [text] if text else []
