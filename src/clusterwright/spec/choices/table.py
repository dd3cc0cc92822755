"""Values of the keys that select a program, complete for each key: inventory/choices/programs.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from clusterwright import data_files
from clusterwright.finding import SpecError
from clusterwright.spec.choices.walk import Walk
from clusterwright.spec.schema.check import check
from clusterwright.spec.structuring import Structuring
from clusterwright.spec.text.reader import read_document

DELIVERY = "images[].delivery"
SCHEDULER = "scheduler.kind"
RUNTIME = "images[].containers.runtime"
FILE_SYSTEM = "mounts[].type"
SUBNET_MANAGER = "fabrics[].subnet_manager.kind"
FIRST_CONTACT = "first_contact.server"
"""Its values are the systems of switches with a first file from the server."""


@dataclass(frozen=True, slots=True)
class ChoiceValue:
    """A value of a key, and its title."""

    name: str
    title: str
    walk: Walk


@dataclass(frozen=True, slots=True)
class ChoiceKey:
    """A key that selects a program; ``otherwise`` covers unlisted values of a key that accepts any."""

    key: str
    title: str
    values: tuple[ChoiceValue, ...]
    otherwise: Walk | None = None

    def value(self, name: str) -> ChoiceValue:
        """The facts about a value. Raises KeyError for an impossible one."""
        for value in self.values:
            if value.name == name:
                return value
        if self.otherwise is None:
            raise KeyError(name)
        return ChoiceValue(name=name, title=f"{self.title} {name}", walk=self.otherwise)


@dataclass(frozen=True, slots=True)
class _ChoicesFile:
    choices: tuple[ChoiceKey, ...]


@cache
def choice_keys() -> Mapping[str, ChoiceKey]:
    """Every key that selects a program. Raises SpecError for an invalid file."""
    document = read_document(data_files.folder("inventory") / "choices/programs.yaml")
    findings = check(document, "choices")
    if findings:
        raise SpecError(findings)
    table = Structuring("choices").typed(_ChoicesFile, document.data, ())
    return {choice.key: choice for choice in table.choices}
