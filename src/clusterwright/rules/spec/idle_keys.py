"""CW690 and CW691: keys without any effect.

The schema cannot express this: another value decides whether a key is read. A key must have an effect or be refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from clusterwright.finding import Severity
from clusterwright.intent.credentials import credentials_of
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.encryption import CERTIFICATE, CLEAR, DATA, MACSEC
from clusterwright.spec.ethernet import AO, SessionAuthentication
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path

INFINIBAND = "infiniband"
_FROM_FILES = ("file", "ansible-vault", "keys", "folder")
_BY_KEY = ("environment", "pulumi", "ansible-vault", "keys")


class IdleKey(NamedTuple):
    """A key without effect, if it is present, and the reason."""

    section: Path
    key: str
    reason: str


@rule("CW690", Severity.ERROR)
def idle_key(subject: Subject) -> Iterator[Problem]:
    """Keys of the spec made ineffective by another value."""
    spec = subject.spec
    for check in (_authentication, _classes, _watchdogs, _mounts, _keys, _secrets, _jobs, _controllers, _credentials):
        for section, key, reason in check(spec):
            if key in (spec.document.at(section) or {}):
                path = (*section, key)
                yield Problem(path, f"`{key}` has no effect here: {reason}.", subject.take_away(path), key=True)


@rule("CW691", Severity.ERROR)
def idle_removal(subject: Subject) -> Iterator[Problem]:
    """`remove` remaining after a spec has been merged with its base."""
    for path in _removals(subject.spec.document.data, ()):
        yield Problem((*path, "remove"), "There is nothing in a base that this removes.", "Remove the item.", key=True)


def _removals(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, dict):
        if value.get("remove") is True:
            yield path
        for key, item in value.items():
            yield from _removals(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _removals(item, (*path, index))


def _authentication(spec: ClusterSpec) -> Iterator[IdleKey]:
    sessions: list[SessionAuthentication | None] = []
    sessions += [tier.up.authentication for tier in spec.tiers if tier.up is not None]
    sessions += [border.authentication for border in spec.borders]
    for session in sessions:
        if session is not None and session.method != AO:
            for key in ("algorithm", "key_id"):
                yield IdleKey(session.path, key, "it belongs to TCP-AO, and the method is TCP-MD5")


def _classes(spec: ClusterSpec) -> Iterator[IdleKey]:
    for fabric in spec.fabrics:
        for item in fabric.classes:
            if fabric.technology != INFINIBAND:
                yield IdleKey(item.path, "arbitration", "Ethernet switches have no arbitration tables")
            if item.strict:
                yield IdleKey(item.path, "weight", "a strict class is served before all classes with a weight")


def _watchdogs(spec: ClusterSpec) -> Iterator[IdleKey]:
    for fabric in spec.fabrics:
        if all(item.priority is None for item in fabric.classes):
            reason = f"no class of {fabric.name} has a PFC priority"
            yield IdleKey(fabric.path, "pfc_watchdog", reason)


def _mounts(spec: ClusterSpec) -> Iterator[IdleKey]:
    for mount in spec.mounts:
        protection = mount.protection
        if protection is None or protection.kind == CLEAR:
            continue
        kind = protection.kind
        yield IdleKey(protection.path, "reason", f"it is for mounts without protection, and this one has {kind}")
        yield IdleKey(protection.path, "owner", f"it is for mounts without protection, and this one has {kind}")


def _keys(spec: ClusterSpec) -> Iterator[IdleKey]:
    for key in spec.keys:
        if key.kind not in (DATA, MACSEC):
            yield IdleKey(key.path, "wrapped_by", f"a key of kind {key.kind} has no wrapping key")
        if key.kind != CERTIFICATE:
            yield IdleKey(key.path, "certificate", f"a key of kind {key.kind} has none")


def _secrets(spec: ClusterSpec) -> Iterator[IdleKey]:
    for secret in spec.secrets:
        if secret.source not in _FROM_FILES:
            yield IdleKey(secret.path, "file", f"a secret from `{secret.source}` is not in a file")
        if secret.source not in _BY_KEY:
            yield IdleKey(secret.path, "key", "the whole file is the secret")


def _credentials(spec: ClusterSpec) -> Iterator[IdleKey]:
    used_keys: set[str] = set()
    for group in spec.node_groups:
        used_keys.update(credential.key for credential in credentials_of(spec, group.name))
    for key in ("log_authority", "truststore", "crl", "certificate", "private_key", "keytab", "watch_key"):
        if key not in used_keys:
            yield IdleKey(spec.credentials.path, key, "no node reads such a file, or it is that of another key")


def _jobs(spec: ClusterSpec) -> Iterator[IdleKey]:
    for job in spec.jobs:
        if job.model is None:
            for key in ("data_parallel", "reshard_after_forward"):
                yield IdleKey(job.path, key, "`bytes_per_step` states the traffic")
        elif job.data_parallel != "fsdp":
            reason = f"{job.data_parallel} keeps whole copies of the weights"
            yield IdleKey(job.path, "reshard_after_forward", reason)
        for axis, ranks in job.sizes.items():
            if ranks == 1:
                yield IdleKey((*job.path, "bytes_per_step"), axis, "the job has one rank along it")


def _controllers(spec: ClusterSpec) -> Iterator[IdleKey]:
    for scheduler in spec.schedulers:
        if scheduler.slurm is not None and scheduler.controllers.count == 1:
            yield IdleKey(scheduler.controllers.path, "shared_by", "a single controller shares no state")
