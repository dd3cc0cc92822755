"""The filter on a node's disk is in force: a unit loads it, and no unit starts another."""

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
    """Nodes with a filter on their disk and no unit loading it at boot."""
    faults_by_texts: dict[tuple[str | None, str | None], list[tuple[str, str]]] = {}
    for device in tree.devices_with(RUNNING):
        texts = tree.text(device, LOADING), tree.text(device, STARTING)
        if texts not in faults_by_texts:
            faults_by_texts[texts] = list(_unloaded(*(unit_of(text or "") for text in texts)))
        for path, message in faults_by_texts[texts]:
            yield Counterexample(device=device, file=path, line=0, message=message)


def _unloaded(loading: Unit, starting: Unit) -> Iterator[tuple[str, str]]:
    if loading.get("ExecStart") != f"/usr/sbin/nft -f /{RUNNING}":
        yield (
            LOADING,
            f"nftables.service does not load /{RUNNING}, or something else besides: the filter is not in force",
        )
    others = sorted(loading.keys() - {"ExecStart", "ExecReload"})
    if others:  # such as a condition, under which systemd skips the unit
        yield LOADING, f"nftables.service has {', '.join(others)} besides its commands, which may keep it from loading"
    if "nftables.service" not in starting.get("Wants", "").split():
        yield STARTING, "nothing starts nftables.service: the filter is not in force"


def other_filters(tree: RenderedTree) -> Iterator[Counterexample]:
    """Units loading another filter than the rendered one, or keeping that from being loaded."""
    filtered = frozenset(tree.devices_with(RUNNING))
    faults_by_unit: dict[tuple[str, str], list[tuple[int, str]]] = {}
    units = frozenset(path for path in tree.paths if path.startswith(UNIT_FOLDERS))
    for (device, path), file in tree.files.items():
        if path not in units or device not in filtered:
            continue
        unit = file.device, path  # an image's unit is checked once for all its members
        if unit not in faults_by_unit:
            faults_by_unit[unit] = list(_other_filter(path, file.read()))
        for line, message in faults_by_unit[unit]:
            yield Counterexample(device=device, file=path, line=line, message=message)


def _other_filter(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Faults of a unit, with the line."""
    name = path.rpartition("/")[2]
    if path == OWN and not text:
        yield 0, "nftables.service is masked: the filter is not in force"
    is_dependency = ".wants/" in path or ".requires/" in path
    if name in FIREWALL_UNITS and (text or is_dependency):
        yield 0, f"{name} loads a packet filter of its own"
    for match in _STARTED.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        for unit in sorted(FIREWALL_UNITS.intersection(match[1].split())):
            yield line, f"{unit} is started, and loads a packet filter of its own"
