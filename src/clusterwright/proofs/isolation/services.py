"""Who reaches the services of a switch: the lists of SSH, eAPI, SNMP and gNMI, beside the flows to management ports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from clusterwright.packets.boxes import DST, FAMILY, SRC, V4, V6, WHOLE
from clusterwright.packets.filters import ACCEPT, Rule
from clusterwright.packets.phrases import address
from clusterwright.packets.ranges import EMPTY, Ranges
from clusterwright.packets.tokens import Unreadable
from clusterwright.platforms.eos.reader.lists import EosLists, read_eos_lists
from clusterwright.platforms.sonic.reader.lists import CONTROL_PLANE, SonicLists
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.isolation.edges import EOS, SONIC, unreadable
from clusterwright.proofs.tree import RenderedTree

_FAMILIES = {4: V4, 6: V6}
_WORDS = {"ip": 4, "ipv4": 4, "ipv6": 6}
_LETTERS = {4: "ip", 6: "ipv6"}
_SHOWN = 3  # zones for each list and direction
# each begins with the end of the line before: a search for a fixed text is much faster than one for beginnings of lines
_SSH = re.compile(r"\nmanagement ssh\n((?:   .*\n)*)")
_EAPI = re.compile(r"\nmanagement api http-commands\n((?:   .*\n)*)")
_GNMI = re.compile(r"\nmanagement api gnmi\n((?:   .*\n)*)")
_SNMP = re.compile(r"\nsnmp-server vrf MGMT\n()")
_SSH_LIST = re.compile(r"^   (ip|ipv6) access-group (\S+) vrf MGMT in$", re.M)
_API_LIST = re.compile(r"^      (ip|ipv6) access-group (\S+)$", re.M)
_SNMP_LIST = re.compile(r"\nsnmp-server (ipv4|ipv6) access-list (\S+) vrf MGMT$", re.M)
_GNMI_PORT = re.compile(r"^      port (\d+)$", re.M)


@dataclass(frozen=True, slots=True)
class _Service:
    """A service that listens on the management port: where its sources are listed, None for everybody.

    ``rules`` are asked in turn, a source that none of them takes is refused; ``line`` is where the service begins.
    """

    name: str
    protocol: str
    port: int
    version: int
    line: int
    rules: tuple[Rule, ...] | None


def service_faults(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Every difference between who reaches a switch's services and the flows. Raises VerifyError."""
    clean: set[object] = set()
    for file, read in ((EOS, _eos), (SONIC, _sonic)):
        for device in tree.devices_with(file):
            fabric = declared.management.get(device, "")
            if not holders(declared, fabric):
                continue
            try:
                services = tuple(read(tree.text(device, file) or ""))
            except Unreadable as error:
                raise unreadable(device, file, error) from None
            shape = (fabric, tuple((s.name, s.port, s.version, _behaviour(s)) for s in services))
            if shape in clean:
                continue
            found = [fault for service in services for fault in _faults(declared, fabric, service)]
            if not found:
                clean.add(shape)
            yield from (Counterexample(device, file, line, message) for line, message in found)


def holders(declared: DeclaredIsolation, fabric: str) -> tuple[str, ...]:
    """The zones that hold the management ports on a fabric."""
    return tuple(zone.name for zone in declared.zones if zone.is_ports and zone.on(fabric))


def declared_sources(declared: DeclaredIsolation, fabric: str, version: int, protocol: str, port: int) -> Ranges:
    """Whom a flow lets reach a port of the switches' management ports."""
    found = EMPTY
    if version != declared.fabric[fabric].version:
        return found
    for flow in declared.flows:
        has_port = flow.ports is None or port in flow.ports
        if flow.target in holders(declared, fabric) and flow.protocol in {protocol, "any"} and has_port:
            found |= declared.peers(flow.target, flow.source, fabric, version)
    return found


def _behaviour(service: _Service) -> object:
    return None if service.rules is None else tuple((rule.matches, rule.verdict) for rule in service.rules)


def _faults(declared: DeclaredIsolation, fabric: str, service: _Service) -> Iterator[tuple[int, str]]:
    wanted = declared_sources(declared, fabric, service.version, service.protocol, service.port)
    what = f"{service.name} ({service.protocol.upper()} {service.port})"
    passes, idle = _passing(service)
    yield from ((line, f"{what}: this entry decides about no source.") for line in idle)
    for left, verb, reason in (
        (passes - wanted, "reaches it", "no flow allows it"),
        (wanted - passes, "is refused", "it is declared"),
    ):
        for zone, number in _by_zone(declared, service.version, left):
            line = _line(service, number)
            missing = "" if service.rules is not None else " It has no list of sources."
            yield line, f"{what}: {address(service.version, number)} {verb}, from {zone}: {reason}.{missing}"


def _passing(service: _Service) -> tuple[Ranges, list[int]]:
    """The sources that a service takes, and the lines of entries that decide about none."""
    if service.rules is None:
        return WHOLE[SRC] & _all(service.version), []
    left, passes, idle = _all(service.version), EMPTY, []
    for rule in service.rules:
        own = _sources(rule, service.version)
        if not own & left:
            idle.append(rule.line)
        if rule.verdict == ACCEPT:
            passes |= own & left
        left = left - own
    return passes, idle


def _sources(rule: Rule, version: int) -> Ranges:
    found = EMPTY
    for each in rule.matches:
        if each[FAMILY] & _FAMILIES[version]:
            found |= each[SRC]
    return found & _all(version)


def _all(version: int) -> Ranges:
    return Ranges(((0, (1 << (32 if version == 4 else 128)) - 1),))


def _line(service: _Service, number: int) -> int:
    for rule in service.rules or ():
        if number in _sources(rule, service.version):
            return rule.line
    return service.line


def _by_zone(declared: DeclaredIsolation, version: int, left: Ranges) -> Iterator[tuple[str, int]]:
    """An address of each zone in a set, then one of none."""
    shown = 0
    for zone in declared.zones:
        for part in zone.parts:
            both = part.addresses & left if part.version == version else EMPTY
            if both and shown < _SHOWN:
                shown += 1
                left = left - part.addresses
                yield declared.zone_at(version, both.bounds[0][0]), both.bounds[0][0]
    if left and shown < _SHOWN:
        number = max(low for low, _ in left.bounds)
        yield declared.zone_at(version, number), number


def _eos(text: str) -> Iterator[_Service]:
    lists = read_eos_lists(text)
    lined = f"\n{text}"
    asked: Iterable[tuple[str, str, int, re.Pattern[str], re.Pattern[str]]] = (
        ("SSH", "tcp", 22, _SSH, _SSH_LIST),
        ("eAPI", "tcp", 443, _EAPI, _API_LIST),
        ("SNMP", "udp", 161, _SNMP, _SNMP_LIST),
        ("gNMI", "tcp", 6030, _GNMI, _API_LIST),
    )
    for name, protocol, usual, section, named in asked:
        begins = section.search(lined)
        if begins is None:
            continue
        body = begins[1] or lined
        number = _GNMI_PORT.search(body) if name == "gNMI" else None
        port = int(number[1]) if number is not None else usual
        bound = {_WORDS[word]: own for word, own in named.findall(body)}
        line = text.count("\n", 0, begins.start()) + 1
        for version in (4, 6):
            if (name, version) != ("gNMI", 6):  # EOS names no list for it; the port's own one judges it
                yield _Service(name, protocol, port, version, line, _asked(lists, version, bound.get(version)))


def _asked(lists: EosLists, version: int, name: str | None) -> tuple[Rule, ...] | None:
    """The rules of a list; None where there is no list, or none of that name, which lets everybody in."""
    key = (_LETTERS[version], name or "")
    rules = lists.sources.get(key, lists.lists.get(key))
    for rule in rules or ():
        if any(each[DST] != WHOLE[DST] and each[DST] != _all(version) for each in rule.matches):
            raise Unreadable(rule.line, f"list {name} is asked about sources, and names a destination")
    return rules


def _sonic(text: str) -> Iterator[_Service]:
    """The control plane's tables; without any rule in any of them nothing is dropped."""
    lists = SonicLists(text)
    document: Mapping[str, object] = json.loads(text)
    tables: dict[str, str] = {}
    for name, table in lists.tables.items():
        if table.get("type") == CONTROL_PLANE:
            tables |= dict.fromkeys(table.get("services", ()), name)
    is_on = any(lists.rules_of(name) for name in tables.values())
    gnmi = document.get("GNMI")
    asked = [("SSH", "tcp", 22)]
    if "SNMP_USER" in document:
        asked.append(("SNMP", "udp", 161))
    if isinstance(gnmi, Mapping):
        asked.append(("EXTERNAL_CLIENT", "tcp", int(gnmi["gnmi"]["port"])))
    for service, protocol, port in asked:
        name = tables.get(service)
        rules = lists.rules_of(name) if name is not None and is_on else None
        line = lists.line(name) if name is not None else 0
        shown = "gNMI" if service == "EXTERNAL_CLIENT" else service
        for version in (4, 6):
            own = None if rules is None else tuple(rule for rule in rules if _sources(rule, version))
            yield _Service(shown, protocol, port, version, line, own)
