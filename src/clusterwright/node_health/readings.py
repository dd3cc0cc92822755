"""Commands and files of a node, read in parallel within a time limit.

A command is a list of words. ``cat FILE``, ``grep . PATTERN...``, ``ls FOLDER`` and ``readlink -f PATH`` are built in
and start no process; all others are programs, started without a shell. Nothing is changed on the node. A transcript
holds commands and outputs as a terminal shows them: a node recorded this way can be checked on another machine.
"""

from __future__ import annotations

import glob
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

TIMEOUT_S = 1.5  # a job waits for the node check, which has to end within two seconds
_GRACE_S = 0.2
_ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


class CommandOutput(NamedTuple):
    """Standard output of a command."""

    text: str
    error: str = ""
    """Why the command failed; "" for a successful one."""


class NodeCommand(NamedTuple):
    """A command with its time limit."""

    words: tuple[str, ...]
    timeout_s: float = TIMEOUT_S

    @property
    def line(self) -> str:
        """Command line of a transcript."""
        return " ".join(self.words)


class Readings:
    """Outputs by command line. Commands without an output are collected in ``missing``, by command line."""

    def __init__(self, outputs: Mapping[str, CommandOutput]) -> None:
        self.outputs = dict(outputs)
        self.missing: dict[str, NodeCommand] = {}

    def run(self, *words: str, timeout_s: float = TIMEOUT_S) -> CommandOutput:
        """Output of a command."""
        command = NodeCommand(words, timeout_s)
        output = self.outputs.get(command.line)
        if output is None:
            self.missing[command.line] = command
            return CommandOutput("", "was not asked")
        return output

    def file(self, path: str) -> CommandOutput:
        """Text of a file."""
        return self.run("cat", path)

    def line(self, path: str) -> str:
        """Text of a file of one line; "" for an unreadable one."""
        return self.file(path).text.strip()

    def files(self, *patterns: str) -> dict[str, str]:
        """First lines by path of the readable files that match a pattern."""
        line_by_path = {}
        for row in self.run("grep", ".", *patterns).text.splitlines():
            path, _, line = row.partition(":")
            line_by_path[path] = line
        return line_by_path

    def names(self, folder: str) -> frozenset[str]:
        """Names in a folder."""
        return frozenset(self.run("ls", folder).text.split())

    def target(self, path: str) -> str:
        """Final target of a link; "" for a missing one."""
        return self.run("readlink", "-f", path).text.strip()


def number(text: str) -> float:
    """A printed number; NaN for any other text, so that every comparison with it is false."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def run_commands(commands: Iterable[NodeCommand], minimum_timeout_s: float = 0) -> dict[str, CommandOutput]:
    """Run all commands in parallel and kill those that time out; outputs by command line.

    ``minimum_timeout_s`` raises shorter time limits, for machines far slower than a node.
    """
    command_by_line: dict[str, NodeCommand] = {}
    for command in commands:
        timeout_s = max(command.timeout_s, minimum_timeout_s)
        command_by_line[command.line] = NodeCommand(command.words, timeout_s)
    built_in = [command for command in command_by_line.values() if command.words[0] in _BUILT_IN]
    programs = [command for command in command_by_line.values() if command.words[0] not in _BUILT_IN]
    outputs: dict[str, CommandOutput] = {}
    threads = [threading.Thread(target=_run, args=(command, outputs), daemon=True) for command in programs]
    # A file of a hung driver blocks its reader, so files have a thread as well.
    threads.append(threading.Thread(target=_run_built_in, args=(built_in, outputs), daemon=True))
    for thread in threads:
        thread.start()
    longest_s = max((command.timeout_s for command in command_by_line.values()), default=0)
    deadline = time.monotonic() + longest_s + _GRACE_S
    for thread in threads:
        thread.join(max(0, deadline - time.monotonic()))
    # A blocked thread may still write to ``outputs``.
    finished = dict(outputs)
    for line, command in command_by_line.items():
        finished.setdefault(line, CommandOutput("", _timeout_error(command)))
    return finished


def _run_built_in(commands: Iterable[NodeCommand], outputs: dict[str, CommandOutput]) -> None:
    for command in commands:
        name, *arguments = command.words
        outputs[command.line] = _BUILT_IN[name](arguments)


def _cat(arguments: Sequence[str]) -> CommandOutput:
    return _read(arguments[0])


def _ls(arguments: Sequence[str]) -> CommandOutput:
    folder = arguments[0]
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        return CommandOutput("", f"{folder}: {error.strerror}")
    return CommandOutput("".join(f"{name}\n" for name in names))


def _readlink(arguments: Sequence[str]) -> CommandOutput:
    path = arguments[-1]
    if not os.path.exists(path):
        return CommandOutput("", f"{path} is not there")
    return CommandOutput(f"{os.path.realpath(path)}\n")


def _read(path: str) -> CommandOutput:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return CommandOutput(stream.read())
    except OSError as error:
        return CommandOutput("", f"{path}: {error.strerror}")


def _grep(arguments: Sequence[str]) -> CommandOutput:
    """First lines of files, behind their paths; the first argument is the expression ``.``."""
    rows = []
    for pattern in arguments[1:]:
        for path in sorted(glob.glob(pattern)):
            text = _read(path).text.strip()
            if text:
                rows.append(f"{path}:{text.splitlines()[0]}\n")
    return CommandOutput("".join(rows))


_BUILT_IN: Mapping[str, Callable[[Sequence[str]], CommandOutput]] = {
    "cat": _cat,
    "grep": _grep,
    "ls": _ls,
    "readlink": _readlink,
}


def _run(command: NodeCommand, outputs: dict[str, CommandOutput]) -> None:
    program = command.words[0]
    try:
        process = subprocess.Popen(
            command.words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=_ENVIRONMENT,
            start_new_session=True,
        )
    except OSError as error:
        outputs[command.line] = CommandOutput("", f"{program}: {error.strerror}")
        return
    try:
        output, errors = process.communicate(timeout=command.timeout_s)
    except subprocess.TimeoutExpired:
        outputs[command.line] = CommandOutput("", _timeout_error(command))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return
    if process.returncode == 0:
        outputs[command.line] = CommandOutput(output)
        return
    messages = (errors.strip() or output.strip()).splitlines()
    message = messages[-1] if messages else "no message"
    outputs[command.line] = CommandOutput(output, f"{program} ended with {process.returncode}: {message}")


def _timeout_error(command: NodeCommand) -> str:
    return f"{command.words[0]} did not answer within {command.timeout_s:g} s"


def to_transcript(outputs: Mapping[str, CommandOutput]) -> str:
    """Transcript of outputs: ``$ command``, its standard output, and ``! error`` for a failed command."""
    lines = []
    for command_line in sorted(outputs):
        output = outputs[command_line]
        lines.append(f"$ {command_line}\n")
        lines.append(output.text)
        if output.text and not output.text.endswith("\n"):
            lines.append("\n")
        if output.error:
            lines.append(f"! {output.error}\n")
    return "".join(lines)


def from_transcript(transcript: str) -> dict[str, CommandOutput]:
    """Outputs of a transcript by command line."""
    outputs: dict[str, CommandOutput] = {}
    for section in re.split(r"^\$ ", transcript, flags=re.MULTILINE)[1:]:
        command_line, _, body = section.partition("\n")
        outputs[command_line] = _transcribed_output(body)
    return outputs


def _transcribed_output(body: str) -> CommandOutput:
    lines = []
    error = ""
    for line in body.splitlines(keepends=True):
        if line.startswith("! "):
            error = line[2:].strip()
        else:
            lines.append(line)
    return CommandOutput("".join(lines), error)
