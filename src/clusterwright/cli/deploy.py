"""``clusterwright preview``, ``up`` and ``refresh``: the Pulumi stacks of a spec, in order."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from clusterwright.cli.formats.text import render_text
from clusterwright.cli.lint import source_line
from clusterwright.deploy.demand import require_secrets
from clusterwright.deploy.drive import Deployment, drive
from clusterwright.deploy.targets import TARGETS, Chosen
from clusterwright.deploy.units import UPPER, choose, cut
from clusterwright.finding import Severity
from clusterwright.plan.build import build_plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

EXIT_FINDINGS = 1


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments that the three commands share."""
    decorators = (
        click.argument("spec", type=click.Path(path_type=Path)),
        click.option("--pod", "pods", multiple=True, metavar="POD", help="Only this pod (pod0, ...); may be repeated."),
        click.option("--upper", is_flag=True, help="Only the layer above the pods; together with --pod, both."),
        click.option("--target", type=click.Choice(TARGETS), default=TARGETS[0], show_default=True),
        click.option(
            "--access",
            type=click.Path(path_type=Path, dir_okay=False),
            help="The target ansible: the file with keys and addresses.",
        ),
        click.option(
            "--secrets",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Where secrets come from, for specs that do not say so under `secrets:`.",
        ),
        click.option(
            "--root",
            type=click.Path(path_type=Path, file_okay=False),
            default=Path("up"),
            show_default=True,
            help="The folder that holds state, rendered objects and the directory target.",
        ),
    )
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


@click.command()
@_options
def preview(
    spec: Path, pods: tuple[str, ...], upper: bool, target: str, access: Path | None, secrets: Path | None, root: Path
) -> int:
    """Show what would change on which device, in lines of configuration."""
    chosen = Chosen(target, root, access, secrets)
    return _run("preview", Deployment(spec, chosen), (*pods, *((UPPER,) if upper else ())))


@click.command()
@_options
def up(
    spec: Path, pods: tuple[str, ...], upper: bool, target: str, access: Path | None, secrets: Path | None, root: Path
) -> int:
    """Deploy SPEC: the layer above the pods first, then pod by pod, and no further than the first failure."""
    chosen = Chosen(target, root, access, secrets)
    return _run("up", Deployment(spec, chosen), (*pods, *((UPPER,) if upper else ())))


@click.command()
@_options
def refresh(
    spec: Path, pods: tuple[str, ...], upper: bool, target: str, access: Path | None, secrets: Path | None, root: Path
) -> int:
    """Ask the devices what they hold; the next preview shows what differs, the next up mends it."""
    chosen = Chosen(target, root, access, secrets)
    return _run("refresh", Deployment(spec, chosen), (*pods, *((UPPER,) if upper else ())))


def _run(action: str, deployment: Deployment, layers: tuple[str, ...]) -> int:
    linted = lint_path(deployment.spec)
    if any(finding.severity is Severity.ERROR for finding in linted.findings):
        click.echo(render_text(linted, source_line, colour=sys.stderr.isatty()), nl=False, err=True)
        return EXIT_FINDINGS
    deployment.target.carries(())  # a bad access file is refused before anything is touched
    spec = load_spec(deployment.spec)
    if spec.secrets and deployment.target.secrets is None:
        deployment = replace(deployment, target=replace(deployment.target, secrets=deployment.spec))
    plan = build_plan(spec)
    stacks = choose(cut(plan), layers)
    if action != "preview":
        require_secrets(plan, deployment.target, stacks)
    click.echo(f"{action}: {', '.join(stack.name for stack in stacks)}", err=True)
    status, changes = drive(action, deployment, stacks)
    if status == 0 and action != "preview":
        same = changes.pop("same", 0)
        counted = ", ".join(f"{count} {kind}d" for kind, count in sorted(changes.items()))
        click.echo(f"{counted or 'nothing changed'}; {same} resources are as they were", err=True)
    return status
