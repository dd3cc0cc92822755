"""CW276, CW277: flowlets and adaptive routing on supporting switches, links, addresses and nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.finding import Severity
from clusterwright.intent.traffic_classes import lossless_numbers
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.fabric import FLOWLET, Fabric, Tier
from clusterwright.spec.hardware.systems import EXTERNAL, System, system_of, systems
from clusterwright.spec.image import Image

# mstreg is a program of mstflint, a package of Debian, Ubuntu and Red Hat, and a dependency of DOCA's profiles.
_REGISTER_TOOLS = frozenset({"mstflint", "doca-ofed", "doca-roce", "doca-networking", "doca-all", "mlnx-ofed-all"})


@rule("CW276", Severity.ERROR)
def adaptive_routing_is_possible(subject: Subject) -> Iterator[Problem]:
    """Fabrics with `balancing: {kind: flowlet}` or `adaptive` without support in their switches and links."""
    for fabric in subject.spec.fabrics:
        if fabric.balancing == FLOWLET:
            yield from _without_flowlets(fabric)
        if not fabric.is_adaptive:
            continue
        if fabric.technology != "roce":
            hint = "Remove `balancing`."
            if fabric.technology == "infiniband":
                hint = "Write `adaptive_routing: true` under `subnet_manager`."
            yield _refused(fabric, f"{fabric.name} is not a RoCE fabric, and switches reroute RoCE packets alone", hint)
        elif not lossless_numbers(fabric):
            message = f"{fabric.name} has no lossless class, and packets that are lost are sought in any order"
            yield _refused(fabric, message, "Give the class of RoCE a `priority`.")
    for skeleton in subject.skeleton.fabrics:
        if skeleton.fabric.is_adaptive:
            yield from _tier_faults(skeleton.fabric, skeleton.joined_tiers())


def _without_flowlets(fabric: Fabric) -> Iterator[Problem]:
    if fabric.technology == "infiniband":
        yield _refused(fabric, f"{fabric.name} is InfiniBand, which has no flowlets", "Remove `balancing`.")
        return
    for tier in fabric.tiers:
        if tier.model.network_os == EXTERNAL:
            continue
        system = system_of(tier.model)
        runs = tier.model.network_os if system is None else system.title
        reason = "they forward without it" if system is None else system.without_flowlets
        message = f"{tier.role} runs {runs}, for which flowlets are not written: {reason}"
        hint = "Write `kind: hash`, or give the model `network_os: external` and configure its switches yourself."
        yield _refused(fabric, message, hint)
        return


def _tier_faults(fabric: Fabric, joined: Sequence[tuple[Tier, Tier]]) -> Iterator[Problem]:
    reported: set[str] = set()
    for lower, upper in joined:
        for tier in (lower, upper):
            fault = _model_fault(tier)
            if fault and tier.role not in reported:
                reported.add(tier.role)
                yield _refused(fabric, fault, f"Take a model with {_able()}, or `kind: hash`.")
        up = lower.up
        system = system_of(lower.model)
        able = system.adaptive_routing if system is not None else None
        if up is None or able is None:
            continue
        if up.speed_gbps not in able.speeds_gbps:
            speeds = " and ".join(f"{speed}G" for speed in able.speeds_gbps)
            message = (
                f"Uplinks of {lower.role} run at {up.speed_gbps}G, and {lower.model.name} routes adaptively at {speeds}"
            )
            yield _refused(fabric, message, "Take another speed of uplinks, or `kind: hash`.")
        is_parallel = up.links > upper.count
        version = fabric.addressing.hosts.version if fabric.addressing is not None else 0
        if version == 6 and is_parallel and not able.ipv6_parallel_links:
            message = (
                f"{lower.role} has several cables to one {upper.role} over IPv6, which needs a policy for next hops"
            )
            hint = "Give `links` IPv4 addresses, take one cable to each switch, or `kind: hash`."
            yield _refused(fabric, message, hint)


def _model_fault(tier: Tier) -> str:
    """The obstacle to adaptive routing on a tier's switches; "" without one and for switches configured externally."""
    if tier.model.network_os == EXTERNAL:
        return ""
    system = system_of(tier.model)
    if system is None or system.adaptive_routing is None:
        runs = system.title if system is not None else tier.model.network_os
        return f"{tier.role} runs {runs}, for which adaptive routing is not written"
    if tier.model.asic not in system.adaptive_routing.asics:
        chip = tier.model.asic or "a chip that the catalogue does not name"
        return f"{tier.role} has {chip}, on which {system.title} does not route adaptively"
    return ""


def _able() -> str:
    able = [system for system in systems().values() if system.adaptive_routing is not None]
    return ", ".join(f"{system.title} on {_chips(system)}" for system in able)


def _chips(system: System) -> str:
    return " or ".join(system.adaptive_routing.asics) if system.adaptive_routing is not None else ""


def _refused(fabric: Fabric, message: str, hint: str) -> Problem:
    return Problem((*fabric.path, "balancing", "kind"), f"{message}.", hint)


@rule("CW277", Severity.ERROR)
def adapters_take_any_order(subject: Subject) -> Iterator[Problem]:
    """Images of nodes on an adaptive fabric without the program for adapter registers."""
    spec = subject.spec
    reported: set[str] = set()
    for fabric in spec.fabrics:
        if not fabric.is_adaptive:
            continue
        for attach in fabric.attach:
            group = spec.node_group(attach.nodes or "")
            image = spec.image(group.image or "") if group is not None else None
            if image is None or image.name in reported or _has_register_tools(image):
                continue
            reported.add(image.name)
            has_packages = bool(image.packages)
            path = (*image.path, "packages" if has_packages else "name")
            message = f"{image.name} has no mstreg, by which adapters on {fabric.name} take packets in any order."
            yield Problem(path, message, "Add `mstflint`.", key=has_packages)


def _has_register_tools(image: Image) -> bool:
    packages = {package.name for package in image.packages}
    for driver in image.drivers:
        packages.update(package.name for package in driver.packages)
    return not packages.isdisjoint(_REGISTER_TOOLS)
