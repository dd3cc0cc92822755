"""CW549 to CW553 and CW557: deletion deadlines and owners of keys, and names of keys and secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields

from clusterwright.finding import Severity
from clusterwright.placeholder import LIKE_ONE, PLACEHOLDER
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.credentials import Brought
from clusterwright.spec.encryption import DATA, MACSEC, WRAPPING
from clusterwright.spec.model import ClusterSpec
from clusterwright.spec.text.document import Path

_LIKE_ONE = re.compile(LIKE_ONE)


@rule("CW549", Severity.ERROR)
def endless_key(subject: Subject) -> Iterator[Problem]:
    """Key schedule entries without a deletion deadline or an owner."""
    for key in subject.spec.keys:
        if key.delete_days is None:
            message = f"{key.name} is never deleted: what it encrypts stays readable."
            yield Problem((*key.path, "name"), message, "Add `delete_days`.")
        if key.owner is None:
            yield Problem((*key.path, "name"), f"{key.name} has no owner.", "Add `owner`.")


@rule("CW550", Severity.ERROR)
def rotation_after_deletion(subject: Subject) -> Iterator[Problem]:
    """Keys deleted before or on the day of their rotation."""
    for key in subject.spec.keys:
        if key.delete_days is not None and key.rotate_days >= key.delete_days:
            message = f"{key.name} is replaced after {key.rotate_days} days and deleted after {key.delete_days}."
            yield Problem((*key.path, "rotate_days"), message, f"Rotate within {key.delete_days - 1} days.")


@rule("CW552", Severity.ERROR)
def unknown_names(subject: Subject) -> Iterator[Problem]:
    """Undefined names in encryption, datasets and keys, and names of keys of another kind."""
    spec = subject.spec
    mounts = {mount.name for mount in spec.mounts}
    for dataset in spec.datasets:
        if dataset.mount not in mounts:
            message = f'Dataset {dataset.name} is read through "{dataset.mount}", which is no mount.'
            yield Problem((*dataset.path, "mount"), message, _known(mounts))
        if dataset.key is not None:
            yield from _key(spec, dataset.key, DATA, (*dataset.path, "key"))
    for profile in spec.encryption.macsec:
        yield from _key(spec, profile.key, MACSEC, (*profile.path, "key"))
    for key in spec.keys:
        if key.wrapped_by is not None:
            yield from _key(spec, key.wrapped_by, WRAPPING, (*key.path, "wrapped_by"))
        elif key.kind in (DATA, MACSEC):
            message = f"{key.name} is wrapped by no key, so that it could only be kept in clear."
            yield Problem((*key.path, "name"), message, "Add `wrapped_by` with a key of kind wrapping.")
    yield from _unknown_places(spec)


def _unknown_places(spec: ClusterSpec) -> Iterator[Problem]:
    """Scratch disks of unknown node groups, and links with an unknown MACsec profile."""
    groups = {group.name for group in spec.node_groups if group.image is not None}
    for scratch in spec.encryption.scratch:
        for index, name in enumerate(scratch.nodes):
            if name not in groups:
                message = f'Scratch {scratch.name} is on "{name}", which is no node group with an image.'
                yield Problem((*scratch.path, "nodes", index), message, _known(groups))
    for fabric in spec.fabrics:
        for tier in fabric.tiers:
            if tier.up is not None and tier.up.macsec is not None and spec.encryption.profile(tier.up.macsec) is None:
                message = f'"{tier.up.macsec}" is no MACsec profile.'
                yield Problem(
                    (*tier.up.path, "macsec"), message, _known({profile.name for profile in spec.encryption.macsec})
                )


def _key(spec: ClusterSpec, name: str, kind: str, path: Path) -> Iterator[Problem]:
    scheduled = spec.key(name)
    if scheduled is None or scheduled.kind != kind:
        what = "is not in the key schedule" if scheduled is None else f"is a {scheduled.kind} key"
        names = {key.name for key in spec.keys if key.kind == kind}
        yield Problem(path, f'"{name}" {what}; a {kind} key is needed here.', _known(names))


def _known(names: set[str]) -> str:
    return f"There are: {', '.join(sorted(names))}." if names else "There is none yet; add it."


@rule("CW553", Severity.ERROR)
def sources_of_secrets(subject: Subject) -> Iterator[Problem]:
    """Secrets without a source, and unused sources."""
    spec = subject.spec
    if not spec.secrets:
        return
    names = {source.name for source in spec.secrets}
    named = dict(secrets_named(spec))
    for name, path in named.items():
        if name not in names:
            yield Problem(path, f'Secret "{name}" has no source.', "Add it under `secrets`.")
    for source in spec.secrets:
        if source.name not in named:
            message = f'Nothing in this spec needs a secret "{source.name}".'
            yield Problem((*source.path, "name"), message, f"Remove it, or correct it: {', '.join(sorted(named))}.")
        if source.source == "keys":
            key = spec.key(source.key or source.name)
            if key is None or key.kind not in (DATA, MACSEC):
                message = f'Secret {source.name} comes from "{source.key or source.name}", which is no such key.'
                yield Problem((*source.path, "source"), message, "Name a data or macsec key of the schedule in `key`.")


@rule("CW557", Severity.ERROR)
def unreadable_placeholder(subject: Subject) -> Iterator[Problem]:
    """Text in added configuration resembling a placeholder, with an invalid name or form."""
    for item in subject.spec.extra_config:
        texts = [((*item.path, "lines", index), line) for index, line in enumerate(item.lines)]
        texts.append(((*item.path, "merge"), json.dumps(item.merge)))
        for path, text in texts:
            for text_found in _LIKE_ONE.findall(text):
                if not PLACEHOLDER.fullmatch(text_found):
                    yield Problem(
                        path, f"{text_found} names no secret.", "Write <secret NAME> or <secret NAME as FORM>."
                    )


def _slurm_secrets(spec: ClusterSpec) -> Iterator[tuple[str, Path]]:
    for slurm in (scheduler.slurm for scheduler in spec.schedulers if scheduler.slurm is not None):
        if slurm.munge is not None and slurm.munge.secret is not None:
            yield slurm.munge.secret, (*slurm.munge.path, "secret")
        if slurm.accounting is not None:
            yield slurm.accounting.database.secret, (*slurm.accounting.database.path, "secret")


def _credential_secrets(spec: ClusterSpec) -> Iterator[tuple[str, Path]]:
    for field in fields(spec.credentials):
        credential = getattr(spec.credentials, field.name)
        if isinstance(credential, Brought) and credential.secret is not None:
            yield credential.secret, (*credential.path, "secret")


def _placeholders(spec: ClusterSpec) -> Iterator[tuple[str, Path]]:
    for item in spec.extra_config:
        for placeholder in PLACEHOLDER.finditer("\n".join(item.lines) + json.dumps(item.merge)):
            yield placeholder["name"], item.path


def _shared_secrets(spec: ClusterSpec) -> Iterator[tuple[str, Path]]:
    snmp = spec.site.snmp
    if snmp is not None:
        yield snmp.authentication, (*snmp.path, "authentication")
        yield snmp.privacy, (*snmp.path, "privacy")
    for shared in (spec.site.aaa, spec.rollout.notify):
        if shared is not None:
            yield shared.secret, (*shared.path, "secret")


def secrets_named(spec: ClusterSpec) -> Iterator[tuple[str, Path]]:
    """The name of every secret used in the spec, with its place."""
    yield from _shared_secrets(spec)
    passwords = [(operator.password, operator.path) for operator in spec.site.operators]
    for image in spec.images:
        passwords += [(user.password, user.path) for user in image.users]
    yield from ((name, (*path, "password")) for name, path in passwords if name is not None)
    for fabric in spec.fabrics:
        manager = fabric.subnet_manager
        if manager is not None and manager.m_key is not None:
            yield manager.m_key.secret, (*manager.m_key.path, "secret")
    yield from _slurm_secrets(spec)
    yield from _credential_secrets(spec)
    uplinks = (tier.up.authentication for tier in spec.tiers if tier.up is not None)
    for session in (*uplinks, *(border.authentication for border in spec.borders)):
        if session is not None:
            yield session.secret, (*session.path, "secret")
    yield from _placeholders(spec)
    for profile in spec.encryption.macsec:
        yield profile.primary.secret, (*profile.path, "primary", "secret")
        if profile.fallback is not None:
            yield profile.fallback.secret, (*profile.path, "fallback", "secret")
