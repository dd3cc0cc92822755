"""Digests of a spec's source files, and one digest over all of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from clusterwright.data_files import folders
from clusterwright.spec.text.source import ABSENT, noting_reads

# Folders of inventory/ read for every spec.
_CATALOGUES = ("accelerators", "choices", "distributions", "effects", "hardware", "nccl", "schema", "systems")


class SpecDigest:
    """The files of a spec, without those of the catalogue, fixed by the program's version."""

    def __init__(self, spec: Path, reads: Mapping[Path, frozenset[str]]) -> None:
        self._folder = spec.absolute().parent
        self._reads = reads

    @property
    def by_file(self) -> Mapping[str, str]:
        """SHA-256 by file, named from the spec's folder."""
        catalogues: list[Path] = []
        for folder in folders("inventory"):
            catalogues += [folder.absolute() / name for name in _CATALOGUES]
        digests = {}
        for path, read_digests in self._reads.items():
            read = read_digests - {ABSENT}
            if read and not any(path.is_relative_to(catalogue) for catalogue in catalogues):
                digests[os.path.relpath(path, self._folder)] = " ".join(sorted(read))
        return dict(sorted(digests.items()))

    @property
    def value(self) -> str:
        """SHA-256 over all files: of lines in the format of `sha256sum`, sorted by file."""
        lines = "".join(f"{digest}  {name}\n" for name, digest in self.by_file.items())
        return hashlib.sha256(lines.encode()).hexdigest()


@contextmanager
def digesting(spec: Path) -> Iterator[SpecDigest]:
    """Record the files read for ``spec``."""
    with noting_reads() as reads:
        yield SpecDigest(spec, reads)
