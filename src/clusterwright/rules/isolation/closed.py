"""CW527 to CW539: access not controlled by flows: management, listeners, default routes, fabrics in no zone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusterwright.finding import Severity
from clusterwright.rules.isolation.flows import promised
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.isolation import MANAGEMENT
from clusterwright.spec.text.text_lines import texts_in
from clusterwright.spec.zone_reach import covers, zones_of

# NCCL's listener for its own state (RAS), without authentication.
RAS_PORT = 28028
# SSH, HTTPS (eAPI, Redfish), SNMP, IPMI, gNMI.
MANAGING_PORTS = (22, 443, 161, 623, 6030)
DEFAULT_ROUTE = re.compile(r"(?<![\d.:])(?:0\.0\.0\.0/0|0\.0\.0\.0 0\.0\.0\.0|::/0)(?![\d.])|default-originate")
FILTER_NAMES = re.compile(r"\b(?:HOSTS|MANAGEMENT|BORDER-(?:IN|OUT)-\S+)\b")
FILTER_LINE = re.compile(r"access-list|access-group")
# FBOSS and SONiC: any change here can come before a rendered rule, or replace it.
FILTER_KEYS = frozenset({"aclTableGroup", "acls", "ACL_TABLE", "ACL_RULE", "ACL_TABLE_TYPE"})
# NVUE: lists by name, of the switch and of each port. Other names are allowed, as in EOS.
NAMED_FILTERS = "acl"
# A BGP neighbour gets a default route by these keys of NVUE and of SONiC's frrcfgd.
ORIGINATION_KEYS = frozenset({"default-route-origination", "send_default_route"})
TURNED_ON = frozenset({"on", "enabled", "true"})


@rule("CW527", Severity.ERROR)
def management_open(subject: Subject) -> Iterator[Problem]:
    """Flows from compute or storage zones opening a management port of a management zone."""
    spec = subject.spec
    for flow in spec.flows:
        source, target = spec.zone(flow.source), spec.zone(flow.target)
        if source is None or target is None or target.kind != MANAGEMENT or not target.fabrics:
            continue
        ports = [port for port in MANAGING_PORTS if flow.opens("tcp", port) or flow.opens("udp", port)]
        if source.kind in ("compute", "storage") and ports:
            message = f"Flow {flow.name} lets {source.name} reach {flow.protocol} port {ports[0]} of {target.name}."
            yield Problem((*flow.path, "from"), message, "Allow the operators' stations instead.")


@rule("CW528", Severity.ERROR)
def default_route(subject: Subject) -> Iterator[Problem]:
    """Added lines and patches with a default route, of IPv4 or IPv6."""
    spec = subject.spec
    for item in spec.extra_config:
        for index, line in enumerate(item.lines):
            if DEFAULT_ROUTE.search(line) and not FILTER_LINE.search(line):
                message = f'"{line.strip()}" adds a default route.'
                yield Problem((*item.path, "lines", index), message, f"{promised(spec, 'no-internet')} Name prefixes.")
        if _has_default_route(item.merge):
            message = f"The patch of {item.file} adds a default route."
            yield Problem((*item.path, "merge"), message, f"{promised(spec, 'no-internet')} Name prefixes.", key=True)


def _has_default_route(patch: Mapping[str, Any]) -> bool:
    """True for a patch with a default route, or with one announced to a BGP neighbour."""
    if any(DEFAULT_ROUTE.search(text) for text in texts_in(patch)):
        return True
    return any(key in ORIGINATION_KEYS and _turns_on(value) for key, value in _entries(patch))


def _turns_on(value: Any) -> bool:
    """True for a word that turns a setting on: alone, as a key, or below NVUE's ``enable`` and ``state``."""
    if isinstance(value, Mapping):
        kept = {key for key, inner in value.items() if inner is not None}
        return not TURNED_ON.isdisjoint(kept) or any(map(_turns_on, value.values()))
    return str(value).lower() in TURNED_ON


@rule("CW529", Severity.ERROR)
def filter_by_hand(subject: Subject) -> Iterator[Problem]:
    """Added lines and patches changing the access lists and tables rendered from flows."""
    for item in subject.spec.extra_config:
        for index, line in enumerate(item.lines):
            if FILTER_LINE.search(line) and FILTER_NAMES.search(line):
                message = f'"{line.strip()}" changes an ACL that is rendered from the flows.'
                yield Problem((*item.path, "lines", index), message, "Write a flow, or an ACL with another name.")
        changed = _changed_filter(item.merge)
        if changed is not None:
            message = f"The patch of {item.file} changes {changed}, which is rendered from the flows."
            yield Problem((*item.path, "merge"), message, "Write a flow instead.", key=True)


def _changed_filter(patch: Mapping[str, Any]) -> str | None:
    """The first key of a patch that changes rendered filters."""
    changed: set[str] = set()
    for key, value in _entries(patch):
        if key in FILTER_KEYS:
            changed.add(key)
        elif key == NAMED_FILTERS and not isinstance(value, Mapping):
            changed.add(key)  # null removes every list, or takes all off a port
        elif key == NAMED_FILTERS:
            changed.update(name for name in map(str, value) if FILTER_NAMES.match(name))
    return min(changed, default=None)


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key of a patch with its value, at any depth."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key), inner
            yield from _entries(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _entries(inner)


@rule("CW536", Severity.WARNING)
def ras_listener(subject: Subject) -> Iterator[Problem]:
    """TCP flows to compute nodes opening the port of NCCL's RAS listener."""
    spec = subject.spec
    for flow in spec.flows:
        target = spec.zone(flow.target)
        if flow.opens("tcp", RAS_PORT) and target is not None and target.kind == "compute":
            message = f"Flow {flow.name} opens TCP port {RAS_PORT} of {target.name}, on which NCCL's RAS listens."
            key = "ports" if flow.ports else "protocol"
            yield Problem((*flow.path, key), message, f"Leave {RAS_PORT} out.")


@rule("CW537", Severity.WARNING)
def closed_by_edges_alone(subject: Subject) -> Iterator[Problem]:
    """Node groups without an image in isolated zones, in a spec promising isolation."""
    spec = subject.spec
    if not any(item.promise in ("no-internet", "owner-only") for item in spec.promises):
        return
    isolated = {zone.name for zone in spec.zones if zone.isolated}
    for group in spec.node_groups:
        isolated_zones = [name for name in zones_of(spec, group.name) if name in isolated]
        if group.image is None and isolated_zones:
            message = f"{group.name} has no image: only ACLs of its switches enforce zone {isolated_zones[0]} there."
            yield Problem((*group.path, "name"), message, "Give it an `image`, or accept this here with the reason.")


@rule("CW539", Severity.ERROR)
def fabric_in_no_zone(subject: Subject) -> Iterator[Problem]:
    """Fabrics with addresses and without a zone, in a spec with zones."""
    spec = subject.spec
    if not spec.zones:
        return
    for fabric in spec.fabrics:
        if fabric.addressing is None or any(covers(spec, zone, fabric) for zone in spec.zones):
            continue
        message = f"No zone covers {fabric.name}: its switches filter nothing."
        yield Problem((*fabric.path, "name"), message, f"Add {fabric.name} to the `fabrics` of a zone.")
