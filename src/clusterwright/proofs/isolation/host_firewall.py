"""Firewall of the Linux below FBOSS: firewalld's zone of the management port, compared with the flows to it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from xml.etree import ElementTree

from clusterwright.packets.boxes import DPORT, ICMP4, ICMP6, PROTO, SRC, TCP, UDP, V4, V6, Box, PacketSet, box
from clusterwright.packets.phrases import address, version_of
from clusterwright.packets.ranges import Ranges, ranges, values
from clusterwright.packets.tokens import Unreadable
from clusterwright.packets.values import addresses
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.edges import leave_open, unreadable
from clusterwright.proofs.isolation.nodes import ZONE_FILE
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS

PROFILES = "etc/NetworkManager/system-connections/"
_ZONE = re.compile(r"^zone=(\S+)$", re.M)
_PROTOCOLS = {"tcp": TCP, "udp": UDP}
_MATCHING = frozenset({"port", "protocol", "icmp-type"})
_PINGS = {
    4: {"proto": values(ICMP4), "icmp": values(8)},
    6: {"proto": values(ICMP6), "icmp": values(128)},
}
_FAMILIES = {"ipv4": (V4, 4), "ipv6": (V6, 6)}
# fsdb_common.thrift: FSDB serves the telemetry that other systems serve over gNMI.
_FSDB = values(5908)
_HIGHEST_PORT = 65535


def firewall_faults(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Differences between the packets accepted by a switch's own Linux and the flows to its management port."""
    clean: set[tuple[str, str]] = set()
    profiles: dict[str, list[str]] = {}
    for switch, path in tree.below(PROFILES):
        profiles.setdefault(switch, []).append(path)
    for device in _firewalled_switches(tree):
        fabric = declared.management.get(device, "")
        if not declared.port_zones(fabric):
            continue
        text = tree.text(device, ZONE_FILE)
        yield from _unbound(tree, device, profiles.get(device, ()))
        if text is None:
            yield Counterexample(
                device=device,
                file=ZONE_FILE,
                line=0,
                message="the management port has no zone: its Linux takes everything",
            )
            continue
        if (fabric, text) in clean:
            continue
        try:
            passes = zone_passes(text)
        except Unreadable as error:
            leave_open(tree, device, ZONE_FILE, unreadable(device, ZONE_FILE, error))
            continue
        faults = list(_differences(declared, passes, _permitted(declared, fabric), text))
        if not faults:
            clean.add((fabric, text))
        for line, message in faults:
            yield Counterexample(device=device, file=ZONE_FILE, line=line, message=message)


def _firewalled_switches(tree: RenderedTree) -> Iterator[str]:
    """Switches with a firewall of their own Linux."""
    for reader in READERS:
        if reader.has_host_firewall:
            yield from tree.devices_with(reader.file)


def _unbound(tree: RenderedTree, device: str, profiles: Iterable[str]) -> Iterator[Counterexample]:
    """Profiles of the management port with another zone than the closed one, or none."""
    for path in profiles:
        zone_named = _ZONE.search(tree.text(device, path) or "")
        zone = "none" if zone_named is None else zone_named[1]
        if zone != "management":
            message = f"the profile names {zone} as its zone, and not management: the firewall takes everything"
            yield Counterexample(device=device, file=path, line=0, message=message)


def _permitted(declared: DeclaredIsolation, fabric: str) -> PacketSet:
    version = declared.fabric[fabric].version
    boxes: list[Box] = []
    for holder in declared.port_zones(fabric):
        for flow in declared.flows:
            sources = declared.peers(holder, flow.source, fabric, version) if flow.target == holder else None
            if not sources:
                continue
            fields = {"family": V4 if version == 4 else V6, "src": sources}
            if flow.protocol == "icmp":
                fields |= _PINGS[version]
            elif flow.protocol in _PROTOCOLS:
                fields["proto"] = values(_PROTOCOLS[flow.protocol])
            if flow.ports is not None:
                also = declared.collecting is not None and declared.collecting in flow.ports
                fields["dport"] = flow.ports | _FSDB if also else flow.ports
            boxes.append(box(**fields))
    return PacketSet(tuple(boxes))


def zone_passes(text: str) -> PacketSet:
    """Packets of new connections accepted by a zone. Raises Unreadable for an element of unknown meaning."""
    try:
        zone = ElementTree.fromstring(text)  # noqa: S314 - what this project rendered
    except ElementTree.ParseError as error:
        raise Unreadable(error.position[0], "this is no XML") from None
    if zone.get("target") != "DROP":
        return PacketSet((box(),))
    passes: list[Box] = []
    for part in zone:
        if part.tag == "port":
            passes.append(box(proto=_protocol(part), dport=_ports(part)))
        elif part.tag == "rule":
            passes.append(_rule(part))
        elif part.tag not in {"short", "description"}:
            raise Unreadable(0, f"<{part.tag}> is not known here")
    return PacketSet(tuple(passes))


def _rule(rule: ElementTree.Element) -> Box:
    parts = {part.tag: part for part in rule}
    known_tags = {"source", "port", "protocol", "icmp-type", "accept"}
    is_known = "accept" in parts and parts.keys() <= known_tags
    has_one_match = len(parts) == len(rule) and len(parts.keys() & _MATCHING) <= 1
    if not is_known or not has_one_match:
        raise Unreadable(0, f"a rule of {', '.join(part.tag for part in rule)} is not known here")
    family, version = _FAMILIES[_attribute(rule, "family", _FAMILIES)]
    fields = {"family": family}
    if "port" in parts:
        fields |= {"proto": _protocol(parts["port"]), "dport": _ports(parts["port"])}
    if "protocol" in parts:
        fields["proto"] = values(_PROTOCOLS[_attribute(parts["protocol"], "value", _PROTOCOLS)])
    if "icmp-type" in parts:
        _attribute(parts["icmp-type"], "name", {"echo-request"})
        fields |= _PINGS[version]
    if "source" in parts:
        try:
            fields["src"] = addresses(parts["source"].get("address", ""), version)
        except ValueError as error:
            raise Unreadable(0, str(error)) from None
    return box(**fields)


def _attribute(part: ElementTree.Element, attribute: str, meanings: Container[str]) -> str:
    """Value of an attribute. Raises Unreadable for an unknown value."""
    value = part.get(attribute, "")
    if value not in meanings:
        raise Unreadable(0, f'<{part.tag} {attribute}="{value}"> is not known here')
    return value


def _protocol(port: ElementTree.Element) -> Ranges:
    return values(_PROTOCOLS[_attribute(port, "protocol", _PROTOCOLS)])


def _ports(port: ElementTree.Element) -> Ranges:
    low, _, high = port.get("port", "").partition("-")
    try:
        first, last = int(low), int(high or low)
    except ValueError:
        first, last = 1, 0
    if not 0 <= first <= last <= _HIGHEST_PORT:
        raise Unreadable(0, f'<port port="{port.get("port", "")}"> is not known here')
    return ranges([(first, last)])


def _differences(
    declared: DeclaredIsolation, passes: PacketSet, wanted: PacketSet, text: str
) -> Iterator[tuple[int, str]]:
    for packets, verb, reason in (
        (passes - wanted, "passes", "no flow allows it"),
        (wanted - passes, "is stopped", "it is declared"),
    ):
        if packets:
            packet = packets.witness()
            version = version_of(packet)
            name = {TCP: "TCP", UDP: "UDP"}.get(packet[PROTO], f"protocol {packet[PROTO]}")
            source = address(version, packet[SRC])
            zone = declared.zone_at(version, packet[SRC])
            line = _line(text, packet[DPORT])
            yield line, f"{name} from {source} ({zone}) to port {packet[DPORT]} {verb}: {reason}."


def _line(text: str, port: int) -> int:
    """First line with a port in its range; 0 without one."""
    for number, line in enumerate(text.splitlines(), 1):
        match = re.search(r'port="(\d+)(?:-(\d+))?"', line)
        if match is not None and int(match[1]) <= port <= int(match[2] or match[1]):
            return number
    return 0
