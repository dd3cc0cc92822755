"""Open work on the devices of a rack or a pod: exceptions, files, boots, firmware, releases, and failed checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any

from clusterwright import chain
from clusterwright.and_more import and_more
from clusterwright.deploy.ansible.query import Devices
from clusterwright.deploy.store import MissingObject, Store
from clusterwright.deploy.target import Unreachable
from clusterwright.plan.model import Device, Plan
from clusterwright.rollout.audit import path_of
from clusterwright.rollout.consequences import consequences_of
from clusterwright.rollout.device_history import device_events
from clusterwright.rollout.gates.node_checks import VERDICT_LIMIT_S, failed_checks, nodes_with, verdicts
from clusterwright.rollout.prepare import Prepared
from clusterwright.rollout.visit.boots import NodeBoot, last_boots, owed_boot
from clusterwright.rollout.visit.releases import owed_release, running_releases, unasked_switches
from clusterwright.spec.image import HEALTH
from clusterwright.spec.model import SpecException

_SHOWN = 3
_FIRMWARE = frozenset({"adapter-firmware", "bios"})
"""Checks of a node comparing firmware with the spec."""


class Kind(StrEnum):
    """Kinds of open work."""

    EXCEPTION = "exception"
    NEW = "new"
    FILES = "files"
    BOOT = "boot"
    FIRMWARE = "firmware"
    CHECK = "check"
    RELEASE = "release"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Debt:
    """A piece of open work on a device."""

    kind: Kind
    what: str


@dataclass(frozen=True, slots=True)
class Visit:
    """``debts`` by device, in the plan's order, empty for one without open work. ``notes`` name missing answers."""

    debts: Mapping[str, tuple[Debt, ...]]
    notes: tuple[str, ...]

    @property
    def is_owed(self) -> bool:
        """Whether there is open work on any device."""
        return any(self.debts.values())

    def with_debt(self, kind: Kind) -> tuple[str, ...]:
        """The devices with open work of this kind."""
        kinds_by_device = {name: {debt.kind for debt in debts} for name, debts in self.debts.items()}
        return tuple(name for name, kinds in kinds_by_device.items() if kind in kinds)


@dataclass(frozen=True, slots=True)
class _Answers:
    """Answers of devices, by name, without devices not queried."""

    boots: Mapping[str, NodeBoot | str]
    verdicts: Mapping[str, dict[str, Any] | str]
    releases: Mapping[str, str | Unreachable]


def visit(
    plan: Plan,
    names: Sequence[str],
    prepared: Prepared | None,
    *,
    never_deployed: frozenset[str],
    root: Path,
    devices: Devices | None,
    today: date,
) -> Visit:
    """Open work on each of ``names``. ``prepared`` is an update of them alone, None if none of them is deployed.

    ``devices`` is None for a directory target. Raises ClusterwrightError.
    """
    store = Store(root / "objects")
    entries = list(chain.read(path_of(root)))
    answers = _ask(plan, names, devices)
    debts: dict[str, tuple[Debt, ...]] = {}
    for name in names:
        device = plan.by_name[name]
        node_boot = answers.boots.get(name)
        device_debts = list(_exceptions(plan, device, today))
        if name in never_deployed:
            device_debts.append(Debt(Kind.NEW, "it was never deployed"))
        elif prepared is not None:
            device_debts += _files(device, prepared, store)
        if not isinstance(node_boot, str):
            boot = owed_boot(device, device_events(entries, store, name), store, node_boot)
            if boot:
                device_debts.append(Debt(Kind.BOOT, boot))
        device_debts += _of_answers(plan, device, answers)
        debts[name] = tuple(device_debts)
    return Visit(debts, tuple(_notes(plan, names, devices)))


def _exceptions(plan: Plan, device: Device, today: date) -> Iterator[Debt]:
    for item in plan.spec.exceptions:
        if item.state is None or not _is_about(item, device):
            continue
        target = item.port or item.group
        where = f"{target} " if target else ""
        until = f" until {item.until}" if item.until else ""
        lapsed = ", which has passed" if item.until and item.until < today else ""
        yield Debt(Kind.EXCEPTION, f"{where}{item.state}{until}{lapsed}: {item.reason}")


def _is_about(item: SpecException, device: Device) -> bool:
    return item.device == device.name or (item.group is not None and item.group in (device.rack, device.pod))


def _files(device: Device, prepared: Prepared, store: Store) -> Iterator[Debt]:
    """Files missing on a device, with their effect while they are applied."""
    name = device.name
    if name in prepared.away:
        yield Debt(Kind.FILES, "nothing is sent while it is out of service: it gets what it missed with the next `up`")
        return
    if name not in prepared.effects:
        return
    effect = prepared.effects[name].name.lower()
    before, after = prepared.held.get(name), prepared.wanted[name]
    if before is None:
        yield Debt(Kind.FILES, "it has none of its files yet")
    elif not before:
        yield Debt(Kind.FILES, f"its files differ from those deployed ({effect})")
    elif before == after:
        yield Debt(Kind.FILES, f"the last deployment of its files failed ({effect})")
    else:
        try:
            was, will = store.get_differing(name, before, after)
        except MissingObject:
            yield Debt(Kind.FILES, f"its deployed files are no longer in the store ({effect})")
            return
        paths = sorted({file.path for file in (*was, *will)})
        does = [consequence.does for consequence in consequences_of(device, was, will) if consequence.does]
        consequences = f": {and_more(does, _SHOWN)}" if does else ""
        yield Debt(Kind.FILES, f"{and_more(paths, _SHOWN)} ({effect}){consequences}")


def _ask(plan: Plan, names: Sequence[str], devices: Devices | None) -> _Answers:
    if devices is None:
        return _Answers({}, {}, {})
    nodes = [name for name in names if plan.by_name[name].kind == "node" and name in devices.over_ssh]
    checked = nodes_with(plan, devices, nodes, HEALTH)
    unasked = {name for name, _ in unasked_switches(plan, names, devices)}
    switches = [name for name in names if plan.by_name[name].kind == "switch" and name not in unasked]
    return _Answers(
        boots=last_boots(devices, nodes),
        verdicts=verdicts(devices, checked, VERDICT_LIMIT_S),
        releases=running_releases(plan, switches, devices),
    )


def _of_answers(plan: Plan, device: Device, asked: _Answers) -> Iterator[Debt]:
    """Open work by the answers of a device; a missing answer is open work too."""
    name = device.name
    boot, verdict, release = asked.boots.get(name), asked.verdicts.get(name), asked.releases.get(name)
    if isinstance(boot, str):
        yield Debt(Kind.UNKNOWN, f"its boot time is unknown: {boot}")
    if isinstance(verdict, str):
        yield Debt(Kind.UNKNOWN, f"it {verdict}")
    elif verdict is not None:
        for check, reason in failed_checks(verdict).items():
            yield Debt(Kind.FIRMWARE if check in _FIRMWARE else Kind.CHECK, f"{check}: {reason}")
    if isinstance(release, Unreachable):
        yield Debt(Kind.UNKNOWN, f"its release is unknown: {release.message}")
    elif release is not None and (owed := owed_release(plan, device, release)):
        yield Debt(Kind.RELEASE, owed)


def _notes(plan: Plan, names: Sequence[str], devices: Devices | None) -> Iterator[str]:
    nodes = [name for name in names if plan.by_name[name].kind == "node"]
    unasked = [name for name in nodes if devices is None or name not in devices.over_ssh]
    if unasked:
        reason = "the target is a directory" if devices is None else "the access file has no address for them"
        yield f"boots, firmware and checks of {and_more(unasked, _SHOWN)} were not queried: {reason}"
    by_reason: dict[str, list[str]] = {}
    for name, reason in unasked_switches(plan, names, devices):
        by_reason.setdefault(reason, []).append(name)
    for reason, switches in by_reason.items():
        yield f"the releases of {and_more(switches, _SHOWN)} were not compared: {reason}"
