"""Images missing on boot servers, and the former boot files kept until an image is built.

A boot script names an image by the digest of its sources. After a change of them, a reset node would look for an image
that is not built yet. So a boot server without it keeps its former scripts, archives and answer files, and gets the
new ones with the first update after the image is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from clusterwright.deploy.pulumi.manifest import Manifest
from clusterwright.deploy.store import MissingObject, Store
from clusterwright.deploy.targets import TargetSettings
from clusterwright.hosts.boot import server as boot_server
from clusterwright.hosts.boot.served import built_files, is_for_boots, served_images
from clusterwright.plan.model import Plan

_LIMIT_S = 30


@dataclass(frozen=True, slots=True)
class UnbuiltImage:
    """An image by the name of its files, with the boot servers without it."""

    release: str
    servers: tuple[str, ...]
    keeps_former: bool
    """Whether these servers keep their former files; a new server has none."""


@dataclass(frozen=True, slots=True)
class _Server:
    """A changed boot server: its former tree (empty for a new one), its next one, and the new images in that."""

    name: str
    former: list[dict[str, Any]]
    wanted: list[dict[str, Any]]
    releases: tuple[str, ...]


def keep_former_boots(
    plan: Plan, target: TargetSettings, manifests: Mapping[str, Manifest], former: Mapping[str, str]
) -> tuple[dict[str, Manifest], tuple[UnbuiltImage, ...]]:
    """The manifests without boot files of images missing on their server, and those images.

    ``former`` has the last tree of each device. Raises ClusterwrightError if servers cannot be queried.
    """
    if plan.spec.boot is None:
        return dict(manifests), ()
    store = Store(target.root / "objects")
    trees: dict[str, str] = {}
    for manifest in manifests.values():
        trees.update(manifest.trees)
    servers = []
    for device in plan.devices:
        wanted = trees.get(device.name, "")
        if wanted not in ("", former.get(device.name)) and boot_server.applies(plan, device):
            servers.append(_server(plan, store, device.name, wanted, former.get(device.name, "")))
    lacking = _lacking(target, servers)
    replaced: dict[str, str] = {}
    for server in servers:
        if server.former and lacking[server.name]:
            replaced[server.name] = store.put_listing(_with_former_boots(server))
    kept = {name: manifest.with_trees(replaced) for name, manifest in manifests.items()}
    return kept, tuple(_unbuilt(servers, lacking))


def unbuilt_lines(images: tuple[UnbuiltImage, ...]) -> Iterator[str]:
    """Lines about unbuilt images, for an operator."""
    for image in images:
        servers = ", ".join(image.servers)
        if image.keeps_former:
            consequence = "boot scripts there stay as they are, and change with the first update that finds it"
        else:
            consequence = "until then no node of it boots"
        yield f"to be built: {image.release}, which {servers} lacks; {consequence} (clusterwright explain images)"


def _server(plan: Plan, store: Store, name: str, wanted_digest: str, former_digest: str) -> _Server:
    """The server with the new images in its tree; a former tree lost in the store counts as none."""
    wanted = store.listing(wanted_digest)
    try:
        held = store.listing(former_digest) if former_digest else []
    except MissingObject:
        held = []
    new_images = served_images(file["path"] for file in wanted) - served_images(file["path"] for file in held)
    releases = []
    for image_name, version in sorted(new_images):
        image = plan.spec.image(image_name)
        if image is not None and image.delivery == "memory":
            releases.append(f"{image_name}_{version}")
    return _Server(name=name, former=held, wanted=wanted, releases=tuple(releases))


def _with_former_boots(server: _Server) -> list[dict[str, Any]]:
    new = [file for file in server.wanted if not is_for_boots(file["path"])]
    kept = [file for file in server.former if is_for_boots(file["path"])]
    return [*new, *kept]


def _lacking(target: TargetSettings, servers: list[_Server]) -> dict[str, tuple[str, ...]]:
    """The new images missing on each server; all of them if it does not answer."""
    from clusterwright.deploy.ansible.query import CommandResult, RemoteCommand

    devices = target.devices()
    lacking: dict[str, tuple[str, ...]] = {}
    for server in servers:
        missing = []
        for release in server.releases:
            paths = built_files(release)
            if devices is None:
                folder = target.root / "flash" / server.name
                is_there = all((folder / path).is_file() for path in paths)
            elif server.name in devices.over_ssh:
                question = RemoteCommand(("ls", *(str(Path("/") / path) for path in paths)), _LIMIT_S)
                answer = devices.run({server.name: question})[server.name]
                is_there = isinstance(answer, CommandResult) and answer.status == 0
            else:
                is_there = False
            if not is_there:
                missing.append(release)
        lacking[server.name] = tuple(missing)
    return lacking


def _unbuilt(servers: list[_Server], lacking: Mapping[str, tuple[str, ...]]) -> Iterator[UnbuiltImage]:
    releases = dict.fromkeys(chain.from_iterable(lacking[server.name] for server in servers))
    for release in releases:
        for keeps_former in (True, False):
            alike = [server for server in servers if bool(server.former) is keeps_former]
            names = tuple(server.name for server in alike if release in lacking[server.name])
            if names:
                yield UnbuiltImage(release, names, keeps_former)
