"""Protection of data between storage and GPU memory, datasets, and the origin of keys and secrets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date as calendar_day
from typing import Annotated

from clusterwright.spec.reading import BAD_DATE, Reading
from clusterwright.spec.structuring import By, Text
from clusterwright.spec.text.document import Path

MUTUAL_TLS, TLS, KRB5P = "rpc-with-mtls", "rpc-with-tls", "krb5p"
CLIENT_SIDE, CLEAR = "client-side-aead", "none"
DATA, WRAPPING, CERTIFICATE, MACSEC = "data", "wrapping", "certificate", "macsec"


@dataclass(frozen=True, slots=True)
class Protection:
    """Protection of one mount's data; ``kind`` is one of the constants above.

    ``reason`` and ``owner`` belong to the kind ``none``: why there is no protection, and who accepts that.
    """

    kind: str
    reason: str | None
    path: Path
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The X.509 files of every node with RPC-with-TLS: absolute paths on the node."""

    truststore: str
    crl: str | None
    certificate: str
    private_key: str
    path: Path


@dataclass(frozen=True, slots=True)
class Kerberos:
    """The realm behind krb5p; ``keytab`` is an absolute path on the node."""

    realm: str
    kdcs: tuple[str, ...]
    keytab: str
    path: Path


@dataclass(frozen=True, slots=True)
class ConnectivityKey:
    """A MACsec connectivity association key: its public name ``ckn`` in hexadecimal, and the name of its secret."""

    ckn: str
    secret: str


@dataclass(frozen=True, slots=True)
class MacsecProfile:
    """Link encryption of switch ports: the cipher, the primary and fallback key, the interval of MKA's session keys."""

    name: str
    cipher: str
    primary: ConnectivityKey
    fallback: ConnectivityKey | None
    rekey_s: int
    unprotected: str
    """Treatment of unencrypted frames: ``drop`` or ``allow``."""
    key: str
    """The entry of the key schedule with the lifetime of its keys."""
    path: Path


@dataclass(frozen=True, slots=True)
class Scratch:
    """A local disk under dm-crypt with a key drawn at boot: ``device`` on every node of ``nodes``."""

    name: str
    nodes: tuple[str, ...]
    device: str
    mountpoint: str
    path: Path


@dataclass(frozen=True, slots=True)
class Encryption:
    """All settings for encrypted mounts and links."""

    tls: TlsFiles | None
    kerberos: Kerberos | None
    macsec: tuple[MacsecProfile, ...]
    scratch: tuple[Scratch, ...]
    path: Path

    def profile(self, name: str) -> MacsecProfile | None:
        """The MACsec profile ``name``, or None."""
        return next((profile for profile in self.macsec if profile.name == name), None)


NO_ENCRYPTION = Encryption(tls=None, kerberos=None, macsec=(), scratch=(), path=("encryption",))


def _day(reading: Reading, text: str, path: Path) -> str:
    """A day as written; a finding is recorded for one outside of the calendar."""
    try:
        calendar_day.fromisoformat(text)
    except ValueError:
        message = f'"{text}" is a day that no calendar has.'
        reading.problem(BAD_DATE, path, message, "Write it as YYYY-MM-DD, such as 2026-12-31.")
    return text


Day = Annotated[str, By(_day)]


@dataclass(frozen=True, slots=True)
class Review:
    """The privacy review of a dataset: reviewer, date (YYYY-MM-DD), record, and last day of its validity."""

    reviewer: str
    date: Day
    reference: str
    expires: Day | None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Imported data: the mount it is read through, its review, and its data key.

    ``gpudirect_storage`` requests the path from NIC to GPU; no host could decrypt on it.
    """

    name: str
    mount: str
    owner: str
    review: Review | None
    key: str | None
    gpudirect_storage: bool
    path: Path


@dataclass(frozen=True, slots=True)
class KeySchedule:
    """Lifetime of keys: a new version every ``rotate_days``, each version destroyed ``delete_days`` after its creation.

    ``wrapped_by`` names the wrapping key of a data or MACsec key, ``certificate`` the PEM file of a certificate,
    relative to the spec.
    """

    name: str
    kind: str
    owner: str | None
    rotate_days: int
    delete_days: int | None
    wrapped_by: str | None
    certificate: str | None
    path: Path


@dataclass(frozen=True, slots=True)
class SecretSource:
    """Origin of a secret."""

    name: str
    source: str
    """``environment``, ``file``, ``pulumi``, ``ansible-vault``, ``keys`` or ``folder``: a file for each device."""
    key: str | None
    """The variable, the Pulumi configuration key, the entry of the vault or the name in the key schedule."""
    file: str | None
    """The file, the vault or the folder, relative to the spec."""
    path: Path
    version: Text | None = None
    """A label of the current value; None without one."""
