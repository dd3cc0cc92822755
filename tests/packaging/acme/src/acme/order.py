"""A list of Acme's switches to order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clusterwright.lists.records import Inventory


def order_files(inventory: Inventory) -> Mapping[str, Iterable[str]]:
    """``order.csv``: a line for each switch of Acme."""
    lines = ["device,part\n"]
    for device in inventory.plan.devices:
        model = inventory.plan.spec.catalogue[device.model]
        if model.manufacturer == "Acme":
            lines.append(f"{device.name},{model.part}\n")
    return {"order.csv": lines}
