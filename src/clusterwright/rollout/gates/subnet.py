"""The gate that scans an InfiniBand fabric: before and after a wave that changes its switches or its subnet manager.

The scan is ibnetdiscover's, run on a host of the fabric. It is compared with the plan as ``clusterwright observe`` does
it, and only a difference counts that is there after the wave and was not before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.and_more import and_more
from clusterwright.deploy.ansible.query import RemoteCommand
from clusterwright.deploy.target import Unreachable
from clusterwright.finding import ClusterwrightError
from clusterwright.hosts.opensm.writer.configuration import subnet_of_ufm, subnets_managed
from clusterwright.observe.compare import compare
from clusterwright.observe.difference import ObservedDifference
from clusterwright.observe.ibnetdiscover import Scan, parse
from clusterwright.plan.model import IbSubnet
from clusterwright.rollout.gates.health import DeviceGate, GateAnswer, until_well
from clusterwright.rollout.waves import Wave

_LIMIT_S = 120  # a scan of 26,500 nodes takes half a minute
_HOSTS = 3  # that are asked for a scan before there is none
_SHOWN = 3
_WORD = re.compile(r"[\w-]+")

Differences = frozenset[tuple[str, str]]
"""What a scan differs in from the plan: the device to go to, and the sentence."""


@dataclass(frozen=True, slots=True)
class SubnetScan(DeviceGate):
    """See the module."""

    name: str = "subnet"

    def question(self) -> str:
        """See ``Gate``."""
        return (
            "a scan of the InfiniBand fabrics whose switches or subnet managers changed has every planned link that it "
            f"had before, within {self.policy.deadline_s} s"
        )

    def before(self, wave: Wave) -> Mapping[str, Differences | str]:
        """Differences of each fabric that the wave changes from the plan, or why it cannot be scanned."""
        return {fabric: self._scanned(fabric) for fabric in self._fabrics(wave.devices)}

    def after(self, wave: Wave, trees: Mapping[str, str], before: Any) -> GateAnswer:
        """See ``Gate``."""
        wrong: dict[str, str] = {}
        notes: list[str] = []
        fabrics = self._fabrics(trees)
        for fabric, changed in fabrics.items():
            known_before = before.get(fabric, "it was not scanned before")

            def complaints(
                names: Sequence[str], fabric: str = fabric, known_before: Differences | str = known_before
            ) -> Mapping[str, str]:
                return self._complaints(fabric, names, known_before)

            wrong |= until_well(changed, self.policy.deadline_s, complaints)
            if isinstance(known_before, frozenset) and known_before:
                notes.append(
                    f"{fabric} differed from the plan in {len(known_before)} places before the wave: they do not count"
                )
        return GateAnswer(sum(len(changed) for changed in fabrics.values()), wrong, tuple(notes))

    def _complaints(self, fabric: str, changed: Sequence[str], known_before: Differences | str) -> Mapping[str, str]:
        """New differences of each changed device; one that names no device is held against all."""
        differences = self._scanned(fabric)
        if isinstance(differences, str):
            return dict.fromkeys(changed, f"{fabric} cannot be scanned: {differences}")
        new = sorted(differences - (known_before if isinstance(known_before, frozenset) else frozenset()))
        by_device: dict[str, list[str]] = {}
        for place, message in new:
            named = [name for name in changed if name == place or name in _WORD.findall(message)]
            for name in named or changed:
                by_device.setdefault(name, []).append(message)
        return {
            name: f"{fabric} is not as before: {and_more(lines, _SHOWN, '; ')}" for name, lines in by_device.items()
        }

    def _fabrics(self, names: Iterable[str]) -> dict[str, list[str]]:
        """The InfiniBand fabrics that a change of these devices may reach, each with those devices."""
        fabrics: dict[str, list[str]] = {}
        for name in names:
            for fabric in self._fabrics_of(name):
                fabrics.setdefault(fabric, []).append(name)
        return fabrics

    def _fabrics_of(self, name: str) -> tuple[str, ...]:
        """The fabric of a switch, and those with a subnet that a host manages."""
        device = self.plan.by_name.get(name)
        if device is None:
            return ()
        if device.kind == "switch":
            fabric = self.plan.spec.fabric(device.fabric)
            return (fabric.name,) if fabric is not None and fabric.technology == "infiniband" else ()
        managed = [subnet.fabric.name for subnet in subnets_managed(self.plan, device)]
        of_ufm = subnet_of_ufm(self.plan, device)
        if of_ufm is not None:
            managed.append(of_ufm.fabric.name)
        return tuple(dict.fromkeys(managed))

    def _scanned(self, fabric: str) -> Differences | str:
        """Differences of the scans of all subnets of a fabric from the plan, or why one cannot be scanned."""
        scans = []
        for subnet in self.plan.ib_subnets.values():
            if subnet.fabric.name == fabric:
                scan = self._scan(subnet)
                if isinstance(scan, str):
                    return scan
                scans.append(scan)
        try:
            return frozenset(map(_key, compare(self.plan, fabric, scans)))
        except ClusterwrightError as error:
            return str(error)

    def _scan(self, subnet: IbSubnet) -> Scan | str:
        """A scan of a subnet from the first host that gives one, or why none does."""
        why = f"no host of {subnet.name} has an address in the access file"
        for host, adapter in _first(self._hosts(subnet), _HOSTS):
            command = ("ibnetdiscover", "--Ca", adapter) if adapter else ("ibnetdiscover",)
            answer = self.devices.run({host: RemoteCommand(command, min(_LIMIT_S, self.policy.deadline_s))})[host]
            if isinstance(answer, Unreachable):
                why = f"{host}: {answer.message}"
            elif answer.status != 0:
                why = f"{host}: {answer.said}"
            else:
                try:
                    return parse(answer.output, f"{host}'s scan")
                except ClusterwrightError as error:
                    why = str(error)
        return why

    def _hosts(self, subnet: IbSubnet) -> Iterator[tuple[str, str]]:
        """Hosts that can scan a subnet, those of its manager first, each with its adapter there."""
        fabric = subnet.fabric.name
        nodes = [device.name for device in self.plan.devices if device.kind == "node"]
        managers = [name for name in nodes if fabric in self._fabrics_of(name)]
        for name in dict.fromkeys([*managers, *nodes]):
            if name not in self.devices.over_ssh:
                continue
            for cable in self.plan.cables_of[name]:
                if cable.fabric == fabric and cable.in_service and cable.b.device in subnet.switches:
                    yield name, self._adapter(name, cable.a.port)
                    break

    def _adapter(self, name: str, port: str) -> str:
        model = self.plan.spec.catalogue[self.plan.by_name[name].model]
        nics = model.nics
        return next((nic.rdma_device or "" for nic in nics if nic.interface == port), "")


def _key(difference: ObservedDifference) -> tuple[str, str]:
    return difference.place.device, difference.message


def _first(hosts: Iterator[tuple[str, str]], most: int) -> Iterator[tuple[str, str]]:
    return (host for _, host in zip(range(most), hosts, strict=False))
