"""Management of switches by their files: servers, logins, and answering services.

It is read for two claims: `isolation` looks for unplanned entries in it, `management` for missing ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from clusterwright.facts.reader import Fault, Login, Server, ServersByFile, SwitchService, SystemReader, Unsupported
from clusterwright.proofs.isolation.edges import errors_leave_open
from clusterwright.proofs.reading import SwitchReading
from clusterwright.proofs.tree import RenderedFile, RenderedTree
from clusterwright.switches.readers import READERS

_CLAIMS = frozenset({"isolation", "management"})


class NamedServer(NamedTuple):
    """A server in a device's file, for the device itself, or with ``is_relay`` for its hosts alone."""

    device: str
    file: str
    server: Server
    is_relay: bool


class DeviceLogin(NamedTuple):
    """A login in a device's file."""

    device: str
    file: str
    login: Login
    system: str


class Answers(NamedTuple):
    """Services answering at a switch by one of its files, and those switched off there."""

    services: tuple[SwitchService, ...]
    silent: tuple[Fault, ...]


class Managed(NamedTuple):
    """Servers, logins and answers of some switches; ``answers`` are by device and file."""

    servers: tuple[NamedServer, ...]
    logins: tuple[DeviceLogin, ...]
    answers: Mapping[tuple[str, str], Answers]


def management_read(tree: RenderedTree) -> tuple[SwitchReading[Managed], ...]:
    """Reading of the management of switches; empty without a spec."""
    declared = None if tree.declaration is None else tree.declaration.isolation
    return () if declared is None else (_management_read(tree),)


@lru_cache(maxsize=2)
def _management_read(tree: RenderedTree) -> SwitchReading[Managed]:
    return SwitchReading(tree, _managed)


def managed(tree: RenderedTree) -> tuple[Managed, ...]:
    """Management of the switches of a tree, part by part; text that does not read is left open."""
    return tuple(chain.from_iterable(reading.parts for reading in management_read(tree)))


def line_at(tree: RenderedTree, device: str, file: str, at: int) -> int:
    """Line, from 1, of a position in a file's text."""
    return (tree.text(device, file) or "").count("\n", 0, max(at, 0)) + 1


def _managed(part: RenderedTree) -> Managed:
    asked = (_named(part, reader.servers, is_relay=False) for reader in READERS)
    relays = (_named(part, reader.relays, is_relay=True) for reader in READERS)
    servers = tuple(chain.from_iterable((*asked, *relays)))
    logins = tuple(chain.from_iterable(_logins(part, reader) for reader in READERS))
    answers: dict[tuple[str, str], Answers] = {}
    for reader in READERS:
        answers.update(_answers(part, reader))
    return Managed(servers=servers, logins=logins, answers=answers)


def _named(part: RenderedTree, files: ServersByFile, *, is_relay: bool) -> Iterator[NamedServer]:
    for file, read in files.items():
        servers_by_file: dict[RenderedFile, tuple[Server, ...]] = {}  # many devices share an image's file
        for device in part.devices_with(file):
            rendered = part.files[device, file]
            if rendered not in servers_by_file:
                with errors_leave_open(part, device, file, _CLAIMS):
                    servers_by_file[rendered] = tuple(read(rendered.read()))
            for server in servers_by_file.get(rendered, ()):
                yield NamedServer(device=device, file=file, server=server, is_relay=is_relay)


def _logins(part: RenderedTree, reader: SystemReader) -> Iterator[DeviceLogin]:
    """Logins of a system's switches."""
    logins_by_file: dict[RenderedFile, tuple[Login, ...]] = {}
    for device, path, read in _login_files(part, reader):
        rendered = part.files[device, path]
        if rendered not in logins_by_file:
            with errors_leave_open(part, device, path, _CLAIMS):
                logins_by_file[rendered] = tuple(read(path, rendered.read()))
        for login in logins_by_file.get(rendered, ()):
            yield DeviceLogin(device=device, file=path, login=login, system=reader.system)


def _login_files(
    part: RenderedTree, reader: SystemReader
) -> Iterator[tuple[str, str, Callable[[str, str], Iterable[Login]]]]:
    """Files with logins of a system's switches, with their reader; a path ending in a slash is a folder."""
    folders = tuple(path for path in reader.logins if path.endswith("/"))
    switches = frozenset(part.devices_with(reader.file))
    for path, read in reader.logins.items():
        yield from ((device, path, read) for device in part.devices_with(path) if device in switches)
    if folders and switches:
        for device, path in part.below(folders):
            if device in switches:
                yield device, path, next(read for folder, read in reader.logins.items() if path.startswith(folder))


def _answers(part: RenderedTree, reader: SystemReader) -> Iterator[tuple[tuple[str, str], Answers]]:
    for device in part.devices_with(reader.file):
        text = part.text(device, reader.file) or ""
        with errors_leave_open(part, device, reader.file, _CLAIMS):
            services = () if isinstance(reader.services, Unsupported) else tuple(reader.services(text))
            yield (device, reader.file), Answers(services, tuple(reader.silent(text)))
