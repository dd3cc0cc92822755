"""Options of commands on stacks, and the site opened before any change."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:  # imported on use: a preview without changes neither reads nor checks a spec
    from clusterwright.cli.planning import PlannedSpec
    from clusterwright.deploy.pulumi.automation import Engine, Ran
    from clusterwright.deploy.pulumi.project import Deployment
    from clusterwright.deploy.pulumi.rendering import Source
    from clusterwright.deploy.pulumi.units import Stack
    from clusterwright.deploy.targets import TargetSettings
    from clusterwright.plan.model import Plan
    from clusterwright.rollout.kept_rollouts import KeptRollout
    from clusterwright.rollout.ledger import UnderWay
    from clusterwright.rollout.prepare import Prepared
    from clusterwright.spec.model import ClusterSpec

EXIT_FINDINGS = 1
EXIT_STOPPED = 3
EXIT_PAUSED = 4
EXIT_INTERRUPTED = 130


def stack_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments of commands on stacks of a spec."""
    decorators = (
        click.argument("spec", type=click.Path(path_type=Path)),
        click.option(
            "--pod", "pods", multiple=True, metavar="POD", help="Only this layer (pod0, ...); may be repeated."
        ),
        click.option("--upper", is_flag=True, help="Only the layer above the pods; together with --pod, both."),
        deployment_options,
    )
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def deployment_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about the place of a deployment and the access to it."""
    from clusterwright.deploy.pulumi.order import STACKS_AT_ONCE
    from clusterwright.deploy.targets import TARGETS

    decorators = (
        click.option("--target", type=click.Choice(TARGETS), default=TARGETS[0], show_default=True),
        click.option(
            "--access",
            type=click.Path(path_type=Path, dir_okay=False),
            help="The target ansible: the file with keys and addresses.",
        ),
        click.option(
            "--secrets",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Sources of secrets, for specs without `secrets:`.",
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
            help="Where Pulumi keeps its state: file://, s3://, postgres://, without a password; PULUMI_BACKEND_URL "
            "does the same. Default: a directory under --root.",
        ),
        click.option(
            "--parallel",
            type=click.IntRange(1, 64),
            default=STACKS_AT_ONCE,
            show_default=True,
            help="Number of stacks at a time, after the upper layer.",
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


def device_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option to limit a command to some devices."""
    option = click.option(
        "--device",
        "devices",
        multiple=True,
        metavar="NAME",
        help="Only this device: all others stay as they are; may be repeated.",
    )
    return option(command)


def rollback_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option to roll back to the spec of an earlier rollout."""
    option = click.option(
        "--to",
        default="",
        metavar="ROLLOUT",
        help="Use the spec recorded by this rollout (`clusterwright audit show ROOT`) instead of SPEC.",
    )
    return option(command)


@dataclass(frozen=True, slots=True)
class ChosenStacks:
    """A spec with the selected stacks, their deployment and the source files of the spec."""

    spec: ClusterSpec
    plan: Plan
    stacks: tuple[Stack, ...]
    deployment: Deployment
    source: Source
    devices: frozenset[str] = frozenset()
    """The only selected devices; empty for all of the stacks."""
    brought_back: KeptRollout | None = None
    """The earlier rollout with this spec; None for the spec's files as they are."""
    known_plans: Mapping[str, Plan] = field(default_factory=dict)
    """Plans built already, by digest of their spec in the store."""

    @property
    def target(self) -> TargetSettings:
        """The target of the deployment."""
        return self.deployment.target

    @property
    def root(self) -> Path:
        """The deployment's folder."""
        return self.deployment.target.root

    @contextmanager
    def alone(self, action: str) -> Iterator[None]:
        """Lock the cluster of this root; Busy names the command with the lock.

        Raises ClusterwrightError also for a wrong passphrase of the stacks.
        """
        from clusterwright.deploy.locks import StackLocks
        from clusterwright.deploy.secrets.passphrase import require_passphrase

        with closing(StackLocks(self.root / "locks")) as locks:
            locks.take(self.plan.name, action)
            require_passphrase(self.root / "project", (stack.name for stack in self.stacks), os.environ)
            yield

    def prepare(self, engine: Engine, begun: UnderWay | None = None) -> Prepared:
        """The update of the stacks; ``begun`` is an unfinished rollout. Raises ClusterwrightError."""
        from clusterwright.rollout.prepare import prepare_update

        return prepare_update(
            self.plan,
            self.spec.rollout,
            self.target,
            engine=engine,
            stacks=self.stacks,
            source=self.source,
            begun=begun,
            only=self.devices,
        )


def chosen_target(options: dict[str, Any]) -> TargetSettings:
    """The selected target; the place of its state is passed to Pulumi in the environment."""
    from clusterwright.deploy.targets import TargetSettings

    if options["backend"]:
        os.environ["PULUMI_BACKEND_URL"] = options["backend"]
    return TargetSettings(
        name=options["target"], root=options["root"], access=options["access"], secrets=options["secrets"]
    )


def open_site(options: dict[str, Any], *, asks_for_secrets: bool) -> ChosenStacks | None:
    """The selected site; None after printing the spec's errors. Raises ClusterwrightError."""
    from clusterwright.cli.planning import planned_spec

    path: Path = options["spec"]
    rollout = _brought_back(options)
    source_path = rollout.path if rollout is not None else path
    planned = planned_spec(source_path)
    if planned is None:
        _tell_of_newer_rules(path, options["root"])
        return None
    return site_of(options, planned, asks_for_secrets=asks_for_secrets, rollout=rollout)


def site_of(
    options: dict[str, Any],
    planned: PlannedSpec,
    *,
    asks_for_secrets: bool,
    rollout: KeptRollout | None = None,
    known_plans: Mapping[str, Plan] | None = None,
) -> ChosenStacks:
    """The selected site with the spec ``planned``, read from ``rollout`` or from the options' path.

    Raises ClusterwrightError.
    """
    from clusterwright.deploy.pulumi.project import Deployment
    from clusterwright.deploy.pulumi.rendering import Source
    from clusterwright.deploy.pulumi.units import UPPER, choose, cut, stacks_of_devices

    path: Path = options["spec"]
    plan, target = planned.plan, chosen_target(options)
    target.carries(())  # a bad access file is refused before anything is touched
    if plan.spec.secrets and target.secrets is None:
        target = replace(target, secrets=path)
    layers = [*options["pods"], UPPER] if options["upper"] else options["pods"]
    stacks = choose(cut(plan), tuple(layers))
    devices = frozenset(options.get("devices", ()))
    if devices:
        stacks = stacks_of_devices(stacks, devices)
    if asks_for_secrets:
        # Imports the renderers, which a preview may not need.
        from clusterwright.deploy.secrets.presence import require_secrets

        require_secrets(plan, target, stacks)
    source_path = rollout.path if rollout is not None else path
    return ChosenStacks(
        spec=plan.spec,
        plan=plan,
        stacks=stacks,
        deployment=Deployment(path, target),
        source=Source(source_path, planned.read),
        devices=devices,
        brought_back=rollout,
        known_plans=known_plans or {},
    )


def _brought_back(options: dict[str, Any]) -> KeptRollout | None:
    """The rollout of ``--to`` with its spec, available until the command ends. Raises ClusterwrightError."""
    name: str = options.get("to", "")
    if not name:
        return None
    from clusterwright.rollout.kept_rollouts import kept_rollout

    return click.get_current_context().with_resource(kept_rollout(options["root"], name))


def _tell_of_newer_rules(spec: Path, root: Path) -> None:
    """Report errors of rules newer than the version used for the last deployment."""
    from clusterwright.rollout.deployed import programs
    from clusterwright.rules.engine import lint_path
    from clusterwright.rules.releases import is_newer_than, numbers_of

    versions = sorted(programs(root), key=numbers_of)
    if not versions:
        return
    newer = [finding for finding in lint_path(spec).errors if is_newer_than(finding.code, versions[0])]
    if newer:
        click.echo(
            f"{len(newer)} of these errors come from rules that {versions[0]}, by which this was deployed, did not "
            f"have: each says what to change. `clusterwright lint --since {versions[0]} {spec}` shows them apart.",
            err=True,
        )


_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, the end of a job by a service manager, and a lost terminal."""


@contextmanager
def interruptible(engine: Engine) -> Iterator[Callable[[], bool]]:
    """After a first Ctrl-C, SIGTERM or SIGHUP start nothing new; after a second stop updates behind their current step.

    A third raises KeyboardInterrupt, to end a wait for devices outside of the engine. The context is a function: True
    after any signal.
    """
    presses: list[int] = []

    def pressed(*_: object) -> None:
        presses.append(1)
        if len(presses) == 1:
            click.echo("interrupted: what runs is finished, nothing new is started; once more stops it now", err=True)
        elif len(presses) == 2:
            engine.interrupt()
        else:
            raise KeyboardInterrupt

    # Under nohup, SIGHUP stays ignored.
    handled = [number for number in _ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, pressed) for number in handled}
    try:
        yield lambda: bool(presses)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def tell_ran(action: str, stacks: tuple[Stack, ...], ran: tuple[Ran, ...]) -> int:
    """Print the end of the stacks on standard error; the exit status."""
    from clusterwright.cli.stacks.progress import counted

    total: Counter[str] = Counter()
    for stack_run in ran:
        total.update(stack_run.counts)
    same = total.pop("same", 0)
    if not all(stack_run.ok for stack_run in ran):
        failed = ", ".join(stack_run.stack for stack_run in ran if not stack_run.ok)
        started = {stack_run.stack for stack_run in ran}
        not_started = [stack.name for stack in stacks if stack.name not in started]
        more = f"; not started: {', '.join(not_started)}" if not_started else ""
        click.echo(f"{action} failed on {failed}{more}. Fix the cause and run the same command again.", err=True)
        return EXIT_STOPPED
    unchanged = "would change" if action == "preview" else "changed"
    click.echo(f"{counted(action, total) or f'nothing {unchanged}'}; {same} resources are as they were", err=True)
    return 0
