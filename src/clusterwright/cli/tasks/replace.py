"""``clusterwright replace``: the labels of a replacement device, and the devices configured with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.tasks import edits
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.cli.planning import PlannedSpec
    from clusterwright.plan.model import Plan
    from clusterwright.spec.labels.overlay import OverlayRow
    from clusterwright.spec.model import ClusterSpec


@click.command()
@edits.spec_edit_options
@click.option("--serial", default="", help="The new box's serial number.")
@click.option("--asset-tag", default="", help="Its asset tag.")
@click.option("--mac", "macs", multiple=True, metavar="PORT=MAC", help="The MAC address of a port; may be repeated.")
@click.option(
    "--guid", "guids", multiple=True, metavar="[PORT=]GUID", help="The GUID of a port, or of a switch; may be repeated."
)
def replace(
    *,
    spec: Path,
    name: str,
    serial: str,
    asset_tag: str,
    macs: tuple[str, ...],
    guids: tuple[str, ...],
    **options: Any,
) -> int:
    """Record the labels of the replacement for NAME, and update the devices configured with them.

    The labels go into the overlay file beside SPEC. Boot servers, subnet managers and other devices with changed files
    are updated at once, in waves and behind gates. NAME itself is read and updated once it is installed: `refresh
    --device NAME`, `up --device NAME`.

    Exit status: 0 updated, 1 errors in the spec, 2 refused, 3 stopped by failures, 130 interrupted.
    """
    edits.require_because(options)
    planned = edits.planned_with(spec)
    before = planned.plan
    edits.require_device(before, name)
    labels = _labels(name, serial, asset_tag, macs, guids)
    if not labels:
        raise click.UsageError("name the new values: --serial, --asset-tag, --mac PORT=MAC or --guid PORT=GUID.")
    _require_ports(before, name, labels)
    edit = _edit(spec, planned, name, labels)
    devices = edits.changed_by(edit)
    if devices:
        status = edits.carry_out(edit, devices, options)
    else:
        edit.file.write_bytes(edit.text_after)
        click.echo("no device knows it by these labels: nothing was sent", err=True)
        status = 0
    if status == 0:
        click.echo(
            f"{edit.file}: {name} has its new labels. Once it answers: refresh --device {name}, up --device {name}",
            err=True,
        )
    return status


def _labels(
    name: str, serial: str, asset_tag: str, macs: tuple[str, ...], guids: tuple[str, ...]
) -> tuple[OverlayRow, ...]:
    """The rows of an overlay file. Raises ClusterwrightError for an invalid label."""
    from clusterwright.spec.labels.guids import guid_of
    from clusterwright.spec.labels.macs import mac_of
    from clusterwright.spec.labels.overlay import OverlayRow, refused

    empty_row = OverlayRow(
        device=name,
        port="",
        serial=None,
        asset_tag=None,
        rack=None,
        unit=None,
        mac=None,
        guid=None,
        cable=None,
        line=0,
    )
    rows: list[OverlayRow] = []
    if serial or asset_tag:
        rows.append(empty_row._replace(serial=serial or None, asset_tag=asset_tag or None))
    for text in macs:
        port, _, label = text.rpartition("=")
        mac = mac_of(label)
        if not port or mac is None:
            raise ClusterwrightError(f"{text!r} is no port with its MAC address: write it as be0=0c:42:a1:5b:00:0c.")
        rows.append(empty_row._replace(port=port, mac=mac))
    for text in guids:
        port, _, label = text.rpartition("=")
        guid = guid_of(label)
        if not isinstance(guid, int):
            raise ClusterwrightError(" ".join(guid))
        rows.append(empty_row._replace(port=port, guid=guid))
    for row in rows:
        reason = refused(row)
        if reason:
            raise ClusterwrightError(reason)
    return tuple(rows)


def _require_ports(plan: Plan, name: str, labels: tuple[OverlayRow, ...]) -> None:
    """Raises ClusterwrightError for a node's port without a cable; the chips of a switch have no cables."""
    ports: set[str] = set()
    for cable in plan.cables_of.get(name, ()):
        ports.update(end.port for end in (cable.a, cable.b) if end.device == name)
    for row in labels:
        if row.port and row.port not in ports and plan.by_name[name].kind == "node":
            raise ClusterwrightError(f"no cable of {name} is at {row.port!r}; it has {', '.join(sorted(ports))}.")


def _edit(path: Path, before: PlannedSpec, name: str, labels: tuple[OverlayRow, ...]) -> edits.SpecEdit:
    """The edit of the overlay file. Raises ClusterwrightError for a label in another file of the spec."""
    from clusterwright.extras.source_of_truth.imported import merged_labels
    from clusterwright.spec.labels.overlay import overlay_text
    from clusterwright.spec.load import overlay_file

    spec = before.plan.spec
    mac_places, guid_places = _mac_places(spec), _guid_places(spec)
    for row in labels:
        place = None
        if row.mac is not None:
            place = mac_places.get((row.device, row.port))
        elif row.guid is not None:
            place = guid_places.get((row.device, row.port))
        if place:
            raise ClusterwrightError(
                f"{place} has that label of {row.device} {row.port}: two files cannot say it. Change it there, and run "
                f"`clusterwright up`, or remove that line and run this again. Nothing was touched."
            )
    file = overlay_file(path)
    text_before = file.read_bytes() if file.exists() else b""
    comments = [line for line in text_before.decode().splitlines(keepends=True) if line.startswith("#")]
    rows = merged_labels(spec.overlay.rows, labels)
    text_after = ("".join(comments) + overlay_text(rows)).encode()
    return edits.SpecEdit(
        spec=path,
        file=file,
        devices=(name,),
        text_before=text_before,
        text_after=text_after,
        before=before,
        after=edits.planned_with(path, (file, text_after)),
    )


def _mac_places(spec: ClusterSpec) -> dict[tuple[str, str], str]:
    """File and line of each MAC address in the spec's list, by device and port."""
    if not spec.boot or not spec.boot.macs:
        return {}
    file = spec.boot.macs.file
    return {(row.device, row.port): f"{file}:{row.line}" for row in spec.boot.macs.rows}


def _guid_places(spec: ClusterSpec) -> dict[tuple[str, str], str]:
    """File and line of each GUID in the spec's scans, by device and port."""
    places: dict[tuple[str, str], str] = {}
    for fabric in spec.fabrics:
        if not fabric.guids:
            continue
        for row in fabric.guids.rows:
            places[row.device, row.port] = f"{row.position.file}:{row.position.line}"
    return places
