"""``clusterwright inventory``: a cluster's devices, cables, addresses and totals, for programs and technicians."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

import click

from clusterwright.cli.terminal import progress
from clusterwright.finding import ClusterwrightError
from clusterwright.plugins import INVENTORY_FORMATS, load_plugin, plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from clusterwright.lists.records import Inventory
    from clusterwright.plan.model import Plan

SINGLE_FILES = ("json", "ansible", "prometheus", "access", "topograph")
OWN_FORMATS = ("json", "csv", "ansible", "access", "dns", "prometheus", "ibnetdiscover", "topograph")
FORMATS = tuple(dict.fromkeys((*OWN_FORMATS, *plugins(INVENTORY_FORMATS))))


def _folder_url(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str:
    """A URL with a slash at its end; "" for none. Raises BadParameter for anything but http and https."""
    if value is None:
        return ""
    if not re.fullmatch(r"https?://[^\s{}\"<>]+", value):
        raise click.BadParameter(f'"{value}" is no http or https URL.')
    return f"{value.rstrip('/')}/"


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), default="json", show_default=True, help="Output format.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="A file to write instead of stdout; a folder for several.",
)
@click.option("--pod", help="Only devices in this pod (p00 or pod0; or other group), and their cables.")
@click.option("--site", help="The site's name in NetBox or Nautobot. [default: the cluster's name]")
@click.option(
    "--serial", type=click.IntRange(1, 2**32 - 1), default=1, show_default=True, help="Serial number of DNS zones."
)
@click.option(
    "--report-url",
    metavar="URL",
    callback=_folder_url,
    help="URL of the pages of `report`: alerts of monitoring link to their devices and racks.",
)
def inventory(
    spec: Path, *, form: str, out: Path | None, pod: str | None, site: str | None, serial: int, report_url: str
) -> int:
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
    ibnetdiscover  the planned cabling of each InfiniBand fabric, as ibnetdiscover prints a scan,
             in the folder --out
    topograph  the model that NVIDIA's topograph reads: a tree of groups above nodes with GPUs
    air      the Ethernet fabrics for the simulator NVIDIA Air, in the folder --out
    infra-controller  the machines, NVLink switches and racks that NVIDIA's infra controller expects,
             in the folder --out
    ansible  an inventory for `ansible-inventory -i FILE.json`
    access   a start of the file that `--access` names: a line a device, with marks for you to fill in

    Exit status: 0 written, 2 could not run.
    """  # noqa: D301  # click reads the backspace itself: what follows it is a list
    from clusterwright.cli.planning import plan_with_findings
    from clusterwright.lists.as_access import access_lines
    from clusterwright.lists.as_ansible import ansible_lines
    from clusterwright.lists.as_json import json_lines
    from clusterwright.lists.prometheus import target_lines
    from clusterwright.lists.records import Inventory
    from clusterwright.lists.topograph import topograph_lines
    from clusterwright.lists.writing import replace_files, write_lines
    from clusterwright.report.figures import figures

    if form not in SINGLE_FILES and out is None:
        raise ClusterwrightError(f"{form} is several files: name the folder for them with --out DIR.")
    plan, _ = plan_with_findings(spec)
    records = Inventory(plan, pod, site, report_url)
    if form not in SINGLE_FILES and out is not None:
        written = replace_files(out, _folder_files(form, records, serial))
        progress(f"wrote {', '.join(str(path) for path in written)}")
        return 0
    if form == "json":
        lines = json_lines(records, figures(plan))
    elif form == "ansible":
        lines = ansible_lines(records)
    elif form == "access":
        lines = access_lines(records)
    elif form == "topograph":
        lines = topograph_lines(records)
    else:
        lines = target_lines(records)
    if out is None:
        sys.stdout.writelines(lines)
    else:
        write_lines(out, lines)
        progress(f"wrote {out}")
    return 0


def _folder_files(form: str, records: Inventory, serial: int) -> Mapping[str, Iterable[str]]:
    """File name to lines of a format with several files; ``serial`` is that of DNS zones."""
    from clusterwright.lists.as_csv import csv_lines
    from clusterwright.lists.dns import zone_files

    if form == "csv":
        return csv_lines(records)
    if form == "ibnetdiscover":
        return _planned_scans(records.plan)
    if form == "dns":
        return zone_files(records, serial=serial)
    list_files: Callable[[Inventory], Mapping[str, Iterable[str]]]
    list_files = load_plugin(plugins(INVENTORY_FORMATS)[form], FunctionType)
    return list_files(records)


def _planned_scans(plan: Plan) -> Mapping[str, Iterable[str]]:
    """A scan of each InfiniBand subnet by its name. Raises ClusterwrightError for a cluster without one."""
    from clusterwright.hosts.opensm.writer.fabric import fabric_file

    if not plan.ib_subnets:
        raise ClusterwrightError(f"{plan.name} has no InfiniBand fabric, which ibnetdiscover could scan.")
    return {f"{name}.ibnetdiscover": (fabric_file(plan, name).text,) for name in plan.ib_subnets}
