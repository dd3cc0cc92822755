"""Extent of tests with the rendered files of a choice, as recorded in the files of inventory/."""

from __future__ import annotations

from dataclasses import dataclass

WALKED, CHECKED, UNTRIED = "walked", "checked", "untried"


@dataclass(frozen=True, slots=True)
class Walk:
    """The extent of the tests."""

    extent: str
    """``walked``: a real program ran with the rendered text. ``checked``: a schema or a parser accepted it.
    ``untried``: no program read it."""
    tests: tuple[str, ...] = ()
    """The tests, as FILE::NAME; empty for ``untried``."""
    by: str = ""
    """The programs that read the text, and their actions."""
    open: str = ""
    """The untested part: a sentence without its full stop."""

    @property
    def is_untried(self) -> bool:
        """True if no program read the rendered files."""
        return self.extent == UNTRIED
