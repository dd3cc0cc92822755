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
    """The files of a plan's switches without the lines and values that the spec adds by hand."""

    planned: Plan

    @property
    def devices(self) -> Collection[str]:
        """Names of all devices of the plan."""
        return self.planned.by_name.keys()

    @cached_property
    def amended(self) -> frozenset[str]:
        """The switches to which the spec adds something."""
        added = self.planned.spec.extra_config
        switches = [device for device in self.planned.devices if device.kind == "switch"] if added else []
        return frozenset(
            switch.name
            for switch in switches
            if any(entry.concerns(switch.name, switch.role, switch.fabric) for entry in added)
        )

    def differing(self, device: str, path: str, text: str) -> Iterable[Keys]:
        """The keys of all values of a switch's file that are not the rendered ones.

        Raises ValueError for a text that is no file of the system.
        """
        texts = self._texts(device)
        system = self.planned.spec.catalogue[self.planned.by_name[device].model].network_os
        if system is None or path not in texts:
            return ()
        return SYSTEMS[system].differing[path](texts[path], text)

    def _texts(self, device: str) -> dict[str, str]:
        made = Rendering(self._plain).of_device(device)
        return {file.path: file.content.decode() for file in made}

    @cached_property
    def _plain(self) -> Plan:
        spec = self.planned.spec
        if not spec.extra_config:
            return self.planned
        return replace(self.planned, spec=replace(spec, extra_config=()))
