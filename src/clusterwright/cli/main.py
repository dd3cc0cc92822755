"""The command line: one group of subcommands, each imported on use."""

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

# Linting must not import Pulumi or numpy, so a subcommand's module is named here and loaded on use. The list of all
# commands imports none of them, so the first sentence of each help is repeated here. Extras are entry points.
COMMANDS = {
    "allocate": (
        "clusterwright.cli.allocate:allocate",
        "Records places and addresses in the allocation file beside SPEC: cluster.allocated.yaml beside cluster.yaml.",
    ),
    "approve": (
        "clusterwright.cli.stacks.approve:approve",
        "Sign the preview in FILE, written by `preview --save`, for `up --approved FILE`.",
    ),
    "audit": (
        "clusterwright.cli.stacks.audit:audit",
        "Show, check and export the record of the rollouts under ROOT.",
    ),
    "destroy": (
        "clusterwright.cli.stacks.deployed:destroy",
        "Remove the deployed files from the devices, and nothing else; the upper layer goes last.",
    ),
    "diff": (
        "clusterwright.cli.diff:diff",
        "Compares two specs: moves first, then zones, flows, devices and cables, then configuration line by line.",
    ),
    "drain": (
        "clusterwright.cli.tasks.drain:drain",
        "Take traffic and jobs off a switch, a node or a cable: add an exception to the spec, and send its changes.",
    ),
    "evidence": (
        "clusterwright.cli.evidence:evidence",
        "Answers tests of NVIDIA's acceptance suite for AI clouds (ai-cloud-validation) from SPEC.",
    ),
    "explain": (
        "clusterwright.cli.explain:explain",
        "Prints the page of a rule (CW203): the mistake, its consequences, the fix, and examples.",
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
        "Rotate, re-wrap and destroy the keys of SPEC's schedule, and keep a log of every change.",
    ),
    "lint": (
        "clusterwright.cli.lint:lint",
        "Checks specs, hardware catalogues and switch systems: YAML, schema, references, rules.",
    ),
    "models": (
        "clusterwright.cli.start.models:models",
        "Lists the hardware catalogue: the name, kind, system and ports of each model, and its file.",
    ),
    "nccl": (
        "clusterwright.cli.questions.nccl:nccl_command",
        "Explains the variables of NCCL and PyTorch on the nodes of SPEC: VARIABLE, or all.",
    ),
    "observe": (
        "clusterwright.cli.observe:observe",
        "Compares the cabling of SPEC with scans of its fabrics, and running files of devices with rendered ones.",
    ),
    "preview": (
        "clusterwright.cli.stacks.deploy:preview",
        "Show the changes of each device with their reasons, disturbances and waves, and whether proofs hold.",
    ),
    "refresh": (
        "clusterwright.cli.stacks.deployed:refresh",
        "Read the files of the devices; the next preview shows the differences, the next up fixes them.",
    ),
    "render": (
        "clusterwright.cli.render:render",
        "Writes DIR/<device>/<path on the device> for every device of SPEC, and DIR/manifest.json with their digests.",
    ),
    "replace": (
        "clusterwright.cli.tasks.replace:replace",
        "Record the labels of the replacement for NAME, and update the devices configured with them.",
    ),
    "report": (
        "clusterwright.cli.report:report",
        "Writes a static HTML report of SPEC: totals, fabrics, racks, cables, addresses, flows, findings, assumptions.",
    ),
    "schema": (
        "clusterwright.cli.start.schema:schema",
        "Writes the JSON Schemas of specs and catalogues, with the names of all models, for completion in editors.",
    ),
    "snapshot": (
        "clusterwright.cli.snapshot:snapshot_command",
        "Writes the EOS and SONiC switches of SPEC as a snapshot for Batfish, with the cables between them.",
    ),
    "status": (
        "clusterwright.cli.tasks.status:status",
        "Show the running change of the cluster of ROOT and its progress, an unfinished rollout, lapsed exceptions.",
    ),
    "stop": (
        "clusterwright.cli.tasks.status:stop",
        "Stop the running change of the cluster of ROOT after its current wave, as Ctrl-C does.",
    ),
    "undrain": (
        "clusterwright.cli.tasks.drain:undrain",
        "End a drain: remove the exception from the spec, and send its changes.",
    ),
    "up": (
        "clusterwright.cli.stacks.up:up",
        "Deploy SPEC: new stacks at once, the layer above the pods first; running devices in waves.",
    ),
    "verify": (
        "clusterwright.cli.verify:verify",
        "Proves the claims about the rendered files of SPEC, or about those in DIR; or shows counterexamples.",
    ),
    "visit": (
        "clusterwright.cli.tasks.visit:visit",
        "List open work on each device of a rack or pod: exceptions, files, boots, firmware, releases, failed checks.",
    ),
    "why": (
        "clusterwright.cli.questions.why:why",
        "Names the values of SPEC behind the lines of DEVICE that match PATTERN.",
    ),
}

# A plan or a parsed tree is millions of live objects: garbage collection at Python's default intervals takes a fifth of
# a proof's time and frees nothing. At an interval of a million it still takes 0.8 of the 24 s for a proof of 24,576
# GPUs.
COLLECTOR_INTERVALS = (5_000_000, 50, 50)

# A full disk, quota or file size, or a closed output: errors for the user to fix, in any write.
SPENT = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF})

# A missing permission, or a read-only disk.
DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})

_AFTER_THE_COMMAND = frozenset({"-q", "--quiet", "--verbose", "--out", "--format"})
"""Options of commands, not of the program itself."""

EXIT_CANNOT_RUN = 2
EXIT_INTERRUPTED = 130


class LazyGroup(CommandGroup):
    """A click group over COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all subcommands, including those of installed packages."""
        return sorted({**plugins(PLUGIN_COMMANDS), **COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand called ``cmd_name``, imported now; None for an unknown name."""
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
        """Write the commands in the groups of GROUPS, those of other packages last."""
        summaries = dict(self.summaries(ctx))
        rows_by_title: dict[str, list[tuple[str, str]]] = {}
        for title, names in GROUPS.items():
            rows_by_title[title] = [(name, summaries.pop(name)) for name in names if name in summaries]
        rows_by_title[OTHERS] = list(summaries.items())
        for title, rows in rows_by_title.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete as click does, from the list of commands alone."""
        named = [
            CompletionItem(name, help=summary) for name, summary in self.summaries(ctx) if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="clusterwright")
def cli() -> None:
    """Infrastructure as code for GPU training clusters: one spec in, every switch and node configured."""


def main() -> None:
    """Entry point of the ``clusterwright`` command. Exits with the status documented by the subcommand.

    Errors of users are printed as text, exit status 2; a defect of the program as a short notice, with the traceback
    only under CLUSTERWRIGHT_DEBUG=1.
    """
    gc.set_threshold(*COLLECTOR_INTERVALS)
    atexit.register(gc.freeze)  # otherwise a last collection walks all objects just before the exit
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # Write a character missing in the terminal's encoding as an escape, instead of failing.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
            # For ASCII, click writes UTF-8 to the underlying bytes, and would bypass EscapingStream.
            if codecs.lookup(stream.encoding).name == "ascii":
                stream.reconfigure(encoding="utf-8")
    sys.exit(_run(sys.argv[1:]))


def _open_closed_streams() -> None:
    """Replace standard streams closed by the caller.

    Without a stream the next opened file would take its number, and receive all printed text. The replaced input cannot
    be read and the replaced output cannot be written; errors are lost, as requested by the caller.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            # in order of the numbers, so that the lowest free number is the missing one
            flags = os.O_RDWR if name == "stderr" else os.O_RDONLY
            os.open(os.devnull, flags)
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
    except Exception as error:  # the last resort: any other error is a defect to report
        return _tell_defect(error)


def _tell_usage_error(error: click.ClickException) -> int:
    """Explain a mistake in the command line, and the place of a misplaced option. Returns the exit status."""
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
    # Unwritten text waits in the stream's buffer, and would fail again at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    click.echo(f"the output cannot be written: {error.strerror}. Make room, or send it elsewhere.", err=True)
    return EXIT_CANNOT_RUN


def _tell_missing_package(error: ModuleNotFoundError) -> int:
    """Report a missing Python package. Returns the exit status."""
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
    """Errors of the spec with their lines, as in ``lint``."""
    from clusterwright.cli.formats.text import render_text, wants_colour
    from clusterwright.cli.source_lines import source_line
    from clusterwright.rules.engine import LintResult

    files = tuple(dict.fromkeys(finding.position.file for finding in error.findings))
    return render_text(LintResult(error.findings, (), files), source_line, colour=wants_colour(sys.stderr))


def _tell_defect(error: Exception) -> int:
    """Report a defect of the program, inside an exception handler. Returns the exit status."""
    if os.environ.get("CLUSTERWRIGHT_DEBUG") == "1":
        traceback.print_exc()
    click.echo(
        f"clusterwright {__version__} stopped on a defect of its own: {type(error).__name__}: {error}\n"
        "Please report this with the command and the spec; CLUSTERWRIGHT_DEBUG=1 shows where it happened.",
        err=True,
    )
    return EXIT_CANNOT_RUN
