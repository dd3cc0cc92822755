"""CW690 and CW691: keys without any effect.

The schema cannot express this: another value decides whether a key is read. A key must have an effect or be refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

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

Idle = tuple[Path, str, str]  # a section or item, the key in it, the reason why it is not read


@rule("CW690", Severity.ERROR)
def idle_key(subject: Subject) -> Iterator[Problem]:
    """Keys of the spec made ineffective by another value."""
    spec = subject.spec
    for check in (_authentication, _classes, _watchdogs, _mounts, _keys, _secrets, _jobs, _controllers, _credentials):
        for path, key, why in check(spec):
            if key in (spec.document.at(path) or {}):
                message = f"`{key}` does nothing here: {why}."
                yield Problem((*path, key), message, subject.take_away((*path, key)), key=True)


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


def _authentication(spec: ClusterSpec) -> Iterator[Idle]:
    uplinks = (tier.up for tier in spec.tiers if tier.up is not None)
    every: list[SessionAuthentication | None] = [up.authentication for up in uplinks]
    for authentication in (*every, *(border.authentication for border in spec.borders)):
        if authentication is not None and authentication.method != AO:
            for key in ("algorithm", "key_id"):
                yield authentication.path, key, "it belongs to TCP-AO, and the method is TCP-MD5"


def _classes(spec: ClusterSpec) -> Iterator[Idle]:
    for fabric in spec.fabrics:
        for item in fabric.classes:
            if fabric.technology != INFINIBAND:
                yield item.path, "arbitration", "Ethernet switches have no arbitration tables"
            if item.strict:
                yield item.path, "weight", "a strict class is served before all that have a weight"


def _watchdogs(spec: ClusterSpec) -> Iterator[Idle]:
    for fabric in spec.fabrics:
        if all(item.priority is None for item in fabric.classes):
            yield fabric.path, "pfc_watchdog", f"no class of {fabric.name} has a priority that is paused"


def _mounts(spec: ClusterSpec) -> Iterator[Idle]:
    for mount in spec.mounts:
        if mount.protection is not None and mount.protection.kind != CLEAR:
            for key, what in (
                ("reason", "why nothing protects a mount"),
                ("owner", "who answers for that nothing does"),
            ):
                yield mount.protection.path, key, f"it says {what}, and {mount.protection.kind} does"


def _keys(spec: ClusterSpec) -> Iterator[Idle]:
    for key in spec.keys:
        if key.kind not in (DATA, MACSEC):
            yield key.path, "wrapped_by", f"a key of kind {key.kind} is wrapped by none"
        if key.kind != CERTIFICATE:
            yield key.path, "certificate", f"a key of kind {key.kind} has none"


def _secrets(spec: ClusterSpec) -> Iterator[Idle]:
    for secret in spec.secrets:
        if secret.source not in _FROM_FILES:
            yield secret.path, "file", f"a secret from `{secret.source}` lies in no file"
        if secret.source not in _BY_KEY:
            yield secret.path, "key", "the whole file is the secret"


def _credentials(spec: ClusterSpec) -> Iterator[Idle]:
    credentials = chain.from_iterable(credentials_of(spec, group.name) for group in spec.node_groups)
    read = {credential.key for credential in credentials}
    for key in ("log_authority", "truststore", "crl", "certificate", "private_key", "keytab", "watch_key"):
        if key not in read:
            yield spec.credentials.path, key, "no node reads such a file, or it is that of another key"


def _jobs(spec: ClusterSpec) -> Iterator[Idle]:
    for job in spec.jobs:
        if job.model is None:
            for key in ("data_parallel", "reshard_after_forward"):
                yield job.path, key, "`bytes_per_step` says what travels"
        elif job.data_parallel != "fsdp":
            yield job.path, "reshard_after_forward", f"{job.data_parallel} keeps whole copies of the weights"
        for axis, ranks in job.sizes.items():
            if ranks == 1:
                yield (*job.path, "bytes_per_step"), axis, "the job has one rank along it"


def _controllers(spec: ClusterSpec) -> Iterator[Idle]:
    for wanted in (scheduler.controllers for scheduler in spec.schedulers if scheduler.slurm is not None):
        if wanted.count == 1:
            yield wanted.path, "shared_by", "a single controller shares no state"
