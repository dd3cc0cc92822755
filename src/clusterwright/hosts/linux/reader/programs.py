"""Files of a Linux host with a decision over running programs, there or on machines booted from it."""

from __future__ import annotations

import json
import re

# Programs and what they load, and the archives that a machine's programs come in.
_EXECUTED = re.compile(r"(?:usr/)?(?:local/)?(?:s?bin|lib(?:exec|32|64)?)/|srv/http/(?:images|nodes)/")
_PROGRAMS = re.compile(
    rf"{_EXECUTED.pattern}"
    r"|(?:etc|run)/(?:systemd|udev|init\.d|cron|rc|profile|bash|ld\.so|pam\.d|NetworkManager|networkd-dispatcher)"
    r"|etc/(?:modprobe\.d|modules|kernel|default|initramfs-tools|dracut|apt|yum|dnf|dkms|alternatives|security)"
    r"|(?:root|home)/|var/spool/|opt/|boot/"
    r"|srv/|etc/(?:dnsmasq|kea|nginx|tftp)"  # what other machines boot, and where they find it
)
# Files in which a line that begins with # may be no comment: sudoers(5) has directives of that form.
_NO_COMMENTS = re.compile(r"etc/sudoers")
# JSON that programs of ours read as a whole: neither blanks nor the order of keys say anything.
_DATA = re.compile(r"etc/clusterwright/[\w-]+\.json")
# Beginnings of text in which # begins no comment: here-documents, strings of several lines.
_TEXT_WITHIN = re.compile(rb"<<|'''|\"\"\"")
_COMMENT = re.compile(rb"[ \t]*(?:#(?!!).*)?")


def runs_programs(path: str) -> bool:
    """Whether a file at this path is a program, or configures the start of programs."""
    return _PROGRAMS.match(path) is not None


def is_executed(path: str) -> bool:
    """Whether a file at this path is a program, code of one, or an archive of programs."""
    return _EXECUTED.match(path) is not None


def lines_that_count(path: str, content: bytes) -> bytes | None:
    """A file without its comments and blank lines; None for a file with unknown syntax.

    A line after a continued one counts, comment or not: a shell would end the command there.
    """
    if _DATA.match(path):
        return _data_that_counts(content)
    is_text = content.isascii() and b"\0" not in content
    if not is_text or content.lstrip()[:1] in {b"{", b"[", b"<", b""} or _NO_COMMENTS.match(path):
        return None
    if not content.startswith(b"#") or _TEXT_WITHIN.search(content):
        return None
    lines = []
    is_continued = False
    for line in content.split(b"\n"):
        if is_continued or _COMMENT.fullmatch(line) is None:
            lines.append(line)
        is_continued = line.endswith(b"\\")
    return b"\n".join(lines)


def _data_that_counts(content: bytes) -> bytes | None:
    """A JSON document in normal form; None for other text, and for a document with a repeated key."""
    try:
        document = json.loads(content, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError):
        return None
    return json.dumps(document, sort_keys=True).encode()


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a key stands twice")
    return document
