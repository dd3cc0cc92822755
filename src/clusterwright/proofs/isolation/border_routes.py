"""What a border's session learns and announces: its policies and prefix lists, beside the zones on either side."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.packets.phrases import address
from clusterwright.packets.ranges import EMPTY, Ranges
from clusterwright.packets.values import addresses
from clusterwright.platforms.reader import Unsupported
from clusterwright.platforms.readers import READERS
from clusterwright.platforms.router import (
    Mark,
    Policy,
    PrefixRule,
    Router,
    Session,
    Term,
    line_of,
    packed,
    shown_prefix,
)
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.declared import OUTSIDE, DeclaredBorder, DeclaredIsolation
from clusterwright.proofs.tree import RenderedTree

_LEARNT, _ANNOUNCED = "learnt", "announced"
_Fault = tuple[Mark, str]


def border_route_faults(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Every prefix that a border learns or announces and should not, and every one that it should and does not.

    Raises VerifyError for a switch whose text does not parse.
    """
    for border in declared.borders:
        for reader in READERS:
            if isinstance(reader.router, Unsupported) or (border.switch, reader.file) not in tree.files:
                continue
            router = reader.router(border.switch, lambda path, of=border.switch: tree.text(of, path) or "")  # type: ignore[misc]  # a bound default
            for mark, message in _border(router, border, declared) if router is not None else ():
                line = line_of(tree.text(border.switch, router.bgp_file) or "", mark) if router is not None else 0
                yield Counterexample(border.switch, reader.file, line, f"border {border.name}: {message}")


def _border(router: Router, border: DeclaredBorder, declared: DeclaredIsolation) -> Iterator[_Fault]:
    neighbour = address(border.version, border.neighbour)
    session = next((each for each in router.sessions if each.peer == packed(neighbour)), None)
    if session is None:
        yield router.asn_mark, f"there is no session with {neighbour}"
        return
    yield from _direction(router, session, session.into, border, _LEARNT, _outside(declared, border))
    yield from _direction(router, session, session.out_of, border, _ANNOUNCED, _inside(declared, border))


def _outside(declared: DeclaredIsolation, border: DeclaredBorder) -> Ranges:
    """The prefixes of the zones behind a border, in its IP version."""
    found = EMPTY
    for name in border.zones:
        for part in declared.zone[name].parts:
            if (part.fabric, part.version) == (OUTSIDE, border.version):
                found |= part.addresses
    return found


def _inside(declared: DeclaredIsolation, border: DeclaredBorder) -> Ranges:
    """The host subnets, whole, in which zones that have a flow with those behind a border have addresses."""
    behind = _outside(declared, border)
    met = {
        other
        for flow in declared.flows
        for mine, other in ((flow.source, flow.target), (flow.target, flow.source))
        if mine in border.zones and not flow.is_rdma and behind
    }
    own = EMPTY
    for name in met:
        for part in declared.zone[name].parts:
            if (part.fabric, part.version) == (border.fabric, border.version):
                own |= part.addresses
    found = EMPTY
    for edge in declared.edges:
        if edge.fabric == border.fabric and edge.subnet & own:
            found |= edge.subnet
    return found


def _direction(
    router: Router, session: Session, name: str, border: DeclaredBorder, what: str, wanted: Ranges
) -> Iterator[_Fault]:
    if not name:
        direction = "in" if what == _LEARNT else "out"
        yield session.local_mark, f"the session has no route map {direction}: every prefix is {what}"
        return
    policy = router.policy(name)
    permits = [term for term in policy if term.permit]
    for term in policy[: policy.index(permits[-1])] if permits else ():
        if not term.permit:
            yield term.mark, f"a part of {name} refuses before another permits, and what is then {what} is not judged"
    for term in permits:
        if term.prefixes is None:
            yield term.mark, f"this part of {name} matches no prefix list: every prefix is {what}"
    is_drained = bool(policy) and not permits
    if not is_drained:
        yield from _lists(policy, permits, border, what, wanted)


def _lists(policy: Policy, permits: list[Term], border: DeclaredBorder, what: str, wanted: Ranges) -> Iterator[_Fault]:
    size = 4 if border.version == 4 else 16
    listed: set[tuple[int, int]] = set()
    passes = EMPTY
    for term, rule in ((each, rule) for each in permits for rule in each.prefixes or ()):
        if len(rule.within[0]) != size:
            continue
        prefix, mark = shown_prefix(rule.within), _place(term, rule)
        if not rule.permit or rule.low != rule.high or (what == _LEARNT and rule.low != rule.within[1]):
            lengths = f"{prefix} of {rule.low} to {rule.high} bits" if rule.permit else f"{prefix}, refused,"
            yield mark, f"{lengths} is not one prefix of one length: others may be {what} by it"
            continue
        own = addresses(prefix, border.version)
        if extra := own - wanted:
            shown = address(border.version, extra.bounds[0][0])
            yield mark, f"{prefix} is {what}, and {shown} of it is in no zone that should be"
        if term.communities is None:
            passes |= own
            listed.add((own.bounds[0][0], rule.within[1]))
    first = next((_place(term, None) for term in permits), policy[0].mark if policy else ())
    for low, length in border.prefixes if what == _LEARNT else ():
        if (low, length) not in listed:
            whole = f"{address(border.version, low)}/{length}"
            yield first, f"{whole} is in a zone that should be learnt, and no entry has this prefix at this length"
            return
    if lacking := wanted - passes:
        lost = address(border.version, lacking.bounds[0][0])
        yield first, f"{lost} is in a zone that should be {what}, and no prefix holds it"


def _place(term: Term, rule: PrefixRule | None) -> Mark:
    """Where a term's list stands, or an entry of it."""
    return (f"{term.list_name}\n", *((f" {shown_prefix(rule.within)}",) if rule is not None else ()))
