"""Routes to undeclared places: default routes, routes to foreign addresses, routes between VRFs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from ipaddress import ip_network
from itertools import chain

from clusterwright.facts.reader import Fault, RouteCheck
from clusterwright.finding import VerifyError
from clusterwright.hosts.linux.reader.routes import ROUTES
from clusterwright.packets.ranges import Ranges
from clusterwright.packets.tokens import Unreadable
from clusterwright.packets.values import addresses
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.edges import leave_open, unreadable
from clusterwright.proofs.tree import RenderedTree
from clusterwright.switches.readers import READERS

_ROUTES = dict(chain(ROUTES.items(), *(reader.routes.items() for reader in READERS)))
_DEFAULTS = frozenset({"0.0.0.0/0", "::/0", "default"})


def route_faults(
    tree: RenderedTree,
    permitted: Mapping[int, Ranges],
    owner: Callable[[str], str] | None = None,
    note: Callable[[str, str, str], None] | None = None,
    is_declared_default: Callable[[str, str, str], bool] | None = None,
) -> Iterator[Counterexample]:
    """Routes to addresses of no zone and no fabric or through a host, and text that could bring one in.

    ``permitted`` are destinations by IP version, and ``owner`` gives the device of an address: hosts forward no
    packets, but could read them. Without ``owner`` nothing is declared: addresses named in the tree are permitted, and
    a route is at fault if it leads to public addresses and none of these. ``note`` is called with every route: its
    device, its destination and its next hop. ``is_declared_default`` says of the same three whether a flow to the
    internet needs that route.
    """
    fault_by_destination: dict[str, str] = {}

    def route_fault(device: str, destination: str, hop: str) -> str:
        if note is not None:
            note(device, destination, hop)
        if is_declared_default is not None and is_declared_default(device, destination, hop):
            return ""
        if destination not in fault_by_destination:
            is_declared = owner is not None
            fault_by_destination[destination] = _destination_fault(permitted, destination, is_declared=is_declared)
        fault = fault_by_destination[destination]
        host = "" if owner is None else owner(hop)
        if host and not fault:
            return f"a route to {destination} through {hop}, which is {host} and no gateway"
        return fault

    for device, path, reader in _files_with_routes(tree):
        text = tree.text(device, path) or ""
        try:
            for position, message in reader(text, partial(route_fault, device)):
                line = text.count("\n", 0, position) + 1
                yield Counterexample(device=device, file=path, line=line, message=message)
        except Unreadable as error:
            leave_open(tree, device, path, unreadable(device, path, error))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            leave_open(tree, device, path, VerifyError(f"{device}:/{path}: the routes do not read ({error!r})."))


def _files_with_routes(tree: RenderedTree) -> list[tuple[str, str, Callable[[str, RouteCheck], Iterator[Fault]]]]:
    """Device, path and reader of each file with routes, in order."""
    files = []
    for path in tree.paths:
        reader = next((read for end, read in _ROUTES.items() if path.endswith(end)), None)
        if reader is not None:
            files += [(device, path, reader) for device in tree.devices_with(path)]
    return sorted(files, key=lambda file: file[:2])


def leads_everywhere(destination: str) -> bool:
    """True for a default route in any spelling."""
    return destination in _DEFAULTS or destination.endswith("/0")


def _destination_fault(permitted: Mapping[int, Ranges], destination: str, *, is_declared: bool) -> str:
    if leads_everywhere(destination):
        return f"a default route ({destination}) leads everywhere, the internet included"
    version = 6 if ":" in destination else 4
    try:
        whole = addresses(destination, version)
    except ValueError as error:
        return f"this route does not read: {error}"
    if not is_declared:
        is_foreign = ip_network(destination, strict=False).is_global and not whole & permitted[version]
        reason = "public addresses, none of which an interface or a filter here names"
        return f"a route to {destination}, {reason}" if is_foreign else ""
    if whole - permitted[version]:
        return f"a route to {destination}, which holds addresses of no zone and no fabric"
    return ""
