"""CW570 to CW574: the boot server for switches, the devices it identifies, and the files it serves."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.and_more import and_more
from clusterwright.finding import Severity
from clusterwright.plan.first_contact import PortContact, contacts, is_known
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.systems import System, systems
from clusterwright.spec.model import ClusterSpec

_SHOWN = 3
_IPV6 = 6


@rule("CW570", Severity.ERROR)
def unsuitable_boot_server(subject: Subject) -> Iterator[Problem]:
    """A boot server not reachable from a management network, or unsuitable for Kea."""
    spec, section = subject.spec, subject.spec.first_contact
    if section is None:
        return
    path = (*section.path, "server")
    managing = [fabric for fabric in spec.fabrics if fabric.is_management and fabric.addressing is not None]
    if not managing:
        yield Problem(
            path, "No management network with addresses uses it.", "Add a fabric that attaches `management: true`."
        )
        return
    for fabric in managing:
        hosts = fabric.addressing.hosts if fabric.addressing is not None else None
        if hosts is None:
            continue
        if hosts.version != section.server.version:
            message = f"{section.server} is of IPv{section.server.version}, and {fabric.name} of IPv{hosts.version}."
            yield Problem(path, message, f"Name the server's address of IPv{hosts.version}.")
        elif section.server in hosts:
            message = f"{section.server} lies in {hosts}, whose addresses are the plan's own devices'."
            yield Problem(path, message, "Name a server behind the management network, in a zone with `prefixes`.")
        elif fabric.addressing is not None and fabric.addressing.host_links != "shared":
            message = f"Ports on {fabric.name} share no subnet with a gateway, which could relay their requests."
            yield Problem(path, message, f"Write `host_links: shared` under the addressing of {fabric.name}.")
    if section.server.version == _IPV6 and section.interface is None:
        message = "Kea answers relays over IPv6 only on a configured interface."
        yield Problem(section.path, message, "Name the server's own: `interface: eno1`.")
    if section.server.version == _IPV6 and section.relay_ports is not None:
        message = "Kea cannot identify a client over IPv6 by the port that a relay reports."
        yield Problem((*section.path, "relay_ports"), message, "Remove it, and record MAC addresses.")


@rule("CW571", Severity.ERROR)
def configured_without_administrator(subject: Subject) -> Iterator[Problem]:
    """First configurations without a login."""
    section, operators = subject.spec.first_contact, subject.spec.site.operators
    if section is not None and not any(operator.role == "admin" and operator.keys for operator in operators):
        message = "No operator has the role admin and a key: no operator could log in to switches."
        yield Problem(section.path, message, "Add one under `site.operators`.")


@rule("CW572", Severity.WARNING)
def unknown_devices(subject: Subject) -> Iterator[Problem]:
    """Devices not identified in their DHCP request."""
    section = subject.spec.first_contact
    if section is None:
        return
    plan = subject.plan
    unknown = [f"{contact.device} {contact.port}" for contact in contacts(plan) if not is_known(plan, contact)]
    if unknown:
        message = f"The MAC address of {and_more(unknown, _SHOWN)} is not recorded: it gets no address."
        hint = "Write it into the overlay file (device, port, mac), or set the relays' circuit IDs under `relay_ports`."
        yield Problem(section.path, message, hint)


@rule("CW573", Severity.WARNING)
def unserved_systems(subject: Subject) -> Iterator[Problem]:
    """Switches with an address from the boot server and without a first configuration."""
    section = subject.spec.first_contact
    if section is None:
        return
    version = section.server.version
    unserved: dict[str, list[PortContact]] = {}
    for contact in contacts(subject.plan):
        if contact.system and systems()[contact.system].first_contact.over(version) is None:
            unserved.setdefault(contact.system, []).append(contact)
    for name, unserved_contacts in unserved.items():
        devices = and_more([contact.device for contact in unserved_contacts], _SHOWN)
        message = f"{devices} get an address and no first configuration:"
        yield Problem(
            section.path, f"{message} {_reason(systems()[name], version)}.", "Configure them by their console."
        )


def _reason(system: System, version: int) -> str:
    reason = system.first_contact.reason
    return reason if reason is not None else f"none is written for {system.title} over IPv{version}"


@rule("CW574", Severity.ERROR)
def installers(subject: Subject) -> Iterator[Problem]:
    """Installers of systems not supported by ONIE, not in use, or listed twice."""
    section = subject.spec.first_contact
    if section is None:
        return
    running = _systems_of(subject.spec)
    seen: set[str] = set()
    for installer in section.installers:
        path, system = (*installer.path, "system"), systems().get(installer.system)
        if system is None or not system.first_contact.onie:
            names = sorted(name for name, system in systems().items() if system.first_contact.onie)
            message = f'ONIE installs no system "{installer.system}".'
            yield Problem(path, message, f"Those that it installs: {', '.join(names)}.")
        elif installer.system not in running:
            yield Problem(path, f"No switch of the spec runs {system.title}.", "Leave the installer out.")
        elif installer.system in seen:
            yield Problem(path, f"{system.title} has an installer already.", "Keep one.")
        elif section.server.version == _IPV6:
            message = "ONIE's requests over IPv6 are not answered."
            yield Problem(path, message, "Install over IPv4, or from a file beside the switch.")
        seen.add(installer.system)


def _systems_of(spec: ClusterSpec) -> frozenset[str]:
    return frozenset(tier.model.network_os or "" for tier in spec.tiers)
