"""One form for several spellings: strings for numbers, RFC 5952's addresses, plain references.

Lines stay lines, so that places in a text are places in its normal form. sonic-cfggen turns every value into a string
as Python does (typed_to_raw of sonic-net/sonic-swss-common, common/configdb.h), writes a row without fields as NULL,
and releases before 202111 name the rows of other tables in brackets (sonic-net/sonic-buildimage, BUFFER_PROFILE).
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from clusterwright.facts.address_form import OTHER_IPV6_FORM, in_plain_form

_OTHER_FORMS = re.compile(rf'[:,\[]\s*(?:-?\d|true|false)|"NULL"|"\[|{OTHER_IPV6_FORM}')
_STRING = r'"(?:[^"\\]|\\.)*"'
# Words for people, secrets, and MAC addresses, which are no addresses of IPv6 in any form.
_FREE_TEXT = "|".join(
    (
        *("description", "policy_desc", "alias", "mac", "passkey", "key", "community", "hwsku"),
        *("SNMP_USER_AUTH_PASSWORD", "SNMP_USER_ENCRYPTION_PASSWORD"),
    )
)
_TOKEN = re.compile(rf'"(?:{_FREE_TEXT})"\s*:\s*{_STRING}|(?P<string>{_STRING})|-?\d[\d.eE+-]*|true|false')
_EMPTY_ROW = re.compile(r'\{(\s*)"NULL"(\s*):(\s*)"NULL"(\s*)\}')
_REFERENCE = re.compile(r"\[[A-Z_]+\|([^\[\]|]+)\]")


@lru_cache(maxsize=128)
def normal_form(text: str) -> str:
    """The same lines, each in the readers' form; the output of `config save` is in it already."""
    if _OTHER_FORMS.search(text) is None:
        return text
    return _TOKEN.sub(_token, _EMPTY_ROW.sub(r"{\1\2\3\4}", text))


def _token(match: re.Match[str]) -> str:
    token = match["string"]
    if token is not None:
        return in_plain_form(_REFERENCE.sub(r"\1", token) if token.startswith('"[') else token)
    if match[0].startswith('"'):
        return match[0]
    try:
        return f'"{json.loads(match[0])}"'
    except ValueError:
        return match[0]
