"""Regular expressions of a JSON Schema, which are those of ECMA-262, as Python reads them."""

from __future__ import annotations

import re
from functools import cache

# An escaped character, a class, or an end: what a ``$`` may stand in, or be.
_PARTS = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\$", re.DOTALL)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """``pattern`` as every reader of the schema means it: ``$`` is the end of the text, not a line end before it.

    Editors and Python agree then, so that no text with a line end behind it passes for a name.
    """
    return re.compile(_PARTS.sub(lambda part: r"\Z" if part[0] == "$" else part[0], pattern), re.ASCII)
