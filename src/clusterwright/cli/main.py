"""The command line: one group whose subcommands are imported only when they are asked for."""

from __future__ import annotations

import errno
import gc
import os
import sys
import traceback
from importlib import import_module
from typing import Any

import click

from clusterwright import __version__
from clusterwright.cli.command_group import CommandGroup
from clusterwright.finding import ClusterwrightError, SpecError

# Linting must not pay for importing Pulumi or numpy, so a subcommand's module is named here and loaded on use.
COMMANDS = {
    "audit": "clusterwright.cli.stacks.audit:audit",
    "bringup": "clusterwright.cli.bringup:bringup",
    "destroy": "clusterwright.cli.stacks.deployed:destroy",
    "diff": "clusterwright.cli.diff:diff",
    "explain": "clusterwright.cli.explain:explain",
    "inventory": "clusterwright.cli.inventory:inventory",
    "keys": "clusterwright.cli.keys:keys",
    "lab": "clusterwright.cli.lab:lab",
    "lint": "clusterwright.cli.lint:lint",
    "nccl": "clusterwright.cli.nccl:nccl_command",
    "observe": "clusterwright.cli.observe:observe",
    "place": "clusterwright.cli.place:place_command",
    "preview": "clusterwright.cli.stacks.deploy:preview",
    "refresh": "clusterwright.cli.stacks.deployed:refresh",
    "render": "clusterwright.cli.render:render",
    "report": "clusterwright.cli.report:report",
    "simulate": "clusterwright.cli.simulate:simulate_command",
    "snapshot": "clusterwright.cli.snapshot:snapshot_command",
    "up": "clusterwright.cli.stacks.up:up",
    "verify": "clusterwright.cli.verify:verify",
}

# A plan or a parsed tree is millions of objects that stay: looking through them at Python's own intervals for what is
# garbage takes a fifth of a proof's time and frees nothing.
COLLECTOR_INTERVALS = (100_000, 50, 50)

# A full disk, quota or file size: the user's to mend, whichever write met it.
SPENT = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

EXIT_CANNOT_RUN = 2
EXIT_INTERRUPTED = 130


class LazyGroup(CommandGroup):
    """A click group over COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all subcommands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand called ``cmd_name``, imported now; None when there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="clusterwright")
def cli() -> None:
    """Infrastructure as code for GPU training clusters: one spec in, every switch and node configured."""


def main() -> None:
    """Entry point of the ``clusterwright`` command. Exits with the status that the subcommand documents.

    What a user can cause is printed as text, exit status 2; a defect of the program as a short notice, with the
    traceback only where CLUSTERWRIGHT_DEBUG=1 asks for it.
    """
    gc.set_threshold(*COLLECTOR_INTERVALS)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its escape instead of the user a crash.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> Any:
    try:
        status = cli.main(args=arguments, prog_name="clusterwright", standalone_mode=False)
        sys.stdout.flush()
        return status
    except click.ClickException as error:
        error.show()
        return EXIT_CANNOT_RUN
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (`| head`). Point stdout elsewhere, or the interpreter complains while it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CANNOT_RUN
    except OSError as error:
        if error.errno not in SPENT:
            return _tell_defect(error)
        # What was not written waits in the stream's buffer, and would fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        click.echo(f"the output cannot be written: {error.strerror}. Make room, or send it elsewhere.", err=True)
        return EXIT_CANNOT_RUN
    except SpecError as error:
        click.echo(_excerpts(error), err=True, nl=False)
        return EXIT_CANNOT_RUN
    except ClusterwrightError as error:
        click.echo(str(error), err=True)
        return EXIT_CANNOT_RUN
    except Exception as error:  # the last resort: whatever else happens is a defect to be reported
        return _tell_defect(error)


def _excerpts(error: SpecError) -> str:
    """What is wrong with the spec as ``lint`` shows it, on its lines."""
    from clusterwright.cli.formats.text import render_text, wants_colour
    from clusterwright.cli.lint import source_line
    from clusterwright.rules.engine import LintResult

    files = tuple(dict.fromkeys(finding.position.file for finding in error.findings))
    return render_text(LintResult(error.findings, (), files), source_line, colour=wants_colour(sys.stderr))


def _tell_defect(error: Exception) -> int:
    """Say that the program is at fault; to be called while ``error`` is being handled. Returns the exit status."""
    if os.environ.get("CLUSTERWRIGHT_DEBUG") == "1":
        traceback.print_exc()
    click.echo(
        f"clusterwright {__version__} stopped on a defect of its own: {type(error).__name__}: {error}\n"
        "Please report this with the command and the spec; CLUSTERWRIGHT_DEBUG=1 shows where it happened.",
        err=True,
    )
    return EXIT_CANNOT_RUN
