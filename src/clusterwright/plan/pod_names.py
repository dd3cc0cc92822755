"""Names of pods.

A pod's name is that of its group (``p00``): racks and devices are called after it, and every list has it. Its deployed
part is a layer, called by level and number (``pod0``), as its stack is. Commands take either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clusterwright.and_more import and_more
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:  # a stack's program that has its manifest needs no plan
    from clusterwright.plan.model import Plan


def layers(plan: Plan) -> Mapping[str, str]:
    """Each pod's layer with the pod's name, in the order of their first devices.

    That is ``pod0`` for a pod of the cluster's main nodes, ``storage-pod0`` for one of another node group, which is
    numbered from 0 too.
    """
    main = next((device.node_group for device in plan.devices if device.role == "node"), "")
    layers: dict[str, str] = {}
    for pod in dict.fromkeys(device.pod for device in plan.devices if device.pod):
        group = plan.group_by_name[pod]
        layer = f"{group.level}{group.index}"
        layers[layer if group.node_group == main else f"{group.node_group}-{layer}"] = pod
    return layers


def group_named(plan: Plan, name: str) -> str:
    """The group with this name, its own or its layer's. Raises ClusterwrightError without one."""
    group = name if name in plan.group_by_name else layers(plan).get(name)
    if group is None:
        pods = sorted({device.pod for device in plan.devices} - {""})
        raise ClusterwrightError(f'{plan.name} has no group "{name}"; it has {and_more(pods, 8) or "none"}.')
    return group
