"""The page of what tests walked, made from the files beside each choice."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.spec.choices.table import choice_keys
from clusterwright.spec.choices.walk import Walk
from clusterwright.spec.distribution import distribution_of, known_distributions
from clusterwright.spec.hardware.systems import systems

INTRODUCTION = """\
# What was walked

Look up here how far the tests go with what is rendered for each choice of a spec, before you rely on it. `walked`: a
real program took the rendered text to its effect. `checked`: a schema or a parser took it. `untried`: it is written
from documentation and no program has read it; [CW176](rules/CW176.md) names each such choice, as `verify` does.

The table is made from `inventory/systems/`, `inventory/distributions/` and `inventory/choices/`. A choice is walked or
checked only by a test that is named there. Which programs the tests use is on [another page](judges.md).
"""


def choices() -> Iterator[tuple[str, str, Walk]]:
    """What chooses, the choice and how far tests went, in the order of the page."""
    for system in systems().values():
        yield "Switch system", system.title, system.walk
    for name in known_distributions():
        distribution = distribution_of(name)
        assert distribution is not None
        yield "Distribution", name, distribution.walk
    for key in choice_keys().values():
        for value in key.values:
            yield key.title, value.title, value.walk
        if key.otherwise is not None:
            yield key.title, "any other", key.otherwise


def page() -> str:
    """The whole page."""
    lines = [INTRODUCTION, "| choice | | extent | by | not tried |", "| --- | --- | --- | --- | --- |"]
    before = ""
    for chooses, title, walk in choices():
        shown = "" if chooses == before else chooses
        lines.append(f"| {shown} | {title} | {walk.extent} | {walk.by} | {walk.open} |")
        before = chooses
    return "\n".join(lines) + "\n"
