"""Who is to get in to each node, made from the plan and not by the renderers' code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.plan.model import Plan
from clusterwright.spec.image import Image


@dataclass(frozen=True, slots=True)
class DeclaredAccount:
    """An account of a node."""

    name: str
    uid: int
    groups: frozenset[str]
    keys: frozenset[str]
    """Public keys that open it, by kind and content."""
    becomes_root: bool


Accounts = frozenset[DeclaredAccount]


def declared_logins(plan: Plan) -> Mapping[str, Accounts]:
    """The accounts of each node that runs an image."""
    by_image = {image.name: _accounts(plan, image) for image in plan.spec.images}
    return {node.name: by_image[node.image] for node in plan.devices if node.image in by_image}


def _accounts(plan: Plan, image: Image) -> Accounts:
    keys = {operator.name: operator.keys for operator in plan.spec.site.operators}
    return frozenset(
        DeclaredAccount(
            name=user.name,
            uid=user.uid,
            groups=frozenset(user.groups),
            keys=frozenset(" ".join(key.split()[:2]) for name in user.operators for key in keys.get(name, ())),
            becomes_root=user.becomes_root,
        )
        for user in image.users
    )
