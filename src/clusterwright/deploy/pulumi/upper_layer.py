"""Downlinks offered to each pod by the switches above the pods: the reference of a pod's stack to the upper layer's.

An offer is the switch's AS number and loopback with every port towards that pod: its peer, its addresses and speed, and
its state of service. The stack of the upper layer exports the offers of its switches; the stack of a pod reads them
through Pulumi, and goes only if they are the planned ones. Offers to other pods do not count, so a change of one pod
never blocks another.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from clusterwright.deploy.store import MissingObject, Store
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.deploy.pulumi.units import Stack
    from clusterwright.deploy.targets import TargetSettings
    from clusterwright.intent.switch_links import Link
    from clusterwright.plan.model import Device, Plan

Downlinks = Mapping[str, Mapping[str, str]]
"""Switch of the upper layer to pod to offer: ``27 of 28 ports, 2,700 Gb/s, AS 65000, SHA-256``."""

_SHOWN_SWITCHES, _SHOWN_PORTS = 4, 3


class UnmetReferenceError(ClusterwrightError):
    """The deployed upper layer differs from the one in the plan of a pod."""


def downlinks_of(plan: Plan, target: TargetSettings, stacks: Collection[Stack]) -> dict[str, Downlinks]:
    """Offers by stack: those of the upper layer to all pods, and those to each pod.

    Switches without files of their own and those out of the target's reach are skipped: nothing is deployed on them.
    Every offer's document is in the store afterwards. Raises ClusterwrightError.
    """
    # Imported only here: a stack's program with a manifest compares offers, and renders nothing.
    from clusterwright.intent.switch_links import links_of
    from clusterwright.output.renderers import DEVICE_RENDERERS

    pods = {stack.pod for stack in stacks}
    above_pods = [device for device in plan.devices if not device.pod]
    upper = [device for device in above_pods if any(entry.applies(plan, device) for entry in DEVICE_RENDERERS)]
    reached = frozenset(target.carries([device.name for device in upper]))
    store = Store(target.root / "objects")
    downlinks: dict[str, dict[str, str]] = {}
    for device in upper:
        links_by_pod: dict[str, list[Link]] = defaultdict(list)
        if device.name in reached:
            for link in links_of(plan, device):
                pod = link.peer_device.pod
                if pod and ("" in pods or pod in pods):
                    links_by_pod[pod].append(link)
        downlinks[device.name] = {
            pod: _downlink(plan, store, device, links) for pod, links in sorted(links_by_pod.items())
        }
    return {stack.name: _downlinks_of_pod(downlinks, stack.pod) for stack in stacks}


def require_downlinks(
    planned: Downlinks, deployed: Downlinks, accepted: Downlinks | None, upper: str, store: Store
) -> None:
    """Raises UnmetReferenceError when ``deployed`` is neither as ``planned`` nor as ``accepted`` (None: no exception).

    A switch that failed in a rollout over both is that rollout's to judge, by its budget: it offers nothing then.
    """
    wrong: list[tuple[str, str, str, str]] = []
    for name, pods in planned.items():
        for pod, downlink in pods.items():
            offered = _of(deployed, name, pod)
            is_accepted = accepted is not None and offered in ("", _of(accepted, name, pod))
            if offered != downlink and not is_accepted:
                wrong.append((name, pod, downlink, offered))
    if not wrong:
        return
    lines = list(chain.from_iterable(_lines(store, *difference) for difference in wrong[:_SHOWN_SWITCHES]))
    if len(wrong) > _SHOWN_SWITCHES:
        lines.append(f"and {len(wrong) - _SHOWN_SWITCHES} more switches")
    raise UnmetReferenceError(
        f"{upper}, as it is deployed, is not the upper layer that {wrong[0][1]} was planned against:\n  "
        + "\n  ".join(lines)
        + f"\nDeploy {upper} from this spec first (`clusterwright up` does so by itself), or take the spec that it was "
        "deployed from. Nothing was touched."
    )


def _downlinks_of_pod(downlinks: Downlinks, pod: str) -> Downlinks:
    """Downlinks offered to ``pod``, or by the upper layer ("") to all of them."""
    if not pod:
        return {name: pods for name, pods in downlinks.items() if pods}
    return {name: {pod: pods[pod]} for name, pods in downlinks.items() if pod in pods}


def _downlink(plan: Plan, store: Store, device: Device, links: list[Link]) -> str:
    ports = [_port_of(plan, link) for link in links]
    document = {"asn": device.asn, "loopback": device.loopback, "state": device.state, "ports": ports}
    digest = store.put(json.dumps(document, sort_keys=True, separators=(",", ":")).encode())
    up = [link for link in links if link.is_up]
    asn = f", AS {device.asn}" if device.asn else ""
    state = f", {device.state}" if device.state != "active" else ""
    capacity = f"{sum(link.cable.speed_gbps for link in up):,} Gb/s"
    return f"{len(up)} of {len(links)} ports, {capacity}{asn}{state}, {digest}"


def _port_of(plan: Plan, link: Link) -> dict[str, Any]:
    """The switch's own configuration of a port, without the pod's end."""
    from clusterwright.plan.model import format_address

    address = link.port.address
    version = plan.address_version(link.cable.fabric) if address is not None else 0
    return {
        "fabric": link.cable.fabric,
        "port": link.port.port,
        "address": "" if address is None else format_address(address, version),
        "peer": link.peer.device,
        "peer_port": link.peer.port,
        "peer_asn": link.peer_device.asn,
        "speed_gbps": link.cable.speed_gbps,
        "in_service": link.is_up,
    }


def _of(downlinks: Downlinks, name: str, pod: str) -> str:
    return downlinks.get(name, {}).get(pod, "")


def _lines(store: Store, name: str, pod: str, planned: str, deployed: str) -> Iterator[str]:
    if not deployed:
        yield f"{name}: planned {_brief(planned)} for {pod}; it is not deployed, or its last update failed"
        return
    yield f"{name}: planned {_brief(planned)}; deployed {_brief(deployed)}"
    try:
        before, after = _ports(store, deployed), _ports(store, planned)
    except MissingObject:  # deployed from another folder: the digests alone are known here
        return
    different = sorted(port for port in before.keys() | after.keys() if before.get(port) != after.get(port))
    for port in different[:_SHOWN_PORTS]:
        yield f"  {port}: planned {_port(after.get(port))}; deployed {_port(before.get(port))}"
    if len(different) > _SHOWN_PORTS:
        yield f"  and {len(different) - _SHOWN_PORTS} more ports"


def _ports(store: Store, downlink: str) -> dict[str, Mapping[str, Any]]:
    """Ports of an offer's document by name. Raises MissingObject."""
    document = json.loads(store.get(downlink.rpartition(", ")[2]))
    return {port["port"]: port for port in document["ports"]}


def _brief(downlink: str) -> str:
    summary, _, digest = downlink.rpartition(", ")
    return f"{summary} ({digest[:12]})"


def _port(port: Mapping[str, Any] | None) -> str:
    if port is None:
        return "nothing"
    address = f", {port['address']}" if port["address"] else ""
    state = "" if port["in_service"] else ", out of service"
    return f"{port['peer']} {port['peer_port']} at {port['speed_gbps']} Gb/s{address}{state}"
