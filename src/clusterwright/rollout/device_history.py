"""History of one device, rollout by rollout, from the record: its trees, its results, and the operators."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.deploy.pulumi.manifest import load_manifest
from clusterwright.deploy.store import MissingObject, Store

OK = "ok"
_APPROVED = ("started", "resumed")
_GONE = ("removed", "gone")


@dataclass(frozen=True, slots=True)
class DeviceEvent:
    """An event in the history of a device.

    ``result`` is ``ok``, the reason of a failure, or the finding of a refresh or a removal. ``tree`` is the digest of
    its tree from then on, "" for an unknown or empty one; ``program`` the version of the program then.
    """

    at: str
    rollout: str
    action: str
    who: str
    reason: str
    program: str
    commit: str
    is_modified: bool
    """True where the spec's files differed from the commit."""
    result: str
    tree: str


def device_events(entries: Iterable[Mapping[str, Any]], store: Store, device: str) -> tuple[DeviceEvent, ...]:
    """The events of ``device`` in an audit log, in their order."""
    return tuple(_events(entries, store, device))


def files_of_tree(store: Store, tree: str) -> tuple[tuple[str, str], ...]:
    """Path and SHA-256 of each file of a tree. Raises MissingObject."""
    return tuple((row["path"], row["sha256"]) for row in json.loads(store.get(tree)))


def _events(entries: Iterable[Mapping[str, Any]], store: Store, device: str) -> Iterator[DeviceEvent]:
    approval: Mapping[str, Any] = {}
    trees: dict[str, str] = {}
    held = ""
    for entry in entries:
        if entry["event"] in _APPROVED:
            approval, trees = entry, _trees(entry, store, device)
            continue
        for stack, result in _results(entry, device, trees):
            tree = trees.get(stack, "") if result == OK else _remaining_tree(result, held)
            if entry["event"] == "ended" and tree == held:
                continue  # the whole stack was updated, and this device had its tree already
            held = tree
            yield DeviceEvent(
                at=entry["at"],
                rollout=entry["rollout"],
                action=approval.get("action", "up"),
                who=f"{approval['who']}@{approval['host']}",
                reason=approval["reason"],
                program=entry.get("program", ""),
                commit=approval["revision"]["commit"],
                is_modified=approval["revision"]["is_modified"],
                result=result,
                tree=tree,
            )


def _results(entry: Mapping[str, Any], device: str, trees: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The stack of an entry and its result for the device; none for an entry without the device."""
    match entry["event"]:
        case "wave" if device in entry["devices"]:
            yield next(iter(trees), ""), entry["devices"][device]
        case "stack" if device in entry["devices"]:
            yield entry["stack"], entry["devices"][device]
        case "ended":
            for stack in entry["stacks"]:
                if stack["ok"] and stack["stack"] in trees:
                    yield stack["stack"], OK


def _trees(approval: Mapping[str, Any], store: Store, device: str) -> dict[str, str]:
    """The device's trees in an approved update, by its stack; empty if the record or the store lacks them."""
    tree_by_stack: dict[str, str] = {}
    for stack, digest in approval.get("manifests", {}).items():
        try:
            trees = load_manifest(store, digest).trees
        except MissingObject:
            continue
        if trees.get(device):
            tree_by_stack[stack] = trees[device]
    return tree_by_stack


def _remaining_tree(result: str, held: str) -> str:
    """The tree of a device after another result than ok: a failed device keeps its former tree."""
    if result in _GONE or result == "differs":
        return ""
    return held
