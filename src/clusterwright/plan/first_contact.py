"""First addresses from a server on the management network: the devices, and how the server recognises them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clusterwright.plan.model import Cable, Plan
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.hardware.port_names import dns_label
from clusterwright.spec.hardware.systems import system_of


class PortContact(NamedTuple):
    """A management port with a request for its planned address.

    ``host_name`` is the device's name on the server, for its further ports with the port's behind. ``switch_port`` is
    the port of the management ``switch`` at the cable's end. ``mac`` is None until it is noted. ``system`` is the
    switch's, "" for a BMC and for a switch configured by others.
    """

    device: str
    host_name: str
    port: str
    switch: str
    switch_port: str
    mac: int | None
    address: int
    fabric: str
    system: str


def contact_fabrics(plan: Plan) -> tuple[Fabric, ...]:
    """The management networks within reach of the first-contact server: of its IP version, with a gateway."""
    contact = plan.spec.first_contact
    if contact is None:
        return ()
    fabrics: list[Fabric] = []
    for fabric in plan.spec.fabrics:
        addressing = fabric.addressing
        if not fabric.is_management or addressing is None:
            continue
        has_gateway = addressing.host_links == "shared"
        if has_gateway and addressing.hosts.version == contact.server.version:
            fabrics.append(fabric)
    return tuple(fabrics)


def contacts(plan: Plan) -> Iterator[PortContact]:
    """Every management port with an address and a cable in service, in cabling order; none without a server."""
    names = {fabric.name for fabric in contact_fabrics(plan)}
    for cable in plan.cables:
        if cable.fabric not in names or not cable.in_service:
            continue
        if cable.a.side == "management" and cable.a.address is not None:
            yield _contact(plan, cable, cable.a.address)


def _contact(plan: Plan, cable: Cable, address: int) -> PortContact:
    device = plan.by_name[cable.a.device]
    model = plan.spec.catalogue[device.model]
    system = system_of(model) if device.kind == "switch" else None
    is_first = cable.a.port == model.management_names[0]
    return PortContact(
        device=device.name,
        host_name=device.name if is_first else f"{device.name}-{dns_label(cable.a.port)}",
        port=cable.a.port,
        switch=cable.b.device,
        switch_port=cable.b.port,
        mac=plan.spec.noted_macs.get((device.name, cable.a.port)),
        address=address,
        fabric=cable.fabric,
        system="" if system is None else system.name,
    )


def is_known(plan: Plan, contact: PortContact) -> bool:
    """Whether the server can recognise the port: by a noted address, or by the relay's port."""
    section = plan.spec.first_contact
    return contact.mac is not None or (section is not None and section.relay_ports is not None)


def contact_relays(plan: Plan) -> Mapping[str, int]:
    """The server's address by relaying switch: each with a management port behind it."""
    section = plan.spec.first_contact
    if section is None:
        return {}
    return {contact.switch: int(section.server) for contact in contacts(plan)}
