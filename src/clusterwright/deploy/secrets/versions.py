"""Versions of secrets: labels behind the names in placeholders, so that another value means another text.

A changed value itself goes unnoticed: nothing derived from it may be kept. The label of its source shows the change:
``<secret bgp-backend@3 as eos-bgp CTSW>`` differs from ``@4`` in every comparison: of digests of trees, in manifests
and state, in the lines of a preview, and in a proof about both ends of a session.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from clusterwright.artifact import Artifact
from clusterwright.placeholder import MARK_IN_BYTES, PLACEHOLDER_IN_BYTES

Versions = Mapping[str, str]
"""Labels by the secrets' names, without secrets that have no label."""

_NONE = "none"


def labelled(artifact: Artifact, versions: Versions) -> Artifact:
    """The file with the version of each secret behind its name; the same file without versions."""
    if not versions or MARK_IN_BYTES not in artifact.content:
        return artifact

    def label(match: re.Match[bytes]) -> bytes:
        version = versions.get(match["name"].decode().partition(".")[0])
        if version is None:
            return match[0]
        name_end = match.end("name") - match.start()
        return b"%b@%b%b" % (match[0][:name_end], version.encode(), match[0][name_end:])

    content = PLACEHOLDER_IN_BYTES.sub(label, artifact.content)
    return artifact if content == artifact.content else replace(artifact, source=content)


def version_changes(before: Iterable[Artifact], after: Iterable[Artifact]) -> Iterator[str]:
    """Sentences on the secrets of both trees with another version; no value is known here."""
    old, new = _versions_in(before), _versions_in(after)
    for name in sorted(old.keys() & new.keys()):
        if old[name] != new[name]:
            old_versions, new_versions = ", ".join(sorted(old[name])), ", ".join(sorted(new[name]))
            yield f"secret {name}: version {old_versions} → {new_versions} (value not shown)"


def _versions_in(tree: Iterable[Artifact]) -> Mapping[str, frozenset[str]]:
    versions_by_name: dict[str, set[str]] = defaultdict(set)
    for artifact in tree:
        if MARK_IN_BYTES in artifact.content:
            for placeholder in PLACEHOLDER_IN_BYTES.finditer(artifact.content):
                version = placeholder["version"]
                versions_by_name[placeholder["name"].decode()].add(version.decode() if version else _NONE)
    return {name: frozenset(versions) for name, versions in versions_by_name.items()}
