"""``clusterwright lab``: a twin of a spec's fabric on this machine, for comparisons with the plan and for faults."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright import data_files
from clusterwright.cli.command_group import CommandGroup
from clusterwright.extras.lab.running import (
    LabState,
    exclusively,
    read_state,
    remove_lab,
    require_rights,
    running_labs,
    write_state,
)
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.extras.lab.check import CheckResult
    from clusterwright.extras.lab.faults import Fault, Reconvergence
    from clusterwright.extras.lab.twin import Twin
    from clusterwright.plan.model import Plan

_EXIT_DIFFERENCES = 1
_DEFAULT_NODES = 16
_START_S, _START_PER_LINK_S = 60, 0.1
_CHANGE_S, _CHANGE_PER_ROUTER_S = 15, 0.5

_SPEC = click.argument("spec", type=click.Path(path_type=Path))
_FABRIC = click.option("--fabric", help="The Ethernet fabric; default: the one that carries RoCE, or the only one.")
_FORMAT = click.option(
    "--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True, help="Output format."
)


@click.group(cls=CommandGroup)
def lab() -> None:
    """Runs a twin of a fabric on this machine: network namespaces, FRR as the switches. Needs root.

    SPEC is a file, or the name of a spec that travels with the package (lab-roce).
    """


@lab.command()
@_SPEC
@_FABRIC
@click.option("--cut", "pods", multiple=True, metavar="POD", help="Keep only this pod (pod0, ...); may be repeated.")
@click.option("--racks", type=click.IntRange(1), help="Keep only this many racks of each pod, the first ones.")
@click.option("--routers", type=click.IntRange(3), help="Keep at most this many switches.")
@click.option(
    "--nodes", type=click.IntRange(0), default=_DEFAULT_NODES, show_default=True, help="Keep this many nodes."
)
def up(
    spec: Path, *, fabric: str | None, pods: tuple[str, ...], racks: int | None, routers: int | None, nodes: int
) -> int:
    """Starts the twin of SPEC and waits until every switch has its routes.

    What an earlier lab of this name left is removed first.

    Exit status: 0 it runs as planned, 1 its routes are others, 2 it could not be started.
    """
    from clusterwright.extras.lab.bringup import bring_up
    from clusterwright.extras.lab.check import DidNotConverge, await_routes
    from clusterwright.extras.lab.cut import DEFAULT_ROUTERS, Cut
    from clusterwright.extras.lab.twin import build_twin

    require_rights()
    plan = _plan(spec)
    chosen = _fabric(plan, fabric)
    cut = Cut(pods=pods, racks=racks, routers=routers, nodes=nodes)
    twin = build_twin(plan, chosen, cut)
    if routers is None and len(twin.views) > DEFAULT_ROUTERS:
        raise ClusterwrightError(
            f"{plan.name}: {chosen} has {len(twin.views)} switches, more than a lab starts unasked."
            f" Keep a part with --routers {DEFAULT_ROUTERS}, or with --cut and --racks."
        )
    with exclusively(twin.name):
        bring_up(twin, LabState(str(spec), chosen, cut), _progress)
        try:
            seconds = await_routes(twin, _START_S + _START_PER_LINK_S * len(twin.cables))
        except DidNotConverge as error:
            _progress(f"{error}\nIt keeps running, so that you can look; `clusterwright lab down` removes it.")
            return _EXIT_DIFFERENCES
    _progress(f"{twin.name}: all routes as planned after {seconds:.1f} s")
    return 0


@lab.command(name="check")
@_SPEC
@_FABRIC
@click.option("--isolation", is_flag=True, help="Send the matrix of zones instead, in every running fabric of SPEC.")
@_FORMAT
def check_command(spec: Path, fabric: str | None, isolation: bool, form: str) -> int:
    """Compares the running twin with the plan: sessions, routes and their widths, leaks, packets.

    With --isolation it is packets between all zones that are compared with the declared flows, through the rendered
    rules of nodes and lists of switches: allowed ports, their neighbours, the other IP version, fragments, spoofed
    sources, ICMP, replies.

    Exit status: 0 as planned, 1 there are differences, 2 could not run.
    """
    from clusterwright.extras.lab.check import check
    from clusterwright.extras.lab.faults import Fault, faulty

    require_rights()
    plan = _plan(spec)
    if isolation:
        return _check_isolation(plan, fabric, form)
    twin, state = _running(plan, fabric)
    with exclusively(twin.name):
        result = check(faulty(twin, tuple(Fault(*fault) for fault in state.faults)))
    show = _check_json if form == "json" else _check_text
    click.echo(show(twin, result), nl=False)
    return _EXIT_DIFFERENCES if result.problems else 0


def _check_isolation(plan: Plan, fabric: str | None, form: str) -> int:
    from clusterwright.extras.lab.isolation.compare import compare, rendered_filters
    from clusterwright.extras.lab.isolation.result_text import isolation_json, isolation_text

    running = [name.partition(".")[2] for name in running_labs() if name.partition(".")[0] == plan.name]
    wanted = [fabric] if fabric is not None or not running else running
    results = []
    for fabric_name in wanted:
        twin, state = _running(plan, fabric_name)
        if state.faults:
            raise ClusterwrightError(f"{twin.name}: a fault is kept in it. Start it anew with `clusterwright lab up`.")
        with exclusively(twin.name):
            results.append((twin.name, compare(twin, rendered_filters(twin))))
    show = isolation_json if form == "json" else isolation_text
    click.echo(show(results), nl=False)
    return _EXIT_DIFFERENCES if any(not result.is_as_declared for _, result in results) else 0


@lab.command()
@_SPEC
@_FABRIC
@click.option("--link", "links", multiple=True, metavar="DEVICE:PORT", help="Take this link down; may be repeated.")
@click.option("--switch", "switches", multiple=True, metavar="NAME", help="Drain this switch; may be repeated.")
@click.option("--keep", is_flag=True, help="Keep the failures instead of fixing them; `lab check` then expects them.")
@_FORMAT
def fail(
    spec: Path, *, fabric: str | None, links: tuple[str, ...], switches: tuple[str, ...], keep: bool, form: str
) -> int:
    """Takes links down and drains switches in the running twin, one after the other, and fixes them.

    After each step every switch must have the routes of the plan with that exception.

    Exit status: 0 it converged and no route was lost, 1 not, 2 could not run.
    """
    from clusterwright.extras.lab.check import DidNotConverge
    from clusterwright.extras.lab.faults import Fault, faulty, parse_link

    require_rights()
    faults = [*(parse_link(text) for text in links), *(Fault(name, None) for name in switches)]
    if not faults:
        raise ClusterwrightError("Name what is to fail, with --link DEVICE:PORT or --switch NAME.")
    whole, state = _running(_plan(spec), fabric)
    for fault in faults:
        faulty(whole, (fault,))
    changes: list[Reconvergence] = []
    stuck: str | None = None
    with exclusively(whole.name):
        try:
            for change in _changes(whole, state, faults, keep=keep):
                changes.append(change)
                if form == "text":
                    click.echo(_change_text(change))
        except DidNotConverge as error:
            stuck = str(error)
            _progress(f"{stuck}\nThe lab stays as it is, so that you can look; `clusterwright lab up` starts it anew.")
    if form == "json":
        report = {"version": 1, "lab": whole.name, "changes": [asdict(change) for change in changes], "stuck": stuck}
        click.echo(json.dumps(report, indent=2))
    return _EXIT_DIFFERENCES if stuck or any(change.lost for change in changes) else 0


def _changes(whole: Twin, state: LabState, faults: Sequence[Fault], *, keep: bool) -> Iterator[Reconvergence]:
    """Inject each fault and, without ``keep``, fix it."""
    from clusterwright.extras.lab.faults import Fault, faulty, try_change

    timeout_s = _CHANGE_S + _CHANGE_PER_ROUTER_S * len(whole.views)
    kept = tuple(Fault(*fault) for fault in state.faults)
    before = faulty(whole, kept)
    for fault in faults:
        after = faulty(whole, (*kept, fault))
        yield try_change(before, after, fault, fix=False, timeout_s=timeout_s)
        if keep:
            kept, before = (*kept, fault), after
            write_state(whole.name, replace(state, faults=tuple((fault.device, fault.port) for fault in kept)))
        else:
            yield try_change(after, before, fault, fix=True, timeout_s=timeout_s)


@lab.command()
@click.argument("spec")
@_FABRIC
def down(spec: str, fabric: str | None) -> int:
    """Removes the labs of SPEC, complete or not, and restores the kernel's limits. SPEC may be the cluster's name.

    Exit status: 0 removed, 2 could not run.
    """
    from clusterwright.spec.load import load_spec

    require_rights()
    running_clusters = {name.partition(".")[0] for name in running_labs()}
    cluster = spec if spec in running_clusters else load_spec(_spec_file(Path(spec))).name
    names = [name for name in running_labs() if name.partition(".")[0] == cluster]
    for name in names:
        if fabric is None or name == f"{cluster}.{fabric}":
            with exclusively(name):
                remove_lab(name)
            _progress(f"{name}: removed")
    return 0


def _plan(spec: Path) -> Plan:
    """The plan of a spec file or of a packaged spec. Raises SpecError for errors of lint."""
    from clusterwright.plan.build import build_plan
    from clusterwright.rules.engine import load_sound

    return build_plan(load_sound(_spec_file(spec)))


def _spec_file(spec: Path) -> Path:
    """The file of a spec, given as a path or as the name of a packaged spec."""
    if spec.name != str(spec) or spec.exists():
        return spec
    packaged = data_files.folder("inventory") / f"{spec}.yaml"
    return packaged if packaged.exists() else spec


def _fabric(plan: Plan, wanted: str | None) -> str:
    ethernet = [fabric for fabric in plan.spec.fabrics if fabric.technology != "infiniband"]
    if wanted is not None:
        if plan.spec.fabric(wanted) is None:
            names = ", ".join(fabric.name for fabric in plan.spec.fabrics)
            raise ClusterwrightError(f'{plan.name}: there is no fabric "{wanted}"; there are {names}.')
        return wanted
    roce = [fabric.name for fabric in ethernet if fabric.technology == "roce"]
    candidates = roce or [fabric.name for fabric in ethernet]
    if len(candidates) != 1:
        names = f"there are {', '.join(candidates)}" if candidates else "it has none"
        raise ClusterwrightError(f"{plan.name}: name one Ethernet fabric with --fabric NAME; {names}.")
    return candidates[0]


def _running(plan: Plan, fabric: str | None) -> tuple[Twin, LabState]:
    from clusterwright.extras.lab.twin import build_twin

    state = read_state(f"{plan.name}.{_fabric(plan, fabric)}")
    return build_twin(plan, state.fabric, state.cut), state


def _progress(text: str) -> None:
    click.echo(text, err=True)


def _change_text(change: Reconvergence) -> str:
    return (
        f"{change.what}: routes as planned after {change.seconds:.1f} s; {change.narrower} routes narrower,"
        f" {change.lost} lost; {change.received} of {change.sent} datagrams arrived"
    )


def _check_text(twin: Twin, result: CheckResult) -> str:
    lines = [f"{item.device}: {item.message}" for item in result.problems]
    lines += [f"{role}: {count} routes to racks with {width} paths" for (role, width), count in result.widths.items()]
    lines += [" > ".join(path) for path in result.traces]
    lines.append(
        f"{twin.name}: {result.switches} switches, {result.sessions} sessions, {result.routes} routes over"
        f" {result.paths} paths, {result.pairs} pairs of NICs: "
        + (f"{len(result.problems)} differences" if result.problems else "as planned")
    )
    return "".join(f"{line}\n" for line in lines)


def _check_json(twin: Twin, result: CheckResult) -> str:
    report: dict[str, Any] = {
        "version": 1,
        "lab": twin.name,
        "switches": result.switches,
        "sessions": result.sessions,
        "routes": result.routes,
        "paths": result.paths,
        "pairs": result.pairs,
        "widths": [{"role": role, "paths": width, "routes": n} for (role, width), n in result.widths.items()],
        "traces": result.traces,
        "problems": [asdict(problem) for problem in result.problems],
    }
    return json.dumps(report, indent=2) + "\n"
