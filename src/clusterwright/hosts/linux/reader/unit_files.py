"""Known systemd units on a node, and unknown commands and conditions in them.

A unit runs any command as root, so an unknown one could undo anything proven of the node, and a condition could keep a
known one from running. In known units each command and condition is compared.
"""

from __future__ import annotations

import re
from functools import lru_cache

from clusterwright.facts.unread import Unread

UNIT_FOLDERS = tuple(f"{root}/systemd/system/" for root in ("etc", "run", "usr/lib", "usr/local/lib"))
# The permitted commands and conditions of each unit or drop-in of `etc/systemd/system/`, in the order of the file.
_SBIN = "/usr/local/sbin"
_SLURMDBD_CONF = r"-o slurm -g slurm -m 0600 /etc/clusterwright/slurmdbd\.conf /etc/slurm/slurmdbd\.conf"
_MUNGE_KEY = r"/etc/clusterwright/munge\.key /etc/munge/munge\.key"  # as deployed, and where munged reads it
_STARTED = r"(?:(?:tlshd|gssproxy|rpc-gssd|isolation-watch)\.service|\S+\.mount)"
_UNITS_OF_ONE_PROGRAM = (
    *("acs-off", "image-check", "nccl-partition", "nccl-topology"),
    *("power-supplies", "rdma-names", "roce-qos-again", "ssh-host-key"),
)
_KEY_EXISTS = r"ConditionPathExists=/etc/clusterwright/munge\.key"
_ADAPTERS_EXIST = "ConditionPathExists=/sys/class/infiniband_mad/abi_version"
_COMMANDS = {f"{name}.service": (f"ExecStart={_SBIN}/{name}",) for name in _UNITS_OF_ONE_PROGRAM} | {
    "dataset-gate@.service": (
        r"ExecStart=/usr/local/libexec/clusterwright/dataset-gate /etc/clusterwright/datasets/%i\.record",
    ),
    "isolation-watch.service": (
        "ConditionPathExists=/etc/credstore/isolation-watch",
        f"ExecStart={_SBIN}/isolation-watch",
    ),
    "isolation-watch.timer": (),
    "no-swap.service": ("ExecStart=/sbin/swapoff --all",),
    "node-health.service": (f"ExecStart={_SBIN}/node-health --write",),
    "node-health.timer": (),
    "power-supplies.timer": (),
    "nvidia-cdi.service": (r"ExecStart=/usr/bin/nvidia-ctk cdi generate --output=/etc/cdi/nvidia\.yaml",),
    "nvidia-dcgm-exporter.service.d/90-clusterwright.conf": (),
    "enroot-folders.service": (r"ExecStart=/usr/bin/install --directory --mode=1777 /run/enroot /\S+",),
    "opensm.service": (
        _ADAPTERS_EXIST,
        r"ExecStartPre=/etc/opensm/add-m-key\.sh",
        r"ExecStart=/usr/sbin/opensm -F /\S+",
        "ExecStart=/usr/bin/true",
    ),
    r"opensm@[\w.-]+\.service": (
        _ADAPTERS_EXIST,
        r"ExecStartPre=/etc/opensm/[\w.-]+/add-m-key\.sh",
        r"ExecStart=/usr/sbin/opensm -F /\S+",
    ),
    "clusterwright-receptor.service": (r"ExecStart=/usr/bin/receptor --config /\S+",),
    "roce-qos.service": ("ExecStartPre=/usr/sbin/modprobe rdma_cm", f"ExecStart={_SBIN}/roce-qos"),
    r"scratch-[^/]+\.service": (
        r"ExecStart=/sbin/cryptsetup open --type plain .*",
        r"ExecStart=/sbin/mkfs\.ext4 .*",
        r"ExecStop=/sbin/cryptsetup close \S+",
    ),
    r"[^/]+\.mount": (),
    r"(?:multi-user|remote-fs)\.target\.d/\d\d-[\w-]+\.conf": (),
    "nftables.service.d/90-clusterwright.conf": (
        "ExecStart=",
        "ExecStart=/usr/sbin/nft -f /etc/nftables.conf",
        "ExecReload=",
        "ExecReload=/usr/sbin/nft -f /etc/nftables.conf",
    ),
    "munge-key.path": (),
    "munge-key.service": (
        r"ExecStart=/usr/bin/systemctl --no-block restart munge\.service(?: slurm(?:d|dbd|ctld)\.service)*",
    ),
    r"credential-[\w-]+\.path": (),
    r"credential-[\w-]+\.service": (
        r"ExecStart=-/usr/bin/systemctl reset-failed rsyslog\.service",
        r"ExecStart=/usr/bin/systemctl --no-block restart rsyslog\.service",
        rf"ExecStart=/usr/bin/systemctl --no-block start(?: {_STARTED})+",
    ),
    "munge.service.d/90-clusterwright.conf": (
        _KEY_EXISTS,
        rf"ExecStartPre=\+/usr/bin/install -D -o munge -g munge -m 0400 {_MUNGE_KEY}",
    ),
    "slurmd.service.d/90-clusterwright.conf": (
        "ConditionPathExists=",
        _KEY_EXISTS,
        rf'ExecStartPre=-/usr/bin/timeout \d+ /bin/sh -c "until {_SBIN}/node-health > /dev/null; do sleep 2; done"',
    ),
    "slurmctld.service.d/90-clusterwright.conf": (_KEY_EXISTS,),
    "slurmdbd.service.d/90-clusterwright.conf": (
        _KEY_EXISTS,
        rf"ExecStartPre=\+/usr/bin/install -D {_SLURMDBD_CONF}",
    ),
    "slurmctld.service.d/91-nodes.conf": (rf"ExecStartPost=-/usr/bin/timeout \d+ {_SBIN}/slurm-return-nodes --wait",),
    "systemd-networkd.service.d/90-clusterwright.conf": (),
    "tlshd.service.d/90-clusterwright.conf": (
        r"AssertPathExists=/\S+",
        r"ExecStartPre=/bin/grep -q -a -F x509\.crl /usr/sbin/tlshd",
        "ExecStart=",
        "ExecStart=/usr/sbin/tlshd -c /etc/tlshd/config",
    ),
}
_KNOWN = [(re.compile(name.replace(".service.d", r"\.service\.d")), commands) for name, commands in _COMMANDS.items()]
_NO_COMMAND = "(?!)"  # matches nothing
_DEPENDENCY = re.compile(r".+\.(?:wants|requires)/[^/]+")  # systemd reads the name alone; the unit is another file
_COMMAND = re.compile(r"^[ \t]*(?:Exec|OnFailure|OnSuccess|Condition|Assert)\w*[ \t]*=.*(?:\\\n.*)*$", re.M)


def is_mount_unit(path: str) -> bool:
    """Whether a file is a mount unit of the node's own configuration."""
    return path.startswith(UNIT_FOLDERS[0]) and path.endswith(".mount")


@lru_cache(maxsize=1024)
def units_unread(path: str, text: str) -> tuple[Unread, ...]:
    """Unknown parts of a file below UNIT_FOLDERS: the file itself, or commands of it.

    An empty file is a masked unit and runs nothing.
    """
    folder = next(unit_folder for unit_folder in UNIT_FOLDERS if path.startswith(unit_folder))
    name = path.removeprefix(folder)
    if not text or _DEPENDENCY.fullmatch(name):
        return ()
    known_commands = _known_commands(name)
    if known_commands is None or folder != UNIT_FOLDERS[0]:
        return (Unread(path, 1, "the whole file: no reader knows the program of this unit"),)
    known_command = re.compile("|".join(f"(?:{command})" for command in known_commands) or _NO_COMMAND)
    unread = []
    for command in _COMMAND.finditer(text):
        if known_command.fullmatch(command[0]) is None:
            number = text.count("\n", 0, command.start()) + 1
            unread.append(Unread(path, number, command[0].strip()))
    return tuple(unread)


def _known_commands(name: str) -> tuple[str, ...] | None:
    """The permitted commands of a unit or drop-in; None for an unknown one."""
    for pattern, commands in _KNOWN:
        if pattern.fullmatch(name):
            return commands
    return None
