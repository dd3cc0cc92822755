"""Regular expressions of a JSON Schema (ECMA-262) for Python's re."""

from __future__ import annotations

import re
from functools import cache

# An escaped character, a class, or an end: a ``$`` is inside one of the first two, or is an end.
_PARTS = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\$", re.DOTALL)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """``pattern`` in JSON Schema's meaning: ``$`` is the end of the text, not a line end before it.

    Editors and Python then agree, and a name followed by a line end is not accepted.
    """
    return re.compile(_PARTS.sub(lambda part: r"\Z" if part[0] == "$" else part[0], pattern), re.ASCII)
