"""Versions of secrets: labels behind the names in placeholders, so that another value is another text to be sent.

A value never tells that it was changed: nothing that is kept may be made of it. The label does, which its source has.
``<secret bgp-backend@3 as eos-bgp CTSW>`` differs from ``@4`` wherever texts are compared: by digests of trees, in
manifests and state, in the lines of a preview, and in what a proof says of both ends of a session.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from clusterwright.artifact import Artifact
from clusterwright.deploy.secret_places import PLACEHOLDER

Versions = Mapping[str, str]
"""Labels by the secrets' names; a secret without one has none."""

_MARK = b"<secret"
_VERSION = re.compile(rb"<secret[ /]([a-z0-9][a-z0-9-]*)(?:@([A-Za-z0-9._-]+))?")
_NONE = "none"


def labelled(artifact: Artifact, versions: Versions) -> Artifact:
    """The file with the version of each secret behind its name; the same file where no secret of it has a version."""
    if not versions or _MARK not in artifact.content:
        return artifact

    def label(found: re.Match[bytes]) -> bytes:
        version = versions.get(found[1].decode())
        at = found.end(1) - found.start()
        return found[0] if version is None else b"%b@%b%b" % (found[0][:at], version.encode(), found[0][at:])

    content = PLACEHOLDER.sub(label, artifact.content)
    return artifact if content == artifact.content else replace(artifact, content=content)


def version_changes(before: Iterable[Artifact], after: Iterable[Artifact]) -> Iterator[str]:
    """In words, the secrets that one device has in both trees and by other versions; no value is known here."""
    old, new = _versions_in(before), _versions_in(after)
    for name in sorted(old.keys() & new.keys()):
        if old[name] != new[name]:
            was, now = (", ".join(sorted(versions)) for versions in (old[name], new[name]))
            yield f"secret {name}: version {was} → {now} (value not shown)"


def _versions_in(tree: Iterable[Artifact]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for artifact in tree:
        if _MARK in artifact.content:
            for placeholder in PLACEHOLDER.finditer(artifact.content):
                named = _VERSION.match(placeholder[0])
                if named is not None:
                    found[named[1].decode()].add(named[2].decode() if named[2] else _NONE)
    return {name: frozenset(versions) for name, versions in found.items()}
