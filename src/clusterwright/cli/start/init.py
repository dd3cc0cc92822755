"""``clusterwright init``: a first spec, sized and linted before it is written."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright import data_files
from clusterwright.finding import ClusterwrightError
from clusterwright.start.sizing_request import FIRST_DISTRIBUTION

if TYPE_CHECKING:
    from clusterwright.spec.hardware.models import Catalogue, HardwareModel

FILE, OWN_FILE = "cluster.yaml", "hardware/own.yaml"
FABRICS = ("roce", "infiniband", "ethernet")
SCHEDULERS = ("slurm", "kueue", "none")
_SERVICE_MODEL = "service-server"
_OPTIONS = {"switch_models": "--switch-model", "hardware_files": "--hardware", "likes": "--like"}
_QUESTIONS = {"nodes": "How many GPU nodes", "node_model": "Of which model", "fabric": "Fabric between GPUs"}


@dataclass(frozen=True, slots=True)
class InitOptions:
    """The options about the cluster to size."""

    name: str
    nodes: int
    node_model: str
    fabric: str
    switch_models: tuple[str, ...]
    """From the leaves up."""
    oversubscription: float
    rails: bool
    storage: str | None
    scheduler: str
    tenants: int
    hardware_files: tuple[Path, ...]
    likes: tuple[str, ...]
    """Known models with the figures for unknown ones."""
    one_switch: bool | None
    distribution: str
    bare: bool


@click.command()
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=".")
@click.option("--nodes", type=click.IntRange(2, 4096), help="GPU nodes.")
@click.option("--node-model", metavar="MODEL", help="Model of the nodes in the catalogue (`clusterwright models`).")
@click.option("--fabric", type=click.Choice(FABRICS), help="Technology of the GPUs' fabric.")
@click.option(
    "--switch-model",
    "switch_models",
    multiple=True,
    metavar="MODEL",
    help="Switches of that fabric, from the leaves up, the last also above it. [default: the smallest that fit]",
)
@click.option(
    "--oversubscription",
    type=click.FloatRange(1, 16),
    default=1,
    show_default=True,
    help="Bandwidth of the nodes over that of their leaves' uplinks.",
)
@click.option("--rails/--no-rails", default=True, help="A leaf for each rail of a pod (the default), or for each rack.")
@click.option("--storage", metavar="MODEL", help="Two of this storage model, mounted at /home.")
@click.option(
    "--scheduler", type=click.Choice(SCHEDULERS), default="slurm", show_default=True, help="The scheduler of jobs."
)
@click.option(
    "--tenants",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Number of tenants, each with its own racks, pods and zones.",
)
@click.option(
    "--hardware",
    "hardware_files",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Your own catalogue; the other options may name its models, and the spec refers to it.",
)
@click.option(
    "--like",
    "likes",
    multiple=True,
    metavar="MODEL",
    help="A known switch or node whose figures stand in for a --switch-model or --node-model that the catalogue does"
    " not have: they are written into DIR/hardware/own.yaml, marked, for you to correct.",
)
@click.option(
    "--one-switch/--no-one-switch",
    default=None,
    help="One switch for the GPUs and one for all else (the default up to four nodes), or leaves and spines.",
)
@click.option(
    "--distribution",
    default=FIRST_DISTRIBUTION,
    show_default=True,
    metavar="NAME",
    help='Installed distribution of the nodes: "Ubuntu 24.04", "Rocky 9".',
)
@click.option("--bare", is_flag=True, help="Machines and the GPUs' fabric alone, for cabling and capacity.")
@click.option("--name", help="The cluster's name. [default: that of DIR]")
@click.option(
    "--from",
    "reference",
    metavar="NAME",
    help="Copy this reference instead: b300-spectrum-x, lab-roce, roce-24k, gb200-1su, ...",
)
@click.pass_context
def init(
    context: click.Context,
    /,
    *,
    folder: Path,
    nodes: int | None,
    node_model: str | None,
    fabric: str | None,
    name: str | None,
    reference: str | None,
    **options: Any,
) -> int:
    """Writes a first spec, DIR/cluster.yaml, sized for your nodes and switches; or copies a reference.

    At a terminal, you are prompted for a missing --nodes, --node-model or --fabric. The spec is linted before it is
    written. If no design fits, the reason is printed and no file is written. Existing files are never overwritten.

    Exit status: 0 written, 2 could not run.
    """
    if reference is not None:
        given = context.get_parameter_source
        others = [key for key in context.params if key not in {"folder", "reference"}]
        if conflicting := [key for key in others if given(key) is click.core.ParameterSource.COMMANDLINE]:
            flags = ", ".join(_OPTIONS.get(key, f"--{key.replace('_', '-')}") for key in conflicting)
            raise click.UsageError(f"--from copies a reference as it is; leave out {flags}.")
        return _write(folder, _copied(reference))
    answers = _answers({"nodes": nodes, "node_model": node_model, "fabric": fabric})
    names = (FILE, OWN_FILE) if options["likes"] else (FILE,)
    _refuse_existing(folder, names)  # before the work, not after it
    _require_distribution(options["distribution"])
    request = InitOptions(
        name=_name(name, folder),
        nodes=int(answers["nodes"]),
        node_model=answers["node_model"],
        fabric=answers["fabric"],
        **options,
    )
    return _write(folder, _sized(request, folder))


def _answers(given: Mapping[str, int | str | None]) -> dict[str, str]:
    """The options, completed by questions at a terminal. Raises UsageError for a missing one without a terminal."""
    missing = [key for key, value in given.items() if value is None]
    if missing and not (sys.stdin.isatty() and sys.stdout.isatty()):
        flags = " and ".join(f"--{key.replace('_', '-')}" for key in missing)
        raise click.UsageError(
            f"Give {flags}, or copy a reference with --from; at a terminal init asks for them. An example:"
            " clusterwright init --nodes 8 --node-model dgx-h100 --fabric roce"
        )
    kinds = {"nodes": click.IntRange(2, 4096), "node_model": click.STRING, "fabric": click.Choice(FABRICS)}
    answers: dict[str, str] = {}
    for key, value in given.items():
        answer = click.prompt(_QUESTIONS[key], type=kinds[key]) if value is None else value
        answers[key] = str(answer)
    return answers


def _name(name: str | None, folder: Path) -> str:
    cluster_name = name or re.sub(r"[^a-z0-9]+", "-", folder.absolute().resolve().name.lower()).strip("-")[:40]
    if re.fullmatch(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?", cluster_name):
        return cluster_name
    if name is not None:
        raise click.UsageError(f'"{name}" is no name: lower case letters, digits and dashes, beginning with a letter.')
    return "cluster"


def _require_distribution(name: str) -> None:
    """Raises UsageError for an unknown distribution."""
    from clusterwright.spec.distribution import distribution_of, families

    if distribution_of(name) is not None:
        return
    releases: list[str] = []
    for family in families().values():
        releases += [f"{release.title or family.title} {release.name}" for release in family.releases]
    raise click.UsageError(f"--distribution: {name} is not known. Known are {', '.join(releases)}.")


def _sized(request: InitOptions, folder: Path) -> dict[str, bytes]:
    """The spec for ``folder``, and stubs of unknown models.

    Raises ClusterwrightError for unknown models, for sizes that do not fit and for errors of lint.
    """
    from clusterwright.spec.hardware.catalogue import load_catalogue
    from clusterwright.start import stub
    from clusterwright.start.design import design_text, size_design
    from clusterwright.start.sizing_request import SizingRequest

    if request.nodes < 2 * request.tenants:
        raise click.UsageError(f"{request.nodes} nodes are less than two for each of {request.tenants} tenants.")
    with tempfile.TemporaryDirectory() as place:
        path, hardware_file = Path(place) / FILE, Path(place) / OWN_FILE
        hardware_file.parent.mkdir()
        given = [file.resolve() for file in request.hardware_files]
        all_models = load_catalogue(extra=given)
        stubs = _stubs(all_models, request.node_model, request.switch_models, request.likes)
        if stubs:
            hardware_file.write_text(stub.stub_text(stubs), encoding="utf-8")
            _refuse_errors(hardware_file)
        catalogue_files = [*given, hardware_file] if stubs else given
        catalogue = load_catalogue(extra=catalogue_files)
        machines = {key: model for key, model in catalogue.items() if model.nic_groups}
        of_fabric = {key: model for key, model in catalogue.items() if request.fabric in model.technology}
        gpu_nodes = {key: model for key, model in of_fabric.items() if model.nic_groups and model.gpus}
        switches = {key: model for key, model in of_fabric.items() if model.blocks}
        stores = {key: model for key, model in machines.items() if model.kind == "storage"}
        storage = _model(request.storage, stores, "--storage") if request.storage else None
        sizing_request = SizingRequest(
            name=request.name,
            nodes=request.nodes,
            node_model=_model(request.node_model, gpu_nodes, "--node-model"),
            fabric=request.fabric,
            switches=tuple(_model(name, switches, "--switch-model") for name in request.switch_models),
            oversubscription=request.oversubscription,
            rails=request.rails,
            storage=storage,
            scheduler=request.scheduler,
            tenants=request.tenants,
            distribution=request.distribution,
            one_switch=request.one_switch,
            bare=request.bare,
        )
        # For tiers without a model in the options, init chooses no switch with unstated figures.
        sizing = size_design(sizing_request, all_models, catalogue[_SERVICE_MODEL])
        stub_file = (OWN_FILE,) if stubs else ()
        draft = replace(sizing_request, hardware=(*map(str, given), *stub_file))
        path.write_text(design_text(draft, sizing, {}, FILE), encoding="utf-8")
        figures = _figures(path)
        path.write_text(design_text(draft, sizing, figures, FILE), encoding="utf-8")
        _refuse_errors(path)
        beside = [Path(os.path.relpath(file, folder.resolve())).as_posix() for file in given]
        text = design_text(replace(sizing_request, hardware=(*beside, *stub_file)), sizing, figures, FILE)
        files = {FILE: text.encode()}
        return {**files, OWN_FILE: hardware_file.read_bytes()} if stubs else files


def _stubs(
    all_models: Catalogue, node_model: str, switch_models: tuple[str, ...], likes: tuple[str, ...]
) -> dict[str, str]:
    """The known model with the figures for each unknown model, by the unknown model's name.

    Raises UsageError for a switch with SONiC as the known model: its ports are those of its machine.
    """
    switches = {key: model for key, model in all_models.items() if model.blocks and not _has_ports_of_machine(model)}
    nodes = {key: model for key, model in all_models.items() if model.nic_groups and model.gpus}
    like_switches = [name for name in likes if name not in nodes]
    like_nodes = [name for name in likes if name in nodes]
    stubs: dict[str, str] = {}
    for name in switch_models:
        if name not in all_models and like_switches:
            stubs[name] = _model(like_switches[0], switches, "--like").name
    if node_model not in all_models and like_nodes:
        stubs[node_model] = like_nodes[0]
    return stubs


def _has_ports_of_machine(model: HardwareModel) -> bool:
    from clusterwright.spec.hardware.systems import system_of

    system = system_of(model)
    return system is not None and system.ports_of_platform


def _model(name: str, fitting: Catalogue, flag: str) -> HardwareModel:
    """The model ``name``. Raises UsageError for one outside of ``fitting``, with similar names."""
    from clusterwright.spec.hardware.catalogue import load_catalogue
    from clusterwright.spec.reading import unknown_model

    if name in fitting:
        return fitting[name]
    if name in load_catalogue():
        raise click.UsageError(f"{flag}: {name} does not serve here. Those that do: {', '.join(sorted(fitting))}.")
    stub = "" if flag == "--storage" else " With --like MODEL a stub of it is written, with that model's figures."
    raise click.UsageError(f"{flag}: {' '.join(unknown_model(name, fitting))}{stub}")


def _figures(path: Path) -> Mapping[str, float]:
    from clusterwright.plan.figures import figures
    from clusterwright.plan.skeleton import build_skeleton
    from clusterwright.spec.load import load_spec

    spec = load_spec(path)
    return figures(spec, build_skeleton(spec))


def _refuse_errors(path: Path) -> None:
    from clusterwright.rules.engine import lint_path

    if errors := lint_path(path).errors:
        error_lines = "\n".join(f"  {error.code}: {error.message} {error.hint}" for error in errors)
        raise ClusterwrightError(f"What init sized does not lint, so nothing was written:\n{error_lines}")


def _copied(reference: str) -> dict[str, bytes]:
    """The reference called ``reference`` as FILE, with the files it extends and its models."""
    from clusterwright.spec.text.extends import read_spec_document

    home = data_files.folder("inventory")
    reference_files = {
        path.stem: path for path in (*sorted(home.glob("*.yaml")), *sorted((home / "published").glob("*.yaml")))
    }
    if reference not in reference_files:
        raise click.UsageError(f'--from: there is no reference "{reference}". There are: {", ".join(reference_files)}.')
    first = reference_files[reference]
    document = read_spec_document(first)
    copied = {FILE: first.read_bytes()}
    for file in map(Path, document.files):
        if file != first:
            copied[file.name] = file.read_bytes()
    for index in range(len(document.data.get("hardware", ()))):
        models = Path(document.named_file(("hardware", index)))
        copied[models.relative_to(first.parent).as_posix()] = models.read_bytes()
    return copied


def _refuse_existing(folder: Path, names: tuple[str, ...]) -> None:
    if taken := [str(folder / name) for name in names if (folder / name).is_symlink() or (folder / name).exists()]:
        raise ClusterwrightError(f"{', '.join(taken)}: exists already, and is not changed. Name another folder.")


def _write(folder: Path, files: Mapping[str, bytes]) -> int:
    """Write all of ``files``, or none if one exists. Raises ClusterwrightError."""
    _refuse_existing(folder, tuple(files))
    try:
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with (folder / name).open("xb") as file:
                file.write(content)
    except OSError as error:
        raise ClusterwrightError(f"{folder}: cannot be written: {error.strerror}. Name another folder.") from error
    path = folder / FILE
    click.echo(f"{', '.join(str(folder / name) for name in files)} written")
    click.echo(
        f"Next: clusterwright lint {path}; clusterwright verify {path}; clusterwright report {path} --out report"
    )
    return 0
