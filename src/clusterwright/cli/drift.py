"""Reading, comparison and output of `clusterwright observe --running`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

import click

from clusterwright.deploy.device_places import OWN_FOLDER
from clusterwright.deploy.pulumi.units import cut
from clusterwright.device_files.drift import Compare, Drift
from clusterwright.device_files.json_drift import compare_json
from clusterwright.device_files.line_drift import compare_lines
from clusterwright.finding import ClusterwrightError
from clusterwright.given_file import read_given_text
from clusterwright.hosts.linux.drift import compare_nft
from clusterwright.observe.adoption import adoption
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.switches.eos.drift import compare_options, compare_sysctl, compare_variables
from clusterwright.switches.registry import SYSTEMS
from clusterwright.switches.running import OUTPUTS, drifts

FORMATS = ("text", "json", "prometheus")
MAX_BYTES = 64 * 1024 * 1024
VERSION = 1

COMPARISONS: tuple[tuple[str, Compare], ...] = (
    *chain.from_iterable(platform.drift.items() for platform in SYSTEMS.values()),
    ("etc/nftables*.conf", compare_nft),
    ("etc/sysctl.d/*.conf", compare_sysctl),
    ("etc/nccl.conf", compare_variables),
    ("etc/nccl/nccl.conf", compare_variables),
    ("*opensm.conf", compare_options),
    ("*.json", compare_json),
    ("*", compare_lines),
)


def read_running(folder: Path) -> dict[str, dict[str, str]]:
    """Files by device and path of its folder. Raises ClusterwrightError for an unreadable file."""
    if not folder.is_dir():
        raise ClusterwrightError(f"{folder}: is no folder; it has one folder for each device, named after it")
    files_by_device: dict[str, dict[str, str]] = {}
    for device in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = {path.relative_to(device): path for path in sorted(device.rglob("*")) if path.is_file()}
        # The deployment's own folder on a device holds no configuration.
        files_by_device[device.name] = {
            str(name): read_given_text(path, MAX_BYTES) for name, path in files.items() if name.parts[0] != OWN_FOLDER
        }
    if not files_by_device:
        names = ", ".join(f"{name} ({output.command})" for name, output in OUTPUTS.items())
        raise ClusterwrightError(
            f"{folder}: holds no device. Put there <device>/<path on the device>, and outputs as {names}"
        )
    return files_by_device


def compare_running(plan: Plan, running: dict[str, dict[str, str]]) -> tuple[Drift, ...]:
    """Every difference of the devices in ``running``. Raises ClusterwrightError for an unknown device."""
    unknown = sorted(running.keys() - plan.by_name.keys())
    if unknown:
        raise ClusterwrightError(f"no device of {plan.name} is called {unknown[0]}; name each folder after its device")
    differences: list[Drift] = []
    for device, running_files in running.items():
        rendered = {item.path: item.content.decode(errors="replace") for item in Rendering(plan).of_device(device)}
        differences.extend(drifts(device, rendered, running_files, COMPARISONS))
    return tuple(differences)


def show(plan: Plan, spec: Path, running: Iterable[str], drifts: Sequence[Drift], form: str) -> None:
    """Print the differences."""
    if form == "json":
        click.echo(_json(plan, drifts))
    elif form == "prometheus":
        click.echo(prometheus(plan, running, drifts), nl=False)
    else:
        _show_text(plan, spec, running, drifts)


def show_adoption(plan: Plan, drifts: Sequence[Drift]) -> None:
    """Print the settings to add to the spec for the running configuration."""
    click.echo(adoption(plan, drifts), nl=False)


def _show_text(plan: Plan, spec: Path, running: Iterable[str], drifts: Sequence[Drift]) -> None:
    for drift in drifts:
        click.echo(f"{drift.device} {drift.file}: {drift.message}")
    devices = {drift.device for drift in drifts}
    compared = len(list(running))
    everywhere = "1 device" if compared == 1 else f"{compared:,} devices"
    if not drifts:
        click.echo(f"no differences on {everywhere}")
        return
    differences = "1 difference" if len(drifts) == 1 else f"{len(drifts):,} differences"
    click.echo(f"{differences} on {len(devices):,} of {everywhere}")
    layers = sorted({_layer_of(plan, device) for device in devices})
    pods = " ".join("--upper" if layer == "upper" else f"--pod {layer}" for layer in layers)
    click.echo(f"revert: clusterwright refresh {spec} {pods} && clusterwright up {spec} {pods}")
    click.echo("note:   revert with the --root and --target that the cluster is deployed with")
    click.echo("adopt:  the same command with --adopt prints the lines of the spec")


def _layer_of(plan: Plan, device: str) -> str:
    for stack in cut(plan):
        if device in stack.devices:
            return stack.layer
    raise KeyError(device)


def _json(plan: Plan, drifts: Sequence[Drift]) -> str:
    entries = [
        {
            "device": drift.device,
            "file": drift.file,
            "kind": drift.kind.value,
            "place": drift.place,
            "planned": drift.planned,
            "runs": drift.runs,
            "message": drift.message,
        }
        for drift in drifts
    ]
    summary = dict(sorted(Counter(drift.kind.value for drift in drifts).items()))
    return json.dumps({"version": VERSION, "cluster": plan.name, "drift": entries, "summary": summary}, indent=2)


def prometheus(plan: Plan, running: Iterable[str], drifts: Sequence[Drift]) -> str:
    """Metrics for node_exporter's textfile collector: differences by device and kind, 0 for a device without any.

    Metric names and labels follow the text exposition format 0.0.4; names of devices need no escaping.
    """
    counts = Counter((drift.device, drift.kind.value) for drift in drifts)
    kinds = ("changed", "missing", "unexpected")
    lines = [
        "# HELP clusterwright_drift_differences What a device runs otherwise than planned.",
        "# TYPE clusterwright_drift_differences gauge",
    ]
    for device in sorted(running):
        labels = f'cluster="{plan.name}",device="{device}",role="{plan.by_name[device].role}"'
        lines += [f'clusterwright_drift_differences{{{labels},kind="{kind}"}} {counts[device, kind]}' for kind in kinds]
    return "\n".join(lines) + "\n"
