"""Switch files without the spec's ``extra_config``, as the reference of comparisons."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from clusterwright.output.rendering import Rendering
from clusterwright.switches.registry import SYSTEMS

if TYPE_CHECKING:
    from clusterwright.facts.values import Keys
    from clusterwright.plan.model import Plan


@dataclass(frozen=True)
class PlainFiles:
    """The files of a plan's switches without the lines and values added by ``extra_config``."""

    planned: Plan

    @property
    def devices(self) -> Collection[str]:
        """Names of all devices of the plan."""
        return self.planned.by_name.keys()

    @cached_property
    def amended(self) -> frozenset[str]:
        """Switches with lines or values in ``extra_config``."""
        added = self.planned.spec.extra_config
        if not added:
            return frozenset()
        amended = set()
        for device in self.planned.devices:
            if device.kind != "switch":
                continue
            if any(entry.concerns(device.name, device.role, device.fabric) for entry in added):
                amended.add(device.name)
        return frozenset(amended)

    def differing(self, device: str, path: str, text: str) -> Iterable[Keys]:
        """The keys of all values of a switch's file that differ from the rendered ones.

        Raises ValueError for a text that does not parse.
        """
        texts = self._texts(device)
        system = self.planned.spec.catalogue[self.planned.by_name[device].model].network_os
        if system is None or path not in texts:
            return ()
        return SYSTEMS[system].differing[path](texts[path], text)

    def _texts(self, device: str) -> dict[str, str]:
        artifacts = Rendering(self._plain).of_device(device)
        return {file.path: file.content.decode() for file in artifacts}

    @cached_property
    def _plain(self) -> Plan:
        spec = self.planned.spec
        if not spec.extra_config:
            return self.planned
        return replace(self.planned, spec=replace(spec, extra_config=()))
