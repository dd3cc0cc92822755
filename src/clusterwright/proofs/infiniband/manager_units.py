"""The start of the open subnet manager: its unit and its start at boot, line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.proofs.infiniband.manager_options import Fault

UNIT = "etc/systemd/system/opensm.service"
BOOT = "etc/systemd/system/multi-user.target.d/91-opensm.conf"
_FOLDER = "etc/opensm"
_SCRIPT = "add-m-key.sh"
# Lines without effect on the start.
_WITHOUT_EFFECT = ("Description=",)
_PLAIN = (
    "[Unit]",
    "Before=network-online.target",
    "ConditionPathExists=/sys/class/infiniband_mad/abi_version",
    "[Service]",
)
_AGAIN = ("Restart=on-failure", "RestartSec=5s")


def unit_path(instance: str) -> str:
    """The unit of one of several managers on a host, or of the only one (``instance`` empty)."""
    return f"etc/systemd/system/opensm@{instance}.service" if instance else UNIT


def script_path(folder: str) -> str:
    """The script adding the M_Key to the options of the manager with its files in ``folder``."""
    return f"{folder}/{_SCRIPT}"


def unit_faults(text: str | None, *, instance: str, has_key: bool) -> Iterator[Fault]:
    """Faults of the service: it starts opensm with the checked files, and restarts it on failure."""
    below = f"/{instance}" if instance else ""
    lines = [*_PLAIN, *_AGAIN]
    if instance:
        # Each manager has its own cache and logs: with those of another subnet, it would assign new LIDs.
        lines += ["PartOf=opensm.service", f"CacheDirectory=opensm{below}", f"LogsDirectory=opensm{below}"]
        lines.append(f"Environment=OSM_CACHE_DIR=/var/cache/opensm{below}")
    if has_key:
        # opensm reads a copy readable only by root, with the key added by the script.
        lines += [f"RuntimeDirectory=opensm{below}", "RuntimeDirectoryMode=0700"]
        lines.append(f"ExecStartPre=/{_FOLDER}{below}/{_SCRIPT}")
    started_with = f"/run/opensm{below}" if has_key else f"/{_FOLDER}{below}"
    lines.append(f"ExecStart=/usr/sbin/opensm -F {started_with}/opensm.conf")
    yield from _line_faults(text, tuple(lines))


def instances_faults(text: str | None, instances: frozenset[str]) -> Iterator[Fault]:
    """Faults of the service starting all managers of a host."""
    wants = (f"Wants=opensm@{name}.service" for name in sorted(instances))
    yield from _line_faults(text, (*_PLAIN, *wants, "Type=oneshot", "RemainAfterExit=yes", "ExecStart=/usr/bin/true"))


def boot_faults(text: str | None) -> Iterator[Fault]:
    """Faults of the service's start at boot."""
    yield from _line_faults(text, ("[Unit]", "Wants=opensm.service"))


def script_notes(device: str, folder: str, has_script: bool) -> Iterator[str]:
    """A note on the script adding the M_Key, as its lines are not read."""
    if has_script:
        yield f"{device}: the lines of /{script_path(folder)}, which adds the M_Key at each start, are not read."


def _line_faults(text: str | None, wanted: tuple[str, ...]) -> Iterator[Fault]:
    if text is None:
        yield 0, "the file is missing: nothing starts the subnet manager"
        return
    missing = Counter(wanted)
    for number, line in enumerate(text.split("\n"), 1):
        setting = line.strip()
        if not setting or setting.startswith(("#", ";", *_WITHOUT_EFFECT)):
            continue
        if not missing[setting]:
            twice = " twice" if setting in wanted else ""
            yield number, f"{setting} stands here, which nothing asks for{twice}"
        missing[setting] -= 1
    for setting, count in missing.items():
        if count > 0:
            yield 0, f"{setting} is missing"
