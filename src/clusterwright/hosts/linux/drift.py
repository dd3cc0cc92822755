"""Compare packet filters by their rules as the isolation proof reads them: sets, maps and spelling do not count."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from clusterwright.device_files.drift import Difference, FileDifference
from clusterwright.packets.filters import Chain, InterfaceNumbers, Ruleset
from clusterwright.packets.nft_file import read_nft
from clusterwright.packets.tokens import Unreadable

_Key = tuple[object, ...]


def compare_nft(planned: str, running: str) -> Iterator[FileDifference]:
    """Compare the file with ``nft list ruleset``: tables, chains with their policies, and rules in their order.

    Raises ValueError for a rule of unknown meaning.
    """
    interfaces = InterfaceNumbers()
    planned_chains = _chains(_read(planned, interfaces))
    running_chains = _chains(_read(running, interfaces))
    for name, chain in planned_chains.items():
        if name not in running_chains:
            yield Difference.MISSING, name, f"a chain of {len(chain.rules)} rules", "", (), None
        else:
            yield from _chain(name, chain, planned.splitlines(), running_chains[name], running.splitlines())
    for name, chain in running_chains.items():
        if name not in planned_chains:
            yield Difference.UNEXPECTED, name, "", f"a chain of {len(chain.rules)} rules", (), None


def _read(text: str, interfaces: InterfaceNumbers) -> Ruleset:
    try:
        return read_nft(text, interfaces)
    except Unreadable as error:
        raise ValueError(f"line {error.line}: {error}") from None


def _chains(ruleset: Ruleset) -> dict[str, Chain]:
    chains: dict[str, Chain] = {}
    for table in ruleset.tables:
        for chain in table.chains.values():
            chains[f"{table.family} {table.name} {chain.name}"] = chain
    return chains


def _chain(
    name: str, planned: Chain, planned_lines: list[str], running: Chain, running_lines: list[str]
) -> Iterator[FileDifference]:
    if (planned.hook, planned.priority) != (running.hook, running.priority):
        yield Difference.CHANGED, name, _hook(planned), _hook(running), (), None
    if planned.policy != running.policy:
        yield Difference.CHANGED, name, f"policy {planned.policy}", f"policy {running.policy}", (), None
    matcher = SequenceMatcher(None, _keys(planned), _keys(running), autojunk=False)
    for change, planned_start, planned_end, running_start, running_end in matcher.get_opcodes():
        if change == "equal":
            continue
        missing = (_line(planned_lines, rule.line) for rule in planned.rules[planned_start:planned_end])
        for line in dict.fromkeys(missing):
            yield Difference.MISSING, name, line, "", (), None
        unexpected = (_line(running_lines, rule.line) for rule in running.rules[running_start:running_end])
        for line in dict.fromkeys(unexpected):
            yield Difference.UNEXPECTED, name, "", line, (), None


def _hook(chain: Chain) -> str:
    return f"hook {chain.hook} priority {chain.priority}" if chain.hook else "no hook"


def _keys(chain: Chain) -> list[_Key]:
    return [(tuple(sorted(map(repr, rule.matches))), rule.verdict, rule.target, rule.limited) for rule in chain.rules]


def _line(lines: list[str], number: int) -> str:
    """A line in words with single blanks between."""
    if 0 < number <= len(lines):
        return " ".join(lines[number - 1].split())
    return f"the rule at line {number}"
