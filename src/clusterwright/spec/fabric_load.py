"""Typing fabrics: tiers, addressing, traffic classes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from clusterwright.spec import ethernet_load, infiniband_load
from clusterwright.spec.authentication import session_authentication
from clusterwright.spec.fabric import AsnPlan, Attach, Fabric, FabricAddressing, Side, Tier, TrafficClass, Uplinks
from clusterwright.spec.guids import read_guid_file
from clusterwright.spec.infiniband import GuidFile
from clusterwright.spec.reading import Reading
from clusterwright.spec.text.document import Path


def fabric(reading: Reading, data: Mapping[str, Any], path: Path) -> Fabric:
    """One fabric at ``path``."""
    manager = data.get("subnet_manager")
    addressing = data.get("addressing")
    return Fabric(
        name=data["name"],
        technology=data["technology"],
        attach=reading.each(data, "attach", partial(_attach, reading), path),
        tiers=reading.each(data, "tiers", partial(_tier, reading), path),
        mtu=data["mtu"],
        addressing=None if addressing is None else _addressing(reading, addressing, (*path, "addressing")),
        subnet_manager=None
        if manager is None
        else infiniband_load.subnet_manager(
            manager, (*path, "subnet_manager"), partitioned=bool(data.get("partitions"))
        ),
        partitions=reading.each(data, "partitions", infiniband_load.partition, path),
        guids=_guids(reading, (*path, "guids")) if "guids" in data else None,
        classes=reading.each(data, "classes", partial(_traffic_class, reading), path),
        pfc_watchdog=ethernet_load.pfc_watchdog(data.get("pfc_watchdog", {})),
        accepts_single_failures=data.get("accepts_single_failures"),
        path=path,
    )


def _attach(reading: Reading, data: Mapping[str, Any], path: Path) -> Attach:
    return Attach(data.get("nodes"), data.get("nics"), data.get("to"), path)


def _tier(reading: Reading, data: Mapping[str, Any], path: Path) -> Tier:
    up = data.get("up")
    asn = data.get("asn")
    return Tier(
        role=data["role"],
        model=reading.model(data["model"], (*path, "model")),
        per=data["per"],
        join=data.get("join", "all"),
        count=data.get("count", 1),
        down=_side(reading, data.get("down", {}), (*path, "down")),
        up=None if up is None else _uplinks(reading, up, (*path, "up")),
        asn=None if asn is None else AsnPlan(asn["base"], asn["per"], (*path, "asn")),
        path=path,
    )


def _uplinks(reading: Reading, data: Mapping[str, Any], path: Path) -> Uplinks:
    side = _side(reading, data, path)
    return Uplinks(
        links=data["links"],
        speed_gbps=data["speed_gbps"],
        side=side,
        path=path,
        leaves_building=data.get("leaves_building", False),
        macsec=data.get("macsec"),
        authentication=session_authentication(data, path),
    )


def _side(reading: Reading, data: Mapping[str, Any], path: Path) -> Side:
    return Side(
        blocks=tuple(data.get("blocks", ())),
        mode=data.get("mode"),
        medium=data.get("medium", "smf"),
        length_m=data.get("length_m", 30.0),
        spare=data.get("spare", 0),
        path=path,
    )


def _addressing(reading: Reading, data: Mapping[str, Any], path: Path) -> FabricAddressing:
    return FabricAddressing(
        loopbacks=reading.network(data["loopbacks"], (*path, "loopbacks")),
        links=reading.network(data["links"], (*path, "links")),
        hosts=reading.network(data["hosts"], (*path, "hosts")),
        hosts_per_switch=data["hosts_per_switch"],
        host_links=data["host_links"],
        path=path,
    )


def _guids(reading: Reading, path: Path) -> GuidFile | None:
    return reading.named_file(path, lambda file: (read_guid_file(file, str(file), path), ()))


def _traffic_class(reading: Reading, data: Mapping[str, Any], path: Path) -> TrafficClass:
    spans = reading.ranges(data.get("dscp", ()), (*path, "dscp"), 63)
    return TrafficClass(
        name=data["name"],
        dscp=tuple(sorted({code for low, high in spans for code in range(low, min(high, 63) + 1)})),
        service_level=data.get("service_level"),
        queue=data["queue"],
        priority=data.get("priority"),
        weight=0 if data.get("strict") else data["weight"],
        strict=data.get("strict", False),
        ecn=data.get("ecn", "none" if "priority" not in data else "count"),
        marking=ethernet_load.marking(data.get("marking")),
        arbitration=data.get("arbitration", "low"),
        path=path,
    )
