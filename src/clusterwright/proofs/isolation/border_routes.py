"""BGP session of a border: only the planned neighbour can open it, and only planned prefixes are exchanged.

Its policies and prefix lists are compared with the zones on either side.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from clusterwright.facts.reader import Unsupported
from clusterwright.facts.router import (
    DEFAULT_HOLD_TIME_S,
    Mark,
    Policy,
    PrefixRule,
    Router,
    Session,
    Term,
    covers,
    line_of,
    list_permits,
    packed,
    prefix_of,
    shown,
    shown_prefix,
)
from clusterwright.packets.phrases import address
from clusterwright.packets.ranges import EMPTY, Interval, Ranges, ranges
from clusterwright.packets.values import addresses
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.declared import DeclaredBorder, DeclaredIsolation
from clusterwright.proofs.session_authentication import authentication_fault
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS

_LEARNT, _ANNOUNCED = "learnt", "announced"
_Fault = tuple[Mark, str]
_Network = tuple[int, int]
"""An address and a prefix length."""


def border_route_faults(tree: RenderedTree, declared: DeclaredIsolation) -> Iterator[Counterexample]:
    """Differences between a border's session, learnt and announced prefixes, and the declared ones.

    Raises VerifyError for a switch with text that does not parse.
    """
    drained = tree.declaration.drained if tree.declaration is not None else frozenset[str]()
    for border in declared.borders:
        for reader in READERS:
            if isinstance(reader.router, Unsupported) or (border.switch, reader.file) not in tree.files:
                continue
            router = reader.router(border.switch, partial(_text, tree, border.switch))
            if router is None:
                yield Counterexample(
                    device=border.switch,
                    file=reader.file,
                    line=0,
                    message=f"border {border.name}: the switch routes nothing",
                )
                continue
            for mark, message in _border(router, border, declared, is_drained=border.switch in drained):
                line = line_of(tree.text(border.switch, router.bgp_file) or "", mark)
                yield Counterexample(
                    device=border.switch, file=reader.file, line=line, message=f"border {border.name}: {message}"
                )


def _text(tree: RenderedTree, device: str, path: str) -> str:
    return tree.text(device, path) or ""


def _border(
    router: Router, border: DeclaredBorder, declared: DeclaredIsolation, *, is_drained: bool
) -> Iterator[_Fault]:
    neighbour = address(border.version, border.neighbour)
    session = next((session for session in router.sessions if session.peer == packed(neighbour)), None)
    if session is None:
        yield router.asn_mark, f"there is no session with {neighbour}"
        return
    yield from _link(router, border)
    yield from _neighbour(session, border)
    if not is_drained:
        yield from _unoriginated(router, border, declared)
    check = partial(_direction, router, session, border=border, is_drained=is_drained)
    yield from check(session.into, exchange=_LEARNT, wanted=border.prefixes)
    yield from check(session.out_of, exchange=_ANNOUNCED, wanted=_inside(declared, border))


def _link(router: Router, border: DeclaredBorder) -> Iterator[_Fault]:
    """Faults of the border's port that keep the session down."""
    near = packed(address(border.version, border.switch_address))
    far = packed(address(border.version, border.neighbour))
    port = next((port for port in router.ports if port.name == border.port), None)
    if port is None:
        yield router.asn_mark, f"{border.port} is not in service"
    elif port.address != near or port.subnet is None or not covers(port.subnet, (far, 8 * len(far))):
        has = "no address" if port.address is None else f"{shown(port.address)}/{port.length}"
        yield port.mark, f"{border.port} has {has}, and the session is between {shown(near)} and {shown(far)}"


def _neighbour(session: Session, border: DeclaredBorder) -> Iterator[_Fault]:
    """Faults in a session's AS, authentication, hold time and route limit."""
    if session.remote_as != border.asn:
        yield session.as_mark, f"the neighbour is AS {border.asn}, and the session expects AS {session.remote_as}"
    fault = "" if border.authentication is None else authentication_fault(session, border.authentication)
    if fault:
        yield session.auth_mark if session.authentication else session.group_mark, fault
    if not 0 < session.hold_time_s <= DEFAULT_HOLD_TIME_S:
        long = f"for {session.hold_time_s} s" if session.hold_time_s else "for ever"
        yield session.hold_mark or session.group_mark, f"a neighbour that is silent counts as alive {long}"
    if not session.most_routes:
        yield session.group_mark, "nothing limits how many routes the outside may announce"
    elif session.most_routes < len(border.prefixes):
        yield (
            session.group_mark,
            f"the session ends at {session.most_routes} routes, and {len(border.prefixes)} should be learnt",
        )


def _unoriginated(router: Router, border: DeclaredBorder, declared: DeclaredIsolation) -> Iterator[_Fault]:
    """The switch's own prefixes missing from BGP although the outside should learn them."""
    originated = {prefix for prefix, _ in router.networks}
    for low, length in _inside(declared, border, border.switch):
        prefix = f"{address(border.version, low)}/{length}"
        if prefix_of(prefix) not in originated:
            yield router.asn_mark, f"{prefix} is in a zone that should be announced, and BGP does not take it up"


def _inside(declared: DeclaredIsolation, border: DeclaredBorder, switch: str = "") -> tuple[_Network, ...]:
    """Whole host subnets and loopbacks of zones with a flow to or from the zones behind a border.

    ``switch`` limits them to those of one switch; "" gives those of the whole fabric.
    """
    met: set[str] = set()
    for flow in declared.flows:
        if flow.is_rdma or not border.prefixes:
            continue
        if flow.source in border.zones:
            met.add(flow.target)
        if flow.target in border.zones:
            met.add(flow.source)
    addresses_inside = EMPTY
    for name in met:
        for part in declared.zone[name].parts:
            if (part.fabric, part.version) == (border.fabric, border.version):
                addresses_inside |= part.addresses
    bits = 32 if border.version == 4 else 128
    networks = []
    for edge in declared.edges:
        if edge.fabric == border.fabric and edge.subnet & addresses_inside and switch in {"", edge.switch}:
            networks += [(low, bits - (high - low).bit_length()) for low, high in edge.subnet.bounds]
    networks += [(source, bits) for source in _loopbacks(declared, border, addresses_inside, switch)]
    return tuple(networks)


def _loopbacks(declared: DeclaredIsolation, border: DeclaredBorder, inside: Ranges, switch: str) -> Iterator[int]:
    """Loopbacks among addresses, used by switches of a border's fabric as the source of requests to servers."""
    bounds: list[Interval] = []
    for edge in declared.edges:
        if edge.fabric == border.fabric:
            bounds += edge.subnet.bounds
    subnets = ranges(bounds)
    for name, (version, source) in declared.fabric_sources.items():
        is_selected = switch in {"", name} and declared.switches.get(name) == border.fabric
        is_loopback = version == border.version and source not in subnets
        if is_selected and is_loopback and source in inside:
            yield source


def _direction(
    router: Router,
    session: Session,
    name: str,
    *,
    border: DeclaredBorder,
    exchange: str,
    wanted: tuple[_Network, ...],
    is_drained: bool,
) -> Iterator[_Fault]:
    if not name:
        direction = "in" if exchange == _LEARNT else "out"
        yield session.local_mark, f"the session has no route map {direction}: every prefix is {exchange}"
        return
    policy = router.policy(name)
    permits = [term for term in policy if term.permit]
    if permits:
        for term in policy[: policy.index(permits[-1])]:
            if not term.permit:
                message = f"a part of {name} refuses before another permits: the prefixes {exchange} are not checked"
                yield term.mark, message
    for term in permits:
        if term.prefixes is None:
            yield term.mark, f"this part of {name} matches no prefix list: every prefix is {exchange}"
    # a drained switch refuses everything
    if permits or not policy or not is_drained:
        yield from _lists(policy, permits, border, exchange, wanted)


def _lists(
    policy: Policy, permits: list[Term], border: DeclaredBorder, exchange: str, wanted: tuple[_Network, ...]
) -> Iterator[_Fault]:
    bits = 32 if border.version == 4 else 128
    whole = ranges((low, low + (1 << bits - length) - 1) for low, length in wanted)
    passes: list[PrefixRule] = []
    entries = []
    for permit in permits:
        entries += [(permit, rule) for rule in permit.prefixes or ()]
    for term, rule in entries:
        if 8 * len(rule.within[0]) != bits:
            continue
        prefix, place = shown_prefix(rule.within), _place(term, rule)
        if not rule.permit or rule.low != rule.high or (exchange == _LEARNT and rule.low != rule.within[1]):
            lengths = f"{prefix} of {rule.low} to {rule.high} bits" if rule.permit else f"{prefix}, refused,"
            yield place, f"{lengths} is not one prefix of one length: others may be {exchange} by it"
            continue
        extra = addresses(prefix, border.version) - whole
        if extra:
            stray = address(border.version, extra.bounds[0][0])
            yield place, f"{prefix} is {exchange}, and {stray} of it is in no zone that should be"
        if term.communities is None:
            passes.append(rule)
    mark = _policy_mark(policy, permits)
    for low, length in wanted:
        prefix = f"{address(border.version, low)}/{length}"
        if not list_permits(tuple(passes), prefix_of(prefix)):
            yield mark, f"{prefix} is in a zone that should be {exchange}, and no entry has this prefix at this length"
            return


def _policy_mark(policy: Policy, permits: list[Term]) -> Mark:
    """Mark of the first permitted list, or else of the policy."""
    if permits:
        return _place(permits[0], None)
    return policy[0].mark if policy else ()


def _place(term: Term, rule: PrefixRule | None) -> Mark:
    """Mark of a term's list, or of an entry in it."""
    if rule is None:
        return (f"{term.list_name}\n",)
    return f"{term.list_name}\n", f" {shown_prefix(rule.within)}"
