"""The hardware catalogue: every model in its YAML files, by name.

The files that travel with the package are checked against their JSON Schema by the tests, not at every start; files that a
user adds are checked whenever they are read.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from clusterwright import data_files
from clusterwright.finding import Finding, Severity, SpecError
from clusterwright.spec.document import format_path
from clusterwright.spec.hardware_load import LoadedModel, load_models
from clusterwright.spec.reader import read_document
from clusterwright.spec.schema import check

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path as FilePath

    from clusterwright.spec.document import Document
    from clusterwright.spec.hardware import Catalogue

DUPLICATE_MODEL = "CW130"


def load_catalogue(
    folder: FilePath | None = None, extra: Sequence[FilePath] = (), *, validate: bool = False
) -> Catalogue:
    """Every model in the ``*.yaml`` files of ``folder`` and in the files ``extra``, by name.

    Without ``folder`` it is the catalogue that travels with the package, which is checked against its JSON Schema only when
    ``validate`` asks for it. Raises SpecError with the findings of the first stage that failed: reading (CW10x), schema
    (CW11x), models that contradict themselves (CW131), models that share a name (CW130).
    """
    if folder is None and not validate:
        return _by_name((*_packaged(), *_read(extra)))
    home = folder or _packaged_folder()
    return _by_name(_read((*sorted(home.glob("*.yaml")), *extra)))


def _packaged_folder() -> FilePath:
    return data_files.folder("inventory") / "hardware"


@cache
def _packaged() -> tuple[LoadedModel, ...]:
    """The packaged models, read once: linting a whole inventory needs them for every spec."""
    return _typed(read_document(path) for path in sorted(_packaged_folder().glob("*.yaml")))


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
                    DUPLICATE_MODEL,
                    Severity.ERROR,
                    f'The catalogue has a model "{loaded.model.name}" already, at {other.name_position}.',
                    "Give this one another name.",
                    loaded.name_position,
                    format_path((*loaded.path, "name"), loaded.document.data),
                )
            )
    if findings:
        raise SpecError(findings)
    return MappingProxyType({name: loaded.model for name, loaded in first.items()})
