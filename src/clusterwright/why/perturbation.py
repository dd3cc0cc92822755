"""Values behind rendered lines, found by changing each value of the spec and rendering the device again.

Values are changed in groups: a group without an effect on the lines contains none of the causes, any other is halved. A
spec of hundreds of values thus takes some dozens of renderings. A single other value may have no effect on a line (the
end of a range, for a line with its beginning), so each value without an effect is changed again to others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from typing import Any

from clusterwright.finding import SpecError
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.rules.engine import lint_with_subject
from clusterwright.rules.policy import Policy
from clusterwright.rules.registry import all_rules
from clusterwright.rules.rule import LintRule
from clusterwright.spec.text.document import Document
from clusterwright.spec.text.document import Path as Place
from clusterwright.why.alternatives import changed, other_values
from clusterwright.why.leaves import leaves

# Keys about the source of figures, without an effect on rendered text.
UNREAD_KEYS = frozenset({"source", "assumed", "remove", "extends"})
ROUNDS = 4
MOST_CANDIDATES = 12
FEW_NODES = 16
LEAST_LIKENESS = 0.3


class _PlanningPolicy(Policy):
    """Rules needed to plan a spec; the others are about correctness."""

    @cached_property
    def rules(self) -> Mapping[str, LintRule]:
        """Rules without a plan on a finding, and the rules they rely on, by code."""
        return {code: rule for code, rule in all_rules().items() if rule.leaves_no_plan or rule.relied_on}


_PLANNING_POLICY = _PlanningPolicy()


@dataclass(frozen=True, slots=True)
class RenderedLine:
    """A line of a device's file."""

    path: str
    number: int
    text: str
    context: tuple[str, ...]
    """Lines around this one by indentation, outermost first: two equal lines differ by them."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A value of the spec with an effect on the lines."""

    place: Place
    value: Any
    tried: Any
    after: tuple[str, ...]
    """Lines in place of the original ones with ``tried`` as the value; empty if they disappear."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The selected lines, the values behind them, and the places with no valid change of their own.

    Values that change the lines come before those whose change removes them.
    """

    lines: tuple[RenderedLine, ...]
    causes: tuple[Cause, ...]
    unchangeable: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """Selected lines of a device: those matching ``pattern``, in files with a path ending in ``file``.

    With a ``number`` it is the line of that number alone.
    """

    device: str
    pattern: re.Pattern[str]
    file: str = ""
    number: int | None = None

    def lines(self, document: Document) -> tuple[RenderedLine, ...]:
        """All matching lines of the device; none for a device outside the plan."""
        plan = _plan(document)
        selected: list[RenderedLine] = []
        if self.device not in plan.by_name:
            return ()
        for artifact in Rendering(plan).of_device(self.device):
            if not artifact.path.endswith(self.file):
                continue
            try:
                text = artifact.content.decode()
            except UnicodeDecodeError:
                continue  # an archive of a program has no lines
            selected += [line for line in _lines(artifact.path, text) if self.pattern.search(line.text)]
        return tuple(selected)


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One value of the spec, and the value tried in its place."""

    place: Place
    value: Any
    tried: Any


def explain(document: Document, selection: Selection) -> Explanation:
    """Values of a spec behind the selected lines. Raises SpecError for an unloadable spec."""
    lines = selection.lines(document)
    if selection.number is not None:
        lines = tuple(line for line in lines if line.number == selection.number)
    if not lines:
        return Explanation(lines=(), causes=(), unchangeable=())
    smaller = _smaller(document, selection, lines)
    search = _Search(smaller, selection, lines)
    remaining = _alternatives(smaller)
    order = {place: index for index, place in enumerate(remaining)}
    changed_once: set[Place] = set()
    causes: dict[Place, Cause] = {}
    for index in range(ROUNDS):
        round_of_changes = []
        for place, values in remaining.items():
            if place not in causes and index < len(values):
                round_of_changes.append(ValueChange(place=place, value=document.at(place), tried=values[index]))
        for cause in search.causes(round_of_changes):
            causes[cause.place] = cause
        failed = set(search.take_failures())
        changed_once.update(change.place for change in round_of_changes if change.place not in failed)
    return Explanation(
        lines=lines,
        causes=tuple(sorted(causes.values(), key=lambda cause: (not cause.after, order[cause.place]))),
        unchangeable=tuple(place for place in remaining if place not in changed_once),
    )


def _plan(document: Document) -> Plan:
    """Plan of a spec. Raises SpecError for findings of the rules needed to plan it."""
    result, subject = lint_with_subject(document, policy=_PLANNING_POLICY)
    if subject is None:
        raise SpecError(result.errors)
    return subject.plan


def _smaller(document: Document, selection: Selection, lines: tuple[RenderedLine, ...]) -> Document:
    """The same spec with the fewest nodes in each group for the same lines: a small plan is quick."""
    for index, group in enumerate(document.at(("nodes",)) or ()):
        place: Place = ("nodes", index, "count")
        count = group.get("count")
        while isinstance(count, int) and count > FEW_NODES:
            count //= 2
            candidate = changed(document, place, count)
            if not _Search(candidate, selection, lines).is_unaltered():
                break
            document = candidate
    return document


class _Search:
    """The search for the causes of some lines of one document."""

    def __init__(self, document: Document, selection: Selection, lines: tuple[RenderedLine, ...]) -> None:
        self._document = document
        self._selection = selection
        self._lines = lines
        self._wanted = _signature(lines)
        self._is_single = selection.number is not None
        self._failures: list[Place] = []

    def is_unaltered(self) -> bool:
        """True for a document rendering to the same lines."""
        rendered = self._rendered(self._document)
        return rendered is not None and self._is_unaltered(rendered)

    def take_failures(self) -> list[Place]:
        """Places with a failed change since the last call."""
        failures, self._failures = self._failures, []
        return failures

    def causes(self, changes: Sequence[ValueChange]) -> Iterator[Cause]:
        """Changes altering the lines, by halving."""
        if not changes:
            return
        if len(changes) == 1:
            yield from self._single(changes[0])
            return
        document = self._document
        for change in changes:
            document = changed(document, change.place, change.tried)
        rendered = self._rendered(document)
        if rendered is not None and self._is_unaltered(rendered):
            return
        middle = len(changes) // 2
        yield from self.causes(changes[:middle])
        yield from self.causes(changes[middle:])

    def _single(self, change: ValueChange) -> Iterator[Cause]:
        rendered = self._rendered(changed(self._document, change.place, change.tried))
        if rendered is None and isinstance(change.value, str):
            data = _renamed(self._document.data, change.value, change.tried)
            rendered = self._rendered(replace(self._document, data=data))
        if rendered is None:
            self._failures.append(change.place)
        elif not self._is_unaltered(rendered):
            yield Cause(place=change.place, value=change.value, tried=change.tried, after=self._after(rendered))

    def _rendered(self, document: Document) -> tuple[RenderedLine, ...] | None:
        """Selected lines; None for a spec without a plan or rendering."""
        try:
            return self._selection.lines(document)
        except Exception:  # an invalid value may stop the planner and the renderers anywhere
            return None

    def _is_unaltered(self, rendered: tuple[RenderedLine, ...]) -> bool:
        signature = _signature(rendered)
        if self._is_single:
            return all(signature[line] >= count for line, count in self._wanted.items())
        return signature == self._wanted

    def _after(self, rendered: tuple[RenderedLine, ...]) -> tuple[str, ...]:
        """New lines, most similar to the first original one first."""
        before = self._lines[0].text.strip()
        new = {text.strip() for path, _, text in _signature(rendered) - self._wanted if path == self._lines[0].path}
        return tuple(get_close_matches(before, sorted(new), n=len(new), cutoff=LEAST_LIKENESS)) if new else ()


def _alternatives(document: Document) -> dict[Place, tuple[Any, ...]]:
    """Other values by place, in the schema's order; lists and sections are changed by the values in them."""
    alternatives: dict[Place, tuple[Any, ...]] = {}
    for leaf in leaves("cluster"):
        if leaf.is_object or leaf.path[-1] in UNREAD_KEYS:
            continue
        places = leaf.places(document.data)
        elsewhere = [document.at(place) for place in places]
        for place in places:
            value = document.at(place)
            if isinstance(value, dict | list):
                continue
            candidates = (
                *islice(other_values(leaf, value, ()), MOST_CANDIDATES),
                *other_values(leaf, value, elsewhere),
            )
            alternatives[place] = _spread(tuple(candidate for candidate in candidates if _is_near(candidate, value)))
    return {place: tried for place, tried in alternatives.items() if tried}


def _is_near(candidate: Any, value: Any) -> bool:
    """False for numbers making a plan much larger."""
    if not isinstance(candidate, int) or not isinstance(value, int):
        return True
    return candidate <= 2 * value + 10


def _spread(candidates: tuple[Any, ...]) -> tuple[Any, ...]:
    """As many candidates as there are rounds, from all over the list: neighbours change a text at its end alone."""
    step = max(1, len(candidates) // ROUNDS)
    return candidates[::step][:ROUNDS]


def _lines(path: str, text: str) -> Iterator[RenderedLine]:
    """Non-blank lines of a file, each with the less indented lines above it."""
    above: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        indentation = len(line) - len(line.lstrip())
        while above and above[-1][0] >= indentation:
            above.pop()
        yield RenderedLine(path=path, number=number, text=line, context=tuple(outer for _, outer in above))
        above.append((indentation, line))


def _signature(lines: Iterable[RenderedLine]) -> Counter[tuple[str, tuple[str, ...], str]]:
    return Counter((line.path, line.context, line.text) for line in lines)


def _renamed(data: Any, name: str, new_name: str) -> Any:
    """The data with each occurrence of one text replaced by another."""
    if isinstance(data, dict):
        return {key: _renamed(value, name, new_name) for key, value in data.items()}
    if isinstance(data, list):
        return [_renamed(item, name, new_name) for item in data]
    return new_name if data == name else data
