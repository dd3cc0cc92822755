"""Grammar of placeholders: each names a secret, and the value replaces it during deployment.

``<secret NAME>`` is the plain one, and ``<secret/NAME>`` serves formats without blanks. ``<secret NAME as FORM>``
requests the device's stored form of the value, and ``<secret NAME as FORM ARGUMENT>`` passes an argument of that form.
``<secret NAME@VERSION>`` changes the text whenever the value changes. ``<secret NAME.DEVICE>`` is a value of its own
for each device.
"""

from __future__ import annotations

import re

MARK = "<secret"
MARK_IN_BYTES = MARK.encode()
"""Present in every placeholder."""

PLACEHOLDER = re.compile(
    rf"{MARK}[ /](?P<name>[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)?)(?:@(?P<version>[A-Za-z0-9._-]+))?"
    r"(?: as (?P<form>[a-z0-9-]+)(?: (?P<argument>[^ >\n]+))?)?>"
)
PLACEHOLDER_IN_BYTES = re.compile(PLACEHOLDER.pattern.encode())

LIKE_ONE = rf"{MARK}[ /]\w[^>\n]*>"
"""Matches placeholders, and failed attempts at one: with an unknown name or form."""


def around(text: str) -> list[str]:
    """The parts of ``text`` before, between and behind its placeholders."""
    return PLACEHOLDER.split(text)[:: PLACEHOLDER.groups + 1]
