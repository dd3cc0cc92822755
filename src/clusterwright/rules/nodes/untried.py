"""CW176: choices of a spec with rendered files never read by a real program in a test."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.choices.chosen import choices_of


@rule("CW176", Severity.NOTE)
def untried_choice(subject: Subject) -> Iterator[Problem]:
    """Systems, distributions and programs marked ``untried``."""
    for chosen in choices_of(subject.spec):
        if chosen.walk.is_untried:
            message = f"{chosen.title} is untried: {chosen.walk.open}."
            yield Problem(chosen.path, message, "Test the rendered files on one machine first.")
