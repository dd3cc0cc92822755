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

    The default is the catalogue in the package's data, and those of plugins. A model in ``extra`` replaces one of the
    catalogue with the same name, so a growing catalogue breaks no spec (CW132 reports it). Raises SpecError with the
    findings of the first failed stage: reading (CW10x), schema (CW11x), contradictory models (CW131), repeated names
    (CW130).
    """
    return MappingProxyType({**_by_name(_packaged(folder)), **_by_name(own_models(extra))})


def loaded_models(folder: FilePath | None = None, extra: Sequence[FilePath] = ()) -> tuple[LoadedModel, ...]:
    """The same models in the order of the files, each with its place.

    Raises SpecError as load_catalogue does, except for repeated names."""
    added_models = own_models(extra)
    replaced = {loaded.model.name for loaded in added_models}
    packaged = [loaded for loaded in _packaged(folder) if loaded.model.name not in replaced]
    return (*packaged, *added_models)


def own_models(files: Iterable[FilePath]) -> tuple[LoadedModel, ...]:
    """The models in a spec's files. Raises SpecError as load_catalogue does, except for repeated names."""
    return _read(files)


def _packaged(folder: FilePath | None) -> tuple[LoadedModel, ...]:
    folders = [folder] if folder else [inventory / "hardware" for inventory in data_files.folders("inventory")]
    models: list[LoadedModel] = []
    for hardware_folder in folders:
        models.extend(_read_folder(hardware_folder))
    return tuple(models)


@cache
def _read_folder(folder: FilePath) -> tuple[LoadedModel, ...]:
    """The models in ``folder``, cached because every spec of an inventory needs them. Raises SpecError."""
    return _read(sorted(folder.glob("*.yaml")))


def _read(paths: Iterable[FilePath]) -> tuple[LoadedModel, ...]:
    """The models in ``paths``, after every file passed the schema. Raises SpecError."""
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
    """The catalogue of ``models``. Raises SpecError (CW130) for every repeated name."""
    first: dict[str, LoadedModel] = {}
    findings: list[Finding] = []
    for loaded in models:
        first_loaded = first.setdefault(loaded.model.name, loaded)
        if first_loaded is not loaded:
            findings.append(
                Finding(
                    code=DUPLICATE_MODEL,
                    severity=Severity.ERROR,
                    message=f'There is a model "{loaded.model.name}" already, at {first_loaded.name_position}.',
                    hint="Give this one another name.",
                    position=loaded.name_position,
                    path=format_path((*loaded.path, "name"), loaded.document.data),
                )
            )
    if findings:
        raise SpecError(findings)
    return {name: loaded.model for name, loaded in first.items()}
