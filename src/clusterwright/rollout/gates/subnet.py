"""The gate of InfiniBand fabrics: scans before and after a wave with their switches or subnet managers.

ibnetdiscover runs on a host of the fabric. Its scan is compared with the plan as by ``clusterwright observe``, and only
new differences after the wave count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
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
_HOSTS = 3  # most hosts tried for a scan
_SHOWN = 3
_WORD = re.compile(r"[\w-]+")

Differences = frozenset[tuple[str, str]]
"""Differences of a scan from the plan: the device to go to, and the sentence."""


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
        """Differences of each changed fabric from the plan, or the reason for no scan."""
        return {fabric: self._scanned(fabric) for fabric in self._fabrics(wave.devices)}

    def after(self, wave: Wave, trees: Mapping[str, str], before: Any) -> GateAnswer:
        """See ``Gate``."""
        wrong: dict[str, str] = {}
        notes: list[str] = []
        fabrics = self._fabrics(trees)
        for fabric, changed in fabrics.items():
            differences_before = before.get(fabric, "it was not scanned before")

            def complaints(
                names: Sequence[str], fabric: str = fabric, before: Differences | str = differences_before
            ) -> Mapping[str, str]:
                return self._complaints(fabric, names, before)

            wrong |= until_well(changed, self.policy.deadline_s, complaints)
            if isinstance(differences_before, frozenset) and differences_before:
                count = len(differences_before)
                notes.append(f"{fabric} differed from the plan in {count} places before the wave: they do not count")
        return GateAnswer(sum(len(changed) for changed in fabrics.values()), wrong, tuple(notes))

    def _complaints(self, fabric: str, changed: Sequence[str], before: Differences | str) -> Mapping[str, str]:
        """New differences of each changed device; one without a changed device counts against all."""
        differences = self._scanned(fabric)
        if isinstance(differences, str):
            return dict.fromkeys(changed, f"{fabric} cannot be scanned: {differences}")
        if isinstance(before, frozenset):
            differences -= before
        by_device: dict[str, list[str]] = {}
        for place, message in sorted(differences):
            named = [name for name in changed if name == place or name in _WORD.findall(message)]
            for name in named or changed:
                by_device.setdefault(name, []).append(message)
        return {
            name: f"{fabric} is not as before: {and_more(lines, _SHOWN, '; ')}" for name, lines in by_device.items()
        }

    def _fabrics(self, names: Iterable[str]) -> dict[str, list[str]]:
        """InfiniBand fabrics within reach of a change of these devices, each with those devices."""
        fabrics: dict[str, list[str]] = {}
        for name in names:
            for fabric in self._fabrics_of(name):
                fabrics.setdefault(fabric, []).append(name)
        return fabrics

    def _fabrics_of(self, name: str) -> tuple[str, ...]:
        """The fabric of a switch, and the fabrics with a subnet managed by a host."""
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
        """Differences of the scans of all subnets of a fabric from the plan, or the reason for no scan."""
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
        """A scan of a subnet from the first host able to give one, or the reason for none."""
        why = f"no host of {subnet.name} has an address in the access file"
        for host, adapter in islice(self._hosts(subnet), _HOSTS):
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
        """Hosts on a subnet, those of its manager first, each with its adapter there."""
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
        for nic in model.nics:
            if nic.interface == port:
                return nic.rdma_device or ""
        return ""


def _key(difference: ObservedDifference) -> tuple[str, str]:
    return difference.place.device, difference.message
