"""The switches and nodes of a fabric in a lab: all of them, or a cut small enough for one machine.

A cut leaves out whole racks and whole pods and, if necessary, equal shares of the switches above. Switches keep their
names, AS numbers, addresses and ports: the twin is a part of the plan, not another plan.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError
from clusterwright.intent.node_nics import is_managed
from clusterwright.plan.pod_names import layers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.plan.model import Device, Plan

# A laptop starts these in about a minute; a router takes about 50 MB and a third of a second.
DEFAULT_ROUTERS = 120
_PODS_OF_A_CUT = 2  # the minimum for paths through every tier
_RACKS_OF_A_CUT = 2


@dataclass(frozen=True, slots=True)
class Cut:
    """The size of a cut.

    ``pods`` by name (``p00``) or number (``pod0``), () for as many as fit; ``racks`` of each pod, ``routers`` in total
    and ``nodes`` in total at most; None for no limit of that kind.
    """

    pods: tuple[str, ...] = ()
    racks: int | None = None
    routers: int | None = None
    nodes: int | None = None


def kept_switches(plan: Plan, fabric: str, cut: Cut) -> tuple[Device, ...]:
    """The switches of a fabric in a cut, in the plan's order.

    Racks are the first ones of each pod. All switches linked above them are kept, so that equal-cost widths are those
    of the whole cluster; if ``routers`` is too low for that, each group above keeps its first ones. Raises
    ClusterwrightError for an unknown pod, and for ``routers`` below the smallest cut.
    """
    switches = tuple(device for device in plan.devices if device.kind == "switch" and device.fabric == fabric)
    bottoms: dict[str, list[Device]] = defaultdict(list)
    for device in switches:
        if plan.level(device) == 0:
            bottoms[device.pod].append(device)
    limited = cut.routers is not None and cut.routers < len(switches)
    pods = _pods(plan, bottoms, cut.pods) or list(bottoms)
    if limited and not cut.pods:
        pods = pods[:_PODS_OF_A_CUT]
    if cut.routers is None or not limited:
        return _with_uppers(plan, switches, _first_of_pods(bottoms, pods, cut.racks), None)
    uppers = Counter((device.tier, device.group, device.plane) for device in switches if plan.level(device) > 0)
    racks = cut.racks or max(len(bottoms[pod]) for pod in pods)
    least = min(racks, _RACKS_OF_A_CUT)
    for width in range(max(uppers.values(), default=1), 0, -1):
        kept = _with_uppers(plan, switches, _first_of_pods(bottoms, pods, 1), width)
        room = (cut.routers - (len(kept) - len(pods))) // len(pods)
        if room >= least:
            kept = _with_uppers(plan, switches, _first_of_pods(bottoms, pods, min(room, racks)), width)
            if len(kept) <= cut.routers:
                return kept
    raise ClusterwrightError(
        f"{plan.name}: {cut.routers} routers are too few for {least} racks in each of {len(pods)} pods and one switch"
        " of every group above them. Allow more with --routers, or fewer pods with --cut."
    )


def _first_of_pods(bottoms: Mapping[str, Sequence[Device]], pods: Iterable[str], most: int | None) -> list[Device]:
    """The first switches of the lowest tier of each pod, at most ``most`` a pod."""
    first: list[Device] = []
    for pod in pods:
        first += bottoms[pod][:most]
    return first


def kept_nodes(plan: Plan, fabric: str, switches: Sequence[Device], limit: int | None) -> tuple[Device, ...]:
    """Nodes behind the kept switches.

    The first node of each pod's first switch, of each pod's second switch, ..., then the second nodes.
    """
    ranked: list[tuple[int, int, Device]] = []
    place: dict[str, int] = defaultdict(int)
    for switch in switches:
        behind: dict[str, Device] = {}
        for cable in plan.cables_of[switch.name]:
            node = plan.by_name[cable.a.device]
            if cable.a.side == "host" and cable.fabric == fabric and is_managed(node):
                behind[node.name] = node
        ranked += [(rank, place[switch.pod], node) for rank, node in enumerate(behind.values())]
        place[switch.pod] += 1
    node_by_name = {node.name: node for _, _, node in sorted(ranked, key=lambda item: item[:2])}
    return tuple(node_by_name.values())[:limit]


def _pods(plan: Plan, bottoms: dict[str, list[Device]], pod_names: tuple[str, ...]) -> list[str]:
    numbered: dict[str, str] = {}
    for name in reversed(bottoms):
        group = plan.group_by_name.get(name)
        if group:
            numbered[f"pod{group.index}"] = group.name
    numbered |= {layer: pod for layer, pod in layers(plan).items() if pod in bottoms}
    pods = []
    for name in pod_names:
        pod = name if name in bottoms else numbered.get(name)
        if pod is None:
            raise ClusterwrightError(f'{plan.name}: there is no pod "{name}"; there are {", ".join(bottoms)}.')
        pods.append(pod)
    return list(dict.fromkeys(pods))


def _with_uppers(
    plan: Plan, switches: Sequence[Device], chosen: Sequence[Device], width: int | None
) -> tuple[Device, ...]:
    """The chosen switches and those above them, at most ``width`` switches of each group and tier."""
    kept = {device.name for device in chosen}
    count: dict[tuple[int, str, int | None], int] = defaultdict(int)
    for device in sorted(switches, key=lambda item: item.tier):
        key = (device.tier, device.group, device.plane)
        below = any(cable.a.device in kept and cable.a.side == "up" for cable in plan.cables_of[device.name])
        if plan.level(device) > 0 and below and (width is None or count[key] < width):
            count[key] += 1
            kept.add(device.name)
    return tuple(device for device in switches if device.name in kept)
