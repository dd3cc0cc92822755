"""Fingerprints of findings, independent of line numbers, for code-scanning services."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256

from clusterwright.finding import Finding


def fingerprints(findings: Iterable[Finding]) -> Mapping[Finding, str]:
    """By finding: a digest of its code, file, place in the data and message, and a number among equal ones."""
    seen: Counter[tuple[str, ...]] = Counter()
    fingerprints: dict[Finding, str] = {}
    for finding in findings:
        if finding in fingerprints:
            continue
        identity = (finding.code, local(finding.position.file), finding.path, finding.message)
        fingerprints[finding] = sha256(
            "\0".join((*identity, str(seen[identity]))).encode("utf-8", "surrogateescape")
        ).hexdigest()
        seen[identity] += 1
    return fingerprints


def local(file: str) -> str:
    """``file`` relative to the current folder, if below it: the path of a checkout differs between machines."""
    relative = os.path.relpath(file)
    return file if relative.startswith("..") else relative
