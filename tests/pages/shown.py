"""The console blocks of a page, and whether a command's output is what the page shows.

``...`` stands for lines left out, ``…`` for a part of a line.
``<!-- first: COMMANDS -->`` above a block is run before it and not shown;
``<!-- not run: REASON -->`` leaves the block out of tests/pages/test_commands.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"(?:<!-- (first|not run): ([^\n]+) -->\n)?```console\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    command: str
    shown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    steps: tuple[Step, ...]
    first: str = ""
    """Commands that run before the block."""
    not_run: str = ""
    """Why tests/pages/test_commands.py leaves the block out."""


def all_blocks(text: str) -> Iterator[Block]:
    for kind, words, body in _BLOCK.findall(text):
        prompt = body[:2]  # "$ ", or "# " where root is at work
        steps: list[Step] = []
        for line in body.replace("\\\n", "").splitlines():
            if line.startswith(prompt):
                steps.append(Step(line.removeprefix(prompt), ()))
            else:
                steps[-1] = Step(steps[-1].command, (*steps[-1].shown, line))
        first = words if kind == "first" else ""
        not_run = words if kind == "not run" else ""
        yield Block(tuple(steps), first=first, not_run=not_run)


def runnable_blocks(text: str) -> Iterator[Block]:
    return (block for block in all_blocks(text) if not block.not_run)


def shown_by(page: str, command: str) -> Step:
    """The one step of a page whose command begins with ``command`` and shows output."""
    text = (DOCS / page).read_text(encoding="utf-8")
    steps = [step for block in all_blocks(text) for step in block.steps]
    (step,) = (step for step in steps if step.command.startswith(command) and step.shown)
    return step


def assert_whole(step: Step, output: str) -> None:
    """``output`` is what the page shows, from its first line to its last."""
    # The last line of some answers has no end.
    ended = output if output.endswith("\n") else f"{output}\n"
    assert re.fullmatch(_pattern(step), ended), _difference(step, output)


def assert_part(step: Step, output: str) -> None:
    """``output`` has the lines that the page shows, in their order."""
    ended = output if output.endswith("\n") else f"{output}\n"
    assert re.search(f"^{_pattern(step)}", ended, re.MULTILINE), _difference(step, output)


def _pattern(step: Step) -> str:
    return "".join("(?:.*\n)*?" if line.strip() == "..." else f"{_line_pattern(line)}\n" for line in step.shown)


def _line_pattern(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.split("…"))


def _difference(step: Step, output: str) -> str:
    return f"{step.command} says:\n{output}\nand the page shows:\n" + "\n".join(step.shown)
