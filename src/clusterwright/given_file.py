"""Input files named by a user or written by another program: regular, of bounded size, read once."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from clusterwright.finding import ClusterwrightError

MOST_BYTES = 64 << 20


def read_given(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of the regular file ``path``, links followed. Raises ClusterwrightError.

    A device such as /dev/zero never ends, and a pipe waits for a writer.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ClusterwrightError(f"{path}: is no regular file. Name one.")
            content = file.read(most_bytes + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ClusterwrightError(f"{path}: cannot be read: {reason}. Check the path and its rights.") from None
    if len(content) > most_bytes:
        raise ClusterwrightError(f"{path}: is larger than {most_bytes >> 20} MB; no such file is that large.")
    return content


def read_given_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """The same as text; invalid UTF-8 is replaced."""
    return read_given(path, most_bytes).decode("utf-8", "replace")
