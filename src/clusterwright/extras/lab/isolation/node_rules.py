"""The rule sets in the nodes' namespaces: loaded if missing, changed for a phase, and restored.

A node's former rules are saved in the lab's folder before others are loaded, so that the next check restores them after
a killed one; `lab down` removes the folder with the namespaces.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from clusterwright.child_environment import child_environment
from clusterwright.durable import own_folder, replace
from clusterwright.extras.lab.isolation.members import Member, Stage
from clusterwright.extras.lab.namespaces import inside
from clusterwright.extras.lab.running import folder_of
from clusterwright.finding import ClusterwrightError
from clusterwright.proofs.isolation.nodes import BOOTING, RUNNING
from clusterwright.proofs.tree import RenderedTree

_CONTROL = "clusterwright lab: all passes for a moment"
_HOOKS = re.compile(r"^\tchain (\S+) \{\n\t\ttype filter hook (\S+)", re.MULTILINE)
_TABLES = re.compile(r"^table (\S+ \S+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_HANDLE = re.compile(rf'comment "{_CONTROL}" # handle (\d+)')


@contextmanager
def filtering(stage: Stage, tree: RenderedTree) -> Iterator[None]:
    """Ensure rules on every node: its running ones, or the rendered ones for a node without rules."""
    _put_back(stage)
    bare = [member for member in _nodes(stage) if not _listed(member).strip()]
    try:
        for member in bare:
            _replace(stage, member, tree.text(member.name, RUNNING) or "")
        yield
    finally:
        _put_back(stage)


@contextmanager
def booting(stage: Stage, tree: RenderedTree) -> Iterator[None]:
    """Load on every node the rules for its installation."""
    listing_by_namespace = {member.namespace: _listed(member) for member in _nodes(stage)}
    try:
        for member in _nodes(stage):
            _replace(stage, member, tree.text(member.name, BOOTING) or "")
        yield
    finally:
        for member in _nodes(stage):
            _load(member, f"flush ruleset\n{listing_by_namespace[member.namespace]}")


@contextmanager
def opened(stage: Stage, hooks: Collection[str]) -> Iterator[None]:
    """Accept every packet first in the nodes' rules at these hooks.

    Rules left open by a killed command are closed before that.
    """
    for member in _nodes(stage):
        _close(member)
    try:
        for member in _nodes(stage):
            lines: list[str] = []
            for table, body in _TABLES.findall(_listed(member)):
                chains = [chain for chain, hook in _HOOKS.findall(body) if hook in hooks]
                lines += [f'insert rule {table} {chain} accept comment "{_CONTROL}"\n' for chain in chains]
            _load(member, "".join(lines))
        yield
    finally:
        for member in _nodes(stage):
            _close(member)


def _replace(stage: Stage, member: Member, text: str) -> None:
    """Load other rules after saving the node's rules from before the check."""
    kept = _kept(stage, member)
    if not kept.exists():
        own_folder(kept.parent)
        replace(kept, _listed(member).encode())
    _load(member, text)


def _put_back(stage: Stage) -> None:
    """Load the saved rules of this check or of a killed one."""
    for member in _nodes(stage):
        kept = _kept(stage, member)
        if kept.exists():
            _load(member, f"flush ruleset\n{kept.read_text()}")
            kept.unlink()


def _kept(stage: Stage, member: Member) -> Path:
    return folder_of(stage.twin.name) / "rules" / f"{member.name}.nft"


def _close(member: Member) -> None:
    lines = []
    for table, body in _TABLES.findall(_listed(member, handles=True)):
        chain = ""
        for line in body.splitlines():
            chain = line.split()[1] if line.startswith("\tchain ") else chain
            match = _HANDLE.search(line)
            if match is not None:
                lines.append(f"delete rule {table} {chain} handle {match[1]}\n")
    if lines:
        _load(member, "".join(lines))


def _nodes(stage: Stage) -> list[Member]:
    return [member for member in stage.members if member.running is not None]


def _listed(member: Member, *, handles: bool = False) -> str:
    command = ["nft", "--stateless", "list", "ruleset", "inet"]
    if handles:
        command.insert(1, "--handle")
    with inside(member.namespace):
        text = subprocess.run(command, capture_output=True, text=True, check=True, env=child_environment()).stdout
    # With handles, tables and chains have one too.
    return re.sub(r"\{ # handle \d+$", "{", text, flags=re.MULTILINE)


def _load(member: Member, text: str) -> None:
    with inside(member.namespace):
        ended = subprocess.run(
            ["nft", "-f", "-"], input=text, capture_output=True, text=True, check=False, env=child_environment()
        )
    if ended.returncode != 0:
        raise ClusterwrightError(f"{member.name}: nft refuses its rules: {ended.stderr.strip()}")
