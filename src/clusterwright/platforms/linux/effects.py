"""What changes of files do to machines with Linux: nodes, and what lies under a switch's own system."""

from __future__ import annotations

import json

from clusterwright.platforms.effect import Effect
from clusterwright.platforms.linux.writer.health import LIMITS_FILE

# What Linux reads at boot alone: the kernel's command line, options of modules, names of adapters and how several are
# one link, the image's name.
_AT_BOOT = ("etc/default/grub.d/", "etc/kernel/", "etc/modprobe.d/", "etc/udev/rules.d/", "etc/clusterwright/boot")
_LINK_NAMES = ("etc/systemd/network/", (".link", ".netdev"))
# What a switch's Linux takes over without its forwarding noticing.
_BESIDE_FORWARDING = (
    *("etc/ssh/", "etc/chrony", "etc/rsyslog.d/", "etc/sudoers.d/", "etc/pam.d/", "etc/sysusers.d/"),
    *("etc/tmpfiles.d/", "etc/snmp/", "etc/hostname", "etc/systemd/timesyncd.conf.d/"),
    "etc/clusterwright/passwords",
)


def on_node(path: str, was: bytes | None, will: bytes | None) -> Effect:
    """A node boots for what it reads at boot, and for another image; it takes all else while it runs."""
    folder, ending = _LINK_NAMES
    reads_at_boot = path.startswith(_AT_BOOT) or (path.startswith(folder) and path.endswith(ending))
    return Effect.REBOOT if reads_at_boot or _boots_another_image(path, was, will) else Effect.LIVE


def on_switch(path: str, was: bytes | None, will: bytes | None) -> Effect:
    """Files of the Linux under a switch's system: live where forwarding does not notice, else on the safe side."""
    del was, will
    return Effect.LIVE if path.startswith(_BESIDE_FORWARDING) else Effect.RESTART


def _boots_another_image(path: str, was: bytes | None, will: bytes | None) -> bool:
    """Whether what the node check expects to have been booted is another image, or another content of the same."""
    if path != LIMITS_FILE or was is None or will is None:
        return False
    before, after = (json.loads(each).get("image") for each in (was, will))
    return bool(before != after)
