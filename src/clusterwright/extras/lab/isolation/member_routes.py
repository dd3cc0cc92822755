"""Routes to every member of a stage, missing in the twin: of the other IP version, and to networks outside."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from ipaddress import ip_address

from clusterwright.child_environment import child_environment
from clusterwright.extras.lab.isolation.members import OUTSIDE_NAME, Member, Stage
from clusterwright.extras.lab.namespaces import run_ip
from clusterwright.extras.lab.twin import Twin
from clusterwright.finding import ClusterwrightError
from clusterwright.packets.phrases import address
from clusterwright.plan.model import format_address
from clusterwright.proofs.isolation.declared import INTERNET

ROUTE_PROTOCOL = 77  # marks these routes for their removal
# The links between switches and the outside, numbered from 1 (unused here: RFC 3927 and RFC 4193): prefix, length.
LINKS = {4: ("169.254.77.0", 30), 6: ("fd77:77::", 126)}
TWIN_PREFIX = "fd77:4::"  # before an IPv4 address: its twin in IPv6


def routes_outside(stage: Stage) -> list[str]:
    """Routes of the twin's nodes to the internet without a declared flow; there should be none."""
    problems = []
    internet: list[Member] = []
    for member in stage.members:
        kinds = {stage.declared.zone[zone].kind for zone in member.zones}
        if member.is_outside and INTERNET in kinds:
            internet.append(member)
    for node in stage.twin.nodes:
        if node.name in stage.declared.default_gateways:
            continue
        for target in internet:
            for version, number in sorted(target.addresses.items()):
                route = _route(stage.twin.namespace(node.name), version, address(version, number))
                if route is not None:
                    problems.append(f"{node.name}: has a route to {target.name} {address(version, number)}")
    return problems


def link_end(version: int, number: int, *, is_far: bool) -> str:
    """The address of a switch on its link to the outside, or of the outside."""
    return str(ip_address(LINKS[version][0]) + 4 * number + (2 if is_far else 1))


def border_links(stage: Stage) -> dict[str, int]:
    """The numbered links to the outside, by switch."""
    switches = dict.fromkeys(border.switch for border in stage.borders)
    return {name: number for number, name in enumerate(switches, start=1)}


def lead_everywhere(stage: Stage) -> None:
    """Add routes to every address of every member, along the paths of the twin's own routes."""
    twin = stage.twin
    links = border_links(stage)
    if twin.version == 4:
        _add_twins_of_addresses(stage)
    for switch in twin.view_of:
        _routes(twin.namespace(switch), list(_routes_of_switch(stage, switch, links)))
    for member in stage.members:
        if member.cable is not None:
            _routes(member.namespace, list(_routes_of_member(stage, member)))
    if any(member.is_outside for member in stage.members):
        back = "route replace default via {} dev up1 proto {}"
        gateways = [(version, link_end(version, 1, is_far=False)) for version in (4, 6)]
        _routes(
            twin.namespace(OUTSIDE_NAME),
            [(version, back.format(gateway, ROUTE_PROTOCOL)) for version, gateway in gateways],
        )


def _routes_of_switch(stage: Stage, switch: str, links: dict[str, int]) -> Iterator[tuple[int, str]]:
    """IP version and arguments of a switch's routes to addresses unknown to its routing daemon."""
    for member in stage.members:
        hop = _hop_to(stage, switch, member, links)
        if hop is None:
            continue
        for version, number in sorted(member.addresses.items()):
            if member.is_outside or version != stage.twin.version:
                yield version, _route_arguments(stage.twin, version, number, *hop)


def _routes_of_member(stage: Stage, member: Member) -> Iterator[tuple[int, str]]:
    """IP version and arguments of a member's routes to every other member."""
    twin = stage.twin
    gateway = _gateway(twin, member)
    for target in stage.members:
        if target is member:
            continue
        for version, number in sorted(target.addresses.items()):
            if version != twin.version or target.is_outside or not member.is_real:
                yield version, _route_arguments(twin, version, number, gateway, member.interface)


def _add_twins_of_addresses(stage: Stage) -> None:
    """Add an IPv6 address to each IPv4 one of an IPv4 fabric: IPv6 routes need an IPv6 next hop here."""
    switches = [stage.twin.namespace(name) for name in stage.twin.view_of]
    for namespace in dict.fromkeys([*switches, *(member.namespace for member in stage.members)]):
        text = subprocess.run(
            ["ip", "-j", "-4", "-n", namespace, "address", "show", "scope", "global"],
            capture_output=True,
            text=True,
            check=True,
            env=child_environment(),
        ).stdout
        lines: list[str] = []
        for row in json.loads(text or "[]"):
            for info in row.get("addr_info", []):
                if "local" in info:
                    address = f"{TWIN_PREFIX}{info['local']}/{96 + info['prefixlen']}"
                    lines.append(f"addr add {address} dev {row['ifname']} nodad\n")
        run_ip("".join(lines), namespace)


def _route_arguments(twin: Twin, version: int, number: int, gateway: str, interface: str) -> str:
    if twin.version == 6:
        gateway = f"inet6 {gateway}"
    elif version == 6 and ":" not in gateway:
        gateway = f"{TWIN_PREFIX}{gateway}"
    target = f"{address(version, number)}/{host_bits(version)}"
    return f"route replace {target} via {gateway} dev {interface} proto {ROUTE_PROTOCOL}"


def _hop_to(stage: Stage, switch: str, member: Member, links: dict[str, int]) -> tuple[str, str] | None:
    """Next hop and interface of a switch towards a member: of its route to the member or the member's border."""
    twin = stage.twin
    namespace = twin.namespace(switch)
    if member.cable is not None:
        member_address = format_address(member.addresses[twin.version], twin.version)
        route = _route(namespace, twin.version, member_address)
        if route is None:
            raise ClusterwrightError(
                f"{twin.name}: {switch} has no route to {member.name} {member_address}. Run `lab check`."
            )
        return route[0] or member_address, route[1]
    border = stage.border_of(member)
    if border is None:
        return None
    if border.switch == switch:
        return link_end(twin.version, links[switch], is_far=True), f"out{links[switch]}"
    loopback = twin.view_of[border.switch].loopback
    route = _route(namespace, twin.version, loopback) if loopback is not None else None
    return (route[0] or loopback or "", route[1]) if route is not None else None


def _gateway(twin: Twin, member: Member) -> str:
    cable = member.cable
    view = twin.view_of[cable.b.device] if cable is not None else None
    if cable is None or view is None:
        raise ClusterwrightError(f"{member.name}: stands outside and has no gateway")
    if cable.b.address is not None:
        return format_address(cable.b.address, twin.version)
    if view.host_subnet is None or view.host_subnet.gateway is None:
        raise ClusterwrightError(f"{twin.name}: {cable.b.device} has no address towards its hosts")
    return format_address(view.host_subnet.gateway, twin.version)


def _route(namespace: str, version: int, target: str) -> tuple[str | None, str] | None:
    """Next hop (None on the link) and interface towards an address; None without a route."""
    text = subprocess.run(
        ["ip", "-j", f"-{version}", "-n", namespace, "route", "get", target],
        capture_output=True,
        text=True,
        check=False,
        env=child_environment(),
    )
    rows = json.loads(text.stdout or "[]") if text.returncode == 0 else []
    if not rows or rows[0].get("type") in {"unreachable", "blackhole", "prohibit"}:
        return None
    return rows[0].get("gateway") or rows[0].get("via", {}).get("host"), rows[0]["dev"]


def _routes(namespace: str, lines: list[tuple[int, str]]) -> None:
    """Enter routes, each with its IP version."""
    for version in (4, 6):
        run_ip("".join(f"{text}\n" for line_version, text in lines if line_version == version), namespace, version)


def host_bits(version: int) -> int:
    """The length of a prefix of a single address."""
    return 32 if version == 4 else 128
