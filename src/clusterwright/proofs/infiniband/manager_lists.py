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
    line_by_guid: dict[int, int] = {}
    for number, word, guid in guid_lines(text):
        if guid is None:
            yield number, f"{word!r} is no GUID"
            continue
        if guid in line_by_guid:
            yield number, f"{word} stands on line {line_by_guid[guid]} too"
        elif wanted is not None and guid not in wanted:
            yield number, f"{word} does not belong here by the spec"
        line_by_guid.setdefault(guid, number)
    if wanted is None:
        return
    for guid in sorted(wanted - line_by_guid.keys()):
        yield 0, f"0x{guid:016x} is missing, which belongs here by the spec"


def name_faults(text: str, wanted: Mapping[int, str], source: str) -> Iterator[Fault]:
    """Faults of a node name map: each ``wanted`` switch chip once, by its name in ``source``."""
    line_by_guid: dict[int, int] = {}
    for number, match in name_lines(text):
        if match is None:
            yield number, 'this is no line `0xGUID "name"`'
            continue
        word, name = match[1], match[2]
        guid = int(word, 16)
        if guid in line_by_guid:
            yield number, f"{word} stands on line {line_by_guid[guid]} too"
        elif wanted.get(guid) != name:
            yield number, f"{word} is {wanted.get(guid, 'no switch')} by {source}, not {name}"
        line_by_guid.setdefault(guid, number)
    for guid in sorted(wanted.keys() - line_by_guid.keys()):
        yield 0, f"0x{guid:016x} is missing, {wanted[guid]} by {source}"


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
                name = member.keyword or f"0x{member.guid:016x}"
                yield member.line, f"{name} stands in {statement.name} before; opensm takes what comes last"
            members[key] += 1
    yield from _default_rule_faults(statements, is_limited)
    full: set[int] = set()
    for statement in statements:
        if statement.pkey == DEFAULT_PKEY:
            full.update(member.guid for member in statement.members if member.membership == "full")
    for guid in sorted(managers - full):
        port = f"the subnet manager's port 0x{guid:016x}"
        yield 0, f"{port} is no full member of the default partition while another runs"


def _statement(statement: Statement, names: Mapping[int, str] | None, carrying: Set[int] | None) -> Iterator[Fault]:
    is_carrying = "ipoib" in statement.flags
    if carrying is not None:
        is_carrying = statement.pkey in carrying
    if is_carrying and "ipoib" not in statement.flags:
        yield statement.line, f"{statement.name} lacks ipoib: it carries IP by the spec, and ARP would find no node"
    for flag in statement.flags:
        if flag != "ipoib" or not is_carrying:
            yield statement.line, f"{statement.name} has {flag}, which nothing in the spec asks for"
    name_fault = _name_fault(statement, names)
    if name_fault:
        yield statement.line, name_fault
    if statement.pkey != DEFAULT_PKEY and statement.default != "limited":
        message = f"{statement.name} has defmember={statement.default}: a member without a stated membership is more"
        yield statement.line, message
    if not statement.members:
        yield statement.line, f"{statement.name} has no member"


def _name_fault(statement: Statement, names: Mapping[int, str] | None) -> str:
    """The fault of a partition's name; "" for none."""
    if statement.pkey == DEFAULT_PKEY:
        if statement.name == "Default":
            return ""
        return f"the default partition is called {statement.name} here; opensm knows it as Default"
    if names is None or statement.pkey is None:
        return ""
    planned_name = names.get(statement.pkey, statement.name)
    if statement.name == planned_name:
        return ""
    return f"partition 0x{statement.pkey:04x} is called {planned_name} in the spec, {statement.name} here"


def _has_keyword(statement: Statement) -> bool:
    return any(member.keyword for member in statement.members)


def _default_rule_faults(statements: tuple[Statement, ...], is_limited: bool | None) -> Iterator[Fault]:
    """Faults of the default partition's rule: all adapters, all switches, the manager. Without it, opensm makes one."""
    default_statements = [statement for statement in statements if statement.pkey == DEFAULT_PKEY]
    rules = list(filter(_has_keyword, default_statements))
    members = chain.from_iterable(rule.members for rule in rules)
    member_by_keyword = {member.keyword: member for member in members if member.keyword}
    membership_of_all = None
    if is_limited is not None:
        membership_of_all = "limited" if is_limited else "full"
    wanted = {"ALL": membership_of_all, "ALL_SWITCHES": "full", "SELF": "full"}
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
        if membership_of_all is not None and rule.default != membership_of_all:
            message = f"defmember={rule.default}: members without a word of their own are not {membership_of_all}"
            yield rule.line, message
