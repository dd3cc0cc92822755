"""Files and lines of a Linux host outside any reader that could change something proven of it.

Of systemd-networkd: a file earlier by its name, one beside it with additions, or a device made of others decides over
the same interface as the file with a reader, so each of them is unread as a whole, except for a bond and for IP over
InfiniBand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import chain

from clusterwright.facts.unread import BETWEEN, Unread
from clusterwright.hosts.linux.reader.nccl import NCCL_PLACES, nccl_unread
from clusterwright.hosts.linux.reader.unit_files import UNIT_FOLDERS, units_unread

# Whatever lies there decides over interfaces: a strange file is unread by itself.
NETWORKD_FOLDERS = tuple(f"{root}/systemd/network/" for root in ("etc", "run", "usr/lib", "usr/local/lib"))
_OWN = re.compile(r"etc/systemd/network/(?:20-([^/]+)\.network|10-([^/]+)\.(link|netdev))")
_MASKED = re.compile(r"etc/systemd/network/10-netplan-[^/]+\.network")
# Lines by section, as networkd writes keys; a value stands here where another one would be another claim's.
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
_SECTION = r"\[{}\]\n(?:(?:{})(?<!\\)\n|[#;].*\n|\n)*"
_LINES: dict[tuple[str, str], re.Pattern[str]] = {}
for _kind, _sections in _KNOWN.items():
    _LINES |= {(_kind, section): re.compile(lines) for section, lines in _sections.items()}
# A whole file of known lines, as nearly all are: none goes on in the next one. Others are looked at line by line.
_ALL_KNOWN = {
    kind: re.compile(
        rf"(?:[#;].*\n|\n)*(?:{'|'.join(_SECTION.format(name, lines) for name, lines in sections.items())})*"
    )
    for kind, sections in _KNOWN.items()
}


def host_unread(path: str, text: str) -> tuple[Unread, ...]:
    """Unknown parts of a file below HOST_FOLDERS: the file itself, or some of its lines."""
    return next(read for folders, read in _READS if path.startswith(folders))(path, text)


def _network_unread(path: str, text: str) -> tuple[Unread, ...]:
    if not text and _MASKED.fullmatch(path):
        return ()  # takes the place of Netplan's file of that name (systemd.network(5)), and says nothing itself
    match = _OWN.fullmatch(path)
    if match is None:
        return (Unread(path, 1, "the whole file: networkd reads it beside those that are read here"),)
    nic = match[1] or match[2]
    unread = [Unread(path, line, what) for line, what in _unread(match[3] or "network", text)]
    if _NAME.findall(text) != [nic]:  # of several Match takes each
        unread.append(Unread(path, 1, f"the whole file: it is not that of {nic} alone"))
    return tuple(unread)


def _unread(kind: str, text: str) -> list[tuple[int, str]]:
    section = ""
    unread_lines: list[tuple[int, str]] = []
    if _ALL_KNOWN[kind].fullmatch(text) is not None:
        return unread_lines
    for number, line in enumerate(text.split("\n"), 1):
        word = line.strip()
        if word.startswith("[") and word.endswith("]"):
            section = word[1:-1]
            if (kind, section) not in _LINES:
                unread_lines.append((number, word))
        elif word and word[0] not in "#;" and (kind, section) in _LINES and not _is_known(kind, section, line):
            unread_lines.append((number, f"[{section}]{BETWEEN}{word}"))
    return unread_lines


@lru_cache(maxsize=1 << 14)
def _is_known(kind: str, section: str, line: str) -> bool:
    """Keys stand at the margin, and no line goes on in the next one."""
    return not line.endswith("\\") and _LINES[kind, section].fullmatch(line) is not None


_READS: tuple[tuple[tuple[str, ...], Callable[[str, str], tuple[Unread, ...]]], ...] = (
    (NETWORKD_FOLDERS, _network_unread),
    (UNIT_FOLDERS, units_unread),
    (NCCL_PLACES, nccl_unread),
)
HOST_FOLDERS = tuple(chain.from_iterable(folders for folders, _ in _READS))
