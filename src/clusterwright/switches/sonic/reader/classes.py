"""Reading the classes of service in SONiC's config_db.json: maps, PFC, headroom, watchdog and schedulers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusterwright.facts.router import (
    DSCPS,
    STRICT,
    HeadroomPool,
    Mark,
    PortQos,
    QosMap,
    Watchdog,
    thresholds,
)

Json = Mapping[str, Any]
_GREEN = ("min_threshold", "max_threshold", "drop_probability")
# Modes of marking, in place of drops, for green packets, RDMA's colour: sonic-wred-profile.yang.
_MARKS_GREEN = frozenset({"ecn_green", "ecn_green_yellow", "ecn_green_red", "ecn_all"})
_PORT_MAPS = ("dscp_to_tc_map", "tc_to_queue_map", "tc_to_pg_map", "pfc_to_pg_map")


def qos_map(tables: Json) -> QosMap | None:
    """The DSCP map of most ports, with the queues of its classes; None without one."""
    names = _main_maps(tables)
    if names is None:
        return None
    classes = tables.get("DSCP_TO_TC_MAP", {}).get(names[0], {})
    queues = tables.get("TC_TO_QUEUE_MAP", {}).get(names[1], {})
    class_of: list[int | None] = [None] * DSCPS
    marks: dict[str, Mark] = {}
    for dscp, number in classes.items():
        class_of[int(dscp)] = int(number)
        marks[f"dscp {int(dscp)}"] = ('"DSCP_TO_TC_MAP":', f'"{names[0]}":', f'"{dscp}":')
    for number in queues:
        marks[f"class {int(number)}"] = ('"TC_TO_QUEUE_MAP":', f'"{names[1]}":', f'"{number}":')
    lossless: frozenset[int] = frozenset()
    for row in tables.get("PORT_QOS_MAP", {}).values():
        lossless |= _numbers(row.get("pfc_enable", ""))
    for priority in lossless:
        marks[f"priority {priority}"] = ('"PORT_QOS_MAP":', f'"pfc_enable": "{priority}"')
    groups = tables.get("TC_TO_PRIORITY_GROUP_MAP", {}).get(names[2], {})
    for number in groups:
        marks[f"group {int(number)}"] = ('"TC_TO_PRIORITY_GROUP_MAP":', f'"{names[2]}":', f'"{number}":')
    group_of_pause = tables.get("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", {}).get(names[3], {})
    return QosMap(
        class_of=tuple(class_of),
        queue_of={int(number): int(queue) for number, queue in queues.items()},
        lossless=lossless,
        marks=marks,
        group_of={int(number): int(group) for number, group in groups.items()},
        paused=frozenset(int(group_of_pause.get(str(priority), priority)) for priority in lossless),
    )


def _main_maps(tables: Json) -> tuple[str, ...] | None:
    used = Counter(_maps_of(row) for row in tables.get("PORT_QOS_MAP", {}).values())
    return used.most_common(1)[0][0] if used else None


def _maps_of(row: Json) -> tuple[str, ...]:
    return tuple(row.get(field, "") for field in _PORT_MAPS)


def _numbers(text: str) -> frozenset[int]:
    return frozenset(int(word) for word in text.split(",") if word.strip())


def port_qos(tables: Json, port: str) -> PortQos:
    """A port's treatment of classes; a priority is lossless with PFC and with headroom in its priority group."""
    row = tables.get("PORT_QOS_MAP", {}).get(port)
    if row is None:
        return PortQos()
    groups = tables.get("TC_TO_PRIORITY_GROUP_MAP", {}).get(row.get("tc_to_pg_map", ""), {})
    to_queue = tables.get("MAP_PFC_PRIORITY_TO_QUEUE", {}).get(row.get("pfc_to_queue_map", ""), {})
    queues = tables.get("TC_TO_QUEUE_MAP", {}).get(row.get("tc_to_queue_map", ""), {})
    group_of = tables.get("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", {}).get(row.get("pfc_to_pg_map", ""), {})
    headroom = {}
    for priority in _numbers(row.get("pfc_enable", "")):
        group = groups.get(str(priority), "")
        reserved = _headroom_bytes(tables, port, group)
        is_one_group = group_of.get(str(priority), str(priority)) == group
        if reserved and is_one_group and to_queue.get(str(priority)) == queues.get(str(priority)):
            headroom[priority] = reserved
    is_watched = _numbers(row.get("pfcwd_sw_enable", "")) >= headroom.keys()
    marking = _marking(tables, port)
    shares = _shares(tables, port)
    return PortQos(
        classifies=_maps_of(row) == _main_maps(tables),
        lossless=frozenset(headroom),
        watchdog=_watchdog(tables, port) if is_watched else None,
        shares=shares,
        headroom_bytes=min(headroom.values(), default=None),
        cable_m=_cable_m(tables, port),
        marking=tuple((queue, text) for queue, _, text in marking),
        counted=tuple(queue for queue, _ in shares) if _counts_marks(tables) else (),
        places=(
            *((f"queue {queue}", ('"FLEX_COUNTER_TABLE":',)) for queue, _ in shares),
            *((f"queue {queue}", ('"WRED_PROFILE":', f'"{name}":')) for queue, name, _ in marking),
            *((key, ('"PFC_WD":', f'"{port}":')) for key in ("detection", "recovery", "manner")),
        ),
        losses=tuple(_losses(tables, port, [queues[str(priority)] for priority in sorted(headroom)])),
    )


def _losses(tables: Json, port: str, queues: Sequence[str]) -> Iterator[tuple[str, Mark]]:
    """Causes of drops in a port's lossless queues: early drops, a limit of the queue, a small pool.

    Packets accepted at ingress have to leave: the egress pool holds as much as ingress shares out, and the queue's own
    limit is no less than all of ingress.
    """
    if queues and not _cable_m(tables, port):
        # buffermgrd makes headroom from it, of none for 0m (sonic-net/sonic-swss, cfgmgr/buffermgr.cpp)
        yield "names no length of its cable, from which the switch makes headroom", ('"CABLE_LENGTH":',)
    profiles, pools = tables.get("BUFFER_PROFILE", {}), tables.get("BUFFER_POOL", {})
    accepted = [row for row in pools.values() if row.get("type") == "ingress"]
    shared_bytes = sum(int(row.get("size", 0)) for row in accepted)
    most_bytes = shared_bytes + sum(int(row.get("xoff", 0)) for row in accepted)
    for queue in queues:
        wred = tables.get("QUEUE", {}).get(f"{port}|{queue}", {}).get("wred_profile", "")
        row = tables.get("WRED_PROFILE", {}).get(wred, {})
        if row.get("wred_green_enable") == "true" and row.get("ecn", "ecn_none") not in _MARKS_GREEN:
            yield f"drops packets of lossless queue {queue} early ({wred} marks none)", _mark("WRED_PROFILE", wred)
        name = tables.get("BUFFER_QUEUE", {}).get(f"{port}|{queue}", {}).get("profile", "")
        profile = profiles.get(name, {})
        pool = pools.get(profile.get("pool", ""), {})
        place = _mark("BUFFER_QUEUE", f"{port}|{queue}")
        if pool.get("type") != "egress":
            yield f"gives lossless queue {queue} no buffer at egress", place
        elif "static_th" not in profile:
            yield f"limits lossless queue {queue} to a part of what is free ({name})", place
        elif int(profile["static_th"]) < most_bytes:
            yield f"limits lossless queue {queue} to {int(profile['static_th']):,} of {most_bytes:,} bytes", place
        elif int(pool.get("size", 0)) < shared_bytes:
            size = int(pool.get("size", 0))
            yield f"has {size:,} bytes for lossless queue {queue} at egress, ingress shares {shared_bytes:,}", place


def _mark(table: str, row: str) -> Mark:
    return f'"{table}":', f'"{row}":'


def _watchdog(tables: Json, port: str) -> Watchdog | None:
    rows = tables.get("PFC_WD", {})
    row = rows.get(port, {})
    # orchagent polls the watchdog's counters as this group (sonic-net/sonic-swss, flexcounterorch.cpp)
    polled = tables.get("FLEX_COUNTER_TABLE", {}).get("PFCWD", {}).get("FLEX_COUNTER_STATUS", "enable")
    if not row.get("detection_time") or polled != "enable":
        return None
    polls = rows.get("GLOBAL", {}).get("POLL_INTERVAL", "unstated number of")
    manner = f"looks every {polls} ms and takes the action {row.get('action', 'of the system')}"
    recovery_ms = int(row["restoration_time"]) if row.get("restoration_time") else None
    return Watchdog(int(row["detection_time"]), recovery_ms, manner)


def _marking(tables: Json, port: str) -> list[tuple[int, str, str]]:
    """A port's marking queues, with the profile's name and its thresholds for green packets, RDMA's colour."""
    marking = []
    for key, row in tables.get("QUEUE", {}).items():
        name, _, queue = key.partition("|")
        profile = tables.get("WRED_PROFILE", {}).get(row.get("wred_profile", ""), {}) if name == port else {}
        if profile.get("ecn", "ecn_none") != "ecn_none":
            low, high, chance = (int(profile.get(f"green_{word}", 0)) for word in _GREEN)
            marking.append((int(queue), row["wred_profile"], thresholds(low, high, chance)))
    return sorted(marking)


def _counts_marks(tables: Json) -> bool:
    """True with polled counters of marked packets: the daemon polls them for all queues or for none."""
    return bool(tables.get("FLEX_COUNTER_TABLE", {}).get("WRED_ECN_QUEUE", {}).get("FLEX_COUNTER_STATUS") == "enable")


def _headroom_bytes(tables: Json, port: str, group: str) -> int:
    """Headroom of a port's priority group after a pause; none without such a part in its pool."""
    profiles, pools = tables.get("BUFFER_PROFILE", {}), tables.get("BUFFER_POOL", {})
    profile = profiles.get(tables.get("BUFFER_PG", {}).get(f"{port}|{group}", {}).get("profile", ""), {})
    pool = pools.get(profile.get("pool", ""), {})
    return min(int(profile.get("xoff", 0)), int(pool.get("xoff", 0)))


def headroom_pools(tables: Json) -> tuple[HeadroomPool, ...]:
    """The pools with headroom, and the sum of their promises to priority groups of all ports."""
    promised: dict[str, int] = {}
    profiles = tables.get("BUFFER_PROFILE", {})
    for row in tables.get("BUFFER_PG", {}).values():
        profile = profiles.get(row.get("profile", ""), {})
        pool = profile.get("pool", "")
        promised[pool] = promised.get(pool, 0) + int(profile.get("xoff", 0))
    pools: list[HeadroomPool] = []
    for name, row in tables.get("BUFFER_POOL", {}).items():
        has_headroom = row.get("xoff") or promised.get(name)
        if not has_headroom:
            continue
        pool = HeadroomPool(
            name=name,
            headroom_bytes=int(row.get("xoff", 0)),
            shared_bytes=int(row.get("size", 0)),
            promised_bytes=promised.get(name, 0),
            mark=('"BUFFER_POOL":', f'"{name}":'),
        )
        pools.append(pool)
    return tuple(pools)


def _cable_m(tables: Json, port: str) -> float | None:
    text = next((row[port] for row in tables.get("CABLE_LENGTH", {}).values() if port in row), None)
    return float(text.removesuffix("m")) if text is not None else None


def _shares(tables: Json, port: str) -> tuple[tuple[int, float], ...]:
    shares = []
    for key, row in tables.get("QUEUE", {}).items():
        name, _, queue = key.partition("|")
        if name == port:
            scheduler = tables.get("SCHEDULER", {}).get(row.get("scheduler", ""), {})
            share = STRICT if scheduler.get("type") == "STRICT" else float(scheduler.get("weight", 0))
            shares.append((int(queue), share))
    return tuple(sorted(shares))
