"""Files and lines of a Linux host without a reader and with a possible influence on claims about it.

Of systemd-networkd: a file with an earlier name, a drop-in, or a device made of others decides over the same interface
as the file with a reader. So each of them is unread as a whole, except for a bond and for IP over InfiniBand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import chain

from clusterwright.facts.unread import BETWEEN, Unread
from clusterwright.hosts.linux.reader.nccl import NCCL_PLACES, nccl_unread
from clusterwright.hosts.linux.reader.unit_files import UNIT_FOLDERS, units_unread

# Every file there decides over interfaces, so an unknown one is unread.
NETWORKD_FOLDERS = tuple(f"{root}/systemd/network/" for root in ("etc", "run", "usr/lib", "usr/local/lib"))
_OWN = re.compile(r"etc/systemd/network/(?:20-([^/]+)\.network|10-([^/]+)\.(link|netdev))")
_MASKED = re.compile(r"etc/systemd/network/10-netplan-[^/]+\.network")
# Known lines by section. Where only some values are without influence on other claims, these values are named.
_KNOWN = {
    "network": {
        "Match": r"Name=.*",
        "Link": r"MTUBytes=\d+|RequiredForOnline=.*",
        "Network": r"(?:Description|DNS|NTP|Domains|LLDP|EmitLLDP|LLMNR|MulticastDNS|LinkLocalAddressing)=.*"
        r"|Address=.*|Gateway=.*|DHCP=no|IPv6AcceptRA=.*|Bond=.*|IPoIB=.*",
        "Address": r"Address=.*",
        "Route": r"(?:Destination|Gateway|MultiPathRoute|PreferredSource|Metric|Scope|Table)=.*",
        "RoutingPolicyRule": r"(?:From|Table|Priority|Family|OutgoingInterface)=.*",
    },
    "netdev": {
        "NetDev": r"(?:Name|Kind|MTUBytes)=.*",
        "IPoIB": r"(?:PartitionKey|Mode)=.*",
        "Bond": r"Mode=.*|LACPTransmitRate=.*|TransmitHashPolicy=.*|MIIMonitorSec=.*",
    },
    "link": {"Match": r"Path=.*", "Link": r"(?:Name|NamePolicy|MTUBytes|WakeOnLan)=.*"},
}
_NAME = re.compile(r"^Name=(.*)$", re.M)
# networkd strips blanks around section headers and values; no other reader does, so such lines are unread.
_OUTER_BLANK = re.compile(r"=[^\S\n]|[^\S\n]$", re.M)
_SECTION = r"\[{}\]\n(?:(?:{})(?<!\\)\n|[#;].*\n|\n)*"
_LINES: dict[tuple[str, str], re.Pattern[str]] = {}
for _kind, _sections in _KNOWN.items():
    _LINES |= {(_kind, section): re.compile(lines) for section, lines in _sections.items()}
# A whole file of known lines, as nearly all are, and no line that is continued. Others are read line by line.
_ALL_KNOWN: dict[str, re.Pattern[str]] = {}
for _kind, _sections in _KNOWN.items():
    _any_section = "|".join(_SECTION.format(name, lines) for name, lines in _sections.items())
    _ALL_KNOWN[_kind] = re.compile(rf"(?:[#;].*\n|\n)*(?:{_any_section})*")


def host_unread(path: str, text: str) -> tuple[Unread, ...]:
    """Unknown parts of a file below HOST_FOLDERS: the file itself, or some of its lines."""
    for folders, read in _READS:
        if path.startswith(folders):
            return read(path, text)
    raise ValueError(f"{path}: lies in none of HOST_FOLDERS")


def _network_unread(path: str, text: str) -> tuple[Unread, ...]:
    if not text and _MASKED.fullmatch(path):
        return ()  # an empty file masks Netplan's file of that name (systemd.network(5))
    match = _OWN.fullmatch(path)
    if match is None:
        return (Unread(path, 1, "the whole file: networkd reads it beside those that are read here"),)
    nic = match[1] or match[2]
    unread = [Unread(path, number, line) for number, line in _unread(match[3] or "network", text)]
    if _NAME.findall(text) != [nic]:  # [Match] with several names configures each
        unread.append(Unread(path, 1, f"the whole file: it is not that of {nic} alone"))
    return tuple(unread)


def _unread(kind: str, text: str) -> list[tuple[int, str]]:
    section = ""
    unread_lines: list[tuple[int, str]] = []
    if _ALL_KNOWN[kind].fullmatch(text) is not None and _OUTER_BLANK.search(text) is None:
        return unread_lines
    for number, line in enumerate(text.split("\n"), 1):
        setting = line.strip()
        if setting.startswith("[") and setting.endswith("]"):
            section = setting[1:-1]
            if line != setting or (kind, section) not in _LINES:
                unread_lines.append((number, setting))
            continue
        if not setting or setting.startswith(("#", ";")) or (kind, section) not in _LINES:
            continue
        if not _is_known(kind, section, line):
            unread_lines.append((number, f"[{section}]{BETWEEN}{setting}"))
    return unread_lines


@lru_cache(maxsize=1 << 14)
def _is_known(kind: str, section: str, line: str) -> bool:
    """Whether a line is known, has no outer blanks, and is not continued in the next line."""
    if line.endswith("\\") or _OUTER_BLANK.search(line) is not None:
        return False
    return _LINES[kind, section].fullmatch(line) is not None


_READS: tuple[tuple[tuple[str, ...], Callable[[str, str], tuple[Unread, ...]]], ...] = (
    (NETWORKD_FOLDERS, _network_unread),
    (UNIT_FOLDERS, units_unread),
    (NCCL_PLACES, nccl_unread),
)
HOST_FOLDERS = tuple(chain.from_iterable(folders for folders, _ in _READS))
