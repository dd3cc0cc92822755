"""Delivery of keys, certificates and authorities to the nodes: no image holds any."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.spec.text.document import Path


@dataclass(frozen=True, slots=True)
class CredentialSource:
    """Origin of a file: the ``secret`` of that name, or the site, as described in ``by_site``."""

    secret: str | None
    by_site: str | None
    path: Path


@dataclass(frozen=True, slots=True)
class Credentials:
    """Origins of files; ``by_site`` describes the delivery of all others. None without an entry in the spec."""

    by_site: str | None
    log_authority: CredentialSource | None
    truststore: CredentialSource | None
    crl: CredentialSource | None
    certificate: CredentialSource | None
    private_key: CredentialSource | None
    keytab: CredentialSource | None
    watch_key: CredentialSource | None
    path: Path


NO_CREDENTIALS = Credentials(
    by_site=None,
    log_authority=None,
    truststore=None,
    crl=None,
    certificate=None,
    private_key=None,
    keytab=None,
    watch_key=None,
    path=("credentials",),
)
