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
    """How one mount's data is kept from others: ``kind`` is one of the constants above.

    ``reason`` and ``owner`` belong to none: why nothing does, and who answers for that.
    """

    kind: str
    reason: str | None
    path: Path
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The X.509 files of every node that speaks RPC-with-TLS: absolute paths on the node."""

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
    """A MACsec connectivity association key: its public name ``ckn`` in hexadecimal, and the secret that holds it."""

    ckn: str
    secret: str


@dataclass(frozen=True, slots=True)
class MacsecProfile:
    """Link encryption of switch ports: the cipher, the primary and fallback key, how often MKA makes new session keys.

    ``unprotected`` is ``drop`` or ``allow``: what becomes of frames that are not encrypted. ``key`` names the entry of
    the key schedule that rules how long its keys live.
    """

    name: str
    cipher: str
    primary: ConnectivityKey
    fallback: ConnectivityKey | None
    rekey_s: int
    unprotected: str
    key: str
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
    """All that mounts and links need to be encrypted."""

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
    """A day as it is written; one that no calendar has is recorded."""
    try:
        calendar_day.fromisoformat(text)
    except ValueError:
        message = f'"{text}" is a day that no calendar has.'
        reading.problem(BAD_DATE, path, message, "Write it as YYYY-MM-DD, such as 2026-12-31.")
    return text


Day = Annotated[str, By(_day)]


@dataclass(frozen=True, slots=True)
class Review:
    """The privacy review of a dataset: who found what and when (YYYY-MM-DD), and how long it holds."""

    reviewer: str
    date: Day
    reference: str
    expires: Day | None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Data that was imported: the mount it is read through, its review, and the data key that it is encrypted under.

    ``gpudirect_storage`` asks for the path from NIC to GPU, on which no host could decrypt.
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
    """How long keys live: a new version every ``rotate_days``, each version destroyed ``delete_days`` after its birth.

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
    """Where a secret comes from. ``source`` is ``environment``, ``file``, ``pulumi``, ``ansible-vault``, ``keys`` or
    ``folder``: a file for each device.

    ``key`` is the variable, the Pulumi configuration key, the entry of the vault or the name in the key schedule;
    ``file`` the file, the vault or the folder, relative to the spec. ``version`` is a label of the present value, None
    for none.
    """

    name: str
    source: str
    key: str | None
    file: str | None
    path: Path
    version: Text | None = None
