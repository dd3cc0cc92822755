"""What a generated spec has in it, by name: a campaign that no longer reaches a part of the grammar is seen by its
count."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from tests.generated.ports import models
from tests.generated.specs import Case, Data


def features(case: Case) -> frozenset[str]:
    """The names of what the spec has: platforms, joins, tiers, protocols, IP versions, sections."""
    return frozenset(_of(case))


_SECTIONS = (
    *("mounts", "boot", "nccl", "scheduler", "jobs", "rollout", "exceptions", "extra_config", "expect", "borders"),
    *("datasets", "promises", "execution", "secrets"),
)


def _addressing(fabric: Data) -> Iterator[str]:
    if "addressing" in fabric:
        yield "IPv4" if "." in fabric["addressing"]["hosts"] else "IPv6"
        yield fabric["addressing"]["host_links"]
    if "partitions" in fabric:
        yield "partitions"
        if any("ipoib" in part for part in fabric["partitions"]):
            yield "ipoib"


def _of(case: Case) -> Iterator[str]:
    parts = [part for part in (case.base, case.cluster) if part is not None]
    fabrics = list(chain.from_iterable(part.get("fabrics", ()) for part in parts))
    if case.base is not None:
        yield "extends"
    yield from (section for section in _SECTIONS if any(section in part for part in parts))
    technologies = {fabric["technology"] for fabric in fabrics}
    yield from technologies
    if "infiniband" in technologies and technologies - {"infiniband"}:
        yield "infiniband beside ethernet"
    systems: set[str] = set()
    for fabric in fabrics:
        mine = {models()[tier["model"]].network_os or "" for tier in fabric["tiers"]}
        systems |= mine
        if len(mine) > 1:
            yield "mixed platforms in a fabric"
        if not any(attach.get("management") for attach in fabric["attach"]):
            yield f"{len(fabric['tiers'])} tiers"
        yield from chain.from_iterable(_tier(tier) for tier in fabric["tiers"])
        yield from _addressing(fabric)
    yield from (f"runs {system}" for system in systems)
    groups = list(chain.from_iterable(part.get("nodes", ()) for part in parts))
    yield f"{len({group['name'] for group in groups})} node groups"
    for flow in chain.from_iterable(part.get("flows", ()) for part in parts):
        if "protocol" in flow:
            yield flow["protocol"]
    yield from _zones(parts)
    yield from _rare(parts, groups, fabrics)


def _rare(parts: list[Data], groups: list[Data], fabrics: list[Data]) -> Iterator[str]:
    """What few would have if nothing but chance decided."""
    if any(group.get("model") == "two-port-node" for group in groups):
        yield "two-port NICs"
    for attach in chain.from_iterable(fabric["attach"] for fabric in fabrics):
        if "bond" in attach:
            yield "bonds"
    for mount in chain.from_iterable(part.get("mounts", ()) for part in parts):
        if mount["protection"]["kind"] == "none":
            yield "mount in clear"
        yield f"mount of {mount['type']}"
    for part in parts:
        if len(_list(part.get("nccl"))) > 1:
            yield "two NCCL profiles"
        yield from _schedulers(_list(part.get("scheduler")))


def _schedulers(schedulers: list[Data]) -> Iterator[str]:
    if len(schedulers) > 1:
        yield "two Slurms"
    for scheduler in schedulers:
        yield from (key for key in ("controllers", "accounting") if key in scheduler)
        if len(_list(scheduler["nodes"])) > 1:
            yield "a Slurm of two groups"


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [] if found is None else [found]


def _tier(tier: Data) -> Iterator[str]:
    yield f"join {tier.get('join', 'all')}"
    yield from (f"up with {key}" for key in ("mode", "macsec") if key in tier.get("up", {}))
    if "-" in tier["role"]:
        yield "role with a dash"
    if "authentication" in tier.get("up", {}):
        yield "sessions that prove themselves"


def _zones(parts: list[Data]) -> Iterator[str]:
    named: list[str] = []
    for zone in chain.from_iterable(part.get("zones", ()) for part in parts):
        named += zone.get("nodes", ())
    if len(named) > len(set(named)):
        yield "zones that overlap"
    for item in chain.from_iterable(part.get("exceptions", ()) for part in parts):
        if "state" in item:
            yield item["state"]
