"""The rendered systemd-networkd files of a node as lines for ``ip -batch``: its real addresses, rules and routes."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.plan.model import Device, Plan
from clusterwright.platforms.linux.writer.network import FOLDER, WRITER

Section = tuple[str, dict[str, list[str]]]


def node_commands(plan: Plan, node: Device, interfaces: frozenset[str]) -> str:
    """What brings up these interfaces of a node as its rendered files say. Raises KeyError for a key it must know."""
    texts = {artifact.path: artifact.content.decode() for artifact in WRITER.render(plan, node)}
    first: list[str] = []
    later: list[str] = []
    for name in sorted(interfaces):
        for title, entries in _sections(texts[f"{FOLDER}/20-{name}.network"]):
            if title == "Address":
                first.append(f"addr add {entries['Address'][0]} dev {name}{_no_detection(entries['Address'][0])}")
            elif title == "RoutingPolicyRule":
                later.append(_rule(entries))
            elif title == "Route":
                later.append(_route(entries, name))
        first.append(f"link set {name} up")
    # A multipath route names other interfaces, which must be up by then.
    return "".join(f"{line}\n" for line in (*first, *later))


def _sections(text: str) -> Iterator[Section]:
    title = ""
    entries: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("["):
            yield title, entries
            title, entries = line.strip("[]"), {}
        elif "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            entries.setdefault(key, []).append(value)
    yield title, entries


def _rule(entries: dict[str, list[str]]) -> str:
    selector = f"from {entries['From'][0]}" if "From" in entries else f"oif {entries['OutgoingInterface'][0]}"
    return f"rule add {selector} table {entries['Table'][0]} priority {entries['Priority'][0]}"


def _route(entries: dict[str, list[str]], interface: str) -> str:
    words = [f"route add {entries['Destination'][0]}"]
    for key, word in (("Table", "table"), ("Metric", "metric"), ("PreferredSource", "src")):
        words += [f"{word} {value}" for value in entries.get(key, [])]
    if "MultiPathRoute" in entries:
        for hop in entries["MultiPathRoute"]:
            gateway, _, way = hop.partition("@")
            words.append(f"nexthop via {gateway} dev {way}")
    else:
        words += [f"via {value}" for value in entries.get("Gateway", [])]
        words.append(f"dev {interface}")
    return " ".join(words)


def _no_detection(address: str) -> str:
    return " nodad" if ":" in address else ""
