"""Temporary additions to a running twin for an exchange of packets.

Hosts without an image, the outside, the IP version missing on the fabric, and routes to unrouted addresses.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from clusterwright.child_environment import child_environment
from clusterwright.extras.lab.isolation import switch_filters
from clusterwright.extras.lab.isolation.member_routes import (
    LINKS,
    ROUTE_PROTOCOL,
    TWIN_PREFIX,
    border_links,
    host_bits,
    lead_everywhere,
    link_end,
)
from clusterwright.extras.lab.isolation.members import OUTSIDE_NAME, Member, Stage
from clusterwright.extras.lab.namespaces import inside, namespaces_named, remove_namespaces, run_ip
from clusterwright.extras.lab.twin import Twin, interface_name
from clusterwright.packets.phrases import address
from clusterwright.plan.model import format_address
from clusterwright.proofs.isolation.edges import BORDER_IN, BORDER_OUT, HOSTS, MANAGEMENT

_BRIDGE = "hosts"
_OUTSIDE_MTU = 1500

_SETTINGS = """\
net.ipv4.conf.all.accept_local=1
net.ipv4.conf.all.rp_filter=0
net.ipv4.conf.default.rp_filter=0
net.ipv4.icmp_ratelimit=0
net.ipv6.conf.default.accept_dad=0
net.ipv6.icmp.ratelimit=0
"""


@contextmanager
def visiting(stage: Stage) -> Iterator[None]:
    """Add every member of a stage to the twin, reachable except for filters."""
    clear(stage.twin)
    try:
        visitors = {member.namespace for member in stage.members if not member.is_real}
        run_ip("".join(f"netns add {name}\n" for name in sorted(visitors)))
        for name in sorted(visitors):
            with inside(name):
                subprocess.run(
                    ["sysctl", "-q", "-p", "-"],
                    input=_SETTINGS,
                    text=True,
                    check=True,
                    capture_output=True,
                    env=child_environment(),
                )
            run_ip("link set lo up\n", name)
        for member in stage.members:
            if not member.is_outside:
                _attach(stage.twin, member)
        _join_outside(stage)
        lead_everywhere(stage)
        yield
    finally:
        clear(stage.twin)


def clear(twin: Twin) -> None:
    """Remove all additions, also those of a killed command. Raises ClusterwrightError."""
    lab_namespaces = {twin.namespace(name) for name in (*twin.view_of, *(node.name for node in twin.nodes))}
    for name in namespaces_named(twin.namespace("")):
        if name not in lab_namespaces:
            remove_namespaces(name)
            continue
        for version in (4, 6):
            subprocess.run(
                ["ip", f"-{version}", "-n", name, "route", "flush", "proto", str(ROUTE_PROTOCOL)],
                capture_output=True,
                check=False,
                env=child_environment(),
            )
        # A host added again has another hardware address.
        subprocess.run(
            ["ip", "-n", name, "neighbour", "flush", "all"], capture_output=True, check=False, env=child_environment()
        )
        with inside(name):
            subprocess.run(
                ["nft", "delete", "table", "netdev", switch_filters.TABLE],
                capture_output=True,
                check=False,
                env=child_environment(),
            )
            # A packet of an earlier matrix would count as the request for an answer in the next.
            subprocess.run(["conntrack", "-F"], capture_output=True, check=True, env=child_environment())
        if twin.version == 4:
            subprocess.run(
                ["ip", "-6", "-n", name, "address", "flush", "to", f"{TWIN_PREFIX}/32"],
                capture_output=True,
                check=False,
                env=child_environment(),
            )
    other_version = 10 - twin.version
    for node in twin.nodes:
        subprocess.run(
            ["ip", f"-{other_version}", "-n", twin.namespace(node.name), "address", "flush", "scope", "global"],
            capture_output=True,
            check=False,
            env=child_environment(),
        )


def load_lists(stage: Stage) -> int:
    """Load the lists of switch ports and management ports; the number of ports with one."""
    count = 0
    links = border_links(stage)
    for number, port_filter in enumerate(stage.lists):
        namespace = stage.twin.namespace(port_filter.device)
        if port_filter.kind == HOSTS:
            ports = [port for port in port_filter.ports if (port_filter.device, port) in _switch_ports(stage)]
            names = [interface_name(port) for port in ports]
            if names:
                switch_filters.load(namespace, f"hosts{number}", names, "ingress", port_filter.ruleset)
                count += len(names)
        elif port_filter.kind in {BORDER_IN, BORDER_OUT}:
            filtered = [border for border in stage.borders if port_filter in (border.inward, border.outward)]
            if filtered:
                hook = "ingress" if port_filter.kind == BORDER_IN else "egress"
                name = f"out{links[filtered[0].switch]}"
                switch_filters.load(namespace, f"border{number}", [name], hook, port_filter.ruleset)
                count += 1
    for member in stage.members:
        if member.own_list is not None and member.own_list.kind == MANAGEMENT:
            switch_filters.load(member.namespace, "management", [member.interface], "ingress", member.own_list.ruleset)
            count += 1
    return count


def _switch_ports(stage: Stage) -> set[tuple[str, str]]:
    cabled = {(cable.b.device, cable.b.port) for cable in stage.twin.cables}
    return cabled | {(m.cable.b.device, m.cable.b.port) for m in stage.members if m.cable is not None}


def _attach(twin: Twin, member: Member) -> None:
    """Cable a host without an image to its switch, and add an address of the other IP version to every host."""
    cable = member.cable
    if cable is None:
        return
    switch, port = twin.namespace(cable.b.device), interface_name(cable.b.port)
    view = twin.view_of[cable.b.device]
    if not member.is_real:
        mtu = view.fabric.mtu
        far = f"peer name {port} mtu {mtu} netns {switch}"
        run_ip(f"link add name {member.interface} mtu {mtu} type veth {far}\n", member.namespace)
        lines = []
        if view.shares_subnet:
            lines.append(f"link set {port} master {_BRIDGE}")
        elif cable.b.address is not None:
            lines.append(f"addr add {format_address(cable.b.address, twin.version)}/{cable.b.prefix_length} dev {port}")
        run_ip("".join(f"{line}\n" for line in (*lines, f"link set {port} up")), switch)
        interface_address = f"{format_address(member.addresses[twin.version], twin.version)}/{cable.a.prefix_length}"
        nodad = " nodad" if twin.version == 6 else ""
        run_ip(
            f"addr add {interface_address} dev {member.interface}{nodad}\nlink set {member.interface} up\n",
            member.namespace,
        )
    other_version = 10 - twin.version
    text = address(other_version, member.addresses[other_version])
    nodad = " nodad" if other_version == 6 else ""
    run_ip(f"addr add {text}/{host_bits(other_version)} dev {member.interface}{nodad}\n", member.namespace)


def _join_outside(stage: Stage) -> None:
    outside = stage.twin.namespace(OUTSIDE_NAME)
    members = [member for member in stage.members if member.is_outside]
    if not members:
        return
    links = border_links(stage)
    for switch, link in links.items():
        namespace = stage.twin.namespace(switch)
        name = f"out{link}"
        size = f"mtu {_OUTSIDE_MTU}"
        run_ip(f"link add name up{link} {size} type veth peer name {name} {size} netns {namespace}\n", outside)
        for where, device, is_far in ((namespace, name, False), (outside, f"up{link}", True)):
            lines = [f"link set {device} up"]
            for version, (_, length) in LINKS.items():
                nodad = " nodad" if version == 6 else ""
                lines.append(f"addr add {link_end(version, link, is_far=is_far)}/{length} dev {device}{nodad}")
            run_ip("".join(f"{line}\n" for line in lines), where)
    for member in members:
        for version, number in member.addresses.items():
            nodad = " nodad" if version == 6 else ""
            run_ip(f"addr add {address(version, number)}/{host_bits(version)} dev lo{nodad}\n", outside)
