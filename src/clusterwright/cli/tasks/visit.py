"""``clusterwright visit``: the open work on the devices of a rack or a pod, for one visit to all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.stacks.options import EXIT_FINDINGS, deployment_options, open_site
from clusterwright.finding import ClusterwrightError
from clusterwright.nearest_name import did_you_mean

if TYPE_CHECKING:
    from clusterwright.cli.stacks.options import ChosenStacks
    from clusterwright.rollout.visit.owed import Debt, Visit

_EXIT_OWED = 4
_NAMED = 4  # devices in a line of the next steps


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.argument("name")
@deployment_options
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
def visit(*, spec: Path, name: str, form: str, **options: Any) -> int:
    """List open work on each device of a rack or pod: exceptions, files, boots, firmware, releases, failed checks.

    NAME is a rack, a pod or a device of SPEC. Nothing is changed on any device. With the target ansible, nodes are
    queried for their boot time and for the verdict of their node check, which compares firmware with the spec; switches
    are queried for their release.

    Exit status: 0 no open work, 1 errors in the spec, 2 could not run, 4 open work.
    """
    site = open_site({**options, "spec": spec, "pods": (), "upper": False}, asks_for_secrets=False)
    if site is None:
        return EXIT_FINDINGS
    names = _devices_of(site, name)
    debts = _visit(site, names)
    text = _document(name, debts) if form == "json" else "\n".join(_lines(spec, name, debts))
    click.echo(text)
    return _EXIT_OWED if debts.is_owed else 0


def _devices_of(site: ChosenStacks, name: str) -> tuple[str, ...]:
    """The devices with deployed files in a rack or a pod, or the device. Raises ClusterwrightError."""
    plan = site.plan
    members = [device.name for device in plan.devices if name in (device.rack, device.pod, device.name)]
    if not members:
        choices = set(chain.from_iterable((device.rack, device.pod, device.name) for device in plan.devices)) - {""}
        raise ClusterwrightError(f"there is no rack, pod or device {name!r}. {did_you_mean(name, choices)}".rstrip())
    deployable = set(chain.from_iterable(stack.devices for stack in site.stacks))
    names = tuple(member for member in members if member in deployable)
    if not names:
        raise ClusterwrightError(f"nothing is deployed to {name}: the spec renders no file for its devices.")
    return names


def _visit(site: ChosenStacks, names: tuple[str, ...]) -> Visit:
    from clusterwright.cli.stacks.allowed import now
    from clusterwright.deploy.pulumi.automation import Engine
    from clusterwright.deploy.pulumi.units import stacks_of_devices
    from clusterwright.rollout.visit.owed import visit as visit_devices

    engine = Engine(site.deployment)
    deployed_names = engine.known()
    deployed = tuple(stack for stack in stacks_of_devices(site.stacks, names) if stack.name in deployed_names)
    reached = set(chain.from_iterable(stack.devices for stack in deployed))
    prepared = None
    if deployed:
        prepared = replace(site, stacks=deployed, devices=frozenset(names) & reached).prepare(engine)
    return visit_devices(
        site.plan,
        names,
        prepared,
        never_deployed=frozenset(names) - reached,
        root=site.root,
        devices=site.target.devices(),
        today=now().date(),
    )


def _lines(spec: Path, name: str, report: Visit) -> Iterator[str]:
    """The list as text, grouped by equal open work."""
    from clusterwright.hosts.slurm.hostlist import hostlist

    groups: dict[tuple[Debt, ...], list[str]] = {}
    for device, debts in report.debts.items():
        groups.setdefault(debts, []).append(device)
    for debts, devices in groups.items():
        yield f"{hostlist(devices)}"
        yield from (f"  {debt.kind:9}  {debt.what}" for debt in debts)
        if not debts:
            yield "  no pending work"
    yield from (f"note: {note}" for note in report.notes)
    yield from (f"next: {step}" for step in _next(spec, name, report))


def _next(spec: Path, name: str, report: Visit) -> Iterator[str]:
    """The remaining steps of a visit, in order."""
    from clusterwright.hosts.slurm.hostlist import hostlist
    from clusterwright.rollout.visit.owed import Kind

    if not report.is_owed:
        return
    drained = report.with_debt(Kind.EXCEPTION)
    work = [debts for debts in report.debts.values() if any(debt.kind is not Kind.EXCEPTION for debt in debts)]
    if work and not drained and not report.with_debt(Kind.NEW):
        yield f'clusterwright drain {spec} {name} --because "why"'
    if report.with_debt(Kind.NEW):
        yield f"clusterwright up {spec}"
    if files := report.with_debt(Kind.FILES):
        named = " ".join(f"--device {device}" for device in files[:_NAMED])
        more = f" ... ({len(files)} devices)" if len(files) > _NAMED else ""
        yield f"clusterwright up {spec} {named}{more}"
    if boots := report.with_debt(Kind.BOOT):
        yield f"boot {len(boots)} nodes"
    if report.with_debt(Kind.FIRMWARE):
        yield "update the firmware to what the spec states"
    if releases := report.with_debt(Kind.RELEASE):
        yield f"bring {hostlist(releases)} to the release of the spec, or change `release` of the tier"
    if work:
        yield f"clusterwright visit {spec} {name}"
    if (drained or work) and not report.with_debt(Kind.NEW):
        yield f'clusterwright undrain {spec} {name} --because "why"'


def _document(name: str, report: Visit) -> str:
    devices: list[dict[str, Any]] = []
    for device, debts in report.debts.items():
        entries = [{"kind": debt.kind.value, "what": debt.what} for debt in debts]
        devices.append({"device": device, "owed": entries})
    return json.dumps({"name": name, "devices": devices, "notes": list(report.notes)}, indent=1, ensure_ascii=False)
