"""CW549 to CW553 and CW557: deletion deadlines and owners of keys, and names of keys and secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields

from clusterwright.finding import Severity
from clusterwright.placeholder import LIKE_ONE, PLACEHOLDER
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.spec.credentials import CredentialSource
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
            yield Problem((*dataset.path, "mount"), message, _choices(mounts))
        if dataset.key is not None:
            yield from _wrong_key(spec, dataset.key, DATA, (*dataset.path, "key"))
    for profile in spec.encryption.macsec:
        yield from _wrong_key(spec, profile.key, MACSEC, (*profile.path, "key"))
    for key in spec.keys:
        if key.wrapped_by is not None:
            yield from _wrong_key(spec, key.wrapped_by, WRAPPING, (*key.path, "wrapped_by"))
        elif key.kind in (DATA, MACSEC):
            message = f"{key.name} has no wrapping key, so it could be stored only in clear text."
            yield Problem((*key.path, "name"), message, "Add `wrapped_by` with a key of kind wrapping.")
    yield from _unknown_scratch_nodes(spec)
    yield from _unknown_macsec_profiles(spec)


def _unknown_scratch_nodes(spec: ClusterSpec) -> Iterator[Problem]:
    groups = {group.name for group in spec.node_groups if group.image is not None}
    for scratch in spec.encryption.scratch:
        for index, name in enumerate(scratch.nodes):
            if name not in groups:
                message = f'Scratch {scratch.name} is on "{name}", which is no node group with an image.'
                yield Problem((*scratch.path, "nodes", index), message, _choices(groups))


def _unknown_macsec_profiles(spec: ClusterSpec) -> Iterator[Problem]:
    for fabric in spec.fabrics:
        for tier in fabric.tiers:
            profile = tier.up.macsec if tier.up is not None else None
            if tier.up is None or profile is None or spec.encryption.profile(profile) is not None:
                continue
            names = {macsec.name for macsec in spec.encryption.macsec}
            yield Problem((*tier.up.path, "macsec"), f'"{profile}" is no MACsec profile.', _choices(names))


def _wrong_key(spec: ClusterSpec, name: str, kind: str, path: Path) -> Iterator[Problem]:
    key = spec.key(name)
    if key is not None and key.kind == kind:
        return
    fault = "is not in the key schedule" if key is None else f"is a {key.kind} key"
    names = {scheduled.name for scheduled in spec.keys if scheduled.kind == kind}
    yield Problem(path, f'"{name}" {fault}; a {kind} key is needed here.', _choices(names))


def _choices(names: set[str]) -> str:
    if not names:
        return "There is none yet; add it."
    return f"There are: {', '.join(sorted(names))}."


@rule("CW553", Severity.ERROR)
def sources_of_secrets(subject: Subject) -> Iterator[Problem]:
    """Secrets without a source, and unused sources."""
    spec = subject.spec
    if not spec.secrets:
        return
    source_names = {source.name for source in spec.secrets}
    path_by_secret = dict(secrets_named(spec))
    for name, path in path_by_secret.items():
        if name not in source_names:
            yield Problem(path, f'Secret "{name}" has no source.', "Add it under `secrets`.")
    for source in spec.secrets:
        if source.name not in path_by_secret:
            message = f'Nothing in this spec needs a secret "{source.name}".'
            hint = f"Remove it, or correct it: {', '.join(sorted(path_by_secret))}."
            yield Problem((*source.path, "name"), message, hint)
        if source.source == "keys":
            key_name = source.key or source.name
            key = spec.key(key_name)
            if key is None or key.kind not in (DATA, MACSEC):
                message = f'Secret {source.name} comes from "{key_name}", which is not a data or MACsec key.'
                yield Problem((*source.path, "source"), message, "Name a data or macsec key of the schedule in `key`.")


@rule("CW557", Severity.ERROR)
def unreadable_placeholder(subject: Subject) -> Iterator[Problem]:
    """Text in added configuration resembling a placeholder, with an invalid name or form."""
    for item in subject.spec.extra_config:
        for index, line in enumerate(item.lines):
            yield from _unreadable_in(line, (*item.path, "lines", index))
        yield from _unreadable_in(json.dumps(item.merge), (*item.path, "merge"))


def _unreadable_in(text: str, path: Path) -> Iterator[Problem]:
    for placeholder in _LIKE_ONE.findall(text):
        if not PLACEHOLDER.fullmatch(placeholder):
            yield Problem(path, f"{placeholder} names no secret.", "Write <secret NAME> or <secret NAME as FORM>.")


def _slurm_secrets(spec: ClusterSpec) -> Iterator[tuple[str, Path]]:
    for scheduler in spec.schedulers:
        slurm = scheduler.slurm
        if slurm is None:
            continue
        if slurm.munge is not None and slurm.munge.secret is not None:
            yield slurm.munge.secret, (*slurm.munge.path, "secret")
        if slurm.accounting is not None:
            yield slurm.accounting.database.secret, (*slurm.accounting.database.path, "secret")


def _passwords(spec: ClusterSpec) -> Iterator[tuple[str, Path]]:
    for operator in spec.site.operators:
        if operator.password is not None:
            yield operator.password, (*operator.path, "password")
    for image in spec.images:
        for user in image.users:
            if user.password is not None:
                yield user.password, (*user.path, "password")


def _session_secrets(spec: ClusterSpec) -> Iterator[tuple[str, Path]]:
    for tier in spec.tiers:
        if tier.up is not None and tier.up.authentication is not None:
            yield tier.up.authentication.secret, (*tier.up.authentication.path, "secret")
    for border in spec.borders:
        if border.authentication is not None:
            yield border.authentication.secret, (*border.authentication.path, "secret")


def _macsec_secrets(spec: ClusterSpec) -> Iterator[tuple[str, Path]]:
    for profile in spec.encryption.macsec:
        yield profile.primary.secret, (*profile.path, "primary", "secret")
        if profile.fallback is not None:
            yield profile.fallback.secret, (*profile.path, "fallback", "secret")


def _credential_secrets(spec: ClusterSpec) -> Iterator[tuple[str, Path]]:
    for field in fields(spec.credentials):
        credential = getattr(spec.credentials, field.name)
        if isinstance(credential, CredentialSource) and credential.secret is not None:
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
    yield from _passwords(spec)
    for fabric in spec.fabrics:
        manager = fabric.subnet_manager
        if manager is not None and manager.m_key is not None:
            yield manager.m_key.secret, (*manager.m_key.path, "secret")
    yield from _slurm_secrets(spec)
    yield from _credential_secrets(spec)
    yield from _session_secrets(spec)
    yield from _placeholders(spec)
    yield from _macsec_secrets(spec)
