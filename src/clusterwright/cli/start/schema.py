"""``clusterwright schema``: the JSON Schemas for completion in editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright import data_files

if TYPE_CHECKING:
    from clusterwright.spec.hardware.models import Catalogue

# Of files to write, of documents to read, and of the kinds of string in them; the schema of overlays is derived from
# the cluster's.
_SCHEMAS = (
    "accelerator",
    "access",
    "cluster",
    "distribution",
    "hardware",
    "inventory",
    "platforms",
    "secrets",
    "settings",
    "strings",
    "system",
    "walk",
)


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    default="schema",
    show_default=True,
    help="The folder to write into; schemas of these names are replaced.",
)
@click.option(
    "--hardware", "files", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help="A catalogue of yours."
)
def schema(out: Path, files: tuple[Path, ...]) -> int:
    """Writes the JSON Schemas of specs and catalogues, with the names of all models, for completion in editors.

    A spec whose first line is `# yaml-language-server: $schema=schema/cluster.schema.json` is completed and checked
    while it is typed, by editors with the YAML language server.

    Exit status: 0 written, 2 could not run.
    """
    from clusterwright import durable
    from clusterwright.finding import ClusterwrightError
    from clusterwright.spec.hardware.catalogue import load_catalogue
    from clusterwright.spec.schema.overlay import overlay_of

    home, catalogue = data_files.folder("inventory") / "schema", load_catalogue(extra=files)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ClusterwrightError(f"{out}: cannot be made: {error.strerror}. Name another folder.") from error
    for name in _SCHEMAS:
        cluster_schema = json.loads((home / f"{name}.schema.json").read_text(encoding="utf-8"))
        written = {name: cluster_schema}
        if name == "cluster":
            _name_models(cluster_schema, catalogue)
            written["overlay"] = overlay_of(cluster_schema)
        for schema_name, content in written.items():
            text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
            durable.replace(out / f"{schema_name}.schema.json", text.encode())
    click.echo(f"{len(_SCHEMAS) + 1} schemas with {len(catalogue)} models, in {out}")
    return 0


def _name_models(cluster: dict[str, Any], catalogue: Catalogue) -> None:
    """List the known names at ``model`` of tiers and node groups, and at ``name`` of chips' settings."""
    for (place, key), names in model_names(catalogue).items():
        cluster["$defs"][place]["properties"][key].pop("examples", None)
        cluster["$defs"][place]["properties"][key]["enum"] = names


def model_names(catalogue: Catalogue) -> dict[tuple[str, str], list[str]]:
    """The names of models allowed at a key, by the object of the schema and the key."""
    switches = sorted(name for name, model in catalogue.items() if model.blocks)
    machines = sorted(name for name, model in catalogue.items() if not model.blocks)
    return {("tier", "model"): switches, ("nodes", "model"): machines, ("chip_settings", "name"): switches}
