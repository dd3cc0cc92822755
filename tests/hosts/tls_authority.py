"""The tests' certificate authority: keys, certificates and a list of withdrawn ones, as PEM files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


class Authority:
    """An authority that issues certificates into ``folder``."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._withdrawn: list[int] = []
        builder = self._builder(self._name, self._key, 30 * DAY)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        usage = x509.KeyUsage(
            digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
            key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        self._certificate = builder.add_extension(usage, critical=True).sign(self._key, hashes.SHA256())
        self._write(f"{name}.pem", self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, hosts: list[str], life: timedelta = 7 * DAY, *, withdrawn: bool = False) -> None:
        """``name.pem`` and ``name.key`` for these host names; a negative ``life`` has ended already."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
        names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
        found = self._builder(subject, key, life).add_extension(names, critical=False).sign(self._key, hashes.SHA256())
        self._write(f"{name}.pem", found.public_bytes(serialization.Encoding.PEM))
        clear = serialization.NoEncryption()
        self._write(
            f"{name}.key",
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, clear),
        )
        if withdrawn:
            self._withdrawn.append(found.serial_number)

    def list_withdrawn(self, name: str) -> None:
        """``name.pem`` with everything withdrawn so far."""
        now = datetime.now(UTC)
        builder = x509.CertificateRevocationListBuilder().issuer_name(self._name)
        builder = builder.last_update(now - DAY).next_update(now + 7 * DAY)
        for serial in self._withdrawn:
            entry = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now - DAY).build()
            builder = builder.add_revoked_certificate(entry)
        found = builder.sign(self._key, hashes.SHA256())
        self._write(f"{name}.pem", found.public_bytes(serialization.Encoding.PEM))

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, life: timedelta) -> x509.CertificateBuilder:
        last = datetime.now(UTC) + life
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(last - 60 * DAY)
            .not_valid_after(last)
        )

    def _write(self, name: str, content: bytes) -> None:
        path = self._folder / name
        path.write_bytes(content)
        path.chmod(0o600)
