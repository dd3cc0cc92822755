"""Whether the filter that lies on a node's disk is the one in force: what loads it, and what starts another one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.hosts.linux.reader.unit_files import UNIT_FOLDERS
from clusterwright.hosts.linux.reader.units import Unit, unit_of
from clusterwright.proofs.check import Counterexample
from clusterwright.proofs.isolation.nodes import RUNNING
from clusterwright.proofs.tree import RenderedTree
from clusterwright.spec.firewalls import FIREWALL_UNITS

OWN = "etc/systemd/system/nftables.service"
LOADING = f"{OWN}.d/90-clusterwright.conf"
STARTING = "etc/systemd/system/multi-user.target.d/90-clusterwright.conf"
_STARTED = re.compile(r"^[ \t]*(?:Wants|Requires|Requisite|BindsTo|Upholds|OnSuccess|OnFailure|Unit)[ \t]*=(.*)$", re.M)


def unloaded(tree: RenderedTree) -> Iterator[Counterexample]:
    """Nodes whose filter lies on the disk, and that do not load it when they start."""
    judged: dict[tuple[str | None, str | None], list[tuple[str, str]]] = {}
    for device in tree.devices_with(RUNNING):
        texts = tree.text(device, LOADING), tree.text(device, STARTING)
        if texts not in judged:
            judged[texts] = list(_unloaded(*(unit_of(text or "") for text in texts)))
        yield from (
            Counterexample(device=device, file=path, line=0, message=message) for path, message in judged[texts]
        )


def _unloaded(loading: Unit, starting: Unit) -> Iterator[tuple[str, str]]:
    if loading.get("ExecStart") != f"/usr/sbin/nft -f /{RUNNING}":
        yield (
            LOADING,
            f"nftables.service does not load /{RUNNING}, or something else besides: the filter is not in force",
        )
    if "nftables.service" not in starting.get("Wants", "").split():
        yield STARTING, "nothing starts nftables.service: the filter is not in force"


def other_filters(tree: RenderedTree) -> Iterator[Counterexample]:
    """Units that load another filter than the rendered one, and what keeps that from being loaded at all."""
    filtered = frozenset(tree.devices_with(RUNNING))
    judged: dict[tuple[str, str], list[tuple[int, str]]] = {}
    units = frozenset(path for path in tree.paths if path.startswith(UNIT_FOLDERS))
    for (device, path), file in tree.files.items():
        if path not in units or device not in filtered:
            continue
        unit = file.device, path  # an image's is judged once for all that take it
        if unit not in judged:
            judged[unit] = list(_other_filter(path, file.read()))
        yield from (
            Counterexample(device=device, file=path, line=line, message=message) for line, message in judged[unit]
        )


def _other_filter(path: str, text: str) -> Iterator[tuple[int, str]]:
    """What is wrong with a unit, with the line."""
    name = path.rpartition("/")[2]
    if path == OWN and not text:
        yield 0, "nftables.service is masked: the filter is not in force"
    if name in FIREWALL_UNITS and (text or ".wants/" in path or ".requires/" in path):
        yield 0, f"{name} loads a packet filter of its own"
    if text:
        for found in _STARTED.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            for unit in sorted(FIREWALL_UNITS.intersection(found[1].split())):
                yield line, f"{unit} is started, and loads a packet filter of its own"
