"""The grammar of placeholders: each names a secret, whose value takes its place on the way to the device.

``<secret NAME>`` is the plain one, and ``<secret/NAME>`` where a format takes no blank. ``<secret NAME as FORM>`` asks
for the form in which a device keeps the value, and ``<secret NAME as FORM ARGUMENT>`` says what that form has to know.
``<secret NAME@VERSION>`` is another text for another value.
``<secret NAME.DEVICE>`` is the value of which each device has its own.
"""

from __future__ import annotations

import re

MARK = "<secret"
MARK_IN_BYTES = MARK.encode()
"""No placeholder is where this is not."""

PLACEHOLDER = re.compile(
    rf"{MARK}[ /](?P<name>[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)?)(?:@(?P<version>[A-Za-z0-9._-]+))?"
    r"(?: as (?P<form>[a-z0-9-]+)(?: (?P<argument>[^ >\n]+))?)?>"
)
PLACEHOLDER_IN_BYTES = re.compile(PLACEHOLDER.pattern.encode())

LIKE_ONE = rf"{MARK}[ /]\w[^>\n]*>"
"""The pattern of placeholders, and of what was meant as one: its name or form is none that there could be."""


def around(text: str) -> list[str]:
    """The parts of ``text`` before, between and behind its placeholders."""
    return PLACEHOLDER.split(text)[:: PLACEHOLDER.groups + 1]
