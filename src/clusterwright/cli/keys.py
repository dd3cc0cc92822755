"""``clusterwright keys``: show and carry out the key schedule, and check its record."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.cli.command_group import CommandGroup
from clusterwright.durable import only_one
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.keys.kms import Kms
    from clusterwright.keys.rotation import Keeper
    from clusterwright.keys.schedule import RotationStep
    from clusterwright.spec.encryption import KeySchedule

_EXIT_DUE = 1
_EXIT_CANNOT_RUN = 2
TOKEN = "VAULT_TOKEN"  # noqa: S105 - the variable's name


@click.group(cls=CommandGroup)
def keys() -> None:
    """Rotate, re-wrap and destroy the keys of SPEC's schedule, and keep a log of every change."""


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    decorators = (
        click.argument("spec", type=click.Path(path_type=Path)),
        click.option(
            "--store",
            type=click.Path(path_type=Path, file_okay=False),
            default=Path("up/keys"),
            show_default=True,
            help="The folder with the ledger and the audit log, and with the embedded service's file.",
        ),
        click.option("--kms", type=click.Choice(("file", "transit")), default="file", show_default=True),
        click.option(
            "--root-key",
            type=click.Path(path_type=Path, dir_okay=False),
            help="file: where the root key is kept, on another medium than the store  [default: STORE/root.key]",
        ),
        click.option("--address", metavar="URL", help=f"transit: the server; the token comes from ${TOKEN}."),
        click.option("--mount", default="transit", show_default=True, help="transit: where the engine is mounted."),
        click.option(
            "--ca",
            type=click.Path(path_type=Path, dir_okay=False, exists=True),
            help="transit: the authorities that the server's certificate is checked with.",
        ),
        click.option(
            "--on", "day", metavar="DATE", help="Check dates as of this day (YYYY-MM-DD)  [default: today, UTC]"
        ),
    )
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


@keys.command()
@_options
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
def plan(spec: Path, day: str | None, form: str, **place: Any) -> int:
    """Show the due steps, and change nothing.

    Exit status: 0 nothing, 1 something is due, 2 could not run.
    """
    from clusterwright.keys.certificates import certificate_dues
    from clusterwright.keys.ledger import Ledger
    from clusterwright.keys.rotation import LEDGER
    from clusterwright.keys.schedule import steps

    on = _day(day)
    schedule = _schedule(spec)
    if schedule is None:
        return _EXIT_CANNOT_RUN
    has_ledger = (place["store"] / LEDGER).exists()
    ledger = _keeper(schedule, place).ledger() if has_ledger else Ledger({})
    due = list(steps(schedule, ledger, on))
    certificates_due = certificate_dues(schedule, spec.parent, on)
    if form == "json":
        rows = [{"action": s.action.value, "key": s.key, "version": s.version, "reason": s.reason} for s in due]
        click.echo(json.dumps({"on": on.isoformat(), "steps": rows, "certificates": list(certificates_due)}, indent=2))
    else:
        for step in due:
            click.echo(_line(step))
        for sentence in certificates_due:
            click.echo(f"certificate  {sentence}")
        if not due and not certificates_due:
            click.echo(f"nothing is due on {on}")
    return _EXIT_DUE if due or certificates_due else 0


@keys.command()
@_options
def rotate(spec: Path, day: str | None, **place: Any) -> int:
    """Carry out the due steps: new versions, re-wrapping, destruction. Safe to run again after a crash.

    Exit status: 0 done, 1 certificates are left to their owners, 2 could not run, or stopped half way.
    """
    from clusterwright.keys.certificates import certificate_dues

    on = _day(day)
    schedule = _schedule(spec)
    if schedule is None:
        return _EXIT_CANNOT_RUN
    _make(place["store"])
    with only_one(place["store"]):
        done = _keeper(schedule, place).rotate(on, lambda step: click.echo(_line(step)))
    summary = f"{done} steps done on {on}" if done else f"nothing was due on {on}"
    click.echo(summary, err=True)
    certificates_due = certificate_dues(schedule, spec.parent, on)
    for sentence in certificates_due:
        click.echo(f"certificate  {sentence}")
    return _EXIT_DUE if certificates_due else 0


@keys.command()
@_options
def audit(spec: Path, day: str | None, **place: Any) -> int:
    """Check the log's chain and that nothing outlived its last day; print the log's end, to be kept elsewhere.

    Exit status: 0 sound, 1 the log was tampered with or a key is overdue, 2 could not run.
    """
    from clusterwright.chain import ChainError
    from clusterwright.keys.certificates import certificate_dues
    from clusterwright.keys.rotation import LEDGER
    from clusterwright.keys.schedule import overdue

    on = _day(day)
    schedule = _schedule(spec)
    if schedule is None:
        return _EXIT_CANNOT_RUN
    if not (place["store"] / LEDGER).exists():
        raise ClusterwrightError(f"{place['store']}: there is no ledger. Run `clusterwright keys rotate` first.")
    try:
        ledger = _keeper(schedule, place).ledger()
    except ChainError as error:
        click.echo(str(error))
        return _EXIT_DUE
    late = [*overdue(schedule, ledger, on), *certificate_dues(schedule, spec.parent, on)]
    for sentence in late:
        click.echo(sentence)
    click.echo(f"log: {ledger.head.count} events, {ledger.head.digest}")
    return _EXIT_DUE if late else 0


def _line(step: RotationStep) -> str:
    return f"{step.action.value:12} {step.key} version {step.version}: {step.reason}"


def _day(text: str | None) -> date:
    if text is None:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ClusterwrightError(f'"{text}" is no day. Write it as YYYY-MM-DD, such as 2026-12-31.') from None


def _schedule(path: Path) -> tuple[KeySchedule, ...] | None:
    """The key schedule; None after printing the errors of the spec."""
    from clusterwright.cli.planning import sound_spec

    spec = sound_spec(path)
    if spec is None:
        return None
    if not spec.keys:
        raise ClusterwrightError(f"{path} has no key schedule. Add `keys:`; `clusterwright explain secrets` shows one.")
    return spec.keys


def _make(store: Path) -> None:
    try:
        store.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ClusterwrightError(f"{store}: {error.strerror}. Name another folder.") from error


def _keeper(schedule: tuple[KeySchedule, ...], place: dict[str, Any]) -> Keeper:
    from clusterwright.keys.rotation import Keeper

    return Keeper(place["store"], _kms(place["store"], place), schedule)


def _kms(store: Path, place: dict[str, Any]) -> Kms:
    from clusterwright.keys.file_store import FileKms
    from clusterwright.keys.transit import TransitKms

    if place["kms"] == "file":
        return FileKms(store / "kms.json", place["root_key"] or store / "root.key")
    if place["address"] is None:
        raise ClusterwrightError("The service transit needs --address URL.")
    token = os.environ.get(TOKEN)
    if not token:
        raise ClusterwrightError(f"The service transit needs a token in ${TOKEN}.")
    return TransitKms(address=place["address"], token=token, mount=place["mount"], authority=place["ca"])
