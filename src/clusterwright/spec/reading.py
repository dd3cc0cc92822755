"""What every section's loader needs: the document, the catalogue, and a place for what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from ipaddress import ip_address, ip_network
from pathlib import Path as FilePath
from typing import Any, TypeVar

from clusterwright.finding import Finding, Severity, SpecError
from clusterwright.spec.hardware.models import Catalogue, HardwareModel
from clusterwright.spec.isolation import Network
from clusterwright.spec.text.document import Document, Path, format_path

UNKNOWN_MODEL = "CW140"
BAD_PREFIX = "CW141"
BAD_RANGE = "CW142"
T = TypeVar("T")


class Reading:
    """One walk through a document; ``findings`` fills up instead of stopping at the first mistake.

    ``doubts`` are the places at which something stands in for a value, each with the finding because of which.
    ``lacking`` is set when the catalogue lacks models that the document brings: a finding about their file.
    """

    def __init__(self, document: Document, catalogue: Catalogue, lacking: Finding | None = None) -> None:
        self.document = document
        self.catalogue = catalogue
        self.lacking = lacking
        self.findings: list[Finding] = []
        self.doubts: dict[Path, Finding] = {}

    def each(self, data: Mapping[str, Any], key: str, make: Callable[[Any, Path], T], path: Path = ()) -> tuple[T, ...]:
        """The items of the list ``key`` of ``data``, which stands at ``path``, each typed by ``make``."""
        return tuple(make(item, (*path, key, index)) for index, item in enumerate(data.get(key, ())))

    def problem(self, code: str, path: Path, message: str, hint: str) -> None:
        """Record an error at ``path``: what is wrong, and how to mend it."""
        shown = format_path(path, self.document.data)
        finding = Finding(code, Severity.ERROR, message, hint, self.document.locate(path), shown, path)
        self.findings.append(finding)
        self.doubts[path] = finding

    def named_file(self, path: Path, read: Callable[[FilePath], tuple[T, Iterable[Finding]]]) -> T | None:
        """What ``read`` makes of the file named at ``path``; None, and all findings recorded, when it objects.

        ``read`` gives what it read and its findings, or raises SpecError.
        """
        try:
            content, findings = read(self.document.named_file(path))
        except SpecError as error:
            content, findings = None, error.findings
        for finding in findings:
            self.findings.append(finding)
            self.doubts[path] = finding
        return content

    def model(self, name: str, path: Path) -> HardwareModel:
        """The hardware model ``name``; one that is not in the catalogue is recorded, and another stands in for it.

        Where the catalogue is known to lack models, nothing is said of the name: it may be one of theirs.
        """
        if name not in self.catalogue:
            if self.lacking is not None:
                self.doubts[path] = self.lacking
                return next(iter(self.catalogue.values()))
            close = get_close_matches(name, self.catalogue, n=1)
            hint = f'Did you mean "{close[0]}"?' if close else f"Known models: {', '.join(sorted(self.catalogue))}."
            self.problem(UNKNOWN_MODEL, path, f'"{name}" is not in the hardware catalogue.', hint)
            return next(iter(self.catalogue.values()))
        return self.catalogue[name]

    def network(self, text: str, path: Path) -> Network:
        """The network that ``text`` writes; a text that is none is recorded."""
        try:
            return ip_network(text)
        except ValueError as error:
            hint = "Write the network address and its length."
            with suppress(ValueError):
                hint = f"Did you mean {ip_network(text, strict=False)}?"
            self.problem(BAD_PREFIX, path, f'"{text}" is not a network: {error}.', hint)
            return ip_network("0.0.0.0/32")

    def networks(self, data: Mapping[str, Any], key: str, path: Path) -> tuple[Network, ...]:
        """The networks of the list ``key``."""
        return tuple(self.network(text, (*path, key, index)) for index, text in enumerate(data.get(key, ())))

    def addresses(self, data: Mapping[str, Any], key: str, path: Path) -> tuple[str, ...]:
        """The addresses of the list ``key`` as written; those that are none are recorded."""
        for index, text in enumerate(data.get(key, ())):
            try:
                ip_address(text)
            except ValueError:
                message = f'"{text}" is not an IPv4 or IPv6 address.'
                self.problem(
                    BAD_PREFIX, (*path, key, index), message, "Write an address such as 10.0.0.53 or fd00::53."
                )
        return tuple(data.get(key, ()))

    def ranges(self, items: Sequence[int | str], path: Path, highest: int) -> tuple[tuple[int, int], ...]:
        """Inclusive ranges from items like 7 or "7-9"; those that run backwards or beyond ``highest`` are recorded."""
        found: list[tuple[int, int]] = []
        for index, item in enumerate(items):
            first, _, last = str(item).partition("-")
            low, high = int(first), int(last or first)
            if low > high or high > highest:
                self.problem(
                    BAD_RANGE,
                    (*path, index),
                    f'"{item}" is not a range within 0 to {highest}.',
                    "Write the lower bound first, and both within the limits.",
                )
            found.append((low, high))
        return tuple(found)
