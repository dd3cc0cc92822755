"""The command line: one group whose subcommands are imported only when they are asked for."""

from __future__ import annotations

import atexit
import codecs
import errno
import gc
import os
import sys
import traceback
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from clusterwright import __version__
from clusterwright.cli.command_group import CommandGroup
from clusterwright.cli.command_groups import GROUPS, OTHERS
from clusterwright.cli.isolating import with_isolation
from clusterwright.cli.shared_options import with_shared_options
from clusterwright.cli.terminal import echo_styled, escaping_streams
from clusterwright.extras.summaries import SUMMARIES
from clusterwright.finding import ClusterwrightError, SpecError
from clusterwright.plugins import COMMANDS as PLUGIN_COMMANDS
from clusterwright.plugins import is_extra, load_plugin, package_of, plugins

# Linting must not pay for importing Pulumi or numpy, so a subcommand's module is named here and loaded on use; nor must
# the list of all commands, so the first sentence of each one's help stands beside it. Those of extras are entry points.
COMMANDS = {
    "allocate": (
        "clusterwright.cli.allocate:allocate",
        "Writes what stands into the allocation file beside SPEC: cluster.allocated.yaml beside cluster.yaml.",
    ),
    "approve": (
        "clusterwright.cli.stacks.approve:approve",
        "Sign the preview that `preview --save` wrote into FILE, so that `up --approved FILE` may send it.",
    ),
    "audit": (
        "clusterwright.cli.stacks.audit:audit",
        "Show, check and export the record of the rollouts under ROOT.",
    ),
    "destroy": (
        "clusterwright.cli.stacks.deployed:destroy",
        "Remove from the devices what was put there, and nothing else; the upper layer goes last.",
    ),
    "diff": (
        "clusterwright.cli.diff:diff",
        "Compares two specs: what moves first, then zones, flows, devices and cables, then configuration line by line.",
    ),
    "drain": (
        "clusterwright.cli.tasks.drain:drain",
        "Take traffic and jobs off a switch, a node or a cable: the spec's exception, and what changes by it.",
    ),
    "evidence": (
        "clusterwright.cli.evidence:evidence",
        "Answers tests of NVIDIA's acceptance suite for AI clouds (ai-cloud-validation) from SPEC.",
    ),
    "explain": (
        "clusterwright.cli.explain:explain",
        "Prints the page of a rule (CW203): what is wrong, why it matters, how to fix it, with examples.",
    ),
    "init": (
        "clusterwright.cli.start.init:init",
        "Writes a first spec, DIR/cluster.yaml, sized for your nodes and switches; or copies a reference.",
    ),
    "inventory": (
        "clusterwright.cli.inventory:inventory",
        "Lists every device, cable and address of SPEC.",
    ),
    "keys": (
        "clusterwright.cli.keys:keys",
        "Rotate, re-wrap and destroy the keys of SPEC's schedule, and keep a log that shows every change.",
    ),
    "lint": (
        "clusterwright.cli.lint:lint",
        "Checks specs, hardware catalogues and switch systems: YAML, schema, references, rules.",
    ),
    "models": (
        "clusterwright.cli.start.models:models",
        "Lists the hardware catalogue: what specs call each model, its kind, system, ports and where it is described.",
    ),
    "nccl": (
        "clusterwright.cli.questions.nccl:nccl_command",
        "Explains the variables of NCCL and PyTorch on the nodes of SPEC: VARIABLE, or all.",
    ),
    "observe": (
        "clusterwright.cli.observe:observe",
        "Compares the cabling of SPEC with scans of its fabrics, and what devices run with what was rendered for them.",
    ),
    "preview": (
        "clusterwright.cli.stacks.deploy:preview",
        "Show what would change on which device and why, what it disturbs, in which waves, and whether proofs hold.",
    ),
    "refresh": (
        "clusterwright.cli.stacks.deployed:refresh",
        "Ask the devices what they hold; the next preview shows what differs, the next up fixes it.",
    ),
    "render": (
        "clusterwright.cli.render:render",
        "Writes DIR/<device>/<path on the device> for every device of SPEC, and DIR/manifest.json with their digests.",
    ),
    "replace": (
        "clusterwright.cli.tasks.replace:replace",
        "Note the labels of the box that stands in for NAME from now on, and tell those that know a device by them.",
    ),
    "report": (
        "clusterwright.cli.report:report",
        "Writes a static HTML report of SPEC: totals, fabrics, racks, cables, addresses, flows, findings, assumptions.",
    ),
    "schema": (
        "clusterwright.cli.start.schema:schema",
        "Writes the JSON Schemas of specs and catalogues, with the names of all models, so that editors complete them.",
    ),
    "snapshot": (
        "clusterwright.cli.snapshot:snapshot_command",
        "Writes the EOS and SONiC switches of SPEC as a snapshot that Batfish loads, with the cables between them.",
    ),
    "status": (
        "clusterwright.cli.tasks.status:status",
        "Say who changes the cluster of ROOT just now, how far that is, what waits to go on, and what has lapsed.",
    ),
    "stop": (
        "clusterwright.cli.tasks.status:stop",
        "Ask the command that changes the cluster of ROOT to stop after the running wave, as its Ctrl-C does.",
    ),
    "undrain": (
        "clusterwright.cli.tasks.drain:undrain",
        "Give back what `drain` took away: the spec's exception goes, and what changes by it is sent.",
    ),
    "up": (
        "clusterwright.cli.stacks.up:up",
        "Deploy SPEC: new stacks at once, the layer above the pods first; running devices in waves.",
    ),
    "verify": (
        "clusterwright.cli.verify:verify",
        "Proves what the rendered files of SPEC, or those in DIR, promise; or shows where they break it.",
    ),
    "visit": (
        "clusterwright.cli.tasks.visit:visit",
        "List what each device of a rack or pod is owed: exceptions, files, boots, firmware, releases, failed checks.",
    ),
    "why": (
        "clusterwright.cli.questions.why:why",
        "Names the values of SPEC that the lines of DEVICE which match PATTERN come from.",
    ),
}

# A plan or a parsed tree is millions of objects that stay: looking through them at Python's own intervals for what is
# garbage takes a fifth of a proof's time and frees nothing. At an interval of a million it still takes 0.8 of the 24 s
# that a proof of 24,576 GPUs takes.
COLLECTOR_INTERVALS = (5_000_000, 50, 50)

# A full disk, quota or file size, or an output that is closed: the user's to mend, whichever write met it.
SPENT = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF})

# A right that this user lacks, or a disk that nobody writes to.
DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})

_AFTER_THE_COMMAND = frozenset({"-q", "--quiet", "--verbose", "--out", "--format"})
"""Options that commands have, and the program itself has not."""

EXIT_CANNOT_RUN = 2
EXIT_INTERRUPTED = 130


class LazyGroup(CommandGroup):
    """A click group over COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all subcommands, those of installed packages among them."""
        return sorted({**plugins(PLUGIN_COMMANDS), **COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand called ``cmd_name``, imported now; None when there is none."""
        if cmd_name not in COMMANDS:
            entry = plugins(PLUGIN_COMMANDS).get(cmd_name)
            if entry is None:
                return None
            command = load_plugin(entry, click.Command)
            return with_shared_options(command, cmd_name) if is_extra(entry) else with_isolation(command)
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        return with_shared_options(command, cmd_name)

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        """First sentences of the help of all commands, from COMMANDS and SUMMARIES: no command is imported."""
        summaries = {name: summary for name, (_, summary) in COMMANDS.items()}
        for name, entry in plugins(PLUGIN_COMMANDS).items():
            if is_extra(entry):
                summaries[name] = SUMMARIES[name]
            else:
                summaries.setdefault(name, f"Added by {package_of(entry)}.")
        return sorted(summaries.items())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands in the groups of GROUPS, those of other packages last."""
        summaries = dict(self.summaries(ctx))
        rows_by_title = {
            title: [(name, summaries.pop(name)) for name in names if name in summaries]
            for title, names in GROUPS.items()
        }
        rows_by_title[OTHERS] = list(summaries.items())
        for title, rows in rows_by_title.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """As click does, by the list of commands alone."""
        named = [
            CompletionItem(name, help=summary) for name, summary in self.summaries(ctx) if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="clusterwright")
def cli() -> None:
    """Infrastructure as code for GPU training clusters: one spec in, every switch and node configured."""


def main() -> None:
    """Entry point of the ``clusterwright`` command. Exits with the status that the subcommand documents.

    Errors of users are printed as text, exit status 2; a defect of the program as a short notice, with the traceback
    only under CLUSTERWRIGHT_DEBUG=1.
    """
    gc.set_threshold(*COLLECTOR_INTERVALS)
    atexit.register(gc.freeze)  # or the last collection walks all that the command held, just before its end
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its escape instead of the user a crash.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
            # click writes UTF-8 in the place of ASCII, to the bytes behind a stream: past what makes text visible.
            if codecs.lookup(stream.encoding).name == "ascii":
                stream.reconfigure(encoding="utf-8")
    sys.exit(_run(sys.argv[1:]))


def _open_closed_streams() -> None:
    """Replace standard streams that the caller closed.

    Without a stream the next opened file would take its number, and everything that is printed. The replaced input
    cannot be read and the replaced output cannot be written; errors are lost, as the caller requested.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            # in their order, so that the lowest free number is the one that is missing
            os.open(os.devnull, os.O_RDWR if name == "stderr" else os.O_RDONLY)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _run(arguments: list[str]) -> Any:
    with escaping_streams():
        return _run_escaped(arguments)


def _run_escaped(arguments: list[str]) -> Any:
    try:
        status = cli.main(args=arguments, prog_name="clusterwright", standalone_mode=False)
        sys.stdout.flush()
        return status
    except click.ClickException as error:
        return _tell_usage_error(error)
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
        return _tell_system_error(error)
    except SpecError as error:
        echo_styled(_excerpts(error), err=True)
        return EXIT_CANNOT_RUN
    except ClusterwrightError as error:
        click.echo(str(error), err=True)
        return EXIT_CANNOT_RUN
    except ModuleNotFoundError as error:
        return _tell_missing_package(error)
    except Exception as error:  # the last resort: whatever else happens is a defect to be reported
        return _tell_defect(error)


def _tell_usage_error(error: click.ClickException) -> int:
    """Explain a mistake in the command line, and where an option of commands belongs. Returns the exit status."""
    error.show()
    if isinstance(error, click.NoSuchOption) and error.ctx is not None and error.ctx.command is cli:
        option = error.option_name
        if option in _AFTER_THE_COMMAND:
            click.echo(f"{option} comes after the command: clusterwright COMMAND {option}", err=True)
    return EXIT_CANNOT_RUN


def _tell_system_error(error: OSError) -> int:
    """Report a remedy for missing permissions or a full disk. Returns the exit status."""
    if error.errno in DENIED and error.filename is not None:
        click.echo(f"{os.fsdecode(error.filename)}: {error.strerror}. Look at its rights and its folder's.", err=True)
        return EXIT_CANNOT_RUN
    if error.errno not in SPENT:
        return _tell_defect(error)
    # What was not written waits in the stream's buffer, and would fail once more at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    click.echo(f"the output cannot be written: {error.strerror}. Make room, or send it elsewhere.", err=True)
    return EXIT_CANNOT_RUN


def _tell_missing_package(error: ModuleNotFoundError) -> int:
    """Say which Python package a command lacks. Returns the exit status."""
    package = (error.name or "").partition(".")[0]
    if package in {"", "clusterwright"}:
        return _tell_defect(error)
    click.echo(
        f"This command needs the Python package {package}, which is not installed in {sys.prefix}. The distribution "
        "clusterwright-core leaves it out: `pip install clusterwright` adds it.",
        err=True,
    )
    return EXIT_CANNOT_RUN


def _excerpts(error: SpecError) -> str:
    """Errors of the spec as ``lint`` shows them, on its lines."""
    from clusterwright.cli.formats.text import render_text, wants_colour
    from clusterwright.cli.source_lines import source_line
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
