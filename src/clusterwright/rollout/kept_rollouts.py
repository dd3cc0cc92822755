"""The spec of a former rollout, from its record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clusterwright import chain
from clusterwright.deploy.store import MissingObject, Store
from clusterwright.finding import ClusterwrightError
from clusterwright.rollout.audit import Revision, path_of
from clusterwright.rollout.deployed import kept_spec


@dataclass(frozen=True, slots=True)
class KeptRollout:
    """A rollout with the temporary ``path`` of its spec and the spec's revision."""

    name: str
    path: Path
    revision: Revision


@contextmanager
def kept_rollout(root: Path, name: str) -> Iterator[KeptRollout]:
    """The rollout with a name beginning with ``name``, and its spec for as long as the block lasts.

    Raises ClusterwrightError if there is none, or more than one, and if its spec was not kept.
    """
    approvals = []
    for entry in chain.read(path_of(root)):
        is_update = entry["event"] == "started" and entry.get("action", "up") == "up"
        if is_update and entry["rollout"].startswith(name):
            approvals.append(entry)
    if len({entry["rollout"] for entry in approvals}) != 1:
        how_many = "no rollout is" if not approvals else "more than one rollout is"
        raise ClusterwrightError(f"{how_many} called {name!r}; `clusterwright audit show {root}` lists them")
    entry = approvals[0]
    if not entry.get("kept"):
        raise ClusterwrightError(
            f"the record of {entry['rollout']} does not say which spec it brought: an earlier version of this program "
            "wrote it. Take the spec of that time from its repository."
        )
    revision = Revision(**entry["revision"])
    try:
        with kept_spec(Store(root / "objects"), entry["kept"]) as path:
            yield KeptRollout(entry["rollout"], path, revision)
    except MissingObject as error:
        raise ClusterwrightError(
            f"the spec of {entry['rollout']} is no longer in {root / 'objects'}: {error}"
        ) from None
