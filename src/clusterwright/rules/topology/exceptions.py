"""CW240, CW241, CW245: paths and bandwidth lost by exceptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf

from clusterwright.finding import Severity
from clusterwright.plan.bandwidth import narrowest_of_cables, oversubscription, promised_at_each_switch
from clusterwright.plan.meeting import AttachedEnd, Wiring, wiring_of_cables
from clusterwright.plan.model import Cable, Device, Interface, Plan
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.model import SpecException

_SHOWN = 5


@rule("CW240", Severity.ERROR)
def cut_by_exceptions(subject: Subject) -> Iterator[Problem]:
    """Exceptions separating two active devices of a fabric, or two of their ports in one plane."""
    plan = _plan_with_exceptions(subject)
    if plan is None:
        return
    for skeleton, designed in subject.wirings:
        if designed.parted is not None or designed.torn(designed.joined) is not None:
            continue
        name, is_whole = skeleton.fabric.name, not skeleton.fabric.planes
        cables = [cable for cable in plan.cables if cable.fabric == name]
        wirings = [(item, wiring_of_cables(remaining)) for item, remaining in _in_turn(plan, cables)]
        if _cut(wirings[-1][1], designed, is_whole=is_whole) is None:
            continue
        for item, remaining_wiring in wirings:
            pair = _cut(remaining_wiring, designed, is_whole=is_whole)
            if pair is not None:
                yield Problem(
                    (*item.path, "state"),
                    f"With {_target(item)} {item.state}, {name} has no path from {pair[0]} to {pair[1]}.",
                    "Leave a path between them in service, or take the devices behind it out of service too.",
                )
                break


def _cut(remaining: Wiring, whole: Wiring, *, is_whole: bool) -> tuple[AttachedEnd, AttachedEnd] | None:
    """Two devices without a path over ``remaining``, or two ports with a path lost since ``whole``.

    A fabric that ``is_whole`` has no planes: two pieces of it are a cut, even if every device has a port in both.
    """
    pair = remaining.parted or remaining.torn(whole.joined)
    if pair is None and is_whole and remaining.piece_count > 1:
        return remaining.apart()
    return pair


@rule("CW245", Severity.WARNING)
def narrowed_by_exceptions(subject: Subject) -> Iterator[Problem]:
    """Tiers with less uplink bandwidth in service than promised for the NICs in service."""
    plan = _plan_with_exceptions(subject)
    if plan is None:
        return
    turns = list(_in_turn(plan, plan.cables))
    promised = _promised(plan)
    for figure in _broken_promises(plan, turns[-1][1], promised):
        for item, cables in turns:
            broken = _broken_promises(plan, cables, promised)
            if figure not in broken:
                continue
            change = f"With {_target(item)} {item.state}, {broken[figure]}"
            yield Problem(
                (*item.path, "state"),
                f"{change}, where {promised[figure]:.4g} to 1 is expected.",
                "End it as soon as the work is done: `clusterwright verify` refutes the promise until then.",
            )
            break


_Figure = tuple[str, str]  # fabric and role of a tier with uplinks
_ROUNDING = 1e-9


def _promised(plan: Plan) -> Mapping[_Figure, float]:
    """The highest oversubscription of each tier: the expected one; otherwise for RDMA 1 or the designed one."""
    expected = {item.figure: item.highest for item in plan.spec.expectations if item.highest is not None}
    rdma = {fabric.name for fabric in plan.spec.fabrics if fabric.technology != "ethernet"}
    promised: dict[_Figure, float] = {}
    for (fabric, role), designed in oversubscription(plan, plan.cables).items():
        default = max(1.0, designed) if fabric in rdma else inf
        promised[fabric, role] = expected.get(f"oversubscription.{fabric}.{role}", default)
    return promised


def _broken_promises(plan: Plan, cables: Iterable[Cable], promised: Mapping[_Figure, float]) -> Mapping[_Figure, str]:
    """Tiers below the promise over ``cables``, as a whole or at their narrowest switch, and the ratio.

    InfiniBand is checked as a whole only: its subnet manager routes around missing links.
    """
    in_service = list(cables)
    at_each_switch = promised_at_each_switch(plan.spec)
    infiniband = {fabric.name for fabric in plan.spec.fabrics if fabric.technology == "infiniband"}
    broken: dict[_Figure, str] = {}
    for figure, ratio in oversubscription(plan, in_service).items():
        if ratio > promised[figure] + _ROUNDING:
            broken[figure] = _narrow(figure[1], ratio)
    for figure, load in narrowest_of_cables(plan, in_service).items():
        if figure in broken or figure[0] in infiniband:
            continue
        most = at_each_switch.get(figure, max(1.0, promised[figure]))
        if load.ratio > most + _ROUNDING:
            broken[figure] = _narrow(load.switch, load.ratio)
    return broken


def _narrow(name: str, ratio: float) -> str:
    if ratio == inf:
        return f"{name} has no uplink in service"
    return f"{name} is oversubscribed {ratio:.4g} to 1"


def _in_turn(plan: Plan, cables: Iterable[Cable]) -> Iterator[tuple[SpecException, list[Cable]]]:
    """Each exception with a state, with the ``cables`` in service after it and all before it."""
    remaining = list(cables)
    for item in plan.spec.exceptions:
        if item.state is not None:
            remaining = [cable for cable in remaining if cable.in_service or not _concerns(plan, item, cable)]
            yield item, remaining


def _concerns(plan: Plan, item: SpecException, cable: Cable) -> bool:
    return any(_concerns_end(plan, item, end) for end in (cable.a, cable.b))


def _concerns_end(plan: Plan, item: SpecException, end: Interface) -> bool:
    if item.port is not None:
        return (item.device, item.port) == (end.device, end.port)
    if item.device == end.device:
        return True
    return item.group is not None and item.group in plan.by_name[end.device].groups


@rule("CW241", Severity.WARNING)
def behind_an_exception(subject: Subject) -> Iterator[Problem]:
    """Active nodes cut off from a fabric by switches out of service."""
    plan = _plan_with_exceptions(subject)
    if plan is None:
        return
    for item in subject.spec.exceptions:
        if item.state is None:
            continue
        for fabric in subject.spec.fabrics:
            lost = [device.name for device in _lost(plan, fabric.name, item)]
            if not lost:
                continue
            names = ", ".join(lost[:_SHOWN])
            if len(lost) > _SHOWN:
                names += ", ..."
            nodes, them = ("node has", "it") if len(lost) == 1 else ("nodes have", "them")
            yield Problem(
                (*item.path, "state"),
                f"{len(lost)} active {nodes} no path to {fabric.name} while {_target(item)} is {item.state}: {names}.",
                f"Drain {them} too.",
            )


def _target(item: SpecException) -> str:
    """The target of an exception, as shown to users."""
    name = f"{item.device or item.group}"
    return f"{name} {item.port}" if item.port else name


def _lost(plan: Plan, fabric: str, item: SpecException) -> Iterator[Device]:
    for device in plan.devices:
        if device.kind != "node" or device.state != "active" or item.device == device.name:
            continue
        cables = [cable for cable in plan.cables_of[device.name] if cable.fabric == fabric]
        if not cables or any(cable.in_service for cable in cables):
            continue
        if all(_concerns(plan, item, cable) for cable in cables):
            yield device


def _plan_with_exceptions(subject: Subject) -> Plan | None:
    """The plan of a spec with something out of service; None for others."""
    if any(item.state for item in subject.spec.exceptions):
        return subject.plan
    return None
