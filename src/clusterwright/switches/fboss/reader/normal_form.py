"""One form for several spellings in FBOSS's files: addresses as RFC 5952 writes them.

Lines stay lines, so that places in a text are places in its normal form.
"""

from __future__ import annotations

import re
from functools import lru_cache

from clusterwright.facts.address_form import OTHER_IPV6_FORM, in_plain_form

_OTHER_FORMS = re.compile(OTHER_IPV6_FORM)
_STRING = r'"(?:[^"\\]|\\.)*"'
_TOKEN = re.compile(rf'"(?:description|name|hostname)"\s*:\s*{_STRING}|(?P<string>{_STRING})')


@lru_cache(maxsize=128)
def normal_form(text: str) -> str:
    """The same lines, each with its addresses in the form for comparisons."""
    return text if _OTHER_FORMS.search(text) is None else _TOKEN.sub(_token, text)


def _token(match: re.Match[str]) -> str:
    return match[0] if match["string"] is None else in_plain_form(match[0])
