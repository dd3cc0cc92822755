"""Closed world: text of unknown meaning leaves every claim it could affect not proven, on any device.

A line accepted in the spec's ``extra_config`` does not; every verdict that it could affect has a note on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, product
from typing import NamedTuple

from clusterwright.and_more import and_more
from clusterwright.facts.router import line_of
from clusterwright.facts.unread import BETWEEN, Unread
from clusterwright.facts.values import FieldValues, Keys
from clusterwright.hosts.linux.reader.logins import LOGIN_FOLDERS, logins_unread
from clusterwright.hosts.linux.reader.nccl import CONF_FILES, NCCL_PARTITION
from clusterwright.hosts.linux.reader.node_logins import NODE_LOGIN_FOLDERS, node_logins_unread
from clusterwright.hosts.linux.reader.programs import is_executed, runs_programs
from clusterwright.hosts.linux.reader.unread import HOST_FOLDERS, NETWORKD_FOLDERS, host_unread
from clusterwright.hosts.ufm.reader import SETTINGS, settings_unread
from clusterwright.proofs.infiniband.manager_options import CONFIG, options_unread, places
from clusterwright.proofs.isolation.nodes import BOOTING, RUNNING, ZONE_FILE
from clusterwright.proofs.reading import reader_by_switch
from clusterwright.proofs.tree import PlainText, RenderedFile, RenderedTree
from clusterwright.switches.readers import READERS

# Readers of unread text in switches' files, by path on the device.
UNREAD: Mapping[str, Callable[[str], tuple[Unread, ...]]] = {
    **dict(chain.from_iterable(reader.unread.items() for reader in READERS)),
    SETTINGS: settings_unread,
}
# Values of switches' files that may differ from the rendered ones, by path on the device.
VALUES: Mapping[str, FieldValues] = dict(chain.from_iterable(reader.values.items() for reader in READERS))
# Files read line by line: a line of unknown meaning is an error, or unread text.
_READ_TO_THE_END = frozenset({RUNNING, BOOTING, *CONF_FILES, NCCL_PARTITION, ZONE_FILE, *UNREAD})
_FOLDER = frozenset({"files"})
_SHOWN = 3  # different texts in one answer


class UnreadPlace(NamedTuple):
    """Unread text on a device; ``because`` is the spec's reason for accepting it, "" without one."""

    device: str
    kind: str
    unread: Unread
    because: str


@dataclass(frozen=True, slots=True)
class UnreadText:
    """Text not read by a check: a reason for an open claim, "" without one, and notes."""

    places: tuple[UnreadPlace, ...]

    @property
    def reason(self) -> str:
        """Reason for an open claim, with the first places of the different texts."""
        open_places = [place for place in self.places if not place.because]
        unknown = [place for place in open_places if not place.unread.differs]
        differing = [place for place in open_places if place.unread.differs]
        reasons = []
        if unknown:
            reasons.append(f"no reader knows {and_more(_in_words(unknown), _SHOWN, '; ')}")
        if differing:
            shown = and_more(_in_words(differing), _SHOWN, "; ")
            reasons.append(f"values differ from the rendered ones, and their effect is unknown: {shown}")
        return f"not proven, because {' and '.join(reasons)}" if reasons else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on text accepted by the spec, by reason."""
        reasons: dict[str, list[UnreadPlace]] = {}
        for place in self.places:
            if place.because:
                reasons.setdefault(place.because, []).append(place)
        notes: list[str] = []
        for because, accepted_places in reasons.items():
            shown = and_more(_in_words(accepted_places), _SHOWN, "; ")
            notes.append(f"taken on the spec's word, because {because.rstrip('.')}: {shown}")
        return tuple(notes)


def unread_text(tree: RenderedTree, checks: frozenset[str], kinds: frozenset[str]) -> UnreadText:
    """Unread text that could affect these checks, in files of these ``kinds`` or of no known kind."""
    places = []
    for place in (*_places(tree), *_unreadable(tree), *_left_open(tree)):
        is_read = not place.kind or place.kind in kinds
        claims = place.unread.claims
        if is_read and (not claims or checks & claims):
            places.append(place)
    return UnreadText(tuple(places))


def _unreadable(tree: RenderedTree) -> Iterator[UnreadPlace]:
    """Files of switches that could not be parsed: no claim on the device can be checked."""
    for file, error in tree.unreadable.items():
        if tree.files.get((file.device, file.path)) is file:  # derived trees share these results
            yield UnreadPlace(
                device=file.device, kind=file.kind, unread=Unread(file.path, 0, f"the whole file: {error}"), because=""
            )


def _left_open(tree: RenderedTree) -> Iterator[UnreadPlace]:
    """Text of unknown meaning, such as a packet filter's: the claims it decides are open, all others are checked."""
    for (device, file), errors in tree.left_open.items():
        if tree.files.get((device, file.path)) is not file:  # derived trees share these results
            continue
        for error, claims in dict.fromkeys(errors):
            unread = Unread(file=file.path, line=0, text=error, claims=claims)
            yield UnreadPlace(device=device, kind=file.kind, unread=unread, because="")


@lru_cache(maxsize=4)
def _places(tree: RenderedTree) -> tuple[UnreadPlace, ...]:
    accepted = tree.declaration.accepted_unread if tree.declaration is not None else {}
    places: list[UnreadPlace] = []
    for device, path, unread_of_file in chain(_of_switches(tree), _of_values(tree), _of_hosts(tree)):
        if not unread_of_file:
            continue
        reasons = accepted.get(device, {})
        kind = tree.files[device, path].kind
        for unread in unread_of_file:
            because = _reason(reasons, path, unread)
            places.append(UnreadPlace(device=device, kind=kind, unread=unread, because=because))
    places += _of_managers(tree)
    places += _others(tree)
    return tuple(places)


def _reason(reasons: Mapping[tuple[str | None, str], str], path: str, unread: Unread) -> str:
    """The spec's reason for accepting a place, or an object around a value; "" without one."""
    place = unread.text
    while place:
        reason = reasons.get((path, place)) or reasons.get((None, place), "")
        if reason or not unread.differs:
            return reason
        place = place.rpartition(BETWEEN)[0]
    return ""


def _others(tree: RenderedTree) -> Iterator[UnreadPlace]:
    """Files of the folder rendered otherwise or not at all.

    Where no reader takes in every line (archives, files tried on a host alone), the claims made of the file are not
    proven. A program could undo any claim; anything else of a kind that no check reads leaves the folder itself
    unproven. So do lines of a host's completely read file that belong to no claim, yet decide how the host works: the
    interface of a card, the settings of NCCL.
    """
    if tree.rendering is None:
        return
    for device, path in tree.others:
        kind = tree.rendering.kind(device, path)
        if device not in tree.rendering.devices or (kind and path in UNREAD):
            continue
        if (kind and path in _READ_TO_THE_END) or path.startswith(NETWORKD_FOLDERS):
            if kind:
                text = "the whole file: it differs from what the spec renders, in lines that no other claim is about"
                unread = Unread(file=path, line=1, text=text, claims=_FOLDER)
                yield UnreadPlace(device=device, kind="", unread=unread, because="")
            continue
        difference = "differs from what the spec renders" if kind else "is none that the spec renders"
        is_read = kind in tree.rendering.kinds
        is_data = bool(kind) and not is_read and not runs_programs(path)
        is_about_kind = is_read and not is_executed(path)
        claims = _FOLDER if is_data else frozenset[str]()
        unread = Unread(file=path, line=1, text=f"the whole file: it {difference}", claims=claims)
        yield UnreadPlace(device=device, kind=kind if is_about_kind else "", unread=unread, because="")


@lru_cache(maxsize=1 << 17)
def unread_of(file: RenderedFile) -> tuple[Unread, ...]:
    """Unread text of a switch's file at one of the paths of UNREAD."""
    try:
        return UNREAD[file.path](file.read())
    except (ValueError, TypeError, AttributeError, RecursionError):
        return (Unread(file.path, 0, "the whole file: it does not read"),)


def _of_switches(tree: RenderedTree) -> Iterator[tuple[str, str, tuple[Unread, ...]]]:
    for path in UNREAD:
        for device in tree.devices_with(path):
            yield device, path, unread_of(tree.files[device, path])


def _of_values(tree: RenderedTree) -> Iterator[tuple[str, str, tuple[Unread, ...]]]:
    """Values of switches' files different from the rendered ones and read by no fact."""
    if tree.plain is None:
        return
    different_files = frozenset(tree.others)
    for path in VALUES:
        for device in tree.devices_with(path):
            if (device, path) in different_files or device in tree.plain.amended:
                yield device, path, tuple(_differing_values(tree, tree.plain, device, path))


def _differing_values(tree: RenderedTree, plain: PlainText, device: str, path: str) -> Iterator[Unread]:
    if device not in plain.devices:
        return
    file = tree.files[device, path]
    text = file.read()
    unknown = {unread.text for unread in unread_of(file)}
    try:
        differing = tuple(dict.fromkeys(plain.differing(device, path, text)))
    except (ValueError, TypeError, AttributeError, RecursionError):
        yield Unread(path, 0, "the whole file: it does not read", differs=True)
        return
    for keys in differing:
        place = BETWEEN.join(keys)
        if place not in unknown and not VALUES[path].may_differ(keys):
            yield Unread(
                file=path, line=_line_of_keys(text, keys), text=place, claims=VALUES[path].claims_of(keys), differs=True
            )


def _line_of_keys(text: str, keys: Keys) -> int:
    """Line of a value; for a missing value, the line of the nearest parent."""
    quote = '"' if text.lstrip()[:1] == "{" else ""
    mark = tuple(_word_of_key(key, quote) for key in keys if key)
    for count in range(len(mark), 0, -1):
        line = line_of(text, mark[:count])
        if line:
            return line
    return 1


def _word_of_key(key: str, quote: str) -> str:
    """Text of a key in the file; of a list's item (``[name=value]``) its value."""
    if key[0] == "[":
        return key.partition("=")[2][:-1]
    return f"{quote}{key}{quote}"


def _of_managers(tree: RenderedTree) -> Iterator[UnreadPlace]:
    """Unknown options of subnet managers."""
    for device, folder in places(tree):
        path = f"{folder}/{CONFIG}"
        for unread in options_unread(path, tree.text(device, path) or ""):
            yield UnreadPlace(device=device, kind=tree.files[device, path].kind, unread=unread, because="")


def _of_hosts(tree: RenderedTree) -> Iterator[tuple[str, str, tuple[Unread, ...]]]:
    """Unread text of Linux hosts: starts of programs, networks, and logins of nodes and switches."""
    switches = frozenset(reader_by_switch(tree))
    login_paths = [path for path in tree.paths if path.startswith(LOGIN_FOLDERS)]
    switch_paths = [path for path in login_paths if not path.startswith(HOST_FOLDERS)]
    logins = [tree.files.get((device, path)) for path, device in product(switch_paths, switches)]
    unread_by_file: dict[RenderedFile, tuple[Unread, ...]] = {}
    for file in dict.fromkeys(tree.files.values()):  # an image's file is read once for all its members
        if file.path.startswith(HOST_FOLDERS):
            unread_by_file[file] = _host_unread(file)
    for file in dict.fromkeys(filter(None, logins)):
        unread_by_file[file] = logins_unread(file.path, file.read())
    with_unread = {file for file, unread in unread_by_file.items() if unread}
    if with_unread:
        for (device, path), file in tree.files.items():
            if file not in with_unread:
                continue
            if path.startswith(HOST_FOLDERS) or device in switches:
                yield device, path, unread_by_file[file]
    yield from _of_node_logins(tree, switches)


@lru_cache(maxsize=1 << 17)  # states of one cluster share files
def _host_unread(file: RenderedFile) -> tuple[Unread, ...]:
    return host_unread(file.path, file.read())


def _of_node_logins(tree: RenderedTree, switches: Collection[str]) -> Iterator[tuple[str, str, tuple[Unread, ...]]]:
    paths = [path for path in tree.paths if path.startswith(NODE_LOGIN_FOLDERS)]
    for path in paths:
        for device in tree.devices_with(path):
            if device not in switches:
                yield device, path, node_logins_unread(path, tree.files[device, path].read())


def _in_words(places: Iterable[UnreadPlace]) -> list[str]:
    """Each text once, with its first place and the number of other devices with it."""
    by_text: dict[str, list[UnreadPlace]] = {}
    for place in places:
        by_text.setdefault(place.unread.text, []).append(place)
    phrases = []
    for text, with_text in by_text.items():
        first = with_text[0]
        others = len({place.device for place in with_text}) - 1
        more = f" (as on {others:,} more)" if others else ""
        phrases.append(f'{first.device}:/{first.unread.file}:{first.unread.line}: "{text}"{more}')
    return phrases
