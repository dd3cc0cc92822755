"""``clusterwright models``: the hardware catalogue."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.finding import ClusterwrightError
from clusterwright.text.columns import aligned_lines

if TYPE_CHECKING:
    from clusterwright.spec.hardware.consistency import LoadedModel
    from clusterwright.spec.hardware.models import HardwareModel

_COLUMNS = ("MODEL", "KIND", "SYSTEM", "PORTS", "DESCRIBED IN")


@click.command()
@click.option("--grep", "text", metavar="TEXT", default="", help="Only lines that contain this, in any case.")
@click.option(
    "--hardware", "files", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help="A catalogue of yours."
)
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
def models(text: str, files: tuple[Path, ...], form: str) -> int:
    """Lists the hardware catalogue: the name, kind, system and ports of each model, and its file.

    Ports are those of each block in each of its modes, or a machine's NICs; "assumed" stands beside models of which
    some figures have no source.

    Exit status: 0 listed, 2 could not run, or no model has that text.
    """
    from clusterwright.spec.hardware.catalogue import load_catalogue, loaded_models

    load_catalogue(extra=files)  # reports names in common to two models before a list shows both
    lines = [line for line in map(_line, loaded_models(extra=files)) if text.lower() in " ".join(line).lower()]
    if not lines:
        raise ClusterwrightError(f'no model of the catalogue has "{text}"; without --grep all are listed')
    if form == "json":
        keys = [column.lower().replace(" ", "_") for column in _COLUMNS]
        rows = [dict(zip(keys, line, strict=True)) for line in lines]
        click.echo(json.dumps({"models": rows}, indent=1, ensure_ascii=False))
        return 0
    for line in aligned_lines([_COLUMNS, *lines]):
        click.echo(line)
    return 0


def _line(loaded: LoadedModel) -> tuple[str, ...]:
    model = loaded.model
    source = Path(loaded.name_position.file).name
    if model.assumed:
        source += " (assumed in part)"
    return model.name, model.kind, model.network_os or "-", _ports(model), source


def _ports(model: HardwareModel) -> str:
    """The number of ports by speed, with the whole switch in one mode; for other machines their NICs."""
    from clusterwright.plan.ports import capacity

    if not model.blocks:
        return ", ".join(f"{group.name} {len(group.nics)}x{group.speed_gbps}G" for group in model.nic_groups) or "-"
    modes = chain.from_iterable(block.modes for block in model.blocks)
    speeds = sorted({mode.speed_gbps for mode in modes}, reverse=True)
    return ", ".join(f"{capacity(model, (), speed)}x{speed}G" for speed in speeds)
