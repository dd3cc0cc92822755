"""What a node says of itself: commands and files, read side by side within a time limit.

A question is a command line. ``cat FILE``, ``grep . PATTERN...``, ``ls FOLDER`` and ``readlink -f PATH`` are answered
without a process; everything else is started, without a shell. Nothing is changed on the node. A transcript holds
questions and answers as a terminal shows them, so that a node can be recorded and judged elsewhere.
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

DEADLINE_S = 1.5  # a job waits for the check, and the whole of it has to be over in two seconds
_STEP_S = 0.02
_ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


class Answer(NamedTuple):
    """Standard output or a file's text; ``trouble`` says why there is none, "" when there is."""

    text: str
    trouble: str = ""


class Question(NamedTuple):
    """A command line, and how many seconds it may take."""

    words: tuple[str, ...]
    limit_s: float = DEADLINE_S

    @property
    def line(self) -> str:
        """The question as a transcript shows it."""
        return " ".join(self.words)


class Readings:
    """Answers by question. Asked for one that it lacks, it says so, and keeps the question in ``missed``."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers = dict(answers)
        self.missed: dict[str, Question] = {}

    def run(self, *words: str, limit_s: float = DEADLINE_S) -> Answer:
        """The output of a command."""
        question = Question(words, limit_s)
        answer = self.answers.get(question.line)
        if answer is None:
            self.missed[question.line] = question
            return Answer("", "was not asked")
        return answer

    def file(self, path: str) -> Answer:
        """The text of a file."""
        return self.run("cat", path)

    def files(self, *patterns: str) -> dict[str, str]:
        """First lines of the files that match, by path; none for what cannot be read."""
        found = (line.partition(":") for line in self.run("grep", ".", *patterns).text.splitlines())
        return {path: text for path, _, text in found}

    def names(self, folder: str) -> frozenset[str]:
        """The names in a folder."""
        return frozenset(self.run("ls", folder).text.split())

    def target(self, path: str) -> str:
        """Where a link leads in the end; "" where nothing is."""
        return self.run("readlink", "-f", path).text.strip()


def number(text: str) -> float:
    """A number that a program printed; what is none is NaN, which no comparison takes for good."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def ask(questions: Iterable[Question], least_s: float = 0) -> dict[str, Answer]:
    """Put all questions at once. What does not answer in time is given up and its processes are ended.

    ``least_s`` gives every question at least so many seconds, for machines far slower than a node.
    """
    patient = (Question(question.words, max(question.limit_s, least_s)) for question in questions)
    asked = {question.line: question for question in patient}
    answers: dict[str, Answer] = {}
    files = [question for question in asked.values() if question.words[0] in _OWN]
    threads = [
        threading.Thread(target=_run, args=(question, answers), daemon=True)
        for question in asked.values()
        if question.words[0] not in _OWN
    ]
    # A file of a stuck driver hangs as a program does, so files are read aside as well.
    threads.append(threading.Thread(target=_read_all, args=(files, answers), daemon=True))
    for thread in threads:
        thread.start()
    end = time.monotonic() + max((question.limit_s for question in asked.values()), default=0) + 10 * _STEP_S
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))
    taken = dict(answers)
    for line, question in asked.items():
        taken.setdefault(line, Answer("", _late(question)))
    return taken


def _read_all(questions: Iterable[Question], answers: dict[str, Answer]) -> None:
    for question in questions:
        answers[question.line] = _OWN[question.words[0]](question.words[1:])


def _cat(words: Sequence[str]) -> Answer:
    return _read(words[0])


def _ls(words: Sequence[str]) -> Answer:
    try:
        return Answer("".join(f"{name}\n" for name in sorted(os.listdir(words[0]))))
    except OSError as error:
        return Answer("", f"{words[0]}: {error.strerror}")


def _readlink(words: Sequence[str]) -> Answer:
    path = words[-1]
    return Answer(f"{os.path.realpath(path)}\n") if os.path.exists(path) else Answer("", f"{path} is not there")


def _read(path: str) -> Answer:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return Answer(stream.read())
    except OSError as error:
        return Answer("", f"{path}: {error.strerror}")


def _grep(words: Sequence[str]) -> Answer:
    lines = []
    for pattern in words[1:]:
        for path in sorted(glob.glob(pattern)):
            text = _read(path).text.strip()
            if text:
                lines.append(f"{path}:{text.splitlines()[0]}")
    return Answer("".join(f"{line}\n" for line in lines))


_OWN: Mapping[str, Callable[[Sequence[str]], Answer]] = {
    "cat": _cat,
    "grep": _grep,
    "ls": _ls,
    "readlink": _readlink,
}


def _run(question: Question, answers: dict[str, Answer]) -> None:
    try:
        process = subprocess.Popen(
            question.words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=_ENVIRONMENT,
            start_new_session=True,
        )
    except OSError as error:
        answers[question.line] = Answer("", f"{question.words[0]}: {error.strerror}")
        return
    try:
        output, errors = process.communicate(timeout=question.limit_s)
    except subprocess.TimeoutExpired:
        answers[question.line] = Answer("", _late(question))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return
    said = (errors.strip() or output.strip()).splitlines()
    trouble = f"{question.words[0]} ended with {process.returncode}: {said[-1] if said else 'no message'}"
    answers[question.line] = Answer(output, trouble if process.returncode else "")


def _late(question: Question) -> str:
    return f"{question.words[0]} did not answer within {question.limit_s:g} s"


def to_transcript(answers: Mapping[str, Answer]) -> str:
    """Questions and answers as text: ``$ question``, its output, and ``! trouble`` where there is some."""
    parts = []
    for line in sorted(answers):
        answer = answers[line]
        trouble = f"! {answer.trouble}\n" if answer.trouble else ""
        text = answer.text if answer.text.endswith("\n") or not answer.text else f"{answer.text}\n"
        parts.append(f"$ {line}\n{text}{trouble}")
    return "".join(parts)


def from_transcript(text: str) -> dict[str, Answer]:
    """The answers of a transcript."""
    found: dict[str, Answer] = {}
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, said = part.partition("\n")
        lines = said.splitlines(keepends=True)
        troubles = [each[2:].strip() for each in lines if each.startswith("! ")]
        output = "".join(each for each in lines if not each.startswith("! "))
        found[line] = Answer(output, troubles[-1] if troubles else "")
    return found
