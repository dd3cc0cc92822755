"""Planned accounts of each node, computed from the plan independently of the renderers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.plan.model import Plan
from clusterwright.spec.image import Image
from clusterwright.spec.site import Operator


@dataclass(frozen=True, slots=True)
class DeclaredAccount:
    """An account of a node."""

    name: str
    uid: int
    groups: frozenset[str]
    keys: frozenset[str]
    """Public keys of the account, by type and content; keys with an end begin with their ``expiry-time``."""
    becomes_root: bool


Accounts = frozenset[DeclaredAccount]


def declared_logins(plan: Plan) -> Mapping[str, Accounts]:
    """Accounts of each node with an image."""
    by_image = {image.name: _accounts(plan, image) for image in plan.spec.images}
    return {node.name: by_image[node.image] for node in plan.devices if node.image in by_image}


def _accounts(plan: Plan, image: Image) -> Accounts:
    operators = {operator.name: operator for operator in plan.spec.site.operators}
    accounts = set()
    for user in image.users:
        keys: set[str] = set()
        for name in user.operators:
            if name in operators:
                keys.update(_keys(operators[name]))
        accounts.add(
            DeclaredAccount(
                name=user.name,
                uid=user.uid,
                groups=frozenset(user.groups),
                keys=frozenset(keys),
                becomes_root=user.becomes_root,
            )
        )
    return frozenset(accounts)


def _keys(operator: Operator) -> Iterator[str]:
    # Spelt independently of the renderer: a key whose end is missing from the text never expires.
    end = f'expiry-time="{operator.until:%Y%m%d}235959" ' if operator.until is not None else ""
    for key in operator.keys:
        yield end + " ".join(key.split()[:2])
