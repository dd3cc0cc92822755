"""Disagreements between a plan and its allocation file: wrong facts, removed devices, missing entries.

They are looked for in the plan built from both, fact by fact: a fact of the file is either true in the plan or reported
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from clusterwright.plan.allocation.standing import Standing
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Cable, Device, Plan, format_address
from clusterwright.plan.service import dead_ports
from clusterwright.spec.allocated.facts import NOTHING_STANDS, Allocated, StandingCable, StandingNode, StandingSwitch
from clusterwright.spec.hardware.cages import PortMode
from clusterwright.spec.isolation import Network


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A fact of the file, at ``line``, refused by the plan, with the reason.

    ``is_place``: nothing but the place in the rack differs.
    """

    line: int
    message: str
    is_place: bool = False


@dataclass(frozen=True)
class Comparison:
    """A plan beside its allocation file."""

    plan: Plan
    allocated: Allocated

    @cached_property
    def standing(self) -> Standing:
        """The file's facts under today's names."""
        return Standing(self.plan.spec, self.allocated)

    @cached_property
    def _cables(self) -> dict[tuple[str, str, str], Cable]:
        return {(cable.fabric, cable.a.device, cable.a.port): cable for cable in self.plan.cables}

    @cached_property
    def _hosts(self) -> dict[str, int]:
        return {device: subnet.network for (_, device), subnet in self.plan.host_subnet_of.items()}

    @cached_property
    def gone(self) -> Sequence[tuple[int, str]]:
        """Entries of the file without a counterpart in the plan, each with its line and its name."""
        gone: list[tuple[int, str]] = []
        for recorded in (self.standing.nodes, self.standing.switches):
            gone.extend((entry.line, name) for name, entry in recorded.items() if name not in self.plan.by_name)
        for fabric, cables in self.standing.cables.items():
            for (device, port), cable in cables.items():
                is_there = device in self.plan.by_name and cable.upper in self.plan.by_name
                if is_there and (fabric, device, port) not in self._cables:
                    gone.append((cable.line, f"the cable of {device} {port}"))
        return sorted(gone)

    @cached_property
    def moved_to_new(self) -> Sequence[Cable]:
        """Cables of the plan moved from other switches to new ones."""
        moved: list[Cable] = []
        for fabric, cables in self.standing.cables.items():
            for (device, port), cable in cables.items():
                now = self._cables.get((fabric, device, port))
                if now is None or now.b.device == cable.upper:
                    continue
                if now.b.device not in self.standing.switches:
                    moved.append(now)
        return tuple(moved)

    @cached_property
    def unrecorded(self) -> tuple[int, int]:
        """Numbers of the plan's devices and cables missing in the file."""
        recorded = {*self.standing.nodes, *self.standing.switches}
        devices = sum(device.name not in recorded for device in self.plan.devices)
        cables = 0
        for cable in self.plan.cables:
            recorded_cables = self.standing.cables.get(cable.fabric, {})
            if (cable.a.device, cable.a.port) not in recorded_cables:
                cables += 1
        return devices, cables

    @cached_property
    def disagreements(self) -> tuple[Disagreement, ...]:
        """Facts different in the plan, in the order of the file's sections."""
        return tuple(self._found())

    def _found(self) -> Iterator[Disagreement]:
        for name, node in self.standing.nodes.items():
            device = self.plan.by_name.get(name)
            if device is not None:
                yield from self._of_node(node, device)
        for name, switch in self.standing.switches.items():
            device = self.plan.by_name.get(name)
            if device is not None:
                yield from self._of_switch(switch, device)
                yield from self._of_model(switch, device)
        dead = dead_ports(self.plan.spec)
        for fabric, cables in self.standing.cables.items():
            for (device_name, port), cable in cables.items():
                now = self._cables.get((fabric, device_name, port))
                if now is None or cable.upper not in self.plan.by_name:
                    continue
                if cable.upper_port in dead.get(cable.upper, ()) or now.b.device not in self.standing.switches:
                    continue
                yield from self._of_cable(cable, now)

    def _of_node(self, node: StandingNode, device: Device) -> Iterator[Disagreement]:
        if node.number != device.index:
            yield Disagreement(node.line, f"{device.name} has the number {device.index}, here {node.number}.")
        yield from self._of_place(node.line, device, device.rack, node.unit)

    def _of_place(self, line: int, device: Device, rack: str, unit: float) -> Iterator[Disagreement]:
        if (rack, unit) != (device.rack, device.unit):
            message = (
                f"{device.name} stands in {rack} at unit {unit:g}, where it has no room any more: the plan has it in"
                f" {device.rack} at unit {device.unit:g}."
            )
            yield Disagreement(line, message, is_place=True)

    def _of_switch(self, switch: StandingSwitch, device: Device) -> Iterator[Disagreement]:
        name = device.name
        if switch.number != device.index or switch.asn != device.asn:
            planned, recorded = (device.index, switch.number) if switch.asn == device.asn else (device.asn, switch.asn)
            what = "number" if switch.asn == device.asn else "AS number"
            yield Disagreement(switch.line, f"{name} has the {what} {planned} by the spec, here {recorded}.")
        fabric = self.plan.spec.fabric(device.fabric)
        addressing = fabric.addressing if fabric is not None else None
        if addressing is not None:
            loopbacks, hosts = addressing.loopbacks, addressing.hosts
            yield from _of_pool(switch, "loopback", loopbacks, recorded=switch.loopback, planned=device.loopback)
            yield from _of_pool(switch, "host subnet", hosts, recorded=switch.hosts, planned=self._hosts.get(name))
        yield from self._of_place(switch.line, device, switch.rack, switch.unit)

    def _of_model(self, switch: StandingSwitch, device: Device) -> Iterator[Disagreement]:
        """A switch of another model, with its cables at other ports."""
        if switch.model == device.model:
            return
        ports = {cable.b.port for cable in self.plan.cables_of[device.name]}
        ports |= {cable.a.port for cable in self.plan.cables_of[device.name]}
        standing_ports = {port for name, port in self._standing_ends if name == device.name}
        gone = sorted(standing_ports - ports)
        if not gone:
            return
        was, model = self.plan.spec.catalogue.get(switch.model), self.plan.spec.catalogue[device.model]
        is_same = was is not None and (was.manufacturer, was.part) == (model.manufacturer, model.part)
        what = f"of its ports are called otherwise, {gone[0]} the first"
        if not is_same:
            what = f"of its cables go to other ports, {gone[0]} the first"
        message = f"{device.name} is a {device.model} now, and was a {switch.model}: {len(gone):,} {what}."
        yield Disagreement(switch.line, message, is_place=True)

    @cached_property
    def _standing_ends(self) -> set[tuple[str, str]]:
        standing_ends = set()
        for cables in self.standing.cables.values():
            for cable in cables.values():
                standing_ends |= {(cable.device, cable.port), (cable.upper, cable.upper_port)}
        return standing_ends

    def _has_another_model(self, name: str) -> bool:
        switch = self.standing.switches.get(name)
        return switch is not None and switch.model != self.plan.by_name[name].model

    def _of_cable(self, cable: StandingCable, now: Cable) -> Iterator[Disagreement]:
        lower = f"{now.a.device} {now.a.port}"
        if cable.upper != now.b.device:
            message = (
                f"The cable of {lower} ends at {cable.upper}, which the spec does not join to it: the plan has it at"
                f" {now.b.device}."
            )
            yield Disagreement(cable.line, message)
            return
        if cable.upper_port != now.b.port and not self._has_another_model(cable.upper):
            yield Disagreement(
                cable.line, f"{lower} is in {cable.upper} {cable.upper_port}: {self._no_port(cable, now)}."
            )
        if cable.address is not None and cable.address != now.a.address:
            version = self.plan.address_version(now.fabric)
            is_address = cable.address.bit_length() <= (32 if version == 4 else 128)
            address_text = format_address(cable.address, version) if is_address else str(cable.address)
            where = "the pool of links" if now.a.side == "up" else f"the host subnet of {now.b.device}"
            yield Disagreement(cable.line, f"{lower} has the address {address_text}, which is no lower end in {where}.")

    def _no_port(self, cable: StandingCable, now: Cable) -> str:
        model = self.plan.spec.catalogue[self.plan.by_name[cable.upper].model]
        modes: list[PortMode] = []
        for block in model.blocks:
            for mode in block.modes:
                modes.extend(mode for cage in block.cages if cable.upper_port in mode.ports(cage))
        if not modes:
            return f"{model.name} has no such port"
        if all(mode.speed_gbps != now.speed_gbps for mode in modes):
            return f"that port of {model.name} does not run at {now.speed_gbps}G"
        return "the spec gives this side other ports or another mode, or its cage is taken"


def _of_pool(
    switch: StandingSwitch, what: str, pool: Network | None, *, recorded: int | None, planned: int | None
) -> Iterator[Disagreement]:
    """A recorded number of a switch refused by its pool."""
    if recorded is None or planned is None or pool is None or recorded == planned:
        return
    is_address = recorded.bit_length() <= pool.max_prefixlen
    text = format_address(recorded, pool.version) if is_address else str(recorded)
    is_inside = int(pool[0]) <= recorded <= int(pool[-1])
    why = "does not begin one there" if is_inside else f"is none of {pool}"
    yield Disagreement(switch.line, f"{text}, here the {what} of {switch.name}, {why}.")


def moves_unaided(plan: Plan) -> tuple[int, int, int]:
    """Number of cables, addresses and numbers moved by a plan built without the file."""
    alone = build_plan(replace(plan.spec, allocated=NOTHING_STANDS))
    standing = Standing(plan.spec, plan.spec.allocated)
    cables = addresses = numbers = 0
    now = {(cable.fabric, cable.a.device, cable.a.port): cable for cable in alone.cables}
    for fabric, standing_cables in standing.cables.items():
        for (device, port), cable in standing_cables.items():
            other = now.get((fabric, device, port))
            if other is not None and (device in plan.by_name and cable.upper in plan.by_name):
                cables += (other.b.device, other.b.port) != (cable.upper, cable.upper_port)
                addresses += cable.address is not None and other.a.address != cable.address
    for name, switch in standing.switches.items():
        seat = alone.by_name.get(name)
        if seat is not None:
            numbers += (seat.asn, seat.loopback) != (switch.asn, switch.loopback)
    return cables, addresses, numbers
