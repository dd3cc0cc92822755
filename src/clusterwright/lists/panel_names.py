"""Labels of ports on a device: the platform's alias if the system uses one, as SONiC does, else the port's name.

LLDP announces them; printed labels and comparisons with neighbours use them too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.ports import modes_at
from clusterwright.spec.hardware.port_names import PortNames

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.plan.model import Device, Interface, Plan
    from clusterwright.spec.hardware.cages import PortBlock, PortMode
    from clusterwright.spec.hardware.models import HardwareModel


class PanelNames:
    """Names of a plan's cabled ports."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._names: dict[str, PortNames] = {}
        self._modes: dict[tuple[str, str, int, str, int], Mapping[str, tuple[PortBlock, PortMode]]] = {}

    def of(self, end: Interface) -> str:
        """The name of a cabled port."""
        device = self._plan.by_name[end.device]
        model = self._plan.spec.catalogue[device.model]
        names = self._names.setdefault(device.model, PortNames(model))
        if not names.announces_aliases:
            return end.port
        return names.announced(end.port, self._mode(device, model, end))

    def _mode(self, device: Device, model: HardwareModel, end: Interface) -> PortMode | None:
        """The breakout of a port's cage; None for a management port."""
        fabric = self._plan.spec.fabric(device.fabric)
        if fabric is None or end.side not in {"up", "down"}:
            return None
        key = (device.model, device.fabric, device.tier, end.side, end.speed_gbps)
        if key not in self._modes:
            tier = fabric.tiers[device.tier]
            side = tier.up.side if end.side == "up" and tier.up is not None else tier.down
            self._modes[key] = modes_at(model, side, end.speed_gbps)
        mode_of_port = self._modes[key].get(end.port)
        return None if mode_of_port is None else mode_of_port[1]
