"""Reading a node's interfaces of IP over InfiniBand, and the networks of LNet over them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from typing import NamedTuple

from clusterwright.hosts.linux.reader.network import DEVICES, IPOIB, NETWORKS

MODULES, LNET = "etc/modules-load.d/ipoib.conf", "etc/modprobe.d/lnet.conf"
NAMED = re.compile(r"^(?:Kind=ipoib$|IPoIB=)", re.M)
_SETTING = re.compile(r"^(\w+)=(.*)$")
_NETWORKS = re.compile(r'options lnet networks="((?:\w+\(\w+\))(?:,\w+\(\w+\))*)"')
_LEADS_ON = frozenset({"Gateway", "Destination", "MultiPathRoute", "Table"})


class LocatedValue(NamedTuple):
    """A value with its file and line; line 0 if it is missing."""

    value: str
    file: str
    line: int


class ConfiguredIpoib(NamedTuple):
    """An interface of IP over InfiniBand."""

    name: str
    pkey: LocatedValue
    """Its P_Key as written."""
    parents: tuple[LocatedValue, ...]
    """Its adapters."""
    addresses: tuple[LocatedValue, ...]
    routes: tuple[LocatedValue, ...]
    """Values of routes over it."""


def read_ipoib(texts: Mapping[str, str]) -> tuple[ConfiguredIpoib, ...]:
    """The interfaces in a node's files for systemd-networkd, by path, also one without a device file."""
    settings_by_path = {path: _settings(path, text) for path, text in texts.items()}
    parents: dict[str, list[LocatedValue]] = {}
    for path, settings in settings_by_path.items():
        adapter = path.removeprefix(NETWORKS).removesuffix(".network")
        for interface_names in settings.get("IPoIB", ()):
            for name in interface_names.value.split():
                parents.setdefault(name, []).append(interface_names._replace(value=adapter))
    device_files = {}
    for path, text in texts.items():
        if path.endswith(".netdev") and IPOIB.search(text):
            device_files[path.removeprefix(DEVICES).removesuffix(".netdev")] = path
    interfaces = []
    for name in sorted({*device_files, *parents}):
        device_file = device_files.get(name, f"{DEVICES}{name}.netdev")
        pkeys = settings_by_path.get(device_file, {}).get("PartitionKey", [LocatedValue("", device_file, 0)])
        network_settings = settings_by_path.get(f"{NETWORKS}{name}.network", {})
        routes = (network_settings[key] for key in sorted(_LEADS_ON & network_settings.keys()))
        interface = ConfiguredIpoib(
            name=name,
            pkey=pkeys[-1],
            parents=tuple(parents.get(name, ())),
            addresses=tuple(network_settings.get("Address", ())),
            routes=tuple(chain.from_iterable(routes)),
        )
        interfaces.append(interface)
    return tuple(interfaces)


def read_lnet(text: str) -> tuple[dict[str, tuple[str, int]], tuple[int, ...]]:
    """The interface of each of LNet's networks with the line, and the lines without a known option."""
    interface_by_net: dict[str, tuple[str, int]] = {}
    unread = []
    for number, line in enumerate(text.split("\n"), 1):
        match = _NETWORKS.fullmatch(line)
        if match is not None:
            for net, name in re.findall(r"(\w+)\((\w+)\)", match[1]):
                interface_by_net[net] = (name, number)
        elif line and not line.startswith("#"):
            unread.append(number)
    return interface_by_net, tuple(unread)


def _settings(path: str, text: str) -> dict[str, list[LocatedValue]]:
    settings: dict[str, list[LocatedValue]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        match = _SETTING.match(line)
        if match is not None:
            settings.setdefault(match[1], []).append(LocatedValue(match[2], path, number))
    return settings
