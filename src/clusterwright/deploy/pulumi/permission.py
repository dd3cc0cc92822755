"""Permission for an engine to change or clear running devices: `clusterwright` as its driver, or a stated reason."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from clusterwright.and_more import and_more
from clusterwright.deploy.pulumi.project import AT_ONCE, IN_ORDER
from clusterwright.finding import ClusterwrightError


def may_change_what_runs() -> bool:
    """Whether `clusterwright up` drives this engine, or a reason for changes without it is set."""
    return bool(os.environ.get(IN_ORDER) or os.environ.get(AT_ONCE))


def refusal(devices: Sequence[str]) -> str:
    """The message of a refusal to change running devices."""
    return (
        f"{and_more(devices, 3)} would change all at once: without waves, gates and proofs, and without a line in the "
        f"record. `clusterwright up` changes what runs. To go on all the same, say why in {AT_ONCE}."
    )


def require_may_clear(devices: Iterable[str]) -> None:
    """Raises ClusterwrightError for devices that Pulumi's own command would clear."""
    names = sorted(devices)
    if names and not may_change_what_runs():
        raise ClusterwrightError(
            f"{and_more(names, 3)} would lose what was deployed there: unasked, and without a line in the record. "
            "`clusterwright destroy` removes a whole stack, and `clusterwright up` what left the spec. To go on all "
            f"the same, say why in {AT_ONCE}."
        )
