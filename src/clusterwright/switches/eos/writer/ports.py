"""The Ethernet interfaces of an EOS switch: speed, breakout, error correction, MTU, addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clusterwright.intent.per_plan import per_plan
from clusterwright.intent.switch import in_port_order
from clusterwright.intent.switch_links import error_correction
from clusterwright.plan.own_addresses import HOST_VLAN
from clusterwright.plan.ports import spare_ports
from clusterwright.switches.eos.writer.macsec import profile_of
from clusterwright.text.places import PLACE, as_format
from clusterwright.text.templates import template

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import Link
    from clusterwright.plan.model import Plan
    from clusterwright.spec.hardware.cages import PortBlock, PortMode
    from clusterwright.switches.eos.writer.borders import EosBorder

_SPEEDS = {800: "800g-8", 400: "400g-8", 200: "200g-4", 100: "100g-4", 50: "50g-1", 40: "40g", 25: "25g", 10: "10g"}
_BREAKOUT_SPEEDS = {400: "400g-4", 200: "200g-4", 100: "100g-2", 50: "50g-1", 25: "25g", 10: "10g"}


class EosPort(NamedTuple):
    """An Ethernet interface. ``address`` with its length; ``vlan`` for a port of the shared host subnet.

    ``filters`` are the lines that put access lists on it, ``macsec`` the profile that encrypts its link, ``lacp`` the
    lines that make it a part of a port channel, or one.
    """

    name: str
    description: str
    shutdown: bool
    speed: str | None = None
    fec: str | None = None
    mtu: int | None = None
    address: str | None = None
    vlan: int | None = None
    profile: str | None = None
    filters: tuple[str, ...] = ()
    macsec: str | None = None
    lacp: tuple[str, ...] = ()


class _EosShape(NamedTuple):
    """What a port's lines depend on beside the texts that fill them, and beside the switch's tier and model.

    ``bond`` is the number of the port channel that it is a part of, and how often LACP speaks there.
    """

    name: str
    side: str
    speed_gbps: int
    fec: str | None
    is_up: bool
    is_routed: bool
    filters: tuple[str, ...]
    macsec: str | None
    bond: tuple[int, str] | None


class _EosLines(NamedTuple):
    """The lines of all ports as a format, and which texts fill it: descriptions of links, then their addresses, then
    descriptions of port channels."""

    lines: str
    order: tuple[int, ...]


def eos_interfaces(
    plan: Plan,
    view: SwitchView,
    profile: str | None,
    filters: Mapping[str, tuple[str, ...]],
    borders: tuple[EosBorder, ...],
) -> str:
    """The lines of every port, used or not, in order; ``profile`` is the QoS profile of the used, ``filters`` are the
    lines of those to hosts."""
    shapes = tuple(_shape(view, link, filters.get(link.port.port, ())) for link in view.links)
    channels = tuple((bond.number, filters.get(bond.ports[0], ())) for bond in view.bonds)
    known = _known(plan, view.device.fabric, view.device.tier, view.device.model)
    key = shapes, channels, profile, borders
    alike = known.get(key)
    if alike is None:
        alike = known[key] = _of_shapes(view, *key)
    texts = [link.description for link in view.links]
    texts += ["" if link.address is None else f"{link.address}/{link.port.prefix_length}" for link in view.links]
    texts += [bond.description for bond in view.bonds]
    return alike.lines % tuple(map(texts.__getitem__, alike.order))


@per_plan
def _known(plan: Plan, fabric: str, tier: int, model: str) -> dict[Hashable, _EosLines]:
    return {}


def _of_shapes(
    view: SwitchView,
    shapes: tuple[_EosShape, ...],
    channels: tuple[tuple[int, tuple[str, ...]], ...],
    profile: str | None,
    borders: tuple[EosBorder, ...],
) -> _EosLines:
    """Of ``view`` nothing is read but what its whole tier has."""
    modes = {shape.name: view.mode_of(shape.side, shape.name, shape.speed_gbps) for shape in shapes}
    modes |= {border.port: view.mode_of("down", border.port, border.speed_gbps) for border in borders}
    used = {port: found and found[1] for port, found in modes.items()}
    count = len(shapes)
    ports: list[tuple[EosPort, tuple[int, ...]]] = []
    ports += [(_port(view, shape, profile), (at, count + at)) for at, shape in enumerate(shapes)]
    ports += [(_channel(*channel, profile), (2 * count + at,)) for at, channel in enumerate(channels)]
    ports += [(_border_port(view, border), ()) for border in borders]
    ports += [(EosPort(name, "unused", shutdown=True), ()) for name, _ in spare_ports(view.model, used)]
    ports.sort(key=lambda entry: in_port_order(entry[0].name))
    ip = "ip" if view.version == 4 else "ipv6"
    lines = "".join(template("eos/interface.j2").render(port=port, ip=ip) for port, _ in ports)
    order = (text for port, texts in ports for text in (texts if port.address is not None else texts[:1]))
    return _EosLines(as_format(lines), tuple(order))


def _shape(view: SwitchView, link: Link, filters: tuple[str, ...]) -> _EosShape:
    port, bond = link.port, view.bond_at.get(link.port.port)
    return _EosShape(
        port.port,
        port.side,
        port.speed_gbps,
        error_correction(port.speed_gbps, link.cable.medium, link.cable.length_m),
        link.is_up,
        link.is_routed,
        filters,
        profile_of(link),
        None if bond is None else (bond.number, bond.bond.rate),
    )


def _channel(number: int, filters: tuple[str, ...], profile: str | None) -> EosPort:
    """A port channel: EOS asks it, and no port of it, for VLAN, lists and classes."""
    return EosPort(
        name=f"Port-Channel{number}",
        description=PLACE,
        shutdown=False,
        vlan=HOST_VLAN,
        profile=profile,
        filters=filters,
        lacp=("port-channel lacp fallback static",),
    )


def _port(view: SwitchView, shape: _EosShape, profile: str | None) -> EosPort:
    speed = _speed(view.mode_of(shape.side, shape.name, shape.speed_gbps), shape.speed_gbps)
    name, shutdown = shape.name, not shape.is_up
    if shape.bond is not None:
        number, rate = shape.bond
        timer = "fast" if rate == "fast" else "normal"
        lacp = (f"channel-group {number} mode active", f"lacp timer {timer}")
        return EosPort(name, PLACE, shutdown, speed, shape.fec, lacp=lacp)
    return EosPort(
        name,
        PLACE,
        shutdown,
        speed,
        shape.fec,
        mtu=view.fabric.mtu if shape.is_routed else None,
        address=PLACE if shape.is_routed else None,
        vlan=None if shape.is_routed else HOST_VLAN,
        profile=profile,
        filters=shape.filters,
        macsec=shape.macsec,
    )


def _border_port(view: SwitchView, border: EosBorder) -> EosPort:
    return EosPort(
        name=border.port,
        description=f"border {border.name}",
        shutdown=False,
        speed=_speed(view.mode_of("down", border.port, border.speed_gbps), border.speed_gbps),
        fec=error_correction(border.speed_gbps, "smf", 0),
        mtu=view.fabric.mtu,
        address=border.address,
        filters=border.filters,
    )


def _speed(found: tuple[PortBlock, PortMode] | None, speed_gbps: int) -> str | None:
    """The speed with its number of lanes, which a port that shares its cage with others has fewer of."""
    is_breakout = found is not None and len(found[1].subports) > 1
    return (_BREAKOUT_SPEEDS if is_breakout else _SPEEDS).get(speed_gbps)
