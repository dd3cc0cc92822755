"""The Ethernet interfaces of an EOS switch: speed, breakout, error correction, MTU, addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clusterwright.intent.edge import is_host_port
from clusterwright.intent.switch import in_port_order
from clusterwright.intent.switch_links import error_correction
from clusterwright.plan.model import format_address
from clusterwright.plan.own_addresses import HOST_VLAN
from clusterwright.plan.ports import spare_ports
from clusterwright.platforms.eos.writer.macsec import profile_of

if TYPE_CHECKING:
    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import Link, SwitchBond
    from clusterwright.platforms.eos.writer.borders import EosBorder
    from clusterwright.spec.hardware.cages import PortBlock, PortMode

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


def eos_ports(
    view: SwitchView, profile: str | None, filters: tuple[str, ...], borders: tuple[EosBorder, ...]
) -> tuple[EosPort, ...]:
    """Every port, used or not, in order; ``profile`` is the QoS profile of the used, ``filters`` of those to hosts."""
    modes = {link.port.port: view.mode_of(link.port.side, link.port.port, link.port.speed_gbps) for link in view.links}
    modes |= {border.port: view.mode_of("down", border.port, border.speed_gbps) for border in borders}
    used = {port: found and found[1] for port, found in modes.items()}
    ports = [_port(view, link, profile, filters if is_host_port(link) else ()) for link in view.links]
    ports += [_channel(bond, profile, filters) for bond in view.bonds]
    ports += [_border_port(view, border) for border in borders]
    ports += [EosPort(name, "unused", shutdown=True) for name, _ in spare_ports(view.model, used)]
    return tuple(sorted(ports, key=lambda port: in_port_order(port.name)))


def _channel(bond: SwitchBond, profile: str | None, filters: tuple[str, ...]) -> EosPort:
    """A port channel: EOS asks it, and no port of it, for VLAN, lists and classes."""
    return EosPort(
        name=f"Port-Channel{bond.number}",
        description=bond.description,
        shutdown=False,
        vlan=HOST_VLAN,
        profile=profile,
        filters=filters,
        lacp=("port-channel lacp fallback static",),
    )


def _port(view: SwitchView, link: Link, profile: str | None, filters: tuple[str, ...]) -> EosPort:
    address = link.port.address
    bond = view.bond_at.get(link.port.port)
    name, description, shutdown = link.port.port, link.description, not link.is_up
    speed = _speed(view.mode_of(link.port.side, name, link.port.speed_gbps), link.port.speed_gbps)
    fec = error_correction(link.port.speed_gbps, link.cable.medium, link.cable.length_m)
    if bond is not None:
        timer = "fast" if bond.bond.rate == "fast" else "normal"
        lacp = (f"channel-group {bond.number} mode active", f"lacp timer {timer}")
        return EosPort(name, description, shutdown, speed, fec, lacp=lacp)
    return EosPort(
        name,
        description,
        shutdown,
        speed,
        fec,
        mtu=view.fabric.mtu if link.is_routed else None,
        address=None if address is None else f"{format_address(address, view.version)}/{link.port.prefix_length}",
        vlan=None if link.is_routed else HOST_VLAN,
        profile=profile,
        filters=filters,
        macsec=profile_of(link),
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
