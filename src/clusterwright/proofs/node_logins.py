"""Logins of a node: only accounts of the spec, with the keys of their operators; only planned ones become root.

Only the files rendered for a node are read, not other sources of accounts (a package, the image's base). With a spec, a
file that it does not render is reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from clusterwright.hosts.linux.reader.node_logins import (
    ACCOUNTS,
    KEYS,
    SSHD,
    SUDOERS,
    NodeAccount,
    read_accounts,
    read_keys,
    read_sshd,
    read_sudoers,
)
from clusterwright.packets.phrases import count
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.declared_logins import Accounts
from clusterwright.proofs.reading import reader_by_switch
from clusterwright.proofs.tree import RenderedTree

# Required values of sshd by keyword in lower case, and the effect of another value.
_SSHD = {
    "passwordauthentication": ("no", "passwords open accounts"),
    "kbdinteractiveauthentication": ("no", "questions instead of keys open accounts"),
    "permitrootlogin": ("prohibit-password", "root logs in with a password"),
}
_CLOSED = {"no", "prohibit-password"}
_NO_ACCOUNTS: Accounts = frozenset()
Fault = tuple[str, int, str]
"""Path, line (0 for the whole file), and message."""


@dataclass(frozen=True, slots=True)
class _Files:
    """Files of a node about logins, with the keys by account."""

    accounts: str | None
    sshd: str | None
    sudoers: str | None
    keys: tuple[tuple[str, str], ...]


def _check(tree: RenderedTree) -> Verdict:
    nodes = _nodes(tree)
    keys_of = _keys_of(tree)
    faults: dict[tuple[_Files, Accounts | None], list[Fault]] = {}
    counterexamples: list[Counterexample] = []
    for device, wanted in nodes.items():
        files = _Files(
            accounts=tree.text(device, ACCOUNTS),
            sshd=tree.text(device, SSHD),
            sudoers=tree.text(device, SUDOERS),
            keys=tuple(sorted(keys_of.get(device, {}).items())),
        )
        if (files, wanted) not in faults:  # nodes of an image have the same files
            faults[files, wanted] = list(_faults(files, wanted))
        for path, line, message in faults[files, wanted]:
            counterexamples.append(Counterexample(device=device, file=path, line=line, message=message))
    accounts: set[str] = set()
    for wanted in nodes.values():
        accounts.update(account.name for account in wanted or ())
    facts = [Fact("nodes with accounts", len(nodes))]
    if accounts:
        facts.append(Fact("accounts", len(accounts)))
    return Verdict(
        facts=tuple(facts),
        counterexamples=tuple(counterexamples),
        cases=Cases("nodes with accounts", len(nodes)),
        unjudged=_not_read(tree, nodes),
    )


def _not_read(tree: RenderedTree, nodes: Mapping[str, Accounts | None]) -> str:
    """Reason for an open claim about nodes installed by another owner; "" without such nodes."""
    installed = () if tree.declaration is None else sorted(tree.declaration.installed_by_others & nodes.keys())
    if not installed:
        return ""
    subject = f"{count(len(installed), 'node')} installed by another owner, as {installed[0]}"
    return f"not checked: accounts, keys and services present before on {subject}"


def _nodes(tree: RenderedTree) -> Mapping[str, Accounts | None]:
    """Planned accounts of the nodes that have some, and of devices with files about logins."""
    if tree.declaration is None:
        return dict.fromkeys(tree.devices_with(ACCOUNTS))
    planned = tree.declaration.logins
    with_files = _with_login_files(tree, switches=tree.declaration.roles.keys())
    nodes: dict[str, Accounts | None] = {}
    for device in (*planned, *sorted(with_files - planned.keys())):
        wanted = planned.get(device, _NO_ACCOUNTS)
        if wanted or device in with_files:
            nodes[device] = wanted
    return nodes


def _with_login_files(tree: RenderedTree, switches: Collection[str]) -> frozenset[str]:
    """Devices with files about logins; those of switches belong to ``isolation``."""
    devices: set[str] = set()
    for path in (SSHD, *_key_paths(tree)):  # paths of switches too
        devices.update(tree.devices_with(path))
    devices.difference_update(switches)
    for path in (ACCOUNTS, SUDOERS):
        devices.update(tree.devices_with(path))
    return frozenset(devices - reader_by_switch(tree).keys())


def _key_paths(tree: RenderedTree) -> list[str]:
    return [path for path in tree.paths if path.startswith(KEYS)]


def _keys_of(tree: RenderedTree) -> Mapping[str, dict[str, str]]:
    keys: dict[str, dict[str, str]] = {}
    for path in _key_paths(tree):
        for device in tree.devices_with(path):
            keys.setdefault(device, {})[path.removeprefix(KEYS)] = tree.text(device, path) or ""
    return keys


def _faults(files: _Files, wanted: Accounts | None) -> Iterator[Fault]:
    yield from _sshd_faults(files.sshd)
    made = read_accounts(files.accounts or "")
    keys = dict(files.keys)
    for name in sorted(keys.keys() - made.keys()):
        yield f"{KEYS}{name}", 0, f"keys of {name}, which is no account of the node"
    roots = read_sudoers(files.sudoers or "")
    for name, line in roots.items():
        if name not in made:
            yield SUDOERS, line, f"{name} becomes root, and is no account of the node"
    if wanted is not None:
        yield from _account_faults(made, wanted)
        yield from _key_faults(keys, wanted)
        yield from _root_faults(roots, wanted)


def _account_faults(made: Mapping[str, NodeAccount], wanted: Accounts) -> Iterator[Fault]:
    by_name = {account.name: account for account in wanted}
    for name, account in made.items():
        planned = by_name.get(name)
        if planned is None:
            yield ACCOUNTS, account.line, f"{name} is no account of the spec"
        elif (account.uid, account.groups) != (planned.uid, planned.groups):
            groups, wanted_groups = _in_words(account.groups), _in_words(planned.groups)
            message = (
                f"{name} has the number {account.uid} in {groups}, the spec wants {planned.uid} in {wanted_groups}"
            )
            yield ACCOUNTS, account.line, message
    for name in sorted(by_name.keys() - made.keys()):
        yield ACCOUNTS, 0, f"the account {name} is missing"


def _in_words(groups: frozenset[str]) -> str:
    return ", ".join(sorted(groups)) or "no group"


def _key_faults(keys: Mapping[str, str], wanted: Accounts) -> Iterator[Fault]:
    for planned in sorted(wanted, key=lambda account: account.name):
        path, line_of_key = f"{KEYS}{planned.name}", read_keys(keys.get(planned.name, ""))
        for key in sorted(line_of_key.keys() - planned.keys):
            yield path, line_of_key[key], f"a key opens {planned.name} that none of its operators has"
        if planned.keys - line_of_key.keys():
            yield path, 0, f"keys of operators do not open {planned.name}"


def _root_faults(roots: Mapping[str, int], wanted: Accounts) -> Iterator[Fault]:
    for planned in sorted(wanted, key=lambda account: account.name):
        if planned.becomes_root and planned.name not in roots:
            yield SUDOERS, 0, f"{planned.name} does not become root, and the spec lets it"
        if not planned.becomes_root and planned.name in roots:
            yield SUDOERS, roots[planned.name], f"{planned.name} becomes root, and the spec does not let it"


def _sshd_faults(text: str | None) -> Iterator[Fault]:
    if text is None:
        yield SSHD, 0, "the file is missing: sshd lets people in by passwords"
        return
    settings = read_sshd(text)
    for name, (value, otherwise) in _SSHD.items():
        configured, line = settings.get(name, ("", 0))
        accepted = _CLOSED if name == "permitrootlogin" else {value}
        if configured.lower() not in accepted:
            yield SSHD, line, f"{name} is {configured or 'left as it is'}: {otherwise}"


NODE_LOGINS = ProofCheck(
    name="node-logins",
    claim=(
        "Only the spec's accounts can log in to a node, with their operators' keys, and only permitted ones become"
        " root."
    ),
    kinds=frozenset({"node-logins"}),
    intent=frozenset({"installed_by_others", "logins", "roles"}),
    applies=lambda tree: bool(_nodes(tree)),
    check=_check,
    spec_only="the planned accounts, keys and rights",
)
