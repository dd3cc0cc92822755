"""Boot archives: those of images and nodes contain the proven files, and give no extra rights.

A machine takes its image's archive, and its own over it. Files that only an image has (its first init, its check) are
known by name alone. The built image below both, and installers, are not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import chain

from clusterwright.and_more import and_more
from clusterwright.hosts.boot.reader.archive import (
    BOOTED,
    IMAGE_ARCHIVE,
    IMAGES,
    NODE_ARCHIVE,
    NODES,
    ArchivedFile,
    read_archive,
)
from clusterwright.hosts.boot.reader.network_boot import SCRIPTS, read_script
from clusterwright.hosts.linux.reader.node_check import LIMITS, read_expected
from clusterwright.hosts.linux.reader.programs import lines_that_count
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.tree import RenderedFile, RenderedTree

_SHOWN = 3
_SECRETS = "node-secrets"
_OF_SERVERS = frozenset({"boot", "boot-archives", _SECRETS})  # kinds outside the archives of nodes
# Kinds of other files of nodes, compared byte by byte, and of the scripts naming archives.
_COMPARED = frozenset(
    {
        "boot",
        "encryption",
        "kueue",
        "mounts",
        "nccl",
        "nftables",
        "node-credentials",
        "node-health",
        "node-logins",
        "node-memory-exchange",
        "node-network",
        "node-qos",
        "node-rdma",
        "node-system",
        "node-watch",
        "opensm",
        "opensm-fabric",
        "receptor",
        "slurm",
        "subnet-topology",
        "ufm",
    }
)
_ANYBODY_WRITES, _SET_ID = 0o022, 0o6000
Members = Mapping[str, ArchivedFile]


@dataclass(slots=True)
class _ServedArchives:
    """Archives of a boot server, by image and by node, each with its path."""

    images: dict[str, list[tuple[str, Members]]] = field(default_factory=dict)
    nodes: dict[str, tuple[str, Members]] = field(default_factory=dict)
    broken: list[tuple[str, str]] = field(default_factory=list)


def _check(tree: RenderedTree) -> Verdict:
    machines = tree.declaration.boot.machines if tree.declaration is not None and tree.declaration.boot else {}
    files_of: dict[str, dict[str, RenderedFile]] = {}
    for (device, path), file in tree.files.items():
        files_of.setdefault(device, {})[path] = file
    counterexamples: list[Counterexample] = []
    open_images: set[str] = set()
    uncompared: set[str] = set()
    nodes: set[str] = set()
    boot_servers = sorted({device for device, _ in tree.below((IMAGES, NODES))})
    for device in boot_servers:
        server, fetched = _read(files_of[device]), _fetched(files_of[device])
        counterexamples += [Counterexample(device, path, 0, message) for path, message in server.broken]
        for path, members in (*server.nodes.values(), *chain.from_iterable(server.images.values())):
            counterexamples += [Counterexample(device, path, 0, message) for message in _mode_faults(members)]
        texts: dict[tuple[object, ...], list[tuple[str, str]]] = {}
        for node, (path, node_members) in sorted(server.nodes.items()):
            nodes.add(node)
            image = machines[node].image if node in machines else ""
            chosen = _image_of(server, fetched.get(node), image)
            if chosen is None:
                if node in fetched:
                    message = f"{node} boots with it, and it is not there"
                    counterexamples.append(Counterexample(device, fetched[node], 0, message))
                else:
                    open_images.add(image or f"of {node}")
                continue
            held = files_of.get(node, {})
            for place, message in _node_faults(held, (path, node_members), chosen, texts):
                counterexamples.append(Counterexample(device, place, 0, f"{node}: {message}"))
            unknown_paths = sorted(node_members.keys() - held.keys())
            messages = _stranger_faults(tree, node, unknown_paths)
            counterexamples += [Counterexample(device, path, 0, f"{node}: {message}") for message in messages]
            uncompared.update(name for name in unknown_paths if not _is_unexpected(tree, node, name))
    return Verdict(
        facts=(Fact("nodes whose archives were compared", len(nodes)),),
        counterexamples=tuple(counterexamples),
        cases=Cases("nodes with archives", len(nodes)),
        unjudged=_reason(open_images, uncompared),
    )


def _reason(open_images: Set[str], uncompared: Set[str]) -> str:
    """Reason for an open claim: images without a known archive, and archived files without a file to compare."""
    reasons = []
    if open_images:
        reasons.append(f"it is not known with which archive machines boot {and_more(sorted(open_images), _SHOWN)}")
    if uncompared:
        reasons.append(f"no file was read to compare with {and_more(sorted(uncompared), _SHOWN)}")
    return f"not proven, because {' and '.join(reasons)}" if reasons else ""


def _read(files: Mapping[str, RenderedFile]) -> _ServedArchives:
    server = _ServedArchives()
    for path, file in files.items():
        is_image = _is_image_archive(path)
        if not is_image and not _is_node_archive(path):
            continue
        try:
            members = read_archive(_bytes(file))
        except ValueError as error:
            server.broken.append((path, f"machines do not boot with it: {error}"))
            continue
        if is_image:
            server.images.setdefault(path.removeprefix(IMAGES).partition("/")[0], []).append((path, members))
        else:
            server.nodes[path.removeprefix(NODES).removesuffix(NODE_ARCHIVE)] = (path, members)
    return server


def _is_image_archive(path: str) -> bool:
    return path.startswith(IMAGES) and path.endswith(IMAGE_ARCHIVE)


def _is_node_archive(path: str) -> bool:
    return path.startswith(NODES) and path.endswith(NODE_ARCHIVE)


def _is_same(path: str, content: bytes, archived_content: bytes) -> bool:
    """Whether two contents of a file differ in nothing but comments."""
    if content == archived_content:
        return True
    lines = lines_that_count(path, content)
    return lines is not None and lines == lines_that_count(path, archived_content)


def _bytes(file: RenderedFile) -> bytes:
    return file.content() if file.content is not None else file.read().encode()


def _fetched(files: Mapping[str, RenderedFile]) -> Mapping[str, str]:
    """Path of the image's archive, by node, from the script naming both archives on a boot server."""
    image_archives = {}
    for path, file in files.items():
        if not path.startswith(SCRIPTS):
            continue
        paths = [f"srv/http{fetched.path}" for fetched in read_script(file.read()).fetched]
        images = [path for path in paths if _is_image_archive(path)]
        for archive in paths:
            if archive.startswith(NODES) and images:
                image_archives[archive.removeprefix(NODES).removesuffix(NODE_ARCHIVE)] = images[0]
    return image_archives


def _image_of(server: _ServedArchives, fetched: str | None, image: str) -> tuple[str, Members] | None:
    """Archive named by a machine's script; without a script the only archive of its image, or None."""
    if fetched is not None:
        archives = chain.from_iterable(server.images.values())
        return next((archive for archive in archives if archive[0] == fetched), None)
    candidates = server.images.get(image, [])
    return candidates[0] if len(candidates) == 1 else None


def _is_unexpected(tree: RenderedTree, node: str, path: str) -> bool:
    """True for a file that must not be in a node's archive: outside the rendered tree, or secret."""
    return tree.rendering is not None and tree.rendering.kind(node, path) in {"", _SECRETS}


def _stranger_faults(tree: RenderedTree, node: str, paths: list[str]) -> Iterator[str]:
    for path in paths:
        if not _is_unexpected(tree, node, path):
            continue
        if tree.rendering is not None and tree.rendering.kind(node, path) == _SECRETS:
            yield f"{path} is secret, and any machine can fetch this archive"
        else:
            yield f"{path} is none of its files"


def _mode_faults(members: Members) -> Iterator[str]:
    for path, member in members.items():
        if member.mode & _ANYBODY_WRITES:
            yield f"{path} is writable by group or others ({member.mode & 0o7777:o})"
        if member.mode & _SET_ID:
            yield f"{path} runs with rights of its owner ({member.mode & 0o7777:o})"


def _node_faults(
    files: Mapping[str, RenderedFile],
    node: tuple[str, Members],
    image: tuple[str, Members],
    texts: dict[tuple[object, ...], list[tuple[str, str]]],
) -> Iterator[tuple[str, str]]:
    """Differences between a node's files and the archives it boots from, as archive path and message.

    ``texts`` caches the faults of files shared by nodes of an image.
    """
    node_path, node_members = node
    image_path, image_members = image
    others = ((path, file) for path, file in files.items() if path not in node_members)
    shared = tuple((path, file) for path, file in others if file.kind not in _OF_SERVERS)
    key = (image_path, shared)
    if key not in texts:
        texts[key] = list(_image_faults(dict(shared), image_path, image_members))
    yield from texts[key]
    for path, member in node_members.items():
        file = files.get(path)
        if file is None:
            continue
        if not _is_same(path, _bytes(file), member.content):
            yield node_path, f"it boots with another {path} than it has"


def _image_faults(files: Mapping[str, RenderedFile], path: str, members: Members) -> Iterator[tuple[str, str]]:
    missing = sorted(files.keys() - members.keys())
    if missing:
        yield path, f"it boots without {and_more(missing, _SHOWN)}"
    for name in files.keys() & members.keys():
        if not _is_same(name, _bytes(files[name]), members[name].content):
            yield path, f"it boots with another {name} than it has"
    if LIMITS not in files or BOOTED not in members:
        return
    try:
        booted, expected = json.loads(members[BOOTED].content), read_expected(files[LIMITS].read())
    except ValueError as error:
        yield path, f"{BOOTED}: {error}"
        return
    image, digest = expected.get("image.name"), expected.get("image.boot_digest")
    if digest != booted.get("boot_digest") or image != booted.get("name"):
        yield (
            path,
            f"its check asks for the image {image} of another digest: healthy nodes are drained",
        )


BOOT_ARCHIVES = ProofCheck(
    name="boot-archives",
    claim="The archives that a machine boots with, its image's and its own, contain the files that are proven for it.",
    kinds=frozenset(),
    intent=frozenset({"boot"}),
    applies=lambda tree: bool(tree.below((IMAGES, NODES))),
    check=_check,
    spec_only="the image of each machine",
    compared=_COMPARED,
    folder_kinds=frozenset({"boot-archives"}) | _COMPARED,
)
