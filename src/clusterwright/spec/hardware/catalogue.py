"""The hardware catalogue: every model in its YAML files, by name.

Reading the packaged files takes some 20 ms, half of it for the check against their JSON Schema; they are read once.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from clusterwright import data_files
from clusterwright.finding import Finding, Severity, SpecError
from clusterwright.spec.hardware.consistency import LoadedModel, load_models
from clusterwright.spec.schema.check import check
from clusterwright.spec.text.document import format_path
from clusterwright.spec.text.reader import read_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path as FilePath

    from clusterwright.spec.hardware.models import Catalogue
    from clusterwright.spec.text.document import Document

DUPLICATE_MODEL = "CW130"


def load_catalogue(folder: FilePath | None = None, extra: Sequence[FilePath] = ()) -> Catalogue:
    """Every model in the ``*.yaml`` files of ``folder`` and in the files ``extra``, by name.

    Without ``folder`` it is the catalogue that travels with the package, and those of plugins. A model in ``extra``
    replaces one of the catalogue with the same name, so that a catalogue that grows stops no spec (CW132 tells).
    Raises SpecError with the findings of the first stage that failed: reading (CW10x), schema (CW11x), models that
    contradict themselves (CW131), models that share a name (CW130).
    """
    return MappingProxyType({**_by_name(_packaged(folder)), **_by_name(own_models(extra))})


def loaded_models(folder: FilePath | None = None, extra: Sequence[FilePath] = ()) -> tuple[LoadedModel, ...]:
    """The same models in the order of the files, each with where it stands. Raises SpecError as load_catalogue does,
    but for names that models share."""
    added_models = own_models(extra)
    replaced = {loaded.model.name for loaded in added_models}
    return (*(loaded for loaded in _packaged(folder) if loaded.model.name not in replaced), *added_models)


def own_models(files: Iterable[FilePath]) -> tuple[LoadedModel, ...]:
    """The models in files that a spec names. Raises SpecError as load_catalogue does, but for names that they share."""
    return _read(files)


def _packaged(folder: FilePath | None) -> tuple[LoadedModel, ...]:
    folders = [folder] if folder else [inventory / "hardware" for inventory in data_files.folders("inventory")]
    models: list[LoadedModel] = []
    for home in folders:
        models.extend(_read_folder(home))
    return tuple(models)


@cache
def _read_folder(folder: FilePath) -> tuple[LoadedModel, ...]:
    """The models in ``folder``, read once: linting a whole inventory needs them for every spec. Raises SpecError."""
    return _read(sorted(folder.glob("*.yaml")))


def _read(paths: Iterable[FilePath]) -> tuple[LoadedModel, ...]:
    """The models in ``paths``, once the schema has accepted every file. Raises SpecError."""
    documents: list[Document] = []
    findings: list[Finding] = []
    for path in paths:
        try:
            documents.append(read_document(path))
        except SpecError as error:
            findings += error.findings
        else:
            findings += check(documents[-1], "hardware")
    if findings:
        raise SpecError(findings)
    return _typed(documents)


def _typed(documents: Iterable[Document]) -> tuple[LoadedModel, ...]:
    models: list[LoadedModel] = []
    findings: list[Finding] = []
    for document in documents:
        loaded, objections = load_models(document)
        models += loaded
        findings += objections
    if findings:
        raise SpecError(findings)
    return tuple(models)


def _by_name(models: Iterable[LoadedModel]) -> Catalogue:
    """The catalogue of ``models``. Raises SpecError (CW130) for every name that was taken before."""
    first: dict[str, LoadedModel] = {}
    findings: list[Finding] = []
    for loaded in models:
        other = first.setdefault(loaded.model.name, loaded)
        if other is not loaded:
            findings.append(
                Finding(
                    code=DUPLICATE_MODEL,
                    severity=Severity.ERROR,
                    message=f'There is a model "{loaded.model.name}" already, at {other.name_position}.',
                    hint="Give this one another name.",
                    position=loaded.name_position,
                    path=format_path((*loaded.path, "name"), loaded.document.data),
                )
            )
    if findings:
        raise SpecError(findings)
    return {name: loaded.model for name, loaded in first.items()}
