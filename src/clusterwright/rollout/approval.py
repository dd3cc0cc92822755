"""An approved preview in a file: the trees to send, the present trees, and its signatures.

``up --approved`` sends the trees of the file or nothing: the manifests' digest covers every byte for every device, the
base covers the trees of devices at the time of the preview. A signature of ``clusterwright approve`` covers both, the
preview's text, and the time of the signature.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from clusterwright import durable
from clusterwright.and_more import and_more
from clusterwright.deploy.pulumi.manifest import load_manifest
from clusterwright.deploy.store import MissingObject, Store
from clusterwright.finding import ClusterwrightError
from clusterwright.given_file import read_given
from clusterwright.signatures import is_signed, public_key_of, sign
from clusterwright.spec.rollout import Approver, RolloutPolicy
from clusterwright.typed_record import checked

if TYPE_CHECKING:
    from clusterwright.rollout.prepare import Prepared

_FORMAT = 1
LASTS = timedelta(days=7)
"""Validity of a signature."""
_CLOCKS_APART = timedelta(minutes=5)


class NotApprovedError(ClusterwrightError):
    """The update differs from the approved one."""


@dataclass(frozen=True, slots=True)
class Signature:
    """One approval: the signer's ``name``, the time ``at`` (ISO 8601), and the signature over both and the preview."""

    name: str
    at: str
    signature: str


@dataclass(frozen=True, slots=True)
class Approved:
    """An approved preview: ``manifests`` are the digests by stack, ``text`` is the preview shown."""

    manifest: str
    base: str
    manifests: Mapping[str, str]
    text: str
    signatures: tuple[Signature, ...] = ()

    def statement(self, name: str, at: str) -> bytes:
        """The bytes signed by ``name`` at the time ``at``."""
        body = {"approves": _body(self), "name": name, "at": at}
        return json.dumps(body, sort_keys=True).encode()

    def signed(self, name: str, at: datetime, key: Ed25519PrivateKey) -> Approved:
        """The preview with a signature of ``name``, in place of an earlier one."""
        moment = at.isoformat(timespec="seconds")
        signature = Signature(name=name, at=moment, signature=sign(key, self.statement(name, moment)))
        other_signatures = tuple(signature for signature in self.signatures if signature.name != name)
        return replace(self, signatures=(*other_signatures, signature))

    def signers(self, approvers: Iterable[Approver], at: datetime) -> tuple[str, ...]:
        """The ``approvers`` with a valid signature at the time ``at``."""
        keys = {approver.name: public_key_of(approver.key) for approver in approvers}
        valid = [item for item in self.signatures if self._is_valid(item, keys.get(item.name), at)]
        return tuple(signature.name for signature in valid)

    def _is_valid(self, signature: Signature, key: Ed25519PublicKey | None, at: datetime) -> bool:
        try:
            age = at - datetime.fromisoformat(signature.at)
        except (ValueError, TypeError):
            return False
        if key is None or not -_CLOCKS_APART <= age <= LASTS:
            return False
        return is_signed(key, self.statement(signature.name, signature.at), signature.signature)


def save_approval(path: Path, prepared: Prepared, text: str) -> None:
    """Write the file, without a signature. Raises ClusterwrightError."""
    manifests = {name: manifest.digest for name, manifest in prepared.manifests.items()}
    write_approval(path, Approved(manifest=prepared.digest, base=prepared.base, manifests=manifests, text=text))


def write_approval(path: Path, approved: Approved) -> None:
    """Write the file with its signatures. Raises ClusterwrightError."""
    signatures = [asdict(signature) for signature in approved.signatures]
    body = _body(approved)
    if signatures:
        body["signatures"] = signatures
    durable.replace(path, (json.dumps(body, indent=1) + "\n").encode())


def _body(approved: Approved) -> dict[str, Any]:
    """The fields of an approval without its signatures."""
    return {
        "format": _FORMAT,
        "manifest": approved.manifest,
        "base": approved.base,
        "manifests": dict(approved.manifests),
        "text": approved.text,
    }


def load_approval(path: Path) -> Approved:
    """Read the file. Raises ClusterwrightError."""
    try:
        data = json.loads(read_given(path))
        if data["format"] != _FORMAT:
            raise ValueError(f"format {data['format']}, this program reads {_FORMAT}")
        signatures = tuple(checked(Signature(**signature)) for signature in data.get("signatures", ()))
        return checked(
            Approved(
                manifest=data["manifest"],
                base=data["base"],
                manifests=dict(data["manifests"]),
                text=data["text"],
                signatures=signatures,
            )
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClusterwrightError(f"{path}: not what `preview --save` writes ({error})") from None


def missing_approvals(
    approved: Approved | None, policies: Iterable[RolloutPolicy], operators: Collection[str], at: datetime
) -> str:
    """A sentence about approvals missing by one of ``policies``; "" if none is missing.

    Signatures of ``operators`` do not count: an operator cannot approve their own change.
    """
    for policy in policies:
        eligible = [approver for approver in policy.approvers if approver.name not in operators]
        signers = frozenset(approved.signers(eligible, at)) if approved is not None else frozenset[str]()
        if policy.approvers and len(signers) < policy.approvals:
            names = and_more([approver.name for approver in eligible], 5) or "no one else"
            return f"{len(signers)} of {policy.approvals} valid approvals; approvers: {names}"
    return ""


def require_approved(approved: Approved, prepared: Prepared, store: Store) -> None:
    """Raises NotApprovedError if other trees would be sent, or devices have got other trees since the preview."""
    wanted = {name: manifest.digest for name, manifest in prepared.manifests.items()}
    if wanted.keys() != approved.manifests.keys():
        raise NotApprovedError(
            f"approved was {', '.join(approved.manifests)}, asked for is {', '.join(wanted)}. Nothing was touched."
        )
    if prepared.digest != approved.manifest:
        differ = _different(approved, prepared, store)
        raise NotApprovedError(
            f"the spec differs from the approved preview, on {differ}. Preview it again; nothing was touched."
        )
    if prepared.base != approved.base:
        raise NotApprovedError(
            "devices were given something else since the preview was made, so it shows another change than this would "
            "be. Preview it again; nothing was touched."
        )


def _different(approved: Approved, prepared: Prepared, store: Store) -> str:
    names: list[str] = []
    for stack, manifest in prepared.manifests.items():
        if manifest.digest == approved.manifests[stack]:
            continue
        try:
            was, will = load_manifest(store, approved.manifests[stack]).trees, manifest.trees
        except MissingObject:
            names.append(stack)
            continue
        names += sorted(name for name in was.keys() | will.keys() if was.get(name) != will.get(name))
    return and_more(names, 5)
