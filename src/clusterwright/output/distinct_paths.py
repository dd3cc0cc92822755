"""Check of rendered paths before proofs and writing: no path twice on a device, none below another file."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError
from clusterwright.hosts.boot.served import HTTP
from clusterwright.hosts.boot.server import DEFINITIONS
from clusterwright.intent.device_kind import device_kind
from clusterwright.intent.per_plan import per_plan
from clusterwright.output.renderers import SERVER_RENDERERS, device_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.model import Device, Plan


@per_plan
def require_distinct_paths(plan: Plan) -> None:
    """Raises ClusterwrightError for conflicting paths of a device's files, or of a mount and a file.

    Every device of a kind has files at the same paths, so one of each kind stands for all.
    """
    kinds = set()
    for device in plan.devices:
        is_boot_server = any(renderer.applies(plan, device) for renderer in SERVER_RENDERERS)
        kind = device_kind(plan, device), device.role, device.model, is_boot_server
        if kind in kinds:
            continue
        kinds.add(kind)
        for path, conflict in path_conflicts(plan, device, is_boot_server=is_boot_server):
            raise ClusterwrightError(
                f"{device.name}: /{path} {conflict}{_place(plan, path)}. Nothing is rendered or proven of a device on"
                " which files are in each other's way: give one of them another path."
            )


def path_conflicts(plan: Plan, device: Device, *, is_boot_server: bool = False) -> Iterator[tuple[str, str]]:
    """The conflicting paths of a device, each with the reason as the end of a sentence."""
    writers: dict[str, str] = {}
    for artifact in device_files(plan, device):
        if artifact.path in writers:
            yield artifact.path, f"is written by {writers[artifact.path]} and again by {artifact.kind}"
        writers[artifact.path] = artifact.kind
    if is_boot_server:
        writers |= dict.fromkeys((HTTP, DEFINITIONS), "the boot server")
    mountpoints = _mountpoints(plan, device)
    for path, writer in writers.items():
        for folder in (path, *map(str, PurePosixPath(path).parents)):
            if folder != path and folder in writers:
                yield path, f"is written by {writer}, below the file that {writers[folder]} writes"
            if folder in mountpoints:
                yield path, f"is written by {writer}, and hidden by what is mounted on /{folder}"


def _mountpoints(plan: Plan, device: Device) -> frozenset[str]:
    """Mount points of file systems on a device, without the leading slash."""
    spec = plan.spec
    mounts = [mount.mountpoint for mount in spec.mounts if device.node_group in mount.nodes]
    mounts += [scratch.mountpoint for scratch in spec.encryption.scratch if device.node_group in scratch.nodes]
    return frozenset(mountpoint.removeprefix("/") for mountpoint in mounts)


def _place(plan: Plan, path: str) -> str:
    """The place of ``path`` in the spec, in brackets; empty if the spec has none."""
    document = plan.spec.document
    for place, position in document.values.items():
        if document.at(place) == f"/{path}":
            return f" ({position})"
    return ""
