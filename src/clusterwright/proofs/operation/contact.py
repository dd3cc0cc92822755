"""First contact: planned addresses, and for each switch the first file of its system, without secrets."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from clusterwright.and_more import and_more
from clusterwright.hosts.boot.reader.first_contact import (
    KEA,
    WEB_SERVER,
    ContactAnswer,
    ContactDhcp,
    ContactReservation,
    FirstFile,
    read_contact_dhcp,
    read_first_file,
)
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.operation.declared_contact import DeclaredContact, DeclaredDevice
from clusterwright.proofs.tree import RenderedTree

OWNER = "first-contact"
"""Folder of the server's files, in place of a device name."""
ROOT = "srv/first-contact/"
_ONIE, _ONIE_OPTION, _DEFAULT_URL = "onie_vendor:", 60, 114
_INSTALLERS = "/installers/"
_SHOWN = 3
Fault = tuple[str, int, str]
"""Path, line (0 for the whole file), and message."""


def _check(tree: RenderedTree) -> Verdict:
    declared = tree.declaration.contact if tree.declaration is not None else None
    paths = [path for path in KEA.values() if (OWNER, path) in tree.files]
    path = paths[0] if paths else KEA[4 if declared is None else declared.version]
    faults: list[Fault] = [(second_path, 0, "a second configuration of Kea") for second_path in paths[1:]]
    unknown: list[str] = []
    dhcp = _read_dhcp(tree.text(OWNER, path), path, faults)
    if dhcp is not None:
        unknown += [f"/{path}: {word}" for word in dhcp.unknown]
        faults += [(path, 0, f"devices that are not planned get addresses of {pool}") for pool in dhcp.pools]
        if declared is not None:
            faults += [(path, 0, message) for message in _dhcp_faults(dhcp, declared)]
    files = _server_files(tree)
    for file, text in files.items():
        first_file = read_first_file(text)
        unknown += [f'/{file}:{line}: "{words}"' for line, words in first_file.unknown]
        faults += [(file, line, "holds a password or its hash, in clear for everybody") for line in first_file.secrets]
        if declared is not None:
            faults += [(file, 0, message) for message in _account_faults(first_file, declared)]
    if declared is not None and dhcp is not None:
        faults += _file_faults(dhcp, declared, files, path)
        faults += _web_faults(tree.text(OWNER, WEB_SERVER), declared)
    count = 0 if dhcp is None else len(dhcp.reservations)
    return Verdict(
        facts=(Fact("devices that get their planned address", count), Fact("first files", len(files))),
        counterexamples=tuple(Counterexample(OWNER, *fault) for fault in faults),
        cases=Cases("devices that ask for their first address", count),
        notes=_notes(declared),
        unjudged=f"not proven, because no reader knows {and_more(unknown, _SHOWN, '; ')}" if unknown else "",
    )


def _read_dhcp(text: str | None, path: str, faults: list[Fault]) -> ContactDhcp | None:
    """Configuration of Kea; a missing or unreadable one is added to the faults."""
    if text is None:
        faults.append((path, 0, "the file is missing: no device gets an address"))
        return None
    try:
        return read_contact_dhcp(text)
    except ValueError as error:
        faults.append((path, 0, f"Kea does not start: {error}"))
        return None


def _server_files(tree: RenderedTree) -> dict[str, str]:
    """Texts of the first files on the server, by path."""
    files: dict[str, str] = {}
    for path in tree.paths:
        text = tree.text(OWNER, path) if path.startswith(ROOT) else None
        if text:
            files[path] = text
    return files


def _notes(declared: DeclaredContact | None) -> tuple[str, ...]:
    if declared is None or not declared.unknown:
        return ()
    devices = and_more(declared.unknown, _SHOWN)
    return (f"Not answered, because neither address nor port identifies them: {devices}.",)


def _dhcp_faults(dhcp: ContactDhcp, declared: DeclaredContact) -> Iterator[str]:
    planned = {_identity(device): device for device in declared.devices}
    reserved_identities = set()
    for reserved in dhcp.reservations:
        identity = _reserved_identity(reserved)
        device = planned.get(identity)
        if device is None or (reserved.address, reserved.device) != (device.address, device.name):
            yield f"{reserved.value} gets {reserved.address} as {reserved.device}, which is not planned"
        if identity in reserved_identities:
            yield f"{reserved.value} has several addresses"
        reserved_identities.add(identity)
    for identity, device in planned.items():
        if identity not in reserved_identities:
            yield f"{device.value} of {device.name} does not get {device.address}"
    for answer in dhcp.answers:
        url = urlsplit(answer.url)
        if url.scheme != "http" or url.hostname != declared.server:
            yield f"switches are sent to {answer.url}, which is another machine"


def _identity(device: DeclaredDevice) -> tuple[str, str, str]:
    return device.known_by, device.value, device.relay


def _reserved_identity(reserved: ContactReservation) -> tuple[str, str, str]:
    return reserved.known_by, reserved.value, reserved.relay


def _file_faults(dhcp: ContactDhcp, declared: DeclaredContact, files: dict[str, str], path: str) -> Iterator[Fault]:
    """Differences between the answers to each switch and those supported by its system, and faults of its file."""
    classes = {_reserved_identity(reserved): reserved.classes for reserved in dhcp.reservations}
    for device in declared.devices:
        answers = [answer for answer in dhcp.answers if answer.holders in classes.get(_identity(device), ())]
        installs = [answer for answer in answers if answer.code == _DEFAULT_URL]
        file_answers = [answer for answer in answers if answer.code != _DEFAULT_URL]
        yield from ((path, 0, message) for message in _install_faults(device, installs, declared))
        if device.words is None:
            if file_answers:
                yield path, 0, f"{device.name} gets {file_answers[0].url}, and its system takes no first file"
            continue
        if len(file_answers) != 1:
            yield path, 0, f"{device.name} gets {len(file_answers)} first files, and needs one"
            continue
        (answer,) = file_answers
        if not _is_requested(answer, device):
            yield path, 0, f"{device.name} does not ask for its file the way that option {answer.code} is given"
        first_file = ROOT + urlsplit(answer.url).path.removeprefix("/")
        if first_file not in files:
            yield path, 0, f"{device.name} gets {answer.url}, and the server has no such file"
            continue
        ports = read_first_file(files[first_file]).interfaces
        if ports and ports != [device.port]:
            yield first_file, 0, f"sets {', '.join(ports)}, and {device.name} is reached by {device.port}"


def _is_requested(answer: ContactAnswer, device: DeclaredDevice) -> bool:
    words = device.words
    if words is None or answer.code != words.answer:
        return False
    if words.option is None:
        return answer.is_negated and (answer.option, answer.text) == (_ONIE_OPTION, _ONIE)
    return not answer.is_negated and (answer.option, answer.text) == (words.option, words.begins)


def _install_faults(device: DeclaredDevice, answers: list[ContactAnswer], declared: DeclaredContact) -> Iterator[str]:
    file = declared.installers.get(device.system)
    if file is None:
        if answers:
            yield f"ONIE on {device.name} gets {answers[0].url}, which is no installer of the spec"
        return
    if [urlsplit(answer.url).path for answer in answers] != [_INSTALLERS + file]:
        yield f"ONIE on {device.name} does not get the installer {file}"
    for answer in answers:
        if answer.is_negated or (answer.option, answer.text) != (_ONIE_OPTION, _ONIE):
            yield f"{device.name} gets an installer for clients other than ONIE"


def _account_faults(first: FirstFile, declared: DeclaredContact) -> Iterator[str]:
    for name in first.accounts.keys() - declared.accounts.keys():
        yield f"{name} may log in, and is no administrator of the spec"
    for name, planned_keys in declared.accounts.items():
        keys = frozenset(first.accounts.get(name, ()))
        unplanned_keys = sorted(keys - planned_keys)
        if name not in first.accounts:
            yield f"{name} may not log in"
        elif unplanned_keys:
            yield f"{name} may log in with {unplanned_keys[0]}, which the spec does not name"
        elif not keys:
            yield f"{name} has no key"


def _web_faults(text: str | None, declared: DeclaredContact) -> Iterator[Fault]:
    host = f"[{declared.server}]" if declared.version == 6 else declared.server
    if text is None:
        yield WEB_SERVER, 0, "the file is missing: no switch gets its first file"
    elif f"    listen {host}:80;\n" not in text or f"    root /{ROOT.rstrip('/')};\n" not in text:
        yield WEB_SERVER, 0, f"does not serve /{ROOT.rstrip('/')} at {host}"


def _applies(tree: RenderedTree) -> bool:
    is_declared = tree.declaration is not None and tree.declaration.contact is not None
    return is_declared or OWNER in tree.devices


FIRST_CONTACT = ProofCheck(
    name="first-contact",
    claim=(
        "Unconfigured devices get their planned address, and no other device gets one; each switch gets the first file"
        " of its own system, which holds the administrators' public keys and no secret."
    ),
    kinds=frozenset({"first-contact"}),
    intent=frozenset({"contact"}),
    applies=_applies,
    check=_check,
    spec_only="the planned devices, addresses and accounts",
)
