"""Typing encryption, datasets, the key schedule and the sources of secrets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from clusterwright.spec.encryption import (
    ConnectivityKey,
    Dataset,
    Encryption,
    Kerberos,
    KeySchedule,
    MacsecProfile,
    Protection,
    Review,
    Scratch,
    SecretSource,
    TlsFiles,
)
from clusterwright.spec.reading import Reading
from clusterwright.spec.text.document import Path

BAD_DATE = "CW147"


def protection(data: Mapping[str, Any], path: Path) -> Protection:
    """The protection of one mount."""
    return Protection(data["kind"], data.get("reason"), path)


def encryption(reading: Reading, data: Mapping[str, Any], path: Path) -> Encryption:
    """The section ``encryption``."""
    return Encryption(
        tls=_tls(data["tls"], (*path, "tls")) if "tls" in data else None,
        kerberos=_kerberos(data["kerberos"], (*path, "kerberos")) if "kerberos" in data else None,
        macsec=reading.each(data, "macsec", _macsec, path),
        scratch=reading.each(data, "scratch", _scratch, path),
        path=path,
    )


def dataset(reading: Reading, data: Mapping[str, Any], path: Path) -> Dataset:
    """One dataset; a review's dates that no calendar has are recorded."""
    review = data.get("review")
    return Dataset(
        name=data["name"],
        mount=data["mount"],
        owner=data["owner"],
        review=None if review is None else _review(reading, review, (*path, "review")),
        key=data.get("key"),
        gpudirect_storage=data.get("gpudirect_storage", False),
        path=path,
    )


def key_schedule(data: Mapping[str, Any], path: Path) -> KeySchedule:
    """One entry of the key schedule."""
    return KeySchedule(
        name=data["name"],
        kind=data["kind"],
        owner=data.get("owner"),
        rotate_days=data["rotate_days"],
        delete_days=data.get("delete_days"),
        wrapped_by=data.get("wrapped_by"),
        certificate=data.get("certificate"),
        path=path,
    )


def secret_source(data: Mapping[str, Any], path: Path) -> SecretSource:
    """One secret's source."""
    version = str(data["version"]) if "version" in data else None
    return SecretSource(data["name"], data["source"], data.get("key"), data.get("file"), path, version)


def _tls(data: Mapping[str, Any], path: Path) -> TlsFiles:
    return TlsFiles(data["truststore"], data.get("crl"), data["certificate"], data["private_key"], path)


def _kerberos(data: Mapping[str, Any], path: Path) -> Kerberos:
    return Kerberos(data["realm"], tuple(data["kdcs"]), data.get("keytab", "/etc/krb5.keytab"), path)


def _macsec(data: Mapping[str, Any], path: Path) -> MacsecProfile:
    fallback = data.get("fallback")
    return MacsecProfile(
        name=data["name"],
        cipher=data.get("cipher", "aes256-gcm-xpn"),
        primary=ConnectivityKey(data["primary"]["ckn"], data["primary"]["secret"]),
        fallback=None if fallback is None else ConnectivityKey(fallback["ckn"], fallback["secret"]),
        rekey_s=data.get("rekey_s", 3600),
        unprotected=data.get("unprotected", "drop"),
        key=data["key"],
        path=path,
    )


def _scratch(data: Mapping[str, Any], path: Path) -> Scratch:
    return Scratch(data["name"], tuple(data["nodes"]), data["device"], data["mountpoint"], path)


def _review(reading: Reading, data: Mapping[str, Any], path: Path) -> Review:
    for key in ("date", "expires"):
        if key in data:
            try:
                date.fromisoformat(data[key])
            except ValueError:
                message = f'"{data[key]}" is a day that no calendar has.'
                reading.problem(BAD_DATE, (*path, key), message, "Write it as YYYY-MM-DD, such as 2026-12-31.")
    return Review(data["reviewer"], data["date"], data["reference"], data.get("expires"))
