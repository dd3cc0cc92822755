"""Certificates in the key schedule: due renewals, read from the certificates themselves.

Nothing here issues certificates: that is the task of the owner's authority.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path

from cryptography import x509

from clusterwright.finding import ClusterwrightError
from clusterwright.spec.encryption import CERTIFICATE, KeySchedule


def certificate_dues(keys: Iterable[KeySchedule], folder: Path, on: date) -> tuple[str, ...]:
    """One sentence for every certificate due for renewal by ``on``, or valid for longer than the schedule permits.

    Paths in the schedule are relative to ``folder``; entries without a file are skipped. Raises ClusterwrightError for
    a file without a certificate.
    """
    sentences: list[str] = []
    for key in keys:
        if key.kind == CERTIFICATE and key.certificate is not None:
            sentences += _due(key, folder / key.certificate, on)
    return tuple(sentences)


def _due(key: KeySchedule, file: Path, on: date) -> Iterable[str]:
    try:
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
    except OSError as error:
        raise ClusterwrightError(f"{file}: {error.strerror}; {key.name} names it as its certificate") from error
    except ValueError:
        raise ClusterwrightError(f"{file}: this is no certificate in PEM") from None
    first, last = certificate.not_valid_before_utc.date(), certificate.not_valid_after_utc.date()
    if on > last:
        yield f"{key.name} ended on {last}; {key.owner} has to renew it"
    elif on >= first + timedelta(days=key.rotate_days):
        yield f"{key.name} is of {first}; {key.owner} renews it after {key.rotate_days} days, and it ends on {last}"
    if key.delete_days is not None and (last - first).days > key.delete_days:
        yield f"{key.name} is valid for {(last - first).days} days; the schedule lets it live {key.delete_days}"
