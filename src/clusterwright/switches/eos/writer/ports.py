"""The Ethernet interfaces of an EOS switch: speed, breakout, error correction, MTU, addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.intent.switch import in_port_order
from clusterwright.intent.switch_links import error_correction
from clusterwright.plan.own_addresses import HOST_VLAN
from clusterwright.plan.ports import spare_ports
from clusterwright.switches.eos.writer.macsec import profile_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import Link, SwitchBond
    from clusterwright.spec.hardware.cages import PortMode
    from clusterwright.switches.eos.writer.borders import EosBorder

    Filters = Mapping[str, tuple[str, ...]]
    """By port to hosts, the lines that put access lists on it."""

_SPEEDS = {800: "800g-8", 400: "400g-8", 200: "200g-4", 100: "100g-4", 50: "50g-1", 40: "40g", 25: "25g", 10: "10g"}
_BREAKOUT_SPEEDS = {400: "400g-4", 200: "200g-4", 100: "100g-2", 50: "50g-1", 25: "25g", 10: "10g"}


@dataclass(frozen=True, slots=True)
class EosPort:
    """An Ethernet interface of the configuration."""

    name: str
    description: str
    shutdown: bool
    speed: str | None = None
    fec: str | None = None
    mtu: int | None = None
    """Bytes; None on a switched port, with the switch's default."""
    address: str | None = None
    """With its prefix length."""
    vlan: int | None = None
    """Set on ports of the shared host subnet."""
    profile: str | None = None
    """QoS profile."""
    filters: tuple[str, ...] = ()
    """Configuration lines that bind access lists to the port."""
    macsec: str | None = None
    """Profile that encrypts its link."""
    lacp: tuple[str, ...] = ()
    """Configuration lines that make it a port channel, or a member of one."""


def eos_ports(view: SwitchView, profile: str | None, filters: Filters, borders: tuple[EosBorder, ...]) -> list[EosPort]:
    """Every port, used or not, in port order. ``profile`` is the QoS profile of used ports."""
    ports = [_link_port(view, link, profile, filters) for link in view.links]
    ports += [_channel(bond, profile, filters) for bond in view.bonds]
    ports += [_border_port(view, border) for border in borders]
    ports += [EosPort(name, "unused", shutdown=True) for name in _spare_ports(view, borders)]
    ports.sort(key=lambda port: in_port_order(port.name))
    return ports


def _spare_ports(view: SwitchView, borders: tuple[EosBorder, ...]) -> list[str]:
    """The ports without a link and a border, in the mode of their cages."""
    mode_by_port: dict[str, PortMode | None] = {}
    for link in view.links:
        mode_by_port[link.port.port] = _mode(view, link.port.side, link.port.port, link.port.speed_gbps)
    for border in borders:
        mode_by_port[border.port] = _mode(view, "down", border.port, border.speed_gbps)
    return [name for name, _ in spare_ports(view.model, mode_by_port)]


def _mode(view: SwitchView, side: str, port: str, speed_gbps: int) -> PortMode | None:
    block_and_mode = view.mode_of(side, port, speed_gbps)
    return None if block_and_mode is None else block_and_mode[1]


def _link_port(view: SwitchView, link: Link, profile: str | None, filters: Filters) -> EosPort:
    port = link.port
    bond = view.bond_at.get(port.port)
    speed = _speed(view, port.side, port.port, port.speed_gbps)
    fec = error_correction(port.speed_gbps, link.cable.medium, link.cable.length_m)
    if bond is not None:
        return EosPort(
            name=port.port,
            description=link.description,
            shutdown=not link.is_up,
            speed=speed,
            fec=fec,
            lacp=_member_lines(bond),
        )
    is_routed = link.is_routed
    return EosPort(
        name=port.port,
        description=link.description,
        shutdown=not link.is_up,
        speed=speed,
        fec=fec,
        mtu=view.fabric.mtu if is_routed else None,
        address=f"{link.address}/{port.prefix_length}" if is_routed else None,
        vlan=None if is_routed else HOST_VLAN,
        profile=profile,
        filters=filters.get(port.port, ()),
        macsec=profile_of(link),
    )


def _member_lines(bond: SwitchBond) -> tuple[str, ...]:
    """The lines to make a port a member of its bond's port channel."""
    timer = "fast" if bond.bond.rate == "fast" else "normal"
    return (f"channel-group {bond.number} mode active", f"lacp timer {timer}")


def _channel(bond: SwitchBond, profile: str | None, filters: Filters) -> EosPort:
    """A port channel: on EOS it has the VLAN, lists and classes, and its members have none."""
    return EosPort(
        name=f"Port-Channel{bond.number}",
        description=bond.description,
        shutdown=False,
        vlan=HOST_VLAN,
        profile=profile,
        filters=filters.get(bond.ports[0], ()),
        lacp=("port-channel lacp fallback static",),
    )


def _border_port(view: SwitchView, border: EosBorder) -> EosPort:
    return EosPort(
        name=border.port,
        description=f"border {border.name}",
        shutdown=False,
        speed=_speed(view, "down", border.port, border.speed_gbps),
        fec=error_correction(border.speed_gbps, "smf", 0),
        mtu=view.fabric.mtu,
        address=border.address,
        filters=border.filters,
    )


def _speed(view: SwitchView, side: str, port: str, speed_gbps: int) -> str | None:
    """The speed with its number of lanes: fewer for a port in a shared cage."""
    mode = _mode(view, side, port, speed_gbps)
    if mode is not None and len(mode.subports) > 1:
        return _BREAKOUT_SPEEDS.get(speed_gbps)
    return _SPEEDS.get(speed_gbps)
