"""How keys, certificates and authorities reach the nodes that read them: no image holds any."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.spec.text.document import Path


@dataclass(frozen=True, slots=True)
class Brought:
    """Where a file comes from: the ``secret`` of that name, or the site, as ``by_site`` says."""

    secret: str | None
    by_site: str | None
    path: Path


@dataclass(frozen=True, slots=True)
class Credentials:
    """How each file comes; ``by_site`` says who brings all others. None where the spec does not say."""

    by_site: str | None
    log_authority: Brought | None
    truststore: Brought | None
    crl: Brought | None
    certificate: Brought | None
    private_key: Brought | None
    keytab: Brought | None
    watch_key: Brought | None
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
