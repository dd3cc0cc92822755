"""The spec that a rollout brought, as its record kept it."""

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
    """A rollout by its name, with the ``path`` of its spec while that is needed, and where the spec came from then."""

    name: str
    path: Path
    revision: Revision


@contextmanager
def kept_rollout(root: Path, name: str) -> Iterator[KeptRollout]:
    """The rollout whose name begins with ``name``, with its spec for as long as the block lasts.

    Raises ClusterwrightError where there is none, or more than one, and where its spec was not kept.
    """
    approvals = [
        entry
        for entry in chain.read(path_of(root))
        if entry["event"] == "started" and entry.get("action", "up") == "up" and entry["rollout"].startswith(name)
    ]
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
