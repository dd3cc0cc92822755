"""The page of supported versions and of how far each was tried, made from the files beside each choice."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from clusterwright.spec.choices.table import choice_keys
from clusterwright.spec.choices.walk import Walk
from clusterwright.spec.distribution import distribution_of, known_distributions
from clusterwright.spec.hardware.systems import System, systems

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
NEEDED = ("ansible-core", "ansible-runner", "jinja2", "jsonschema", "pulumi", "pyyaml")

INTRODUCTION = """\
# Supported versions, and their tests

Look up here which releases you can use, and the extent of the tests of the files rendered for them. Read this before
you rely on a choice.

- Which devices are supported? `clusterwright models` lists every switch and node model of the catalogue.
- How do switch systems differ? [One table](ethernet.md#systems) compares them, and
  `clusterwright explain systems` lists all limits.
- How do you upgrade? See [clusterwright itself](install.md#upgrade), and
  [a switch's operating system](install.md#upgrade-a-switchs-operating-system), which is out of scope.

The extent of a test is one of three words:

- `walked`: a real program took the rendered text to its effect.
- `checked`: a schema or a parser took the text.
- `untried`: the text follows the vendor's documentation, and no program has read it.

[CW176](rules/CW176.md) names each untried choice of your spec, and so does `verify`. Each `walked` and `checked` names
a test; the [programs that the tests use](dev/checks.md) are listed too. The tables come from `pyproject.toml`,
`inventory/systems/`, `inventory/distributions/` and `inventory/choices/`.
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
    lines = [INTRODUCTION, "## The program itself", "", *_needed(), "", "## Switch releases", "", *_releases()]
    before = ""
    for chooses, title, walk in choices():
        if chooses != before:
            lines += ["", f"## {chooses}", "", "| choice | extent | tried | not tried |", "| --- | --- | --- | --- |"]
        lines.append(f"| {title} | {walk.extent} | {walk.by} | {walk.open} |")
        before = chooses
    return "\n".join(lines) + "\n"


def _needed() -> Iterator[str]:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    yield "| program | versions |"
    yield "| --- | --- |"
    yield f"| Python | {project['requires-python']} |"
    for requirement in project["dependencies"]:
        name = re.match(r"[\w-]+", requirement)
        if name is not None and name[0] in NEEDED:
            yield f"| {name[0]} | {requirement.removeprefix(name[0])} |"


def _releases() -> Iterator[str]:
    yield "A tier or a model names its release by `release`. Without it, the text is for the default one."
    yield ""
    yield "| system | releases | default |"
    yield "| --- | --- | --- |"
    for system in systems().values():
        yield f"| {system.title} | {_known(system)} |"


def _known(system: System) -> str:
    if system.releases is None:
        return "no table yet: `release` is refused (CW351) | that of the sources in `inventory/systems/`"
    return f"{', '.join(system.releases.known)} | {system.releases.default}"
