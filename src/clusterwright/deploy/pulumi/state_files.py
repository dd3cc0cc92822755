"""Restore state files of Pulumi truncated by a full disk or a crash, so that the command goes on.

The engine keeps the state before the last in ``STACK.json.bak``. A state some steps old, or a missing one, costs a
comparison with every device: nothing on devices is lost.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from clusterwright.deploy.locks import StackLocks

_STACKS = ".pulumi/stacks"
_TAIL_BYTES = 64


def mend_states(folder: Path, locks: Path, *, thoroughly: bool = False) -> Iterator[str]:
    """Restore the truncated states of unlocked stacks below ``folder``; messages about them for operators.

    A file with the end of a state counts as whole, unless it is parsed (``thoroughly``).
    """
    for state in sorted((folder / _STACKS).glob("*/*.json")):
        if _is_whole(state, thoroughly=thoroughly) or not StackLocks(locks).is_free(state.stem):
            continue
        kept = state.with_name(f"{state.name}.bak")
        aside = state.with_name(f"{state.name}.cut")
        state.replace(aside)
        if kept.exists() and _is_whole(kept, thoroughly=True):
            shutil.copyfile(kept, state)
            yield f"the recorded state of {state.stem} was cut off: the one before it was put back"
        else:
            yield f"the recorded state of {state.stem} was cut off, and so was the one before: every device is compared"


def _is_whole(file: Path, *, thoroughly: bool) -> bool:
    with file.open("rb") as stream:
        if not thoroughly:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _TAIL_BYTES))
            return stream.read().rstrip().endswith(b"}")
        try:
            content = json.loads(stream.read())
        except (ValueError, RecursionError):
            return False
    return isinstance(content, dict) and isinstance(content.get("checkpoint"), dict)
