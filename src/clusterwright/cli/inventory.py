"""``clusterwright inventory``: a cluster's devices, cables, addresses and totals, for programs and for the floor."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import FunctionType

import click

from clusterwright.finding import ClusterwrightError
from clusterwright.plugins import INVENTORY_FORMATS, load_plugin, plugins

FORMATS = (
    "json", "csv", "ansible", "dns", "prometheus", "crew", "labels", "monitoring", "netbox", "nautobot",
    "netbox-load", "nautobot-load", *plugins(INVENTORY_FORMATS),
)  # fmt: skip
FOLDERS = frozenset(FORMATS) - {"json", "ansible", "prometheus"}


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), default="json", show_default=True, help="Output format.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="A file to write instead of stdout; a folder for several.",
)
@click.option("--pod", help="Only what lies in this pod (p00 or pod0; or other group), and the cables that end there.")
@click.option("--site", help="What netbox and nautobot call the place; the cluster's name where left out.")
@click.option("--serial", type=click.IntRange(1, 2**32 - 1), default=1, show_default=True, help="Of dns zones.")
def inventory(spec: Path, *, form: str, out: Path | None, pod: str | None, site: str | None, serial: int) -> int:
    """Lists every device, cable and address of SPEC.

    \b
    json     one document, described by inventory.schema.json (`clusterwright schema`)
    csv      a file for each list (devices.csv, interfaces.csv, cables.csv, ...) in the folder --out
    dns      zone files, forwards and backwards, in the folder --out
    prometheus  targets for `file_sd_configs`
    crew     point-to-point lists, pulls by pairs of racks, trays and labels, in the folder --out
    labels   sheets of labels with QR codes as SVG, by rack, in the folder --out
    monitoring  rules, alerts, dashboards and targets of Prometheus, Grafana, gnmic,
             snmp_exporter and ANTA, in the folder --out
    netbox   files in the order in which NetBox imports them, in the folder --out; nautobot likewise
    netbox-load  a program that fills an empty place from within NetBox, and its rows; nautobot-load likewise
    ansible  an inventory for `ansible-inventory -i FILE.json`

    Exit status: 0 written, 2 could not run.
    """  # noqa: D301  # click reads the backspace itself: what follows it is a list
    from clusterwright.cli.planning import plan_with_findings
    from clusterwright.report.crew.files import crew_files
    from clusterwright.report.crew.sheets import label_sheets
    from clusterwright.report.figures import figures
    from clusterwright.report.inventory_ansible import ansible_lines
    from clusterwright.report.inventory_csv import csv_lines
    from clusterwright.report.inventory_json import json_lines
    from clusterwright.report.lists.dns import zone_files
    from clusterwright.report.lists.prometheus import target_lines
    from clusterwright.report.monitoring.files import monitoring_files
    from clusterwright.report.records import Inventory
    from clusterwright.report.writing import replace_files, write_lines
    from clusterwright.source_of_truth.systems import SERVER_KINDS, imported_files, loaded_files

    if form in FOLDERS and out is None:
        raise ClusterwrightError(f"{form} is several files: name the folder for them with --out DIR.")
    gc.disable()  # what is planned is kept to the end: the collector would walk all of it again and again
    plan, _ = plan_with_findings(spec)
    chosen = Inventory(plan, pod)
    if form in FOLDERS and out is not None:
        folders: dict[str, Callable[[Inventory], Mapping[str, Iterable[str]]]]
        folders = {
            "csv": csv_lines,
            "crew": crew_files,
            "dns": partial(zone_files, serial=serial),
            "labels": label_sheets,
            "monitoring": monitoring_files,
        }
        for name, kind in SERVER_KINDS.items():
            folders |= {
                name: partial(imported_files, kind, site=site),
                f"{name}-load": partial(loaded_files, kind, site=site),
            }
        if form in plugins(INVENTORY_FORMATS):
            folders[form] = load_plugin(plugins(INVENTORY_FORMATS)[form], FunctionType)
        written = replace_files(out, folders[form](chosen))
        click.echo(f"wrote {', '.join(str(path) for path in written)}", err=True)
        return 0
    if form == "json":
        lines = json_lines(chosen, figures(plan))
    else:
        lines = ansible_lines(chosen) if form == "ansible" else target_lines(chosen)
    if out is None:
        sys.stdout.writelines(lines)
    else:
        write_lines(out, lines)
        click.echo(f"wrote {out}", err=True)
    return 0
