"""What a node looks at again and again: its packet filter, its routes, and whether the internet answers."""

from __future__ import annotations

import difflib
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from clusterwright.node_health.isolation import isolation_checks, listed_rules
from clusterwright.node_health.readings import Answer, Readings, ask
from clusterwright.node_health.verdict import Check, Expected, check

_COMMAND_S = 20.0  # nobody waits for the watch, unlike for a job's prolog
_ANSWER_S = 2.0
_LIST = ("nft", "--stateless", "list")
_MOST_LINES = 40


class Sight(NamedTuple):
    """What was found: the checks, and the lines by which the running rules differ from the file's."""

    checks: Sequence[Check]
    differences: Sequence[str]


def look(expected: Expected, probes: Iterable[Mapping[str, Any]]) -> Sight:
    """Look once. ``expected`` is what the node check knows of the node, ``probes`` are addresses with TCP ports."""
    nothing_read = Readings({})
    _all(nothing_read, expected)
    answers = ask(question._replace(limit_s=_COMMAND_S) for question in nothing_read.missed.values())
    checks = [*isolation_checks(Readings(answers), expected), _egress(probes)]
    return Sight(checks, _differences(*_listings(Readings(answers), expected)))


def _all(readings: Readings, expected: Expected) -> None:
    list(isolation_checks(readings, expected))
    _listings(readings, expected)


def _listings(readings: Readings, expected: Expected) -> tuple[Answer, Answer]:
    """The rules as the file has them, loaded into an empty network namespace, and the running ones."""
    path, listing = expected["filter"]["path"], (*_LIST, *listed_rules(expected["filter"]))
    meant = readings.run("unshare", "--net", "sh", "-c", f"nft --file {path} && {' '.join(listing)}")
    return meant, readings.run(*listing)


def _differences(meant: Answer, running: Answer) -> list[str]:
    lines = difflib.unified_diff(meant.text.splitlines(), running.text.splitlines(), lineterm="", n=0)
    found = [f"{line[0]} {line[1:].strip()}" for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return found[:_MOST_LINES]


def _egress(probes: Iterable[Mapping[str, Any]]) -> Check:
    """Connections to the internet, none of which may come about."""
    wrong = [f"{probe['address']} port {probe['port']} answers" for probe in probes if _answers(probe)]
    return check("egress", "see reason" if wrong else "none answers", "none answers", wrong)


def _answers(probe: Mapping[str, Any]) -> bool:
    """True when somebody is there: a connection, or a refusal that came from outside."""
    try:
        with socket.create_connection((probe["address"], probe["port"]), timeout=_ANSWER_S):
            return True
    except ConnectionRefusedError:
        return True
    except OSError:
        return False


def words_of(checks: Iterable[Check]) -> Iterator[str]:
    """What is wrong, one line for each failed check."""
    return (f"{each.name}: {each.reason}" for each in checks if not each.ok)
