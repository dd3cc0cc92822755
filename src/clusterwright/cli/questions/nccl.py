"""``clusterwright nccl``: every variable of NCCL and PyTorch with its value and its origin in the spec."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.finding import ClusterwrightError
from clusterwright.nearest_name import did_you_mean

if TYPE_CHECKING:
    from clusterwright.intent.nccl_settings import Setting
    from clusterwright.plan.model import Plan


@click.command("nccl")
@click.argument("spec", type=click.Path(path_type=Path))
@click.argument("variable", required=False)
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
def nccl_command(spec: Path, variable: str | None, form: str) -> int:
    """Explains the variables of NCCL and PyTorch on the nodes of SPEC: VARIABLE, or all.

    Exit status: 0, or 2 when the spec has no NCCL profile or sets no such variable.
    """
    from clusterwright.cli.planning import plan_with_findings
    from clusterwright.hosts.nccl.files import settings_by_node

    plan, _ = plan_with_findings(spec)
    profiles = {node: _chosen(settings, variable, plan) for settings, node in settings_by_node(plan).items()}
    if not profiles:
        raise ClusterwrightError(f"{plan.name} has no NCCL profile; add one under `nccl:`.")
    if form == "json":
        document: dict[str, list[dict[str, str]]] = {}
        for node, settings in profiles.items():
            document[node] = [_as_document(plan, setting) for setting in settings]
        click.echo(json.dumps({"cluster": plan.name, "nodes": document}, indent=1))
        return 0
    for node, settings in profiles.items():
        if len(profiles) > 1:
            click.echo(f"as on {node}:\n")
        click.echo("\n".join(_text(plan, setting) for setting in settings))
    return 0


def _chosen(settings: tuple[Setting, ...], variable: str | None, plan: Plan) -> tuple[Setting, ...]:
    if variable is None:
        return settings
    chosen = tuple(setting for setting in settings if setting.name == variable.upper())
    if not chosen:
        names = [setting.name for setting in settings]
        hint = did_you_mean(variable.upper(), names, "`clusterwright nccl SPEC` lists all.")
        raise ClusterwrightError(f"{plan.name} does not set {variable}. {hint}")
    return chosen


def _text(plan: Plan, setting: Setting) -> str:
    facts = _as_document(plan, setting)
    return (
        f"{setting.name}={setting.value}  ({facts['written_to']})\n    {setting.reason}\n"
        f"    {facts['from']}, {facts['position']}\n"
    )


def _as_document(plan: Plan, setting: Setting) -> dict[str, str]:
    from clusterwright.spec.text.document import format_path

    document = plan.spec.document
    return {
        "name": setting.name,
        "value": setting.value,
        "written_to": setting.written_to,
        "reason": setting.reason,
        "from": format_path(setting.origin, document.data),
        "position": str(document.locate(setting.origin)),
    }
