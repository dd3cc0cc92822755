"""One form for several spellings in files of NVUE: addresses as RFC 5952 writes them.

Lines stay lines, so that places in a text are places in its normal form. Ranges of names, quotes and the words of
releases are one already once objects are read.
"""

from __future__ import annotations

import re
from functools import lru_cache

from clusterwright.facts.address_form import OTHER_IPV6_FORM, in_plain_form

_OTHER_FORMS = re.compile(OTHER_IPV6_FORM)
# Words for people, secrets, and MAC addresses, which are no addresses of IPv6 in any form.
_FREE_TEXT = re.compile(
    r" *[\"']?(?:description|remark|key|(?:hashed-)?password|secret|mac(?:-address)?|system-mac|full-name)[\"']?:"
)


@lru_cache(maxsize=128)
def normal_form(text: str) -> str:
    """The same lines, each with its addresses in the form for comparisons."""
    if _OTHER_FORMS.search(text) is None:
        return text
    return "\n".join(_normal_line(line) for line in text.split("\n"))


def _normal_line(line: str) -> str:
    return line if _FREE_TEXT.match(line) else in_plain_form(line)
