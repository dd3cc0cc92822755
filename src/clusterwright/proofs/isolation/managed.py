"""How switches are managed, as their files have it: whom they ask, who logs in, what answers.

It is asked for twice: `isolation` looks for strangers in it, `management` for what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from clusterwright.facts.reader import Fault, Login, Server, ServersByFile, SwitchService, SystemReader, Unsupported
from clusterwright.proofs.isolation.edges import judging
from clusterwright.proofs.reading import SwitchReading
from clusterwright.proofs.tree import RenderedFile, RenderedTree
from clusterwright.switches.readers import READERS

_CLAIMS = frozenset({"isolation", "management"})


class NamedServer(NamedTuple):
    """A server that a device's file names, for the device itself, or for its hosts alone where it ``is_relay``."""

    device: str
    file: str
    server: Server
    is_relay: bool


class FoundLogin(NamedTuple):
    """Something in a device's file that lets somebody in."""

    device: str
    file: str
    login: Login


class Answers(NamedTuple):
    """What answers at a switch's management port by one of its files, and what is left switched off there."""

    services: tuple[SwitchService, ...]
    silent: tuple[Fault, ...]


class Managed(NamedTuple):
    """All of that of some switches; ``answers`` are by device and file, of those with a planned management port."""

    servers: tuple[NamedServer, ...]
    logins: tuple[FoundLogin, ...]
    answers: Mapping[tuple[str, str], Answers]


def management_read(tree: RenderedTree) -> tuple[SwitchReading[Managed], ...]:
    """What finds how the switches of a tree are managed; nothing where no spec says how they ought to be."""
    declared = None if tree.declaration is None else tree.declaration.isolation
    return () if declared is None else (_management_read(tree),)


@lru_cache(maxsize=2)
def _management_read(tree: RenderedTree) -> SwitchReading[Managed]:
    return SwitchReading(tree, _managed)


def managed(tree: RenderedTree) -> tuple[Managed, ...]:
    """How the switches of a tree are managed, part by part; what does not read is left open."""
    return tuple(part for each in management_read(tree) for part in each.parts)


def line_at(tree: RenderedTree, device: str, file: str, at: int) -> int:
    """The line, from 1, of a place in a file's text."""
    return (tree.text(device, file) or "").count("\n", 0, max(at, 0)) + 1


def _managed(part: RenderedTree) -> Managed:
    asked = (_named(part, reader.servers, is_relay=False) for reader in READERS)
    relays = (_named(part, reader.relays, is_relay=True) for reader in READERS)
    return Managed(
        tuple(server for each in (*asked, *relays) for server in each),
        tuple(login for reader in READERS for login in _logins(part, reader)),
        {place: answers for reader in READERS for place, answers in _answers(part, reader)},
    )


def _named(part: RenderedTree, files: ServersByFile, *, is_relay: bool) -> Iterator[NamedServer]:
    for file, read in files.items():
        known: dict[RenderedFile, tuple[Server, ...]] = {}  # of an image's file, which many devices have
        for device in part.devices_with(file):
            own = part.files[device, file]
            if own not in known:
                with judging(part, device, file, _CLAIMS):
                    known[own] = tuple(read(own.read()))
            for server in known.get(own, ()):
                yield NamedServer(device=device, file=file, server=server, is_relay=is_relay)


def _logins(part: RenderedTree, reader: SystemReader) -> Iterator[FoundLogin]:
    """All that lets somebody in to a system's switches."""
    known: dict[RenderedFile, tuple[Login, ...]] = {}
    for device, path, read in _login_files(part, reader):
        own = part.files[device, path]
        if own not in known:
            with judging(part, device, path, _CLAIMS):
                known[own] = tuple(read(path, own.read()))
        yield from (FoundLogin(device, path, login) for login in known.get(own, ()))


def _login_files(
    part: RenderedTree, reader: SystemReader
) -> Iterator[tuple[str, str, Callable[[str, str], Iterable[Login]]]]:
    """The files of a system's switches that say who logs in; a path that ends in a slash stands for a folder."""
    folders = tuple(path for path in reader.logins if path.endswith("/"))
    own = frozenset(part.devices_with(reader.file))
    for path, read in reader.logins.items():
        yield from ((device, path, read) for device in part.devices_with(path) if device in own)
    if folders and own:
        for device, path in part.below(folders):
            if device in own:
                yield device, path, next(read for folder, read in reader.logins.items() if path.startswith(folder))


def _answers(part: RenderedTree, reader: SystemReader) -> Iterator[tuple[tuple[str, str], Answers]]:
    declared = None if part.declaration is None else part.declaration.isolation
    for device in part.devices_with(reader.file):
        if declared is not None and device in declared.management:
            text = part.text(device, reader.file) or ""
            with judging(part, device, reader.file, _CLAIMS):
                services = () if isinstance(reader.services, Unsupported) else tuple(reader.services(text))
                yield (device, reader.file), Answers(services, tuple(reader.silent(text)))
