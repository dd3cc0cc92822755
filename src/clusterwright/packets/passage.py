"""The effect of a filter: the packets passing a hook, and the line deciding on one packet.

Every base chain of a hook must accept a packet, in the order of their priorities; an accept ends only its own chain.
With a rate limit, an accepting rule may accept and a dropping rule may not drop, so the result holds every packet that
can pass. The packets passing at any rate are those of the filter ``at_any_rate``.
"""

from __future__ import annotations

import itertools
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
    are_disjoint,
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
    """The verdict on a packet."""

    passes: bool
    line: int
    """Line of the deciding rule or policy."""
    name: str = ""
    """Name of the rule, if any."""


@dataclass(frozen=True, slots=True)
class Idle:
    """A rule deciding on no packet."""

    line: int
    by: int
    """The earlier line that hides it, 0 for a rule without a possible match."""
    name: str = ""
    by_name: str = ""


@dataclass(frozen=True, slots=True)
class Passing:
    """The packets able to pass a hook, and the rules deciding on none."""

    packets: PacketSet
    idle: tuple[Idle, ...]


def _batches(rules: Iterable[Rule]) -> Iterator[list[Rule]]:
    """Rules with a verdict; consecutive ones of one verdict together, as their order makes no difference."""
    batch: list[Rule] = []
    for rule in rules:
        if rule.verdict == NONE:
            continue
        has_same_effect = batch and (batch[0].verdict, batch[0].limited) == (rule.verdict, rule.limited)
        if not has_same_effect or rule.verdict in {JUMP, GOTO}:
            if batch:
                yield batch
            batch = []
        batch.append(rule)
    if batch:
        yield batch


def at_any_rate(ruleset: Ruleset) -> Ruleset:
    """The filter beyond every rate limit: without rules accepting up to a rate, with rules dropping up to one."""
    if not rated_lines(ruleset):
        return ruleset
    return replace(ruleset, tables=tuple(_at_any_rate(table) for table in ruleset.tables))


def rated_lines(ruleset: Ruleset) -> frozenset[int]:
    """The lines of rules with a verdict and a rate limit."""
    lines: set[int] = set()
    for table in ruleset.tables:
        for chain in table.chains.values():
            lines.update(rule.line for rule in chain.rules if rule.limited and rule.verdict != NONE)
    return frozenset(lines)


def _at_any_rate(table: Table) -> Table:
    chains = {}
    for name, chain in table.chains.items():
        kept_rules = (rule for rule in chain.rules if not (rule.limited and rule.verdict == ACCEPT))
        chains[name] = replace(chain, rules=tuple(replace(rule, limited=False) for rule in kept_rules))
    return replace(table, chains=chains)


def base_chains(ruleset: Ruleset, hook: str) -> list[tuple[Table, Chain]]:
    """The chains at a hook by priority, the first to see a packet first."""
    at_hook: list[tuple[Table, Chain]] = []
    for table in ruleset.tables:
        at_hook += [(table, chain) for chain in table.chains.values() if chain.hook == hook]
    return sorted(at_hook, key=lambda table_and_chain: table_and_chain[1].priority)


def passing(ruleset: Ruleset, hook: str, entering: PacketSet = EVERYTHING) -> Passing:
    """The packets of ``entering`` able to pass all chains of a hook. Raises Unreadable for circular jumps."""
    idle: list[Idle] = []
    current = entering
    for table, chain in base_chains(ruleset, hook):
        of_family = entering.limited(_FAMILY[table.family])
        flow = _Flow(table)
        accepted, at_end, returned = flow.run(chain, of_family, 0)
        if chain.policy == ACCEPT:  # the policy decides on returned packets as well
            accepted |= at_end | returned
        of_other_family = current - PacketSet((_FAMILY[table.family],))
        current = (current & accepted) | of_other_family
        idle += [_idle(table, chain, rule, of_family) for rule in flow.idle()]
    return Passing(current, tuple(dict.fromkeys(idle)))


class _Flow:
    """Runs sets of packets through a table's chains and records the rules with a match."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.has_decided: dict[int, tuple[Rule, bool]] = {}
        """By identity, a rule reached by packets and whether it decided on one."""

    def run(self, chain: Chain, entering: PacketSet, depth: int) -> tuple[PacketSet, PacketSet, PacketSet]:
        """The packets accepted by the chain, those at its end, and those returned by a rule."""
        if depth > _DEEPEST:
            raise Unreadable(chain.line, f'the chain "{chain.name}" is reached by more jumps than there may be')
        accepted: list[PacketSet] = []
        returned: list[PacketSet] = []
        current = entering
        for batch in _batches(chain.rules):
            first = batch[0]
            self._note(batch, current)
            matches_of_batch = itertools.chain.from_iterable(rule.matches for rule in batch)
            batch_packets = PacketSet(tuple(merged(matches_of_batch)))
            matched = current & batch_packets
            if not matched:
                continue
            if not first.limited:
                current = current - batch_packets
            if first.verdict == ACCEPT:
                accepted.append(matched)
            elif first.verdict == RETURN:
                returned.append(matched)
            elif first.verdict in {JUMP, GOTO}:
                inner, end, back = self.run(self.table.chains[first.target], matched, depth + 1)
                accepted.append(inner)
                if first.verdict == JUMP:
                    current = current | end | back
                else:  # packets at the end of a goto's chain return to the caller of this chain
                    returned += [end, back]
        return union(accepted), current, union(returned)

    def _note(self, batch: list[Rule], current: PacketSet) -> None:
        """Record the rules of a batch deciding on a packet of ``current``; the batch's first match decides."""
        earlier_boxes: list[Box] = []
        for number, rule in enumerate(batch):
            if not self.has_decided.get(id(rule), (rule, False))[1]:
                decided = current & PacketSet(rule.matches)
                if decided and earlier_boxes:
                    overlapping = tuple(earlier for earlier in earlier_boxes if _has_match_in(earlier, rule))
                    decided = decided - PacketSet(overlapping)
                self.has_decided[id(rule)] = (rule, bool(decided))
            earlier_boxes += rule.matches
            if number % _MERGED_EVERY == 0:
                earlier_boxes = merged(earlier_boxes)

    def idle(self) -> Iterator[Rule]:
        """Rules reached by packets and deciding on none."""
        for rule, has_decided in self.has_decided.values():
            if not has_decided:
                yield rule


def _has_match_in(packets: Box, rule: Rule) -> bool:
    """True when the rule matches a packet of the box."""
    return not all(are_disjoint(packets, match) for match in rule.matches)


def _idle(table: Table, chain: Chain, rule: Rule, entering: PacketSet) -> Idle:
    """An idle rule with the line deciding on one of its packets, if it has any."""
    matched = entering & PacketSet(rule.matches)
    if not matched:
        return Idle(rule.line, 0, rule.name)
    _, line, name = _decide(table, chain, matched.witness(), 0)
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
        may_not_drop = rule.limited and rule.verdict == DROP
        if rule.verdict == NONE or may_not_drop or packet not in PacketSet(rule.matches):
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
