"""Context of typing a spec: the document, the catalogue, and its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import date
from ipaddress import ip_address, ip_interface, ip_network
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, TypeVar

from clusterwright.finding import Finding, Severity, SpecError
from clusterwright.nearest_name import did_you_mean
from clusterwright.spec.hardware.models import Catalogue, HardwareModel
from clusterwright.spec.structuring import By, Structuring
from clusterwright.spec.text.document import Document, Path, format_path

if TYPE_CHECKING:
    from clusterwright.spec.isolation import Address, AddressWithLength, Network

UNKNOWN_MODEL = "CW140"
BAD_PREFIX = "CW141"
BAD_RANGE = "CW142"
BAD_DATE = "CW147"
# Used in the place of refused values.
NO_ADDRESS = ip_interface("0.0.0.0/31")
NO_NEIGHBOUR = NO_ADDRESS.ip
T = TypeVar("T")


class Reading(Structuring):
    """One walk through a document; ``findings`` collects errors instead of stopping at the first.

    ``doubts`` are the places of stand-in values, each with its finding. ``lacking`` is set if the catalogue lacks
    models of the document's hardware files: a finding about the file.
    """

    def __init__(self, document: Document, catalogue: Catalogue, lacking: Finding | None = None) -> None:
        super().__init__("cluster")
        self.document = document
        self.catalogue = catalogue
        self.lacking = lacking
        self.findings: list[Finding] = []
        self.doubts: dict[Path, Finding] = {}

    def problem(self, code: str, path: Path, message: str, hint: str) -> None:
        """Record an error at ``path`` with a hint for its fix."""
        shown = format_path(path, self.document.data)
        finding = Finding(
            code=code,
            severity=Severity.ERROR,
            message=message,
            hint=hint,
            position=self.document.locate(path),
            path=shown,
            place=path,
        )
        self.findings.append(finding)
        self.doubts[path] = finding

    def named_file(self, path: Path, read: Callable[[FilePath], tuple[T, Iterable[Finding]]]) -> T | None:
        """The content of the file named at ``path``, by ``read``; None, with all findings recorded, on an error.

        ``read`` returns the content and its findings, or raises SpecError.
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
        """The hardware model ``name``; for an unknown one a finding is recorded, and another model stands in for it.

        If the catalogue is known to lack models, no finding is recorded: the name may be one of theirs.
        """
        if name not in self.catalogue:
            if self.lacking is not None:
                self.doubts[path] = self.lacking
                return next(iter(self.catalogue.values()))
            self.problem(UNKNOWN_MODEL, path, *unknown_model(name, self.catalogue))
            return next(iter(self.catalogue.values()))
        return self.catalogue[name]

    def network(self, text: str, path: Path) -> Network:
        """The network in ``text``; a finding is recorded for any other text."""
        try:
            return ip_network(text)
        except ValueError as error:
            hint = "Write the network address and its length."
            with suppress(ValueError):
                hint = f"Did you mean {ip_network(text, strict=False)}?"
            self.problem(BAD_PREFIX, path, f'"{text}" is not a network: {error}.', hint)
            return ip_network("0.0.0.0/32")

    def interface(self, text: str, path: Path) -> AddressWithLength:
        """The address with length in ``text``; NO_ADDRESS, with a finding, for any other text."""
        try:
            return ip_interface(text)
        except ValueError as error:
            message = f'"{text}" is not an address with its length: {error}.'
            self.problem(BAD_PREFIX, path, message, "Write 10.0.0.0/31.")
            return NO_ADDRESS

    def address(self, text: str, path: Path, hint: str = "Write one such as 10.0.0.1.") -> Address:
        """The address in ``text``; NO_NEIGHBOUR, with a finding, for any other text."""
        try:
            return ip_address(text)
        except ValueError:
            self.problem(BAD_PREFIX, path, f'"{text}" is not an IPv4 or IPv6 address.', hint)
            return NO_NEIGHBOUR

    def server(self, text: str, path: Path) -> str:
        """An address as written; a finding is recorded for any other text."""
        self.address(text, path, "Write an address such as 10.0.0.53 or fd00::53.")
        return text

    def day(self, text: str, path: Path) -> date | None:
        """The day in ``text``, such as 2026-12-31; None, with a finding, for one outside of the calendar."""
        try:
            return date.fromisoformat(text)
        except ValueError:
            self.problem(BAD_DATE, path, f'"{text}" is not a day of the calendar.', "Write it as 2026-12-31.")
            return None

    def ranges(self, items: Sequence[int | str], path: Path, highest: int) -> tuple[tuple[int, int], ...]:
        """Inclusive ranges from items like 7 or "7-9"; findings are recorded for reversed ones and values above
        ``highest``."""
        ranges: list[tuple[int, int]] = []
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
            ranges.append((low, high))
        return tuple(ranges)


def unknown_model(name: str, models: Iterable[str]) -> tuple[str, str]:
    """Message and hint about a model missing in the catalogue, which has ``models``."""
    choices = sorted(models)
    hint = did_you_mean(name, choices, f"Known models: {', '.join(choices)}.")
    return f'"{name}" is not in the hardware catalogue.', hint


Model = Annotated[HardwareModel, By(Reading.model)]
"""A model by its name in the catalogue."""
Servers = tuple[Annotated[str, By(Reading.server)], ...]
"""Addresses as written."""
