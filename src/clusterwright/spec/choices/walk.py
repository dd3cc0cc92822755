"""How far the rendered files of a choice are tested, as the files of inventory/ record it."""

from __future__ import annotations

from dataclasses import dataclass

WALKED, CHECKED, UNTRIED = "walked", "checked", "untried"


@dataclass(frozen=True, slots=True)
class Walk:
    """The extent of the tests."""

    extent: str
    """``walked``: a real program took the rendered text to its effect. ``checked``: a schema or a parser took it.
    ``untried``: nothing read it."""
    tests: tuple[str, ...] = ()
    """The tests that did, as FILE::NAME; none of what is untried."""
    by: str = ""
    """The programs that read the text, and what they did."""
    open: str = ""
    """What was not tried: a sentence without its full stop."""

    @property
    def is_untried(self) -> bool:
        """True where no program read the rendered files."""
        return self.extent == UNTRIED
