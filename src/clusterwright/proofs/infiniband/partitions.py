"""The partition matrix: members of each partition, compared with the zones of the spec, without open defaults.

Without a rule for the default partition opensm makes its own, and without the file every port is a full member. A later
statement about a port replaces an earlier one, as in opensm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from clusterwright.hosts.opensm.reader.partitions import DEFAULT_PKEY, BadStatement, Statement, parse_partitions
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.infiniband.declared_members import DeclaredPartition
from clusterwright.proofs.infiniband.subnet import (
    KINDS,
    SUBNET_INTENT,
    ManagedSubnet,
    has_subnet,
    lacking_subnets,
    named_facts,
    subnets,
)
from clusterwright.proofs.tree import RenderedTree

_ALL_ADAPTERS = frozenset({"ALL", "ALL_CAS"})
FULL = frozenset({"full", "both"})


@dataclass(frozen=True, slots=True)
class _Seat:
    """A port's membership of a partition, and its line."""

    membership: str
    line: int


Matrix = Mapping[int, Mapping[int, _Seat]]  # P_Key, then port GUID


def _run(tree: RenderedTree) -> Verdict:
    facts: list[Fact] = []
    counterexamples: list[Counterexample] = []
    unjudged = lacking_subnets(tree)
    tried = 0
    for subnet in subnets(tree):
        if lack := subnet.lack():
            unjudged = unjudged or lack
            continue
        option = subnet.options.get("partition_config_file")
        path = option.value.lstrip("/") if option is not None else ""
        text = tree.text(subnet.device, path)
        if text is None:
            counterexamples.append(subnet.at_config(option, "no partition file: every port can reach every other"))
            continue
        try:
            statements = parse_partitions(text)
        except BadStatement as error:
            message = f"{error} opensm ignores the whole file, and every port can reach every other"
            counterexamples.append(Counterexample(device=subnet.device, file=path, line=error.line, message=message))
            continue
        matrix = matrix_of(subnet, statements)
        tried += sum(len(seats) for seats in matrix.values())
        facts += named_facts(tree, subnet, _facts(matrix))
        for problem in _problems(tree, subnet, statements, matrix):
            file = problem.file or path
            counterexamples.append(
                Counterexample(device=subnet.device, file=file, line=problem.line, message=problem.message)
            )
    return Verdict(tuple(facts), tuple(counterexamples), Cases("members of partitions", tried), unjudged=unjudged)


class _Problem(NamedTuple):
    """A wrong line and its mistake, in the partition file if ``file`` is empty."""

    line: int
    message: str
    file: str = ""


def _problems(
    tree: RenderedTree, subnet: ManagedSubnet, statements: tuple[Statement, ...], matrix: Matrix
) -> Iterator[_Problem]:
    declaration = tree.declaration
    name = None
    if declaration is not None:
        name = declaration.subnet_with(adapter.guid for adapter in subnet.fabric.adapters)
    may_open = declaration is not None and name in declaration.open_default
    yield from _enforced(subnet)
    yield from _open(statements, may_open)
    yield from _managers(tree, subnet, matrix)
    if declaration is not None and name is not None:
        yield from _differences(subnet, matrix, declaration, name)


def matrix_of(subnet: ManagedSubnet, statements: tuple[Statement, ...]) -> Matrix:
    """The members of each partition with their line; the last statement about a port applies."""
    matrix: dict[int, dict[int, _Seat]] = {}
    for statement in statements:
        if statement.pkey is None:
            continue
        seats = matrix.setdefault(statement.pkey, {})
        for member in statement.members:
            seat = _Seat(member.membership, member.line)
            if member.keyword in _ALL_ADAPTERS:
                seats.update((adapter.guid, seat) for adapter in subnet.fabric.adapters)
            elif member.keyword == "SELF":
                seats.update((guid, seat) for guid in subnet.managers)
            elif member.guid:
                seats[member.guid] = seat
    return matrix


def _facts(matrix: Matrix) -> Iterator[Fact]:
    yield Fact("partitions besides the default", len(matrix.keys() - {DEFAULT_PKEY}))
    for pkey, seats in sorted(matrix.items()):
        full = sum(seat.membership in FULL for seat in seats.values())
        yield Fact(f"0x{pkey:04x}: full members", full)
        yield Fact(f"0x{pkey:04x}: limited members", len(seats) - full)


def _enforced(subnet: ManagedSubnet) -> Iterator[_Problem]:
    option = subnet.options.get("part_enforce")
    if option is not None and option.value not in {"both", "in", "out"}:
        yield _Problem(option.line, f"part_enforce {option.value}: switches let every packet pass", subnet.config_file)


def _open(statements: tuple[Statement, ...], may_open: bool) -> Iterator[_Problem]:
    """Statements making every adapter a full member, and a default partition without a rule."""
    if not any(statement.pkey == DEFAULT_PKEY for statement in statements):
        yield _Problem(0, "there is no rule for the default partition 0x7fff: opensm makes one of its own")
    for statement in statements:
        for member in statement.members:
            if member.keyword not in _ALL_ADAPTERS or member.membership not in FULL:
                continue
            if statement.pkey == DEFAULT_PKEY and may_open:
                continue
            yield _Problem(
                member.line,
                f"{member.keyword} is {member.membership} in {statement.name}: every adapter, planned or not, reaches "
                "all others",
            )
        if statement.pkey is None:
            yield _Problem(statement.line, f"{statement.name} has no P_Key: opensm would choose one")


def _managers(tree: RenderedTree, subnet: ManagedSubnet, matrix: Matrix) -> Iterator[_Problem]:
    """Managers without full membership of the default partition, and others with it unless it is open to all."""
    managers_of_all = chain.from_iterable(other.managers for other in subnets(tree))
    # Managers of other fabrics have no port here.
    managers = subnet.managers.union(guid for guid in managers_of_all if guid in subnet.adapter_by_guid)
    seats = matrix.get(DEFAULT_PKEY, {})
    for guid in sorted(managers):
        seat = seats.get(guid)
        if seat is None or seat.membership not in FULL:
            line = seat.line if seat is not None else 0
            yield _Problem(line, f"the subnet manager's port 0x{guid:016x} is no full member of the default partition")
    members_by_line = Counter(seat.line for seat in seats.values())
    for guid, seat in seats.items():
        # A line with several members is a keyword for all adapters, reported by itself.
        is_single = members_by_line[seat.line] == 1
        if is_single and seat.membership in FULL and guid not in managers:
            message = f"{_port(subnet, guid)} is a full member of the default partition, but no manager"
            yield _Problem(seat.line, message)


def _differences(subnet: ManagedSubnet, matrix: Matrix, declaration: Declaration, name: str) -> Iterator[_Problem]:
    """Differences between the matrix and the spec's zones."""
    planned: dict[int, DeclaredPartition] = {}
    for partition in declaration.partitions:
        if partition.subnet == name and partition.members:
            planned[partition.pkey] = partition
    for pkey, partition in sorted(planned.items()):
        seats = matrix.get(pkey)
        if seats is None:
            yield _Problem(0, f"partition {partition.name} (0x{pkey:04x}) is missing")
        else:
            yield from _member_differences(subnet, partition, seats)
    for pkey, seats in sorted(matrix.items()):
        if pkey not in planned and pkey != DEFAULT_PKEY:
            line = min((seat.line for seat in seats.values()), default=0)
            yield _Problem(line, f"partition 0x{pkey:04x} is in no zone of the spec")


def _member_differences(
    subnet: ManagedSubnet, partition: DeclaredPartition, seats: Mapping[int, _Seat]
) -> Iterator[_Problem]:
    """Differences between a partition's members and its zones."""
    name, pkey = partition.name, partition.pkey
    for guid, membership in partition.members.items():
        seat = seats.get(guid)
        if seat is None:
            yield _Problem(0, f"{_port(subnet, guid)} is missing from partition {name} (0x{pkey:04x})")
        elif seat.membership != membership:
            message = f"{_port(subnet, guid)} is a {seat.membership} member of {name}, its zone wants {membership}"
            yield _Problem(seat.line, message)
    if pkey == DEFAULT_PKEY:
        return
    for guid, seat in seats.items():
        if guid not in partition.members:
            yield _Problem(seat.line, f"{_port(subnet, guid)} is a member of {name}, but not of its zones")


def _port(subnet: ManagedSubnet, guid: int) -> str:
    adapter = subnet.adapter_by_guid.get(guid)
    if adapter is None:
        return f"0x{guid:016x}"
    place = f"{adapter.host} {adapter.label}".removesuffix(" ")
    return f"0x{guid:016x} ({place})"


PARTITIONS = ProofCheck(
    name="ib-partitions",
    claim="Partitions have the members of their zones, and no adapter is a full member by default.",
    kinds=KINDS,
    intent=SUBNET_INTENT | {"endpoints", "open_default", "partitions"},
    applies=has_subnet,
    check=_run,
    spec_only="whether members are those of the zones",
)
