"""Complete check of lists of GUIDs, names of switches and statements on partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from itertools import chain

from clusterwright.hosts.opensm.reader.lists import guid_lines, name_lines
from clusterwright.hosts.opensm.reader.partitions import DEFAULT_PKEY, BadStatement, Statement, parse_partitions
from clusterwright.proofs.infiniband.manager_options import Fault


def list_faults(text: str, wanted: Set[int] | None) -> Iterator[Fault]:
    """Faults of a file with one GUID a line: each once, and those of the spec."""
    seen: dict[int, int] = {}
    for number, word, guid in guid_lines(text):
        if guid is None:
            yield number, f"{word!r} is no GUID"
            continue
        if guid in seen:
            yield number, f"{word} stands on line {seen[guid]} too"
        elif wanted is not None and guid not in wanted:
            yield number, f"{word} does not belong here by the spec"
        seen.setdefault(guid, number)
    for guid in sorted((wanted or set()) - seen.keys()):
        yield 0, f"0x{guid:016x} is missing, which belongs here by the spec"


def name_faults(text: str, wanted: Mapping[int, str], by: str) -> Iterator[Fault]:
    """Faults of a node name map: each ``wanted`` switch chip once, by its name in the spec or the fabric."""
    seen: dict[int, int] = {}
    for number, match in name_lines(text):
        if match is None:
            yield number, 'this is no line `0xGUID "name"`'
            continue
        guid = int(match[1], 16)
        if guid in seen:
            yield number, f"{match[1]} stands on line {seen[guid]} too"
        elif wanted.get(guid) != match[2]:
            yield number, f"{match[1]} is {wanted.get(guid, 'no switch')} by {by}, not {match[2]}"
        seen.setdefault(guid, number)
    for guid in sorted(wanted.keys() - seen.keys()):
        yield 0, f"0x{guid:016x} is missing, {wanted[guid]} by {by}"


def partition_faults(
    text: str,
    names: Mapping[int, str] | None,
    managers: Set[int],
    *,
    is_limited: bool | None,
    carrying: Set[int] | None,
) -> Iterator[Fault]:
    """Faults beyond the claim ``ib-partitions``: names, flags, duplicate members, and the rule for all adapters.

    ``names`` are the spec's partitions by P_Key, ``is_limited`` whether the rule makes all adapters limited members of
    the default one, ``carrying`` the P_Keys of those with IP; all None for a folder. ``managers`` are the ports of all
    of the fabric's managers: SELF is the running one, so the others must be full members by their GUID; otherwise a
    takeover changes the connectivity.
    """
    try:
        statements = parse_partitions(text)
    except BadStatement:
        return  # ib-partitions refutes that, with its line
    members: Counter[tuple[int | None, str, int]] = Counter()
    for statement in statements:
        yield from _statement(statement, names, carrying)
        for member in statement.members:
            key = (statement.pkey, member.keyword, member.guid)
            if members[key]:
                who = member.keyword or f"0x{member.guid:016x}"
                yield member.line, f"{who} stands in {statement.name} before; opensm takes what comes last"
            members[key] += 1
    yield from _everybody(statements, is_limited)
    full: set[int] = set()
    for statement in statements:
        if statement.pkey == DEFAULT_PKEY:
            full.update(member.guid for member in statement.members if member.membership == "full")
    for guid in sorted(managers - full):
        yield (
            0,
            f"the subnet manager's port 0x{guid:016x} is no full member of the default partition while another runs",
        )


def _statement(statement: Statement, names: Mapping[int, str] | None, carrying: Set[int] | None) -> Iterator[Fault]:
    is_carrying = statement.pkey in carrying if carrying is not None else "ipoib" in statement.flags
    if is_carrying and "ipoib" not in statement.flags:
        yield statement.line, f"{statement.name} lacks ipoib: it carries IP by the spec, and ARP would find no node"
    for flag in (flag for flag in statement.flags if not (is_carrying and flag == "ipoib")):
        yield statement.line, f"{statement.name} has {flag}, which nothing in the spec asks for"
    if statement.pkey == DEFAULT_PKEY and statement.name != "Default":
        yield statement.line, f"the default partition is called {statement.name} here; opensm knows it as Default"
    elif names is not None and statement.pkey is not None and statement.pkey != DEFAULT_PKEY:
        wanted = names.get(statement.pkey)
        if wanted is not None and statement.name != wanted:
            yield (
                statement.line,
                f"partition 0x{statement.pkey:04x} is called {wanted} in the spec, {statement.name} here",
            )
    if statement.pkey != DEFAULT_PKEY and statement.default != "limited":
        yield (
            statement.line,
            f"{statement.name} has defmember={statement.default}: a member without a stated membership is more",
        )
    if not statement.members:
        yield statement.line, f"{statement.name} has no member"


def _everybody(statements: tuple[Statement, ...], is_limited: bool | None) -> Iterator[Fault]:
    """The rule of the default partition, so that opensm makes none: all adapters, all switches, the manager."""
    rules = [
        statement
        for statement in statements
        if statement.pkey == DEFAULT_PKEY and any(m.keyword for m in statement.members)
    ]
    members = chain.from_iterable(rule.members for rule in rules)
    member_by_keyword = {member.keyword: member for member in members if member.keyword}
    everybody = None
    if is_limited is not None:
        everybody = "limited" if is_limited else "full"
    wanted = {"ALL": everybody, "ALL_SWITCHES": "full", "SELF": "full"}
    for keyword, membership in wanted.items():
        member = member_by_keyword.get(keyword)
        if member is None:
            yield rules[0].line if rules else 0, f"{keyword} is no member of the default partition"
        elif membership is not None and member.membership != membership:
            yield member.line, f"{keyword} is a {member.membership} member of the default partition, not {membership}"
    for keyword, member in member_by_keyword.items():
        if keyword not in wanted:
            yield member.line, f"{keyword} is a member of the default partition, which nothing asks for"
    for rule in rules:
        if everybody is not None and rule.default != everybody:
            yield rule.line, f"defmember={rule.default}: members without a word of their own are not {everybody}"
