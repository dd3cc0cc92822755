"""The chapter on promises and data: mounts, datasets, keys and secrets.

Secrets are listed by their source only: no value is read or known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.report.page import Block, Cell, PageTable, Section, code

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterwright.plan.model import Plan
    from clusterwright.spec.encryption import Dataset, Encryption, KeySchedule, Protection, SecretSource
    from clusterwright.spec.model import Mount


def data_section(plan: Plan) -> Section | None:
    """Tables of promises, mounts, datasets, keys and secrets; None if the spec has none of them."""
    spec = plan.spec
    tables = (
        PageTable(
            name="promises",
            caption="Promises",
            columns=("Promise", "Which", "In the owner's words"),
            rows=tuple((Cell(item.name), code(item.promise), Cell(item.says)) for item in spec.promises),
            note="`clusterwright explain CW533` lists the checks behind each.",
        ),
        PageTable(
            name="mounts",
            caption="Mounts",
            columns=("Mount", "Where", "On nodes of", "Served by", "Protection", "Why nothing protects it"),
            rows=tuple(_mount(item) for item in spec.mounts),
        ),
        PageTable(
            name="node-keys",
            caption="Files and realms that nodes prove themselves with",
            columns=("What", "Value"),
            rows=tuple((Cell(title), code(value)) for title, value in _proofs(spec.encryption)),
        ),
        PageTable(
            name="collectors",
            caption="Collectors of telemetry",
            columns=("Common name of its certificate",),
            rows=tuple((code(name),) for name in (spec.site.telemetry.collectors if spec.site.telemetry else ())),
            note="SONiC lets these names read and nothing more; EOS authorizes every request through AAA.",
        ),
        PageTable(
            name="datasets",
            caption="Datasets",
            columns=(
                "Dataset",
                "Mount",
                "Owner",
                "Reviewed by",
                "On",
                "Record",
                "Holds until",
                "Key",
                "GPUDirect Storage",
            ),
            rows=tuple(_dataset(item) for item in spec.datasets),
        ),
        PageTable(
            name="keys",
            caption="Keys",
            columns=("Key", "Kind", "Owner", "New after", "Destroyed after", "Wrapped by", "Certificate"),
            rows=tuple(_key(item) for item in spec.keys),
        ),
        PageTable(
            name="secrets",
            caption="Secrets, and where they come from",
            columns=("Secret", "Source", "Under", "File", "Version"),
            rows=tuple(_secret(item) for item in spec.secrets),
        ),
    )
    blocks = tuple(Block(heading="", text="", drawings=(), tables=(table,)) for table in tables if table.rows)
    return Section("data", "Promises, data and keys", blocks) if blocks else None


def _proofs(encryption: Encryption) -> Iterator[tuple[str, str]]:
    tls, kerberos = encryption.tls, encryption.kerberos
    if tls is not None:
        yield "Authorities", tls.truststore
        if tls.crl is not None:
            yield "Withdrawn certificates", tls.crl
        yield "Certificate", tls.certificate
        yield "Private key", tls.private_key
    if kerberos is not None:
        yield "Kerberos realm", kerberos.realm
        yield "Key distribution centres", ", ".join(kerberos.kdcs)
        yield "Keytab", kerberos.keytab


def _mount(mount: Mount) -> tuple[Cell, ...]:
    protection = mount.protection
    return (
        Cell(mount.name),
        code(mount.mountpoint),
        _list(mount.nodes),
        Cell(mount.served_by),
        Cell("–" if protection is None else protection.kind),
        _or_dash(None if protection is None else _why(protection)),
    )


def _why(protection: Protection) -> str | None:
    """The reason for an unprotected mount, with its owner."""
    if protection.reason is None or protection.owner is None:
        return protection.reason
    return f"{protection.reason} ({protection.owner})"


def _dataset(dataset: Dataset) -> tuple[Cell, ...]:
    review = dataset.review
    reviewed = (review.reviewer, review.date, review.reference, review.expires) if review is not None else (None,) * 4
    return (
        Cell(dataset.name),
        Cell(dataset.mount),
        Cell(dataset.owner),
        *(_or_dash(value) for value in reviewed),
        _or_dash(dataset.key),
        Cell("yes" if dataset.gpudirect_storage else "no"),
    )


def _key(key: KeySchedule) -> tuple[Cell, ...]:
    return (
        Cell(key.name),
        Cell(key.kind),
        _or_dash(key.owner),
        _days(key.rotate_days),
        _days(key.delete_days),
        _or_dash(key.wrapped_by),
        _or_dash(key.certificate),
    )


def _secret(secret: SecretSource) -> tuple[Cell, ...]:
    return (
        Cell(secret.name),
        Cell(secret.source),
        code(secret.key or secret.name),
        _or_dash(secret.file),
        _or_dash(secret.version),
    )


def _days(days: int | None) -> Cell:
    return Cell("–" if days is None else f"{days:,} days", "number")


def _or_dash(value: object) -> Cell:
    return Cell("–" if value is None else str(value))


def _list(names: Iterable[str]) -> Cell:
    return Cell(", ".join(names) or "–")
