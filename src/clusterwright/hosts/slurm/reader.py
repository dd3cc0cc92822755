"""Reading Slurm's nodes, GPUs, partitions, controllers and topology: slurm.conf(5), gres.conf(5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

SLURM_CONF = "etc/slurm/slurm.conf"
GRES_CONF = "etc/slurm/gres.conf"
CGROUP_CONF = "etc/slurm/cgroup.conf"
SLURMD_DEFAULTS = "etc/default/slurmd"
MOST_NAMES = 1 << 20
"""Names of one expression: more are no cluster's, and would fill the memory."""
_SETTING = re.compile(r'(?P<key>\w+)\s*=\s*(?P<value>"[^"]*"|\S*)')
_PART = re.compile(r"\[(?P<ranges>[\d,-]+)\]|(?P<text>[^\[\],]+)")
_SERVERS = re.compile(r"--conf-server[ =](?P<servers>[^\s\"']+)")


@dataclass(frozen=True, slots=True)
class SlurmLine:
    """A line of settings; ``words`` are its values by key in small letters."""

    number: int
    words: Mapping[str, str]

    def value(self, key: str) -> str:
        """The value of a key, "" for a line without it."""
        return self.words.get(key, "")


@lru_cache(maxsize=64)
def read_lines(text: str) -> tuple[SlurmLine, ...]:
    """The entries of a file of Slurm's. A line with a backslash at its end continues in the next."""
    lines = []
    begun, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = re.sub(r"(?<!\\)#.*", "", line).rstrip()
        first = first or number
        if bare.endswith("\\"):
            begun += bare[:-1] + " "
            continue
        words = {match["key"].lower(): match["value"].strip('"') for match in _SETTING.finditer(begun + bare)}
        if words:
            lines.append(SlurmLine(first, words))
        elif (begun + bare).strip():
            lines.append(SlurmLine(first, {(begun + bare).split()[0].lower(): ""}))
        begun, first = "", 0
    return tuple(lines)


@lru_cache(maxsize=4096)
def names_of(expression: str) -> tuple[str, ...]:
    """The names in an expression such as ``gpu-p[00-01]n[0-1]``.

    Raises ValueError for an unreadable one.
    """
    names: list[str] = []
    for term in _terms(expression):
        names += _names_of_term(term)
        if len(names) > MOST_NAMES:
            raise ValueError(f"{expression}: more names than any cluster has")
    return tuple(names)


def _terms(expression: str) -> Iterator[str]:
    """An expression at its commas outside of brackets."""
    depth, begin = 0, 0
    for index, letter in enumerate(expression):
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield expression[begin:index]
            begin = index + 1
    yield expression[begin:]


def _names_of_term(term: str) -> Iterator[str]:
    choices: list[list[str]] = []
    end = 0
    for match in _PART.finditer(term):
        if match.start() != end:
            raise ValueError(f"{term}: is no list of names")
        end = match.end()
        if match["text"] is not None:
            choices.append([match["text"]])
        else:
            choices.append(list(_numbers(match["ranges"])))
    if end != len(term) or not term:
        raise ValueError(f"{term}: is no list of names")
    return ("".join(parts) for parts in product(*choices))


def _numbers(ranges: str) -> Iterator[str]:
    for written in ranges.split(","):
        low, _, high = written.partition("-")
        last = high or low
        if not low.isdecimal() or not last.isdecimal() or int(last) - int(low) > MOST_NAMES:
            raise ValueError(f"{written}: is no range of numbers")
        for number in range(int(low), int(last) + 1):
            yield f"{number:0{len(low)}}"


def read_servers(text: str) -> tuple[str, ...]:
    """The controllers with slurmd's configuration, in order; none if it names none."""
    match = _SERVERS.search(text)
    if match is None:
        return ()
    return tuple(server.partition(":")[0] for server in match["servers"].split(","))
