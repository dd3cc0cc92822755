"""The trees that devices are to have, beside those that they were given last: which differ, and the text of all.

Nothing is rendered that is in the object store already, and no file is read before a proof asks for it: what is shown
and proven is byte for byte what an update sends.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from clusterwright.deploy.store import MissingObject, Store
from clusterwright.deploy.target import DeviceTree
from clusterwright.plan.model import Plan
from clusterwright.render.engine import render_device
from clusterwright.verify.intent import Intent
from clusterwright.verify.tree import RenderedFile, RenderedTree

File = tuple[str, str, str]  # path, kind, SHA-256


@dataclass(slots=True)
class _Texts:
    """The store's files as text, each read once; what is not in the store was put here."""

    store: Store
    known: dict[str, str] = field(default_factory=dict)

    def read(self, digest: str) -> str:
        found = self.known.get(digest)
        if found is None:
            found = self.known[digest] = self.store.get(digest).decode("utf-8", "replace")
        return found


@dataclass(frozen=True, slots=True)
class Trees:
    """Every device's tree, and what was held before by those that change.

    ``before`` is what the devices that change were given last, () for one that holds nothing, or nothing that is
    known; ``after`` what they are to have. ``unknown`` are devices that hold something else than they were given, or
    something that the store has lost. ``files`` are those of every device of the plan once the change is made.
    """

    before: Mapping[str, DeviceTree]
    after: Mapping[str, DeviceTree]
    unknown: frozenset[str]
    files: Mapping[str, tuple[File, ...]]
    _texts: _Texts

    @property
    def changed(self) -> tuple[str, ...]:
        """The devices that change, in the plan's order; those that the plan no longer has come last."""
        return tuple(self.after)

    def state(self, cluster: str, applied: Collection[str], intent: Intent, kinds: frozenset[str]) -> RenderedTree:
        """The cluster when ``applied`` have taken their change and the others have not; files of ``kinds``.

        A device that holds nothing that is known stands as it will.
        """
        found: dict[tuple[str, str], RenderedFile] = {}
        for device, files in self.files.items():
            held = self.before.get(device, ())
            if held and device not in applied:
                for own in held:
                    if own.kind in kinds:
                        read = partial(_decoded, own.content)
                        found[device, own.path] = RenderedFile(device, own.path, own.kind, read)
                continue
            for path, kind, digest in files:
                if kind in kinds:
                    found[device, path] = RenderedFile(device, path, kind, partial(self._texts.read, digest))
        return RenderedTree(cluster, found, intent)


def trees_of(plan: Plan, held: Mapping[str, str], wanted: Mapping[str, str], store: Store) -> Trees:
    """Compares what devices are to have with what they hold; both map devices to digests of trees in ``store``.

    In ``held`` "" stands for a device that was found to hold something else than it was given. Devices that are in
    ``held`` alone keep what they hold where the plan has them. What is in neither is rendered: it is taken as planned.
    Raises MissingObject when the store lacks a tree of ``wanted``.
    """
    names = [device.name for device in plan.devices]
    changed = [name for name in names if name in wanted and held.get(name) != wanted[name]]
    after = {name: store.get_tree(name, wanted[name]) for name in changed}
    before: dict[str, DeviceTree] = {}
    unknown: set[str] = set()
    gone = [name for name in held if name not in plan.by_name]
    for name in [*changed, *gone]:
        digest = held.get(name)
        try:
            before[name] = store.get_tree(name, digest) if digest else ()
        except MissingObject:
            before[name] = ()
        if digest is not None and not before[name]:
            unknown.add(name)
    after |= dict.fromkeys(gone, ())
    texts = _Texts(store)
    listings: dict[str, tuple[File, ...]] = {}
    files = {name: _files(plan, name, wanted.get(name) or held.get(name, ""), listings, texts) for name in names}
    return Trees(before, after, frozenset(unknown), files, texts)


def _files(
    plan: Plan, name: str, digest: str, listings: dict[str, tuple[File, ...]], texts: _Texts
) -> tuple[File, ...]:
    if digest in listings:
        return listings[digest]
    try:
        rows = json.loads(texts.store.get(digest)) if digest else None
    except MissingObject:
        rows = None
    if rows is None:
        tree = render_device(plan, name)
        texts.known |= {own.sha256: _decoded(own.content) for own in tree}
        return tuple((own.path, own.kind, own.sha256) for own in tree)
    listings[digest] = tuple((row["path"], row["kind"], row["sha256"]) for row in rows)
    return listings[digest]


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace")
