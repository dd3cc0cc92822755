"""Comparing packet filters by their rules as the isolation proof reads them: sets, maps and spelling do not count."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from clusterwright.device_files.drift import Difference, FileDifference
from clusterwright.packets.filters import Chain, InterfaceNumbers, Ruleset
from clusterwright.packets.nft_file import read_nft
from clusterwright.packets.tokens import Unreadable

_Key = tuple[object, ...]


def compare_nft(planned: str, runs: str) -> Iterator[FileDifference]:
    """The file against ``nft list ruleset``: tables, chains with their policies, and rules in their order.

    Raises ValueError for a rule whose meaning is not known.
    """
    interfaces = InterfaceNumbers()
    wanted, there = _chains(_read(planned, interfaces)), _chains(_read(runs, interfaces))
    for name, chain in wanted.items():
        if name not in there:
            yield Difference.MISSING, name, f"a chain of {len(chain.rules)} rules", "", (), None
        else:
            yield from _chain(name, chain, planned.splitlines(), there[name], runs.splitlines())
    for name, chain in there.items():
        if name not in wanted:
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
    name: str, planned: Chain, text: list[str], runs: Chain, running_text: list[str]
) -> Iterator[FileDifference]:
    if (planned.hook, planned.priority) != (runs.hook, runs.priority):
        yield Difference.CHANGED, name, _hook(planned), _hook(runs), (), None
    if planned.policy != runs.policy:
        yield Difference.CHANGED, name, f"policy {planned.policy}", f"policy {runs.policy}", (), None
    wanted, there = _keys(planned), _keys(runs)
    for what, first, end, start, stop in SequenceMatcher(None, wanted, there, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        gone = dict.fromkeys(_line(text, rule.line) for rule in planned.rules[first:end])
        come = dict.fromkeys(_line(running_text, rule.line) for rule in runs.rules[start:stop])
        for line in gone:
            yield Difference.MISSING, name, line, "", (), None
        for line in come:
            yield Difference.UNEXPECTED, name, "", line, (), None


def _hook(chain: Chain) -> str:
    return f"hook {chain.hook} priority {chain.priority}" if chain.hook else "no hook"


def _keys(chain: Chain) -> list[_Key]:
    return [(tuple(sorted(map(repr, rule.matches))), rule.verdict, rule.target, rule.limited) for rule in chain.rules]


def _line(text: list[str], number: int) -> str:
    return " ".join(text[number - 1].split()) if 0 < number <= len(text) else f"the rule at line {number}"
