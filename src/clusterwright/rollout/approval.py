"""A preview that was approved, in a file: what may be sent, and against what it was compared.

``up --approved`` sends what the file says or nothing: the manifests' digest covers every byte for every device, and the
base what devices had been given when the preview was made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright import durable
from clusterwright.and_more import and_more
from clusterwright.deploy.pulumi.manifest import load_manifest
from clusterwright.deploy.store import MissingObject, Store
from clusterwright.finding import ClusterwrightError
from clusterwright.given_file import read_given
from clusterwright.typed_record import checked

if TYPE_CHECKING:
    from clusterwright.rollout.prepare import Prepared

_FORMAT = 1


class NotApprovedError(ClusterwrightError):
    """What would be sent is not what was approved."""


@dataclass(frozen=True, slots=True)
class Approved:
    """``manifests`` are the digests by stack, ``text`` is the preview as it was shown."""

    manifest: str
    base: str
    manifests: Mapping[str, str]
    text: str


def save_approval(path: Path, prepared: Prepared, text: str) -> None:
    """Write the file. Raises ClusterwrightError."""
    manifests = {name: manifest.digest for name, manifest in prepared.manifests.items()}
    body = {"format": _FORMAT, "manifest": prepared.digest, "base": prepared.base, "manifests": manifests, "text": text}
    durable.replace(path, (json.dumps(body, indent=1) + "\n").encode())


def load_approval(path: Path) -> Approved:
    """Read the file. Raises ClusterwrightError."""
    try:
        data = json.loads(read_given(path))
        if data["format"] != _FORMAT:
            raise ValueError(f"format {data['format']}, this program reads {_FORMAT}")
        return checked(
            Approved(manifest=data["manifest"], base=data["base"], manifests=dict(data["manifests"]), text=data["text"])
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClusterwrightError(f"{path}: not what `preview --save` writes ({error})") from None


def require_approved(approved: Approved, prepared: Prepared, store: Store) -> None:
    """Raises NotApprovedError when something else would be sent, or devices were given something else meanwhile."""
    wanted = {name: manifest.digest for name, manifest in prepared.manifests.items()}
    if wanted.keys() != approved.manifests.keys():
        raise NotApprovedError(
            f"approved was {', '.join(approved.manifests)}, asked for is {', '.join(wanted)}. Nothing was touched."
        )
    if prepared.digest != approved.manifest:
        differ = _different(approved, prepared, store)
        raise NotApprovedError(
            f"the spec asks for something else than what was approved, on {differ}. Preview it again; nothing was "
            "touched."
        )
    if prepared.base != approved.base:
        raise NotApprovedError(
            "devices were given something else since the preview was made, so it shows another change than this would "
            "be. Preview it again; nothing was touched."
        )


def _different(approved: Approved, prepared: Prepared, store: Store) -> str:
    names: list[str] = []
    for stack, manifest in prepared.manifests.items():
        if manifest.digest == approved.manifests[stack]:
            continue
        try:
            was, will = load_manifest(store, approved.manifests[stack]).trees, manifest.trees
        except MissingObject:
            names.append(stack)
            continue
        names += sorted(name for name in was.keys() | will.keys() if was.get(name) != will.get(name))
    return and_more(names, 5)
