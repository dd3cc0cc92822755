"""Jobs on the cluster during a change: the scheduler's running jobs, or the spec's jobs, as placed.

Reads ``squeue --json`` and lines of ``squeue --noheader --states=running --format='%i %j %N'``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from clusterwright.extras.place.placement import place
from clusterwright.extras.place.room import room_for
from clusterwright.finding import ClusterwrightError
from clusterwright.plan.model import Plan

FORM = "squeue --noheader --states=running --format='%i %j %N'"
_MOST_NODES = 200_000  # an order above any cluster; keeps a slip in a range from filling the memory
_PART = re.compile(r"\[([0-9,\-]+)\]")
_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job and its nodes. ``is_planned`` marks a job of the spec, on the nodes of its placement."""

    name: str
    nodes: frozenset[str]
    is_planned: bool


def planned_jobs(plan: Plan) -> tuple[tuple[RunningJob, ...], tuple[str, ...]]:
    """The spec's jobs, each placed on an empty cluster, and the reasons for unplaced ones."""
    jobs, notes = [], []
    for job in plan.spec.jobs:
        try:
            room = room_for(plan, job)
            used = np.unique(place(room, job).node_of)
        except ClusterwrightError as error:
            notes.append(str(error))
            continue
        jobs.append(RunningJob(job.name, frozenset(room.nodes[index] for index in used), is_planned=True))
    return tuple(jobs), tuple(notes)


def running_jobs(file: Path, devices: Collection[str]) -> tuple[RunningJob, ...]:
    """The jobs of a file; ``devices`` are the cluster's. Raises ClusterwrightError, naming the line."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ClusterwrightError(f"{file}: cannot be read: {error}. Write it with `{FORM}`.") from None
    rows = list(_from_json(file, text) if text.lstrip().startswith("{") else _from_lines(file, text))
    jobs = []
    for line, name, pattern in rows:
        try:
            nodes = frozenset(expand(pattern))
        except ValueError as error:
            raise ClusterwrightError(f"{line}: {pattern}: {error}. Write the file with `{FORM}`.") from None
        unknown = sorted(nodes - set(devices))
        if unknown:
            raise ClusterwrightError(f"{line}: job {name} runs on {unknown[0]}, which this cluster does not have.")
        jobs.append(RunningJob(name, nodes, is_planned=False))
    return tuple(jobs)


def expand(pattern: str) -> tuple[str, ...]:
    """The names in one of Slurm's host lists: ``gpu-p00r[000-003,007]n[0-1],st-01``. Raises ValueError."""
    names: list[str] = []
    for part in re.split(r",(?![^\[]*\])", pattern):
        pieces = _PART.split(part)
        if any("[" in piece or "]" in piece for piece in pieces[::2]):
            raise ValueError("a bracket is not closed")
        choices = [list(_numbers(piece)) if index % 2 else [piece] for index, piece in enumerate(pieces)]
        count = 1
        for choice in choices:
            count *= len(choice)
        if count + len(names) > _MOST_NODES:
            raise ValueError(f"it stands for more than {_MOST_NODES:,} names")
        names += ["".join(parts) for parts in product(*choices)]
    return tuple(names)


def _numbers(text: str) -> Iterator[str]:
    for span in text.split(","):
        first, dash, last = span.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or (dash and int(last) < int(first)):
            raise ValueError(f'"{span}" is no range')
        if dash and int(last) - int(first) > _MOST_NODES:
            raise ValueError(f"it stands for more than {_MOST_NODES:,} names")
        yield from (str(number).zfill(len(first)) for number in range(int(first), int(last or first) + 1))


def _from_lines(file: Path, text: str) -> Iterator[tuple[str, str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        if len(words) < _COLUMNS:
            raise ClusterwrightError(f"{file}:{number}: needs job id, name and nodes. Write the file with `{FORM}`.")
        yield f"{file}:{number}", f"{words[0]} ({' '.join(words[1:-1])})", words[-1]


def _from_json(file: Path, text: str) -> Iterator[tuple[str, str, str]]:
    try:
        jobs: list[dict[str, Any]] = json.loads(text)["jobs"]
        for index, job in enumerate(jobs):
            states = job.get("job_state", ["RUNNING"])
            if isinstance(states, str):
                states = [states]
            if "RUNNING" in states and job.get("nodes"):
                yield f"{file}: jobs[{index}]", f"{job['job_id']} ({job.get('name', '')})", str(job["nodes"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClusterwrightError(
            f"{file}: this is no answer of `squeue --json` ({type(error).__name__}: {error}). Write it with `{FORM}`."
        ) from None
