"""Tasks of one edit of the spec and one update: the edit is tried, written, sent, and undone after a refusal."""

from __future__ import annotations

import os
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.stacks.checked import OVERRIDES, CheckOptions, check_options
from clusterwright.cli.stacks.options import deployment_options, site_of
from clusterwright.finding import ClusterwrightError, SpecError
from clusterwright.nearest_name import did_you_mean

if TYPE_CHECKING:
    from clusterwright.cli.planning import PlannedSpec
    from clusterwright.plan.model import Plan

_arguments = (
    click.argument("spec", type=click.Path(path_type=Path)),
    click.argument("name"),
    deployment_options,
    click.option("--yes", is_flag=True, help="Do not prompt before the first wave."),
    check_options,
)


def spec_edit_options(command: Any) -> Any:
    """Add the arguments in common to these tasks."""
    for decorate in reversed(_arguments):
        command = decorate(command)
    return command


@dataclass(frozen=True, slots=True)
class SpecEdit:
    """One edit of a file of the spec about some ``devices``: the texts before and after, and their plans.

    ``before`` is the spec without the edit, even if the file contains it already. A missing file has no text.
    """

    spec: Path
    file: Path
    devices: tuple[str, ...]
    text_before: bytes
    text_after: bytes
    before: PlannedSpec
    after: PlannedSpec

    @property
    def is_made(self) -> bool:
        """Whether the file contains the edit already, from an unfinished run."""
        return self.file.exists() and self.file.read_bytes() == self.text_after


def require_because(options: dict[str, Any]) -> None:
    """Raises UsageError for a missing reason."""
    if not options["because"].strip():
        raise click.UsageError('--because is missing: say why, as --because "ticket 4711, a line card fails".')


def require_device(plan: Plan, name: str) -> None:
    """Raises ClusterwrightError for an unknown device."""
    if name not in plan.by_name:
        raise ClusterwrightError(f"there is no device {name!r}. {did_you_mean(name, plan.by_name)}".rstrip())


def planned_with(path: Path, instead: tuple[Path, bytes] | None = None) -> PlannedSpec:
    """The plan of the spec, with the text of one of its files replaced.

    Raises SpecError for errors of lint in the files as they are, ClusterwrightError for errors of the replaced text.
    """
    from clusterwright.cli.planning import PlannedSpec
    from clusterwright.rules.engine import lint_and_plan
    from clusterwright.spec.text.source import noting_reads, reading_instead

    try:
        with noting_reads() as read, reading_instead(*instead) if instead else nullcontext():
            result, plan = lint_and_plan(path)
        if result.errors:
            raise SpecError(result.errors)
    except SpecError as error:
        if instead is None:
            raise
        # The findings' lines exist in no file yet: an excerpt would show other lines.
        error_lines = "\n".join(f"  {finding.code}: {finding.message} {finding.hint}" for finding in error.findings)
        raise ClusterwrightError(f"lint refuses the spec with that edit. Nothing was touched.\n{error_lines}") from None
    return PlannedSpec(plan, read)


def changed_by(edit: SpecEdit) -> tuple[str, ...]:
    """The devices with a change of files by the edit."""
    from clusterwright.rollout.draining import devices_changed

    return devices_changed(edit.before.plan, edit.after.plan, edit.devices)


def carry_out(edit: SpecEdit, devices: tuple[str, ...], options: dict[str, Any]) -> int:
    """Write the edit and send ``devices`` its changes. The file is restored if no device was changed."""
    from clusterwright.deploy.pulumi.units import cut
    from clusterwright.deploy.store import Store
    from clusterwright.rollout import ledger
    from clusterwright.rollout.deployed import keep_spec, record_spec

    root: Path = options["root"]
    was_there, was_made, under_way = edit.file.exists(), edit.is_made, ledger.load(root)
    store, name = Store(root / "objects"), os.path.normpath(edit.file.absolute())
    kept_before = keep_spec(store, edit.before.plan.spec, instead={name: edit.text_before})
    if not was_made:
        _require_unedited(edit)
        _write(edit.file, edit.text_after)
    try:
        status = _update(edit, devices, options, {kept_before: edit.before.plan})
    except BaseException:  # an interrupt as well
        if not was_made and ledger.load(root) == under_way:
            if was_there:
                _write(edit.file, edit.text_before)
            else:
                edit.file.unlink()
            click.echo(f"{edit.file} is as it was", err=True)
        raise
    if status == 0:
        kept_after = keep_spec(store, edit.after.plan.spec, instead={name: edit.text_after})
        record_spec(root, cut(edit.after.plan), kept_before, kept_after)
    return status


def _require_unedited(edit: SpecEdit) -> None:
    """Raises ClusterwrightError for a file changed since the edit was planned."""
    text = edit.file.read_bytes() if edit.file.exists() else b""
    if text != edit.text_before:
        raise ClusterwrightError(f"{edit.file} was edited meanwhile. Nothing was touched: run the command again.")


def _update(edit: SpecEdit, devices: tuple[str, ...], options: dict[str, Any], known_plans: dict[str, Plan]) -> int:
    """Update ``devices`` as ``up --device`` does. ``known_plans`` are plans by the digest of their stored spec."""
    from clusterwright.cli.stacks.up import UpdateRequest, update_stacks
    from clusterwright.deploy.pulumi.automation import Engine

    reason = options["because"].strip()
    has_overrides = any(options[name] for name in OVERRIDES)
    if not has_overrides:
        options["because"] = ""  # the reason is that of the edit alone
    request = UpdateRequest(reason=reason, yes=options.pop("yes"), checking=CheckOptions.taken_from(options))
    chosen = {**options, "spec": edit.spec, "pods": (), "upper": False, "devices": devices}
    site = site_of(chosen, edit.after, asks_for_secrets=True, known_plans=known_plans)
    engine = Engine(site.deployment)
    with closing(engine), site.alone("up"):
        return update_stacks(site, engine, request, events=options["events"], at_once=options["parallel"])


def _write(file: Path, content: bytes) -> None:
    """Replace the content of ``file``, or of the target of a link; its permissions stay."""
    from clusterwright import durable

    real = file.resolve()
    mode = real.stat().st_mode & 0o777 if real.exists() else 0o644
    durable.replace(real, content, mode)
