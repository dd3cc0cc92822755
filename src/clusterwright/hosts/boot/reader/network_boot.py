"""Reading a boot server's files: addresses by machine, and the files fetched, with server and order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

KEA = {4: "etc/kea/kea-dhcp4.conf", 6: "etc/kea/kea-dhcp6.conf"}
FIRST_SCRIPT = "srv/http/boot.ipxe"
SCRIPTS = "srv/http/by-mac/"
_URL = re.compile(r"(?:https?|tftp)://(?:\[(?P<v6>[^\]]*)\]|(?P<v4>[^/:\s]*))(?::\d+)?(?P<path>/\S*)?")
_NODE = re.compile(r"\bclusterwright\.node=(?P<name>\S+)")
_FETCHING = frozenset({"kernel", "initrd", "chain", "imgfetch"})
_SILENT = frozenset({"imgfree", "echo", "sleep", "reboot", "boot", "exit", "goto"})


@dataclass(frozen=True, slots=True)
class Reservation:
    """An adapter with an address: its MAC address, and the name of its machine."""

    mac: str
    address: str
    machine: str


@dataclass(frozen=True, slots=True)
class DhcpServer:
    """Kea's configuration, as far as it decides addresses and files."""

    reservations: tuple[Reservation, ...]
    open_pools: tuple[str, ...]
    """Pools from which adapters without a reservation get addresses."""
    urls: tuple[str, ...]
    """Files that firmware and iPXE fetch."""


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A file fetched by a script, with its line; ``server`` is an address, or a name."""

    line: int
    command: str
    server: str
    path: str
    node: str = ""
    """The machine's name in the kernel's parameters; "" without one."""


@dataclass(frozen=True, slots=True)
class BootScript:
    """The steps of an iPXE script, in order, and the lines with unknown commands."""

    fetched: tuple[FetchedFile, ...]
    unknown: tuple[tuple[int, str], ...]
    needs_mark: bool
    """Whether the first fetch is of a mark, without which the script goes on to the disk."""


def read_dhcp(text: str) -> DhcpServer:
    """Kea's configuration of either version. Raises ValueError for unreadable text."""
    document = json.loads(text)
    try:
        (inside,) = (document[key] for key in ("Dhcp4", "Dhcp6") if key in document)
        subnets = [*inside.get("subnet4", ()), *inside.get("subnet6", ())]
        return DhcpServer(
            reservations=tuple(_reservations(subnets)),
            open_pools=tuple(_open_pools(subnets)),
            urls=tuple(_urls(inside)),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"is no configuration of Kea: {error}") from error


def _reservations(subnets: list[Any]) -> Iterator[Reservation]:
    for subnet in subnets:
        for reserved in subnet.get("reservations", ()):
            for address in reserved_addresses(reserved):
                yield Reservation(
                    mac=reserved["hw-address"].lower(),
                    address=str(ip_address(address)),
                    machine=reserved["hostname"],
                )


def reserved_addresses(reserved: Mapping[str, Any]) -> list[str]:
    """The addresses of one of Kea's reservations, of either IP version."""
    if "ip-addresses" in reserved:
        return list(reserved["ip-addresses"])
    return [reserved["ip-address"]]


def _open_pools(subnets: list[Any]) -> Iterator[str]:
    for subnet in subnets:
        for pool in subnet.get("pools", ()):
            if pool.get("client-class") != "KNOWN":
                yield pool["pool"]


def _urls(value: Any) -> Iterator[str]:
    """Every URL below a value."""
    if isinstance(value, Mapping):
        for below in value.values():
            yield from _urls(below)
    elif isinstance(value, list):
        for below in value:
            yield from _urls(below)
    elif isinstance(value, str) and _URL.match(value):
        yield value


def server_of(url: str) -> str:
    """The address or name of a URL's server; "" for a URL without one."""
    match = _URL.match(url)
    if match is None:
        return ""
    name = match["v6"] or match["v4"] or ""
    try:
        return str(ip_address(name))
    except ValueError:
        return name


@lru_cache(maxsize=4096)
def read_script(text: str) -> BootScript:
    """The steps of an iPXE script."""
    fetched: list[FetchedFile] = []
    unknown: list[tuple[int, str]] = []
    needs_mark = False
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split("||")[0].split()
        if not words or words[0].startswith(("#", ":")) or words[0] in _SILENT:
            continue
        url = _first_url(words[1:])
        if words[0] not in _FETCHING or url is None:
            unknown.append((number, line))
            continue
        if not fetched:
            needs_mark = words[0] == "imgfetch" and line.rstrip().endswith("|| goto disk")
        node = _NODE.search(line)
        fetched.append(
            FetchedFile(
                line=number,
                command=words[0],
                server=server_of(url[0]),
                path=url["path"] or "",
                node=node["name"] if node is not None else "",
            )
        )
    return BootScript(fetched=tuple(fetched), unknown=tuple(unknown), needs_mark=needs_mark)


def _first_url(words: list[str]) -> re.Match[str] | None:
    for word in words:
        url = _URL.match(word)
        if url is not None:
            return url
    return None
