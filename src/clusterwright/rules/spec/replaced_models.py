"""CW132: hardware described by the spec under a name of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.and_more import and_more
from clusterwright.finding import Severity, SpecError
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.hardware.catalogue import load_catalogue, own_models

_SHOWN = 4


@rule("CW132", Severity.WARNING)
def replaced_model(subject: Subject) -> Iterator[Problem]:
    """Models under `hardware` with the name of a catalogue model: the spec's own figures are used."""
    document = subject.spec.document
    for index in range(len(document.data.get("hardware", ()))):
        try:
            models = own_models([document.named_file(("hardware", index))])
        except SpecError:
            continue  # reported when the catalogue is loaded
        replaced = [loaded for loaded in models if loaded.model.name in load_catalogue()]
        if replaced:
            names = and_more([loaded.model.name for loaded in replaced], _SHOWN)
            yield Problem(
                path=("hardware", index),
                message=f"{replaced[0].name_position.file} overrides {names} of the catalogue.",
                hint="Remove a model there to plan with the catalogue's figures, or give it a name of its own.",
            )
