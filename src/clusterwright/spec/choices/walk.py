"""How far tests went with what is rendered for a choice, as the files of inventory/ have it beside each."""

from __future__ import annotations

from dataclasses import dataclass

WALKED, CHECKED, UNTRIED = "walked", "checked", "untried"


@dataclass(frozen=True, slots=True)
class Walk:
    """The extent of what was tried."""

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
        """True where no program read what is rendered."""
        return self.extent == UNTRIED
