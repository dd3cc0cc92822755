"""What a change of files does to its device while it is applied.

Judged by what is written, on the safe side: a file that is not known to be taken over by a running system restarts
what reads it, and a switch that restarts is counted as away.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from clusterwright.artifact import Artifact
from clusterwright.deploy.target import DeviceTree
from clusterwright.plan.model import Device
from clusterwright.platforms.linux.writer.health import LIMITS_FILE
from clusterwright.rollout.waves import Effect

# What Linux reads at boot alone: the kernel's command line, options of modules, names of adapters, the image's name.
_AT_BOOT = ("etc/default/grub.d/", "etc/kernel/", "etc/modprobe.d/", "etc/udev/rules.d/", "etc/clusterwright/boot")
_LINK_NAMES = ("etc/systemd/network/", ".link")
# What a switch's Linux takes over without its forwarding noticing.
_BESIDE_FORWARDING = (
    *("etc/ssh/", "etc/chrony", "etc/rsyslog.d/", "etc/sudoers.d/", "etc/pam.d/", "etc/sysusers.d/"),
    *("etc/tmpfiles.d/", "etc/snmp/", "etc/hostname", "etc/systemd/timesyncd.conf.d/"),
    "etc/clusterwright/passwords",
)
_EOS_CONFIGURATION = "mnt/flash/startup-config"
# Sections of an EOS configuration that no packet passes by.
_EOS_BESIDE = (
    *("ntp ", "logging ", "snmp-server ", "username ", "aaa ", "tacacs-server ", "radius-server ", "ip name-server "),
    *("dns ", "management ", "daemon ", "banner ", "alias ", "clock ", "!"),
)


def effect_of(device: Device, before: DeviceTree, after: DeviceTree) -> Effect | None:
    """What the change from one tree to the other does to ``device``; None when the trees are equal."""
    changed = tuple(_changed(before, after))
    if not changed:
        return None
    if device.kind == "node":
        reboots = any(_is_read_at_boot(path) or _boots_another_image(path, old, new) for path, old, new in changed)
        return Effect.REBOOT if reboots else Effect.LIVE
    passing = all(_is_beside_forwarding(path, old, new) for path, old, new in changed)
    return Effect.LIVE if passing else Effect.RESTART


def _changed(before: DeviceTree, after: DeviceTree) -> Iterator[tuple[str, Artifact | None, Artifact | None]]:
    old, new = {each.path: each for each in before}, {each.path: each for each in after}
    for path in sorted(old.keys() | new.keys()):
        was, will = old.get(path), new.get(path)
        if was is None or will is None or (was.sha256, was.mode) != (will.sha256, will.mode):
            yield path, was, will


def _is_read_at_boot(path: str) -> bool:
    folder, ending = _LINK_NAMES
    return path.startswith(_AT_BOOT) or (path.startswith(folder) and path.endswith(ending))


def _boots_another_image(path: str, was: Artifact | None, will: Artifact | None) -> bool:
    """Whether what the node check expects to have been booted is another image, or another content of the same."""
    if path != LIMITS_FILE or was is None or will is None:
        return False
    before, after = (json.loads(each.content).get("image") for each in (was, will))
    return bool(before != after)


def _is_beside_forwarding(path: str, was: Artifact | None, will: Artifact | None) -> bool:
    if path.startswith(_BESIDE_FORWARDING):
        return True
    if path != _EOS_CONFIGURATION or was is None or will is None:
        return False
    sections = _sections(was), _sections(will)
    return all(line.startswith(_EOS_BESIDE) for line, _ in sections[0] ^ sections[1])


def _sections(configuration: Artifact) -> frozenset[tuple[str, str]]:
    """The top-level lines of an EOS configuration, each with what is indented below it."""
    found: list[list[str]] = []
    for line in configuration.content.decode("utf-8", "replace").splitlines():
        if line.startswith(" ") and found:
            found[-1].append(line)
        elif line:
            found.append([line])
    return frozenset((section[0], "\n".join(section[1:])) for section in found)
