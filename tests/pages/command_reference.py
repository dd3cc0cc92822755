"""The references of the command line, as a page, as a manual page and by exit status, made from the parser itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

# An exit status is told in a paragraph of its own, as in "Exit status: 0 written, 2 could not run."
_STATUS = re.compile(r"^Exit status: (.+?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)


def commands(group: click.Group, name: str = "clusterwright") -> Iterator[tuple[str, click.Command]]:
    """Every command below ``group`` that does something, with its whole name, in the order of names."""
    context = click.Context(group, info_name=name)
    for below in group.list_commands(context):
        command = group.get_command(context, below)
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {below}")
        elif command is not None:
            yield f"{name} {below}", command


def command_page(group: click.Group, introduction: str) -> str:
    """The page of all commands: usage, what each does, its options with their defaults."""
    parts = ["# Commands", introduction, *(_section(name, command) for name, command in commands(group))]
    return "\n\n".join(parts) + "\n"


def status_table(group: click.Group) -> str:
    """A table of what each command's exit status says."""
    rows = [f"| [`{name}`](#{_anchor(name)}) | {_cell(status(command))} |" for name, command in commands(group)]
    return "\n".join(["| command | exit status |", "| --- | --- |", *rows])


def status(command: click.Command) -> str:
    """What the command's help says of its exit status; KeyError where it says nothing."""
    match = _STATUS.search(_help(command))
    if match is None:
        raise KeyError(command.name)
    return " ".join(match.group(1).split())


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name)
    lines = [f"## {name}", "", "```text", *command.get_usage(context).removeprefix("Usage: ").splitlines(), "```", ""]
    lines += [_prose(_help(command))]
    options = [f"| `{_cell(name)}` | {_cell(meaning)} |" for name, meaning in _options(command, context)]
    return "\n".join([*lines, *(["", "| option | meaning |", "| --- | --- |", *options] if options else [])])


def manual_page(group: click.Group, version: str) -> str:
    """The same as a manual page, in the macros of man(7)."""
    about = " ".join(_help(group).split())
    parts = [
        f'.TH CLUSTERWRIGHT 1 "" "clusterwright {version}" "User Commands"',
        f".SH NAME\nclusterwright {_roff('-')} {_roff(about.rstrip('.'))}",
        ".SH SYNOPSIS\n.B clusterwright\n.I COMMAND\n[\\fIOPTIONS\\fP] [\\fIARGUMENTS\\fP]",
        ".SH DESCRIPTION\nEach command with its options;\n.B clusterwright explain\nprints other pages of the docs.",
        ".SH COMMANDS",
        *(_manual_section(name, command) for name, command in commands(group)),
        ".SH EXIT STATUS\nStands with each command.",
    ]
    return "\n".join(parts) + "\n"


def _manual_section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name)
    usage = " ".join(command.get_usage(context).removeprefix(f"Usage: {name}").split())
    paragraphs = [_manual_paragraph(each) for each in inspect.cleandoc(command.help or "").split("\n\n")]
    options = [f".TP\n.B {_roff(option)}\n{_roff(meaning)}" for option, meaning in _options(command, context)]
    return "\n".join([f".SS {_roff(name)} {_roff(usage)}", "\n.PP\n".join(paragraphs), *options])


def _manual_paragraph(text: str) -> str:
    """A paragraph that click is told to leave as it is keeps its lines."""
    if not text.startswith("\b\n"):
        return _roff(text)
    return "\n".join([".nf", *(_roff(line) for line in text.splitlines()[1:]), ".fi"])


def _roff(text: str) -> str:
    """``text`` for man(7): names between backticks in bold, every other character as it is."""
    plain = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    bold = re.sub(r"`([^`]+)`", r"\\fB\1\\fP", plain)
    return f"\\&{bold}" if bold.startswith((".", "'")) else bold


def _options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """Options and arguments with a word of their own, with their meaning. Every command has --help."""
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1] and "--help" not in record[0]:
            yield record


def _help(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "").replace("\b\n", "")


def _prose(text: str) -> str:
    """Help as Markdown: what it calls by a name in capitals or brackets stays what it is."""
    return re.sub(r"(?<!`)([\w./]*(?:<[^>`]*>[\w./]*)+)", r"`\1`", text)


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
