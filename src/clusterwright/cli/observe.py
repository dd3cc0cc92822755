"""``clusterwright observe``: differences of cabling and running configuration from the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.cli.terminal import progress
from clusterwright.finding import ClusterwrightError
from clusterwright.given_file import read_given_text

if TYPE_CHECKING:
    from clusterwright.extras.source_of_truth.commands.cable_server import CableServer
    from clusterwright.observe.difference import ObservedDifference
    from clusterwright.observe.lldp import Neighbour
    from clusterwright.plan.model import Plan

LABELS = "labels"
PROMETHEUS = "prometheus"
PROGRESS = "progress"
FORMATS = ("text", "json", "csv", PROGRESS, LABELS, PROMETHEUS)
MAX_BYTES = 512 * 1024 * 1024  # 20 times the listing of the largest subnets
_EXIT_DIFFERENCES = 1


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--ibnetdiscover",
    "listings",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Output of ibnetdiscover; may be repeated for more scans of the same subnet.",
)
@click.option(
    "--lldp",
    "dumps",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A device's LLDP neighbours, as DEVICE.json, or a folder of such files (EOS, lldpcli, NVUE); may be repeated.",
)
@click.option(
    "--running",
    type=click.Path(path_type=Path),
    help="A folder with what devices run: DEVICE/running-config, DEVICE/nft-ruleset, DEVICE/sysctl, DEVICE/<path>.",
)
@click.option(
    "--collect",
    is_flag=True,
    help="With --access: read what devices run, with rights to read alone, and compare that; --keep has it by date.",
)
@click.option(
    "--access",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --collect: the file with keys and addresses.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("collected"),
    show_default=True,
    help="With --collect: the directory for collected files, with a subdirectory for each run.",
)
@click.option("--adopt", is_flag=True, help="With --running: print the lines of the spec that make it intended.")
@click.option("--fabric", help="The scanned InfiniBand fabric; required if the spec has several.")
@click.option(
    "--name-map",
    type=click.Path(path_type=Path),
    help="A node-name map: its names take precedence over the nodes' own.",
)
@click.option("--by-name", is_flag=True, help="Match by names rather than by planned GUIDs.")
@click.option("--rates/--no-rates", default=True, show_default=True, help="Compare widths and speeds of links.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Output format; labels writes the GUIDs that were found, for the spec's guids file, and no differences;"
    " progress how many cables of each rack and each pull are seen, missing and wrong, as CSV.",
)
@click.option(
    "--server",
    type=click.Choice(("netbox", "nautobot")),
    help="Compare the statuses of this server's cables with the scan instead: connected where one is seen as planned, "
    "planned where it is missing or plugged elsewhere.",
)
@click.option("--url", metavar="URL", help="With --server: its URL, as https://netbox.example.net.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="With --server: holds the token, if NETBOX_TOKEN or NAUTOBOT_TOKEN do not.",
)
@click.option("--site", help="With --server: the site's name on it. [default: the cluster's name]")
@click.option("--write", is_flag=True, help="With --server: write the statuses; without it nothing is changed.")
def observe(
    spec: Path,
    *,
    listings: tuple[Path, ...],
    dumps: tuple[Path, ...],
    running: Path | None,
    collect: bool,
    access: Path | None,
    keep: Path,
    adopt: bool,
    fabric: str | None,
    name_map: Path | None,
    by_name: bool,
    rates: bool,
    form: str,
    server: str | None,
    url: str | None,
    token_file: Path | None,
    site: str | None,
    write: bool,
) -> int:
    """Compares the cabling of SPEC with scans of its fabrics, and running files of devices with rendered ones.

    Give one of --ibnetdiscover, --lldp, --running and --collect. With --server, the observed state of each cable is
    compared with its status in NetBox or Nautobot; --write updates the status of cables created by `sync`.

    Exit status: 0 no differences, 1 differences, 2 could not run.
    """
    from clusterwright.cli.planning import plan_with_findings
    from clusterwright.observe.compare import compare, scanned_states
    from clusterwright.observe.ibnetdiscover import parse, parse_name_map
    from clusterwright.observe.labels import label_lines

    _require_one([bool(listings), bool(dumps), bool(running), collect])
    written_to = _server_options(server, url, token_file, site=site, write=write)
    if written_to is not None and not (listings or dumps):
        raise ClusterwrightError("--server takes statuses of cables: give --ibnetdiscover or --lldp.")
    if collect or access is not None:
        return _collect_running(spec, access if collect else None, keep, adopt, form)
    if running is not None:
        return _observe_running(spec, running, adopt, form)
    if adopt or form == PROMETHEUS:
        raise ClusterwrightError("--adopt and --format prometheus are for --running: a cable is moved, not adopted.")
    plan, _ = plan_with_findings(spec)
    if dumps:
        return _observe_neighbours(plan, dumps, form, written_to)
    chosen = fabric or _only_fabric(plan)
    names = parse_name_map(read_given_text(name_map, MAX_BYTES), str(name_map)) if name_map else {}
    scans = [parse(read_given_text(path, MAX_BYTES), str(path)) for path in listings]
    if form == LABELS:
        click.echo("\n".join(label_lines(plan, chosen, scans, names=names, by_name=by_name)))
        return 0
    if written_to is not None:
        return written_to.bring(plan, scanned_states(plan, chosen, scans, names=names, by_name=by_name))
    if form == PROGRESS:
        return _tell_progress(plan, scanned_states(plan, chosen, scans, names=names, by_name=by_name))
    differences = compare(plan, chosen, scans, names=names, by_name=by_name, rates=rates)
    return _tell(differences, plan.name, chosen, form)


def _server_options(
    server: str | None, url: str | None, token_file: Path | None, *, site: str | None, write: bool
) -> CableServer | None:
    """The server of --server; None without it. Raises ClusterwrightError for options that need it."""
    if server is None:
        if url or token_file or site or write:
            raise ClusterwrightError("--url, --token-file, --site and --write are for --server netbox or nautobot.")
        return None
    if url is None:
        raise ClusterwrightError(f"name the {server} server with --url URL.")
    from clusterwright.extras.source_of_truth.commands.cable_server import CableServer

    return CableServer(kind=server, url=url, token_file=token_file, site=site, is_written=write)


def _require_one(given: list[bool]) -> None:
    if given.count(True) != 1:
        raise ClusterwrightError(
            "observe compares one thing at a time: give --ibnetdiscover, --lldp, --running or --collect."
        )


def _collect_running(spec: Path, access: Path | None, keep: Path, adopt: bool, form: str) -> int:
    """Read the running files of devices, save and compare them as a folder. Raises for devices without an answer."""
    from clusterwright.cli.planning import plan_with_findings
    from clusterwright.deploy.ansible import collecting
    from clusterwright.deploy.ansible.query import Devices
    from clusterwright.deploy.targets import read_access

    if access is None:
        raise ClusterwrightError("--collect reads what the devices of --access FILE run: give both.")
    plan, _ = plan_with_findings(spec)
    collected = collecting.collect(plan, Devices(read_access(access)))
    silent = [f"{device}: not compared: {reason}" for device, reason in sorted(collected.failures.items())]
    if not collected.texts:
        raise ClusterwrightError("\n".join(silent) or f"{access}: reaches no device")
    folder = collecting.keep(collected.texts, keep, datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ"))
    progress(f"kept in {folder}")
    status = _observe_running(spec, folder, adopt, form)
    if silent:
        raise ClusterwrightError("\n".join(silent))
    return status


def _observe_running(spec: Path, folder: Path, adopt: bool, form: str) -> int:
    # Imported only here: a scan of cables needs no renderer.
    from clusterwright.cli import drift
    from clusterwright.cli.planning import plan_with_findings

    if form not in drift.FORMATS:
        raise ClusterwrightError(f"--running is shown as {', '.join(drift.FORMATS)}.")
    plan, _ = plan_with_findings(spec)
    running = drift.read_running(folder)
    drifts = drift.compare_running(plan, running)
    if adopt:
        drift.show_adoption(plan, drifts)
    else:
        drift.show(plan, spec, running, drifts, form)
    return _EXIT_DIFFERENCES if drifts else 0


def _tell(differences: Sequence[ObservedDifference], cluster: str, fabric: str, form: str) -> int:
    from clusterwright.cli.formats.differences import render_csv, render_json, render_text

    if form == "json":
        click.echo(render_json(differences, cluster, fabric), nl=False)
    elif form == "csv":
        click.echo(render_csv(differences), nl=False)
    elif form == LABELS:
        raise ClusterwrightError("--format labels is for --ibnetdiscover: LLDP reports no GUIDs.")
    else:
        click.echo(render_text(differences), nl=False)
    return _EXIT_DIFFERENCES if differences else 0


def _tell_progress(plan: Plan, states: Mapping[tuple[str, str], str]) -> int:
    from clusterwright.extras.crew.progress import CableProgress, crew_progress
    from clusterwright.lists.records import Inventory
    from clusterwright.lists.table import csv_table

    click.echo("".join(csv_table(CableProgress._fields, crew_progress(Inventory(plan), states))), nl=False)
    return 0 if all(state == "seen" for state in states.values()) else _EXIT_DIFFERENCES


def _neighbours(dumps: tuple[Path, ...]) -> tuple[dict[str, tuple[Neighbour, ...]], list[str]]:
    """The neighbours of each device, and the errors of unreadable dumps."""
    from clusterwright.observe.lldp import parse_neighbours

    neighbours_by_device: dict[str, tuple[Neighbour, ...]] = {}
    errors: list[str] = []
    for path in _files(dumps):
        try:
            neighbours_by_device[path.stem] = parse_neighbours(read_given_text(path, MAX_BYTES), str(path))
        except ClusterwrightError as error:
            errors.append(str(error))
    return neighbours_by_device, errors


def _files(places: tuple[Path, ...]) -> list[Path]:
    """The files of ``places``, and every ``*.json`` of its folders. Raises ClusterwrightError for an empty folder."""
    paths: list[Path] = []
    for place in places:
        files = sorted(place.glob("*.json")) if place.is_dir() else [place]
        if not files:
            raise ClusterwrightError(f"{place}: holds no DEVICE.json")
        paths += files
    return paths


def _observe_neighbours(plan: Plan, dumps: tuple[Path, ...], form: str, written_to: CableServer | None) -> int:
    """Compare LLDP tables of devices. Raises ClusterwrightError for unread ones, when the others' result is shown."""
    from clusterwright.observe.lldp_compare import compare_neighbours, heard_states, not_judged

    neighbours, unread = _neighbours(dumps)
    if not neighbours:
        raise ClusterwrightError("\n".join(unread))
    for note in not_judged(plan, neighbours):
        click.echo(f"note: {note}", err=True)
    if written_to is not None:
        status = written_to.bring(plan, heard_states(plan, neighbours))
    elif form == PROGRESS:
        status = _tell_progress(plan, heard_states(plan, neighbours))
    else:
        status = _tell(compare_neighbours(plan, neighbours), plan.name, "", form)
    if unread:
        raise ClusterwrightError("\n".join(unread))
    return status


def _only_fabric(plan: Plan) -> str:
    names = [item.name for item in plan.spec.fabrics if item.technology == "infiniband"]
    if len(names) != 1:
        listed = f"there are {', '.join(names)}" if names else "it has none"
        raise ClusterwrightError(f"{plan.name}: name one InfiniBand fabric with --fabric NAME; {listed}.")
    return names[0]
