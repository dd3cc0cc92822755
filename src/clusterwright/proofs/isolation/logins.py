"""Who may log in to switches and read them, beside the operators and the user of SNMP that the spec names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from clusterwright.platforms.reader import Login, SystemReader
from clusterwright.platforms.readers import READERS
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.declared import DeclaredIsolation, DeclaredLogin
from clusterwright.proofs.isolation.edges import reading
from clusterwright.proofs.tree import RenderedTree

_Read = Callable[[str, str], Iterator[Login]]


def login_faults(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Every account, key, password and user of SNMP on a switch that nobody planned. Raises VerifyError."""
    for reader in READERS:
        for device, path, text, login in logins_of(tree, reader):
            if what := _fault(login, declared.added_logins.get(device, declared.logins), declared.snmp_users):
                yield Counterexample(device, path, text.count("\n", 0, max(login.at, 0)) + 1, what)


def logins_of(tree: RenderedTree, reader: SystemReader) -> Iterator[tuple[str, str, str, Login]]:
    """All that lets somebody in to a system's switches, with the device, the file and its text. Raises VerifyError."""
    for device, path, read in _files(tree, reader):
        text = tree.text(device, path) or ""
        with reading(device, path):
            yield from ((device, path, text, login) for login in read(path, text))


def _files(tree: RenderedTree, reader: SystemReader) -> Iterator[tuple[str, str, _Read]]:
    """The files of a system's switches that say who logs in; a path that ends in a slash stands for a folder."""
    folders = tuple(path for path in reader.logins if path.endswith("/"))
    own = frozenset(tree.devices_with(reader.file))
    for path, read in reader.logins.items():
        yield from ((device, path, read) for device in tree.devices_with(path) if device in own)
    for device, path in tree.below(folders) if folders and own else ():
        if device in own:
            yield device, path, next(read for folder, read in reader.logins.items() if path.startswith(folder))


def _fault(login: Login, planned: Mapping[str, DeclaredLogin], users: frozenset[str]) -> str:
    if login.is_snmp:
        if login.name not in users:
            return f"the SNMP user {login.name} reads the switch, and nobody planned it"
        return f"the SNMP user {login.name} may write, and ought to read alone" if login.is_admin else ""
    own = planned.get(login.name)
    if own is None:
        return f"the account {login.name} is no operator's: nobody planned who opens it"
    if login.key and login.key not in own.keys:
        return f"the account {login.name} opens with a key that is none of its operator's"
    if login.has_password and not own.has_password:
        return f"the account {login.name} opens with a password, and its operator has none"
    return (
        f"the account {login.name} may change the switch, and its operator may not"
        if login.is_admin > own.is_admin
        else ""
    )
