"""Keys, certificates and authorities of nodes: readers, units, and the source of each file.

No image holds one, and a node booted into memory has lost those of its last boot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from clusterwright.spec.credentials import CredentialSource
from clusterwright.spec.encryption import KRB5P, MUTUAL_TLS, TLS
from clusterwright.spec.image import FILTER, HEALTH, Image
from clusterwright.spec.model import ClusterSpec, Mount
from clusterwright.spec.text.document import Path

AUTHORITIES = "/etc/pki/clusterwright/authorities.pem"
"""The site's certificate authorities on a node, where the spec names no other file."""
WATCH_KEY = "/etc/credstore/isolation-watch"
WATCH, LOGS, TLS_HANDSHAKES = "isolation-watch.service", "rsyslog.service", "tlshd.service"
TICKETS = ("gssproxy.service", "rpc-gssd.service")


@dataclass(frozen=True, slots=True)
class Credential:
    """A file with a secret or an authority, read by nodes of a group."""

    key: str
    """Its key in the spec's ``credentials``."""
    file: str
    path: Path
    """The place in the spec to report."""
    is_own: bool = False
    """Whether each node has another file."""
    restart: tuple[str, ...] = ()
    """Units that read the file once, at their start."""
    start: tuple[str, ...] = ()
    """Units that read it at each use, or do not start without it."""
    mountpoints: tuple[str, ...] = ()
    """Mounts that need it."""

    @property
    def unit(self) -> str:
        """Name of the systemd units for the file."""
        return f"credential-{self.key.replace('_', '-')}"

    def read_by(self, others: Credential) -> Credential:
        """The same file, read by the units of ``others`` as well."""
        return replace(
            self,
            restart=(*self.restart, *others.restart),
            start=(*self.start, *others.start),
            mountpoints=(*self.mountpoints, *others.mountpoints),
        )


def credentials_of(spec: ClusterSpec, node_group: str) -> tuple[Credential, ...]:
    """The files of nodes of a group, each once; none for a group without an image of the spec."""
    group = spec.node_group(node_group)
    image = spec.image(group.image or "") if group is not None else None
    if image is None:
        return ()
    credentials: dict[str, Credential] = {}
    for credential in _read(spec, node_group, (*image.path, "name")):
        if not _is_ours(image, credential.key):
            continue
        first = credentials.get(credential.file)
        credentials[credential.file] = credential if first is None else first.read_by(credential)
    return tuple(credentials.values())


def _is_ours(image: Image, key: str) -> bool:
    """Whether clusterwright's program reads a credential: on an existing system only the watch can."""
    if not image.is_existing:
        return True
    return key == "watch_key" and image.owns(FILTER) and image.owns(HEALTH)


def brought(spec: ClusterSpec, credential: Credential) -> CredentialSource | None:
    """Source of a file; None if the spec gives none."""
    planned = spec.credentials
    source: CredentialSource | None = getattr(planned, credential.key)
    if source is None and planned.by_site is not None:
        return CredentialSource(None, planned.by_site, planned.path)
    return source


def _read(spec: ClusterSpec, node_group: str, image: Path) -> Iterator[Credential]:
    encryption, site = spec.encryption, spec.site
    mounts = [mount for mount in spec.mounts if node_group in mount.nodes and mount.protection is not None]
    over_tls = _places(mounts, MUTUAL_TLS, TLS)
    if encryption.tls is not None and over_tls:
        tls = encryption.tls
        for key, file in (
            ("truststore", tls.truststore),
            ("crl", tls.crl),
            ("certificate", tls.certificate),
            ("private_key", tls.private_key),
        ):
            if file is not None:
                is_own = key in ("certificate", "private_key")
                yield Credential(
                    key=key,
                    file=file,
                    path=(*tls.path, key),
                    is_own=is_own,
                    restart=(),
                    start=(TLS_HANDSHAKES,),
                    mountpoints=over_tls,
                )
    kerberos = encryption.kerberos
    over_kerberos = _places(mounts, KRB5P)
    if kerberos is not None and over_kerberos:
        yield Credential(
            key="keytab",
            file=kerberos.keytab,
            path=kerberos.path,
            is_own=True,
            restart=(),
            start=TICKETS,
            mountpoints=over_kerberos,
        )
    if site.syslog:
        yield Credential("log_authority", log_authority(spec), ("site", "syslog"), restart=(LOGS,))
    yield Credential("watch_key", WATCH_KEY, image, is_own=True, start=(WATCH,))


def log_authority(spec: ClusterSpec) -> str:
    """File of the certificate authorities for log servers."""
    syslog_tls, tls = spec.site.syslog_tls, spec.encryption.tls
    if syslog_tls is not None:
        return syslog_tls.authority
    return tls.truststore if tls is not None else AUTHORITIES


def _places(mounts: list[Mount], *kinds: str) -> tuple[str, ...]:
    """The mount points with a protection of these kinds."""
    return tuple(mount.mountpoint for mount in mounts if _has_protection(mount, kinds))


def _has_protection(mount: Mount, kinds: tuple[str, ...]) -> bool:
    return mount.protection is not None and mount.protection.kind in kinds
