"""The effect of a filter: the set of packets that pass a hook, and the line that decides on one packet.

Every base chain of a hook must let a packet pass, in the order of their priorities; an accept ends one chain alone. A
rule that matches only up to a rate counts as one that may accept, and as one that need not drop: the result is every
packet that can pass. The packets that pass at any rate are those that pass a filter ``at_any_rate``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from clusterwright.packets.boxes import (
    EVERYTHING,
    V4,
    V6,
    WHOLE,
    Box,
    Packet,
    PacketSet,
    apart,
    box,
    merged,
    union,
)
from clusterwright.packets.filters import (
    ACCEPT,
    DROP,
    GOTO,
    JUMP,
    NONE,
    RETURN,
    Chain,
    Rule,
    Ruleset,
    Table,
)
from clusterwright.packets.tokens import Unreadable

_MERGED_EVERY = 32  # rules: single ports and flags one by one become few boxes again
_DEEPEST = 16  # NFT_JUMP_STACK_SIZE
_FAMILY = {"inet": WHOLE, "ip": box(family=V4), "ip6": box(family=V6)}


class Decision(NamedTuple):
    """The verdict on a packet, and its line: of a rule (with its name, if any), or of a policy."""

    passes: bool
    line: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Idle:
    """A rule that decides about no packet: ``by`` is the earlier line that hides it, 0 when nothing can match it."""

    line: int
    by: int
    name: str = ""
    by_name: str = ""


@dataclass(frozen=True, slots=True)
class Passing:
    """The packets that can pass a hook, and the rules that never decide."""

    packets: PacketSet
    idle: tuple[Idle, ...]


def _batches(rules: Iterable[Rule]) -> Iterator[list[Rule]]:
    """Rules that decide, those in a row that decide alike together: their order makes no difference."""
    batch: list[Rule] = []
    for rule in rules:
        if rule.verdict == NONE:
            continue
        alike = batch and (batch[0].verdict, batch[0].limited) == (rule.verdict, rule.limited)
        if not alike or rule.verdict in {JUMP, GOTO}:
            if batch:
                yield batch
            batch = []
        batch.append(rule)
    if batch:
        yield batch


def at_any_rate(ruleset: Ruleset) -> Ruleset:
    """The filter for packets beyond every rate: rules that accept up to a rate are left out, rules that drop stay."""
    if not rated_lines(ruleset):
        return ruleset
    return replace(ruleset, tables=tuple(_at_any_rate(table) for table in ruleset.tables))


def rated_lines(ruleset: Ruleset) -> frozenset[int]:
    """The lines of rules that decide up to a rate alone."""
    lines: set[int] = set()
    for table in ruleset.tables:
        for chain in table.chains.values():
            lines.update(rule.line for rule in chain.rules if rule.limited and rule.verdict != NONE)
    return frozenset(lines)


def _at_any_rate(table: Table) -> Table:
    chains = {}
    for name, chain in table.chains.items():
        left = (rule for rule in chain.rules if not (rule.limited and rule.verdict == ACCEPT))
        chains[name] = replace(chain, rules=tuple(replace(rule, limited=False) for rule in left))
    return replace(table, chains=chains)


def base_chains(ruleset: Ruleset, hook: str) -> list[tuple[Table, Chain]]:
    """The chains at a hook, in the order in which packets meet them."""
    at_hook: list[tuple[Table, Chain]] = []
    for table in ruleset.tables:
        at_hook += [(table, chain) for chain in table.chains.values() if chain.hook == hook]
    return sorted(at_hook, key=lambda place: place[1].priority)


def passing(ruleset: Ruleset, hook: str, entering: PacketSet = EVERYTHING) -> Passing:
    """The packets of ``entering`` that can pass all chains of a hook. Raises Unreadable for circular jumps."""
    idle: list[Idle] = []
    current = entering
    for table, chain in base_chains(ruleset, hook):
        of_family = entering.limited(_FAMILY[table.family])
        flow = _Flow(table)
        accepted, left, returned = flow.run(chain, of_family, 0)
        if chain.policy == ACCEPT:  # which decides about what returns from here as well
            accepted |= left | returned
        other = current - PacketSet((_FAMILY[table.family],))
        current = (current & accepted) | other
        idle += [_idle(table, chain, rule, of_family) for rule in flow.idle()]
    return Passing(current, tuple(dict.fromkeys(idle)))


class _Flow:
    """Runs sets of packets through a table's chains and keeps which rules ever matched something."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.met: dict[int, tuple[Rule, bool]] = {}

    def run(self, chain: Chain, entering: PacketSet, depth: int) -> tuple[PacketSet, PacketSet, PacketSet]:
        """The packets that the chain accepts, those that reach its end, and those that a rule returns."""
        if depth > _DEEPEST:
            raise Unreadable(chain.line, f'the chain "{chain.name}" is reached by more jumps than there may be')
        accepted: list[PacketSet] = []
        returned: list[PacketSet] = []
        current = entering
        for batch in _batches(chain.rules):
            first = batch[0]
            self._note(batch, current)
            together = PacketSet(tuple(merged(match for rule in batch for match in rule.matches)))
            matched = current & together
            if not matched:
                continue
            if not first.limited:
                current = current - together
            if first.verdict == ACCEPT:
                accepted.append(matched)
            elif first.verdict == RETURN:
                returned.append(matched)
            elif first.verdict in {JUMP, GOTO}:
                inner, end, back = self.run(self.table.chains[first.target], matched, depth + 1)
                accepted.append(inner)
                if first.verdict == JUMP:
                    current = current | end | back
                else:  # what a goto leaves goes back to where this chain was jumped to from
                    returned += [end, back]
        return union(accepted), current, union(returned)

    def _note(self, batch: list[Rule], current: PacketSet) -> None:
        """Marks the rules of a batch that decide about a packet of ``current`` before the others of the batch do."""
        before: list[Box] = []
        for number, rule in enumerate(batch):
            if not self.met.get(id(rule), (rule, False))[1]:
                left = current & PacketSet(rule.matches)
                if left and before:
                    near = tuple(other for other in before if any(not apart(other, match) for match in rule.matches))
                    left = left - PacketSet(near)
                self.met[id(rule)] = (rule, bool(left))
            before += rule.matches
            if number % _MERGED_EVERY == 0:
                before = merged(before)

    def idle(self) -> Iterator[Rule]:
        """Rules that were asked and never matched."""
        yield from (rule for rule, matched in self.met.values() if not matched)


def _idle(table: Table, chain: Chain, rule: Rule, entering: PacketSet) -> Idle:
    """The reason that a rule decides nothing: the line that decides on a packet it matches, if it matches any."""
    wanted = entering & PacketSet(rule.matches)
    if not wanted:
        return Idle(rule.line, 0, rule.name)
    _, line, name = _decide(table, chain, wanted.witness(), 0)
    return Idle(line=rule.line, by=line, name=rule.name, by_name=name)


def decide(ruleset: Ruleset, hook: str, packet: Packet) -> Decision:
    """The verdict on one packet at a hook, and its line: the last accepting one, or the dropping one."""
    last = Decision(True, 0)
    for table, chain in base_chains(ruleset, hook):
        if packet not in PacketSet((_FAMILY[table.family],)):
            continue
        verdict, line, name = _decide(table, chain, packet, 0)
        if verdict in {NONE, RETURN}:
            verdict, line, name = chain.policy, chain.policy_line, ""
        last = Decision(verdict == ACCEPT, line, name)
        if not last.passes:
            return last
    return last


def _decide(table: Table, chain: Chain, packet: Packet, depth: int) -> tuple[str, int, str]:
    """The verdict, its line and the rule's name; NONE at the end of the chain."""
    for rule in chain.rules:
        if rule.verdict == NONE or packet not in PacketSet(rule.matches) or (rule.limited and rule.verdict == DROP):
            continue
        if rule.verdict in {JUMP, GOTO} and depth < _DEEPEST:
            verdict, line, name = _decide(table, table.chains[rule.target], packet, depth + 1)
            if verdict in {ACCEPT, DROP}:
                return verdict, line, name
            if rule.verdict == GOTO:
                return RETURN, rule.line, ""
        elif rule.verdict in {ACCEPT, DROP, RETURN}:
            return rule.verdict, rule.line, rule.name
    return NONE, 0, ""
