"""``clusterwright preview``, ``up``, ``refresh`` and ``destroy``: the Pulumi stacks of a spec, in order."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from clusterwright.cli.formats.text import render_text
from clusterwright.cli.lint import source_line
from clusterwright.cli.progress import counted, shown
from clusterwright.deploy.automation import Engine, Ran
from clusterwright.deploy.demand import require_secrets
from clusterwright.deploy.events import Listener
from clusterwright.deploy.order import STACKS_AT_ONCE, drive_stacks
from clusterwright.deploy.project import Deployment
from clusterwright.deploy.targets import TARGETS, Chosen
from clusterwright.deploy.units import UPPER, Stack, choose, cut
from clusterwright.finding import Severity
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

EXIT_FINDINGS = 1
EXIT_STOPPED = 3
EXIT_INTERRUPTED = 130


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments that the commands share."""
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
        click.option(
            "--backend",
            metavar="URL",
            help="Where Pulumi keeps its state: file://, s3://, postgres://; PULUMI_BACKEND_URL says the same. "
            "Default: a folder under --root.",
        ),
        click.option(
            "--parallel",
            type=click.IntRange(1, 64),
            default=STACKS_AT_ONCE,
            show_default=True,
            help="How many stacks beside each other, once the upper layer is done.",
        ),
        click.option(
            "--events",
            type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
            help="Append every event to this file, one JSON object a line; - is standard output.",
        ),
    )
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


@click.command()
@_options
def preview(**options: Any) -> int:
    """Show what would change on which device, in lines of configuration."""
    return _run("preview", options)


@click.command()
@_options
def up(**options: Any) -> int:
    """Deploy SPEC: the layer above the pods first, then the pods, and no further than the first failure."""
    return _run("up", options)


@click.command()
@_options
def refresh(**options: Any) -> int:
    """Ask the devices what they hold; the next preview shows what differs, the next up mends it."""
    return _run("refresh", options)


@click.command()
@_options
@click.option("--yes", is_flag=True, help="Do not ask for the cluster's name.")
def destroy(*, yes: bool, **options: Any) -> int:
    """Remove from the devices what was put there, and nothing else; the upper layer goes last."""
    return _run("destroy", options, ask=not yes)


def _run(action: str, options: dict[str, Any], *, ask: bool = False) -> int:
    spec_path: Path = options["spec"]
    if options["backend"]:
        os.environ["PULUMI_BACKEND_URL"] = options["backend"]
    linted = lint_path(spec_path)
    if any(finding.severity is Severity.ERROR for finding in linted.findings):
        click.echo(render_text(linted, source_line, colour=sys.stderr.isatty()), nl=False, err=True)
        return EXIT_FINDINGS
    target = Chosen(options["target"], options["root"], options["access"], options["secrets"])
    target.carries(())  # a bad access file is refused before anything is touched
    spec = load_spec(spec_path)
    if spec.secrets and target.secrets is None:
        target = replace(target, secrets=spec_path)
    plan = build_plan(spec)
    stacks = choose(cut(plan), (*options["pods"], *((UPPER,) if options["upper"] else ())))
    if ask:
        _confirm(plan, stacks)
    if action in ("up", "refresh"):
        require_secrets(plan, target, stacks)
    click.echo(f"{action}: {', '.join(stack.name for stack in stacks)}", err=True)
    engine = Engine(Deployment(spec_path, target))
    with shown(options["events"]) as listen, _interruptible(engine) as is_stopped:
        ran = _drive(action, engine, stacks, listen, options["parallel"], is_stopped)
    if is_stopped():
        click.echo(f"{action} was interrupted; the same command picks up what is left", err=True)
        return EXIT_INTERRUPTED
    return _tell(action, stacks, ran)


def _confirm(plan: Plan, stacks: tuple[Stack, ...]) -> None:
    devices = sum(len(unit.devices) for stack in stacks for unit in stack.units)
    click.echo(f"This removes what was deployed on {devices} devices of {plan.name} in {len(stacks)} stacks.", err=True)
    if click.prompt("Type the cluster's name to go on", default="", show_default=False, err=True) != plan.name:
        raise click.ClickException("that is not the cluster's name; nothing was touched")


def _drive(
    action: str,
    engine: Engine,
    stacks: tuple[Stack, ...],
    listen: Listener,
    at_once: int,
    is_stopped: Callable[[], bool],
) -> tuple[Ran, ...]:
    def run(stack: Stack) -> Ran:
        return engine.run(action, stack, listen)

    return drive_stacks(stacks, run, at_once, upper_last=action == "destroy", is_stopped=is_stopped)


@contextmanager
def _interruptible(engine: Engine) -> Iterator[Callable[[], bool]]:
    """A first Ctrl-C starts nothing new; a second has what runs stop as soon as its steps are done."""
    presses: list[int] = []

    def pressed(*_: object) -> None:
        presses.append(1)
        if len(presses) == 1:
            click.echo("interrupted: what runs is finished, nothing new is started; once more stops it now", err=True)
        else:
            engine.interrupt()

    before = signal.signal(signal.SIGINT, pressed)
    try:
        yield lambda: bool(presses)
    finally:
        signal.signal(signal.SIGINT, before)


def _tell(action: str, stacks: tuple[Stack, ...], ran: tuple[Ran, ...]) -> int:
    total: Counter[str] = Counter()
    for each in ran:
        total.update(each.counts)
    same = total.pop("same", 0)
    if not all(each.ok for each in ran):
        failed = ", ".join(each.stack for each in ran if not each.ok)
        left = [stack.name for stack in stacks if stack.name not in {each.stack for each in ran}]
        more = f"; not started: {', '.join(left)}" if left else ""
        click.echo(f"{action} failed on {failed}{more}. Mend the cause and run the same command again.", err=True)
        return EXIT_STOPPED
    unchanged = "would change" if action == "preview" else "changed"
    click.echo(f"{counted(action, total) or f'nothing {unchanged}'}; {same} resources are as they were", err=True)
    return 0
