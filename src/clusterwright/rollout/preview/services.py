"""Sentences about services of the cluster on devices leaving or coming back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clusterwright.and_more import and_more
from clusterwright.hosts.cluster_services import ClusterService, cluster_services
from clusterwright.plan.model import Plan
from clusterwright.plan.service import ACTIVE, DRAINED
from clusterwright.rollout.preview.sentences import Sentence

_SHOWN = 3


def service_sentences(before: Plan, after: Plan) -> Iterator[Sentence]:
    """One sentence for each service of a drained or removed device, and for each service on a new host."""
    former_services = {service.name: service for service in cluster_services(before)}
    present_services = {service.name: service for service in cluster_services(after)}
    for name, former in former_services.items():
        present = present_services.get(name, replace(former, hosts=()))
        for host in former.hosts:
            device = after.by_name.get(host)
            if device is None or device.state in (ACTIVE, before.by_name[host].state):
                continue
            if device.state == DRAINED:
                consequence = _drained(after, host, former, present)
            else:
                consequence = _gone(after, host, former)
            yield Sentence(f"{host} carries the {_named(former)}: {consequence}", frozenset({host}))
        yield from _moved(former, present)


def _named(service: ClusterService) -> str:
    return f"{service.name} ({service.program})" if service.program else service.name


def _drained(after: Plan, host: str, former: ClusterService, now: ClusterService) -> str:
    """Consequences of turning off a drained host; until then it goes on with the service."""
    remaining_hosts = _other_active_hosts(after, now, host)
    if not remaining_hosts:
        return f"it runs while the host is up, and no other host takes over. While it is off, {now.loss}"
    is_single = len(remaining_hosts) == 1
    if former.hosts[0] != host:
        verb = "goes" if is_single else "go"
        return f"while it is off, {and_more(remaining_hosts, _SHOWN)} {verb} on alone"
    if now.takeover:
        return f"it runs while the host is up. Before you turn it off, {now.takeover.format(other=remaining_hosts[0])}"
    verb = "serves" if is_single else "serve"
    return f"while it is off, {and_more(remaining_hosts, _SHOWN)} {verb} alone"


def _other_active_hosts(plan: Plan, service: ClusterService, host: str) -> list[str]:
    """The hosts of a service in service, except for ``host``."""
    return [name for name in service.hosts if name != host and plan.by_name[name].state == ACTIVE]


def _gone(after: Plan, host: str, former: ClusterService) -> str:
    remaining_hosts = _other_active_hosts(after, former, host)
    if not remaining_hosts:
        return f"no other host runs it, so {former.loss}"
    return f"it is left to {and_more(remaining_hosts, _SHOWN)}"


def _moved(former: ClusterService, now: ClusterService) -> Iterator[Sentence]:
    for host in now.hosts:
        if host not in former.hosts and now.unit:
            start = f"it starts there at the next boot, or by `systemctl start {now.unit}`"
            yield Sentence(f"{host} is to carry the {_named(now)}: {start}", frozenset({host}))
