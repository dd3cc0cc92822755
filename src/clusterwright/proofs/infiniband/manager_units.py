"""The start of the open subnet manager: its unit and its start at boot, line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.proofs.infiniband.manager_options import Fault

UNIT = "etc/systemd/system/opensm.service"
BOOT = "etc/systemd/system/multi-user.target.d/91-opensm.conf"
SCRIPT = "etc/opensm/add-m-key.sh"
# Lines that decide nothing: a name for people.
_FOR_PEOPLE = ("Description=",)
_PLAIN = (
    "[Unit]",
    "Before=network-online.target",
    "ConditionPathExists=/sys/class/infiniband_mad/abi_version",
    "[Service]",
    "Restart=on-failure",
    "RestartSec=5s",
)
_START = "ExecStart=/usr/sbin/opensm -F /etc/opensm/opensm.conf"
# With an M_Key, opensm reads a copy that root alone can, to which the script has added it.
_WITH_KEY = (
    "RuntimeDirectory=opensm",
    "RuntimeDirectoryMode=0700",
    f"ExecStartPre=/{SCRIPT}",
    "ExecStart=/usr/sbin/opensm -F /run/opensm/opensm.conf",
)


def unit_faults(text: str | None, *, has_key: bool) -> Iterator[Fault]:
    """The service: it starts opensm with the files that were read here, and again when it fails."""
    yield from _line_faults(text, (*_PLAIN, *(_WITH_KEY if has_key else (_START,))))


def boot_faults(text: str | None) -> Iterator[Fault]:
    """Faults of the service's start at boot."""
    yield from _line_faults(text, ("[Unit]", "Wants=opensm.service"))


def script_notes(device: str, has_script: bool) -> Iterator[str]:
    """A note on the script that adds the M_Key, whose lines are not read."""
    if has_script:
        yield f"{device}: the lines of /{SCRIPT}, which adds the M_Key at each start, are not read."


def _line_faults(text: str | None, wanted: tuple[str, ...]) -> Iterator[Fault]:
    if text is None:
        yield 0, "the file is missing: nothing starts the subnet manager"
        return
    left = Counter(wanted)
    for number, line in enumerate(text.split("\n"), 1):
        word = line.strip()
        if not word or word.startswith(("#", ";", *_FOR_PEOPLE)):
            continue
        if not left[word]:
            yield number, f"{word} stands here, which nothing asks for" + (" twice" if word in wanted else "")
        left[word] -= 1
    for word, count in left.items():
        if count > 0:
            yield 0, f"{word} is missing"
