"""Names of a device's ports: the catalogue's, the platform's alias, an adapter's, a number, a short form.

A port has several names: SONiC announces its alias, a list of cables counts adapters, a cable sheet shortens
``Ethernet3/1/1`` to ``Et3/1/1``. All readers of such names use this module."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache, cached_property

from clusterwright.spec.hardware.cages import PortMode
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.hardware.platform_ports import PlatformPortError
from clusterwright.spec.hardware.systems import system_of

_LETTERS_AND_REST = re.compile(r"([a-z-]+)([0-9].*)")


@cache
def dns_label(port: str) -> str:
    """A port's name as a label of a host name: ``Ethernet1/1`` becomes ``ethernet1-1``."""
    return re.sub(r"[^a-z0-9]+", "-", port.lower()).strip("-")


class PortNames:
    """The names of the ports of one model."""

    def __init__(self, model: HardwareModel) -> None:
        self.model = model

    @cached_property
    def adapters(self) -> tuple[str, ...]:
        """The interfaces of a node's adapters, in the order of the catalogue."""
        return tuple(nic.interface for nic in self.model.nics)

    @cached_property
    def catalogue_names(self) -> Mapping[str, str]:
        """Every name of the catalogue, by its lower case form."""
        names = [*self.adapters, *self.model.management_names]
        for block in self.model.blocks:
            for cage in block.cages:
                for mode in block.modes:
                    names += mode.ports(cage)
        return {name.lower(): name for name in names}

    @cached_property
    def aliases(self) -> Mapping[str, tuple[str, ...]]:
        """Ports by alias in lower case: one in each breakout of a cage."""
        named: dict[str, list[str]] = defaultdict(list)
        try:
            ports = self.model.platform_ports.ports if self.model.platform_ports is not None else {}
        except PlatformPortError:
            return {}
        for (name, _), port in ports.items():
            if port.alias and name not in named[port.alias.lower()]:
                named[port.alias.lower()].append(name)
        return {alias: tuple(names) for alias, names in named.items()}

    @cached_property
    def devices(self) -> Mapping[str, str]:
        """The interface of each of a node's verbs devices, such as mlx5_0."""
        nics = self.model.nics
        return {nic.rdma_device.lower(): nic.interface for nic in nics if nic.rdma_device}

    @property
    def announces_aliases(self) -> bool:
        """True if LLDP's port id is the alias."""
        system = system_of(self.model)
        return system is not None and system.announces_aliases

    def announced(self, port: str, mode: PortMode | None) -> str:
        """Name of a switch port in LLDP, in a mode of its cage."""
        if not self.announces_aliases:
            return port
        try:
            return self.model.platform_port(port, mode).alias or port
        except PlatformPortError:
            return port

    def of_announcement(self, word: str, in_use: Iterable[str]) -> str | None:
        """The port of LLDP's ``word``; None for a name of no port.

        Each breakout of a cage may have the same alias; the port ``in_use`` is taken.
        """
        folded = word.lower()
        if not self.announces_aliases:
            return self.catalogue_names.get(folded) or self._of_alias(folded, in_use)
        return self._of_alias(folded, in_use) or self.catalogue_names.get(folded)

    def of_list(self, word: str, in_use: Iterable[str]) -> str | None:
        """The port of a list of cables or labels; None for a name of no port.

        Adapters of a node count from 1 there (NVIDIA's Cable Validation Tool: its HCA mapping).
        """
        folded = word.lower()
        if folded in self.catalogue_names:
            return self.catalogue_names[folded]
        if self.adapters and word.isascii() and word.isdigit():
            return self.adapters[int(word) - 1] if 0 < int(word) <= len(self.adapters) else None
        return self.devices.get(folded) or self._of_alias(folded, in_use) or self._of_short_form(folded)

    def _of_alias(self, folded: str, in_use: Iterable[str]) -> str | None:
        ports = self.aliases.get(folded, ())
        used = set(in_use)
        for port in ports:
            if port in used:
                return port
        return ports[0] if ports else None

    def _of_short_form(self, folded: str) -> str | None:
        """The port of ``et3/1/1``, short for Ethernet3/1/1: the first letters and all that follows them."""
        short = _LETTERS_AND_REST.fullmatch(folded)
        if short is None:
            return None
        candidates = []
        for name in self.catalogue_names:
            long = _LETTERS_AND_REST.fullmatch(name)
            if long is not None and long[2] == short[2] and long[1].startswith(short[1]):
                candidates.append(self.catalogue_names[name])
        return candidates[0] if len(candidates) == 1 else None
