"""Tables of a device's page for people on call: neighbours, adapters, effects of a drain, jobs, alerts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from clusterwright.and_more import and_more
from clusterwright.extras.monitoring.rules import alerts
from clusterwright.hosts.cluster_services import cluster_services
from clusterwright.intent.borders import borders_of
from clusterwright.intent.node_nics import nics_of
from clusterwright.intent.switch_links import links_of
from clusterwright.intent.switch_sessions import sessions_of
from clusterwright.plan.model import format_guid
from clusterwright.plan.service import ACTIVE
from clusterwright.report.page import Cell, PageTable, code, long_code, number, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterwright.lists.records import Inventory, Record
    from clusterwright.plan.model import Device, Plan

_NAMES_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Jobs:
    """The nodes of each job by its name; ``are_planned`` marks placements of the spec's jobs on an empty cluster."""

    nodes: Mapping[str, frozenset[str]]
    are_planned: bool


@dataclass(frozen=True, slots=True)
class LostLinks:
    """Devices of one role with the same number of lost and kept links of a fabric."""

    role: str
    kind: str
    fabric: str
    lost: int
    kept: int


class DeviceTables:
    """The tables of every device's page."""

    def __init__(self, inventory: Inventory, jobs: Jobs | None) -> None:
        self.plan = inventory.plan
        self._jobs = jobs
        self._alerts = alerts(inventory)

    def of(self, record: Record) -> Iterator[PageTable]:
        """The tables of one device, without empty ones."""
        device = self.plan.by_name[record["name"]]
        tables = (
            self.drained(device),
            self.jobs(device),
            self.alerts(record),
            self.adapters(device),
            self.neighbours(device),
        )
        return (table for table in tables if table.rows)

    def neighbours(self, device: Device) -> PageTable:
        """The BGP sessions of a switch, with the far end's AS number and address."""
        rows = [*self._fabric_sessions(device), *self._border_sessions(device)]
        return PageTable(
            name="neighbours",
            caption="BGP neighbours",
            columns=("Port", "Neighbour", "AS number", "Address", "Own address", "Side", "BFD", "Password", "Routes"),
            rows=tuple(rows),
            note="Password is the name of the secret. Routes are those that the neighbour announces by the plan.",
        )

    def _fabric_sessions(self, device: Device) -> Iterator[tuple[Cell, ...]]:
        if device.asn is None:
            return
        links = links_of(self.plan, device)
        port_by_address = {link.address: link.port.port for link in links}
        for session in sessions_of(self.plan, device, links):
            authentication = session.authentication
            yield (
                code(port_by_address[session.local]),
                _device(session.neighbour),
                number_without_commas(session.remote_as),
                code(session.remote),
                code(session.local),
                Cell(session.side),
                Cell("yes" if session.bfd else "no"),
                code("–" if authentication is None else authentication.secret),
                number(session.routes),
            )

    def _border_sessions(self, device: Device) -> Iterator[tuple[Cell, ...]]:
        for border in borders_of(self.plan, device):
            authentication = border.authentication
            yield (
                code(border.port),
                Cell(border.name),
                number_without_commas(border.asn),
                code(str(border.neighbour)),
                code(str(border.address.ip)),
                Cell("outside"),
                Cell("–"),
                code("–" if authentication is None else authentication.secret),
                Cell("–"),
            )

    def adapters(self, device: Device) -> PageTable:
        """The cabled NICs of a node, with their names in PCI, verbs, the kernel and NCCL."""
        is_node = device.kind == "node"
        gpu_by_interface = self._gpu_by_interface[device.model] if is_node else {}
        links = nics_of(self.plan, device) if is_node else ()
        rows = []
        for nic in chain.from_iterable(link.ports for link in links):
            gpu = gpu_by_interface.get(nic.interface)
            rank = Cell("–", "number")
            if gpu is not None and device.rank is not None:
                rank = number_without_commas(device.rank + gpu)
            rows.append(
                (
                    Cell(nic.interface, "code", f"#{port_anchor(nic.interface)}"),
                    Cell(nic.fabric.name),
                    Cell("–" if nic.rail is None else str(nic.rail), "number"),
                    Cell("–" if gpu is None else str(gpu), "number"),
                    rank,
                    code(nic.pci or "–"),
                    code(nic.rdma_device or "–"),
                    code("–" if nic.guid is None else format_guid(nic.guid)),
                    _device(nic.switch),
                    code(nic.switch_port),
                )
            )
        return PageTable(
            name="adapters",
            caption="Adapters",
            columns=("Port", "Fabric", "Rail", "GPU", "Rank", "PCI address", "RDMA name", "GUID", "Switch", "Its port"),
            rows=tuple(rows),
        )

    @cached_property
    def _gpu_by_interface(self) -> Mapping[str, Mapping[str, int | None]]:
        gpus: dict[str, dict[str, int | None]] = {}
        for model in self.plan.spec.catalogue.values():
            nics = chain.from_iterable(group.nics for group in model.nic_groups)
            gpus[model.name] = {nic.interface: nic.gpu for nic in nics}
        return gpus

    def drained(self, device: Device) -> PageTable:
        """Links and bandwidth lost while the device is away."""
        rows = [*self._lost_service(device), *self._lost_borders(device), *self._lost_links(device)]
        is_away = device.state != ACTIVE
        return PageTable(
            name="drained",
            caption="Lost while it is away" if is_away else "Lost when it is drained",
            columns=("What", "How many", "Fabric", "Loses", "Keeps", "Which"),
            rows=tuple(rows),
            note=f"It is {device.state} by an exception of the spec." if is_away else "",
        )

    def _lost_service(self, device: Device) -> Iterator[tuple[Cell, ...]]:
        gpus = self.plan.spec.catalogue[device.model].gpus
        if device.kind == "node" and gpus is not None:
            yield self._loss("GPUs", gpus.count, "", loses="all of this node", keeps="–")
        for service in cluster_services(self.plan):
            if device.name in service.hosts:
                others = [name for name in service.hosts if name != device.name]
                keeps = f"{len(others)} of {len(service.hosts)}" if others else "none: this is the only one"
                yield self._loss(service.name, 1, "", loses="this host", keeps=keeps, which=others)

    def _lost_borders(self, device: Device) -> Iterator[tuple[Cell, ...]]:
        borders = self.plan.spec.borders
        for border in borders_of(self.plan, device):
            others = []
            for candidate in borders:
                leads_there = not set(candidate.zones).isdisjoint(border.zones)
                if candidate.device != device.name and leads_there:
                    others.append(candidate.name)
            keeps = plural(len(others), "other session") if others else "none: this is the only way there"
            zones = ", ".join(border.zones)
            yield self._loss(f"way to {zones}", 1, device.fabric, loses=border.name, keeps=keeps, which=others)

    def _loss(
        self, what: str, count: int, fabric: str, *, loses: str, keeps: str, which: list[str] | None = None
    ) -> tuple[Cell, ...]:
        is_all = keeps.startswith("none")
        return (
            Cell(what),
            number(count),
            Cell(fabric or "–"),
            Cell(loses),
            Cell(keeps, "bad" if is_all else ""),
            long_code(and_more(which, _NAMES_SHOWN) if which else "–"),
        )

    def _lost_links(self, device: Device) -> Iterator[tuple[Cell, ...]]:
        """Devices below a switch, by their lost uplinks."""
        lost: dict[tuple[str, str], int] = defaultdict(int)
        for cable in self.plan.cables_of[device.name]:
            if cable.b.device == device.name and (cable.in_service or device.state != ACTIVE):
                lost[cable.a.device, cable.fabric] += 1
        names_by_loss: dict[LostLinks, list[str]] = defaultdict(list)
        for (name, fabric), count in lost.items():
            lower_device = self.plan.by_name[name]
            loss = LostLinks(
                role=lower_device.role, kind=lower_device.kind, fabric=fabric, lost=count,
                kept=self._links_kept(name, fabric, without=device.name),
            )  # fmt: skip
            names_by_loss[loss].append(name)
        for loss, names in names_by_loss.items():
            lost_links = plural(loss.lost, "link")
            yield self._loss(
                loss.role,
                len(names),
                loss.fabric,
                loses=f"{lost_links} each" if len(names) > 1 else lost_links,
                keeps=f"{loss.kept} of {loss.kept + loss.lost}" if loss.kept else f"none of {loss.lost}",
                which=names,
            )

    def _links_kept(self, name: str, fabric: str, *, without: str) -> int:
        cables = self.plan.cables_of[name]
        return sum(
            cable.in_service and cable.fabric == fabric and cable.a.device == name and cable.b.device != without
            for cable in cables
        )

    def jobs(self, device: Device) -> PageTable:
        """The jobs on a node, or on nodes reached through a switch."""
        rows = []
        nodes_of_jobs = self._jobs.nodes if self._jobs is not None else {}
        for name, nodes in nodes_of_jobs.items():
            if device.name not in self._devices_of_job[name]:
                continue
            rows.append((Cell(name), number(len(nodes)), Cell(self._place_in_job(device, nodes))))
        note = "As the scheduler listed them when this page was written."
        if self._jobs is not None and self._jobs.are_planned:
            note = "The spec's jobs, as placed on an empty cluster: `report --jobs` takes those that run."
        return PageTable(
            name="jobs",
            caption="Jobs",
            columns=("Job", "Nodes", "Where"),
            rows=tuple(rows),
            note=note,
        )

    def _place_in_job(self, device: Device, nodes: frozenset[str]) -> str:
        if device.name in nodes:
            return "on this node"
        attached = {cable.a.device for cable in self.plan.cables_of[device.name]} & nodes
        return f"{plural(len(attached), 'node')} attached here" if attached else "above the switches of its nodes"

    @cached_property
    def _devices_of_job(self) -> Mapping[str, frozenset[str]]:
        """A job's nodes, and every switch with upward traffic of them."""
        jobs = self._jobs.nodes if self._jobs is not None else {}
        return {name: _with_all_above(self.plan, nodes) for name, nodes in jobs.items()}

    def alerts(self, record: Record) -> PageTable:
        """The alerts of `inventory --format monitoring` about the device."""
        rows = []
        for alert in self._alerts:
            if alert.concerns(record):
                summary = Cell(alert.summary_of(record), "prose")
                rows.append((code(alert.name), Cell(alert.severity), Cell(alert.wait), summary))
        return PageTable(
            name="alerts", caption="Alerts about it", columns=("Alert", "Severity", "After", "Says"), rows=tuple(rows)
        )


def port_anchor(port: str) -> str:
    """The anchor of a port's row on its device's page."""
    return f"port-{port}"


def number_without_commas(value: int) -> Cell:
    """A number used as a name, without separated thousands."""
    return Cell(str(value), "number")


def _device(name: str) -> Cell:
    return Cell(name, "code", f"{name}.html")


def _with_all_above(plan: Plan, nodes: frozenset[str]) -> frozenset[str]:
    management = {fabric.name for fabric in plan.spec.fabrics if fabric.is_management}
    reached, waiting = set(nodes), list(nodes)
    while waiting:
        name = waiting.pop()
        for cable in plan.cables_of.get(name, ()):
            is_upwards = cable.a.device == name and cable.fabric not in management
            if is_upwards and cable.b.device not in reached:
                reached.add(cable.b.device)
                waiting.append(cable.b.device)
    return frozenset(reached)
