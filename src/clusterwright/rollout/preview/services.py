"""Sentences about services of the cluster: those on devices that leave or come back."""

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
    """One sentence for each service of a device that is drained or goes, and for each that moves to another host."""
    former = {service.name: service for service in cluster_services(before)}
    later = {service.name: service for service in cluster_services(after)}
    for name, service in former.items():
        now = later.get(name, replace(service, hosts=()))
        for host in service.hosts:
            device = after.by_name.get(host)
            if device is None or device.state in (ACTIVE, before.by_name[host].state):
                continue
            words = _drained(after, host, service, now) if device.state == DRAINED else _gone(after, host, service)
            yield Sentence(f"{host} carries the {_named(service)}: {words}", frozenset({host}))
        yield from _moved(service, now)


def _named(service: ClusterService) -> str:
    return f"{service.name} ({service.program})" if service.program else service.name


def _drained(after: Plan, host: str, former: ClusterService, now: ClusterService) -> str:
    """A drained host goes on, since no other host runs the program; it may be turned off later."""
    others = [name for name in now.hosts if name != host and after.by_name[name].state == ACTIVE]
    if not others:
        return f"it goes on while it is up, and no other host stands in. While it is off, {now.loss}"
    if former.hosts[0] != host:
        return f"while it is off, {and_more(others, _SHOWN)} {'goes' if len(others) == 1 else 'go'} on alone"
    if now.takeover:
        return f"it goes on while it is up. Before you turn it off, {now.takeover.format(other=others[0])}"
    return f"while it is off, {and_more(others, _SHOWN)} {'serves' if len(others) == 1 else 'serve'} alone"


def _gone(after: Plan, host: str, former: ClusterService) -> str:
    others = [name for name in former.hosts if name != host and after.by_name[name].state == ACTIVE]
    if not others:
        return f"no other host runs it, so {former.loss}"
    return f"it is left to {and_more(others, _SHOWN)}"


def _moved(former: ClusterService, now: ClusterService) -> Iterator[Sentence]:
    for host in now.hosts:
        if host not in former.hosts and now.unit:
            how = f"it starts there at the next boot, or by `systemctl start {now.unit}`"
            yield Sentence(f"{host} is to carry the {_named(now)}: {how}", frozenset({host}))
