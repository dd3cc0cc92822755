"""Running releases of switches, compared with the spec's or with those that their files are written for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clusterwright.deploy.ansible.query import CommandResult, Devices, RemoteCommand
from clusterwright.deploy.target import Unreachable
from clusterwright.facts.reader import Unsupported
from clusterwright.plan.model import Device, Plan, fabric_of
from clusterwright.spec.hardware.system_releases import numbers
from clusterwright.spec.hardware.systems import release_of, system_of
from clusterwright.switches.registry import SYSTEMS
from clusterwright.switches.switch_system import ReleaseProbe

_LIMIT_S = 30


def release_probe(plan: Plan, device: Device) -> ReleaseProbe | Unsupported:
    """The query for a switch's release, or the reason against comparing it."""
    model = plan.spec.catalogue[device.model]
    system = system_of(model)
    if system is None or (system.releases is None and not system.tells_release):
        title = system.title if system is not None else device.model
        return Unsupported(f"no release of {title} is known")
    if not _planned(plan, device):
        return Unsupported(f"the spec states none of {system.title}, whose files are the same for all")
    return SYSTEMS[system.name].probes.release


def unasked_switches(plan: Plan, names: Iterable[str], devices: Devices | None) -> Iterator[tuple[str, str]]:
    """Switches with a release not compared, each with the reason."""
    for name in names:
        device = plan.by_name[name]
        if device.kind != "switch":
            continue
        probe = release_probe(plan, device)
        if isinstance(probe, Unsupported):
            yield name, probe.reason
            continue
        if devices is None:
            yield name, "the target is a directory"
            continue
        reachable, protocol = (devices.over_eapi, "eAPI") if probe.is_eapi else (devices.over_ssh, "SSH")
        if name not in reachable:
            yield name, f"the access file has no address for {protocol}"


def running_releases(plan: Plan, names: Iterable[str], devices: Devices) -> Mapping[str, str | Unreachable]:
    """The reported release of each switch, or the reason for none. Raises ClusterwrightError."""
    over_eapi: dict[tuple[str, ...], list[str]] = {}
    over_ssh: dict[str, RemoteCommand] = {}
    probes: dict[str, ReleaseProbe] = {}
    for name in names:
        probe = release_probe(plan, plan.by_name[name])
        if isinstance(probe, Unsupported):
            continue
        probes[name] = probe
        if probe.is_eapi:
            over_eapi.setdefault(probe.command, []).append(name)
        else:
            over_ssh[name] = RemoteCommand(probe.command, _LIMIT_S)
    answers: dict[str, Any] = {}
    for command, switches in over_eapi.items():
        answers.update(devices.show(switches, " ".join(command)))
    answers.update(devices.run(over_ssh))
    return {name: _reported(probes[name], answer) for name, answer in answers.items()}


def _reported(probe: ReleaseProbe, answer: Any) -> str | Unreachable:
    if isinstance(answer, Unreachable):
        return answer
    if isinstance(answer, CommandResult):
        if answer.status != 0:
            return Unreachable(answer.said)
        answer = answer.output
    try:
        return probe.release(answer)
    except (ValueError, LookupError, TypeError, AttributeError):
        return Unreachable("its answer names no release")


def owed_release(plan: Plan, device: Device, running: str) -> str:
    """The difference of a switch's running release from the planned one, "" without a difference.

    A planned release with fewer numbers stands for all releases beginning with them.
    """
    planned = _planned(plan, device)
    if numbers(running)[: len(numbers(planned))] == numbers(planned):
        return ""
    if _stated(plan, device):
        return f"runs {running}, and the spec states {planned}"
    return f"runs {running}, and its files are written for {planned}: the spec states none"


def _stated(plan: Plan, device: Device) -> str | None:
    """The release of the switch's tier or model; None if neither names one."""
    fabric = fabric_of(plan, device.fabric)
    return fabric.tiers[device.tier].release or plan.spec.catalogue[device.model].release


def _planned(plan: Plan, device: Device) -> str:
    """The release of the spec, or else the one of the switch's files; "" for neither."""
    return release_of(plan.spec.catalogue[device.model], _stated(plan, device))
