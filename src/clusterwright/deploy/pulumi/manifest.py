"""The manifest of a stack: the wanted tree of every device of every unit, by digest.

It is in the object store like its trees, so its own digest covers every byte that a stack sends to its devices. A
stack's program with a manifest registers its units and renders nothing: the trees shown and approved are sent, in spite
of edits of the spec meanwhile.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace

from clusterwright.deploy.pulumi.units import Stack
from clusterwright.deploy.pulumi.upper_layer import Downlinks
from clusterwright.deploy.store import Store


@dataclass(frozen=True, slots=True)
class ManifestUnit:
    """A unit with the digest of each device's tree, without devices out of the target's reach."""

    name: str
    kind: str
    devices: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The wanted state of one stack, without units that have no devices.

    ``downlinks`` are the upper layer's offers: in its own manifest to all pods, in a pod's manifest to that pod.
    ``former`` are the former names of renamed devices, under which a state may have them. ``away`` are devices out of
    service: their digests are those of their last trees, and nothing is sent to them. ``left_alone`` are, in the same
    way, the devices skipped by an update of others.
    """

    cluster: str
    stack: str
    layer: str
    pod: str
    units: tuple[ManifestUnit, ...]
    downlinks: Downlinks = field(default_factory=dict)
    former: Mapping[str, str] = field(default_factory=dict)
    away: tuple[str, ...] = ()
    left_alone: tuple[str, ...] = ()

    def leaving_out(self, away: Collection[str], given: Mapping[str, str]) -> Manifest:
        """The manifest without changes of devices ``away``: each keeps its tree of ``given``, or is in no unit."""
        own_away = {name for name in self.trees if name in away}
        if not own_away:
            return self
        trees = {name: digest for name, digest in self.trees.items() if name not in own_away}
        trees |= {name: given[name] for name in own_away if name in given}
        units = []
        for unit in self.units:
            devices = {name: trees[name] for name in unit.devices if name in trees}
            if devices:
                units.append(replace(unit, devices=devices))
        return replace(self, units=tuple(units), away=tuple(sorted(own_away & given.keys())))

    def alone(self, devices: Collection[str], given: Mapping[str, str]) -> Manifest:
        """The manifest of ``devices`` only: every other one keeps its tree of ``given``, or is in no unit."""
        other_devices = self.trees.keys() - frozenset(devices)
        partial = self.leaving_out(other_devices, given)
        return replace(partial, away=self.away, left_alone=tuple(sorted(other_devices & given.keys())))

    def with_trees(self, digests: Mapping[str, str]) -> Manifest:
        """The manifest with the trees of ``digests`` for their devices."""
        if self.trees.keys().isdisjoint(digests):
            return self
        units = []
        for unit in self.units:
            devices = {name: digests.get(name, digest) for name, digest in unit.devices.items()}
            units.append(replace(unit, devices=devices))
        return replace(self, units=tuple(units))

    @property
    def trees(self) -> dict[str, str]:
        """Digests of all devices' trees."""
        trees: dict[str, str] = {}
        for unit in self.units:
            trees.update(unit.devices)
        return trees

    def content(self) -> bytes:
        """The manifest's bytes in the store."""
        data = {key: value for key, value in asdict(self).items() if key not in ("away", "left_alone") or value}
        return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()

    @property
    def digest(self) -> str:
        """SHA-256 of ``content``."""
        return hashlib.sha256(self.content()).hexdigest()


def manifest_of(
    cluster: str, stack: Stack, trees: Mapping[str, str], downlinks: Downlinks, former: Mapping[str, str]
) -> Manifest:
    """The manifest of ``stack``; ``trees`` has the digest of each device in the target's reach.

    ``former`` has the former names of the cluster's renamed devices.
    """
    units = []
    for unit in stack.units:
        # An unmanaged switch has no files of its own, and the target may not reach every device.
        devices = {name: trees[name] for name in unit.devices if name in trees}
        if devices:
            units.append(ManifestUnit(name=unit.name, kind=unit.kind, devices=devices))
    return Manifest(
        cluster=cluster,
        stack=stack.name,
        layer=stack.layer,
        pod=stack.pod,
        units=tuple(units),
        downlinks=downlinks,
        former={name: former[name] for name in stack.devices if name in former},
    )


def load_manifest(store: Store, digest: str) -> Manifest:
    """The manifest with this digest. Raises MissingObject."""
    data = json.loads(store.get(digest))
    units = tuple(ManifestUnit(unit["name"], unit["kind"], unit["devices"]) for unit in data["units"])
    return Manifest(
        cluster=data["cluster"],
        stack=data["stack"],
        layer=data["layer"],
        pod=data["pod"],
        units=units,
        # Earlier manifests lack these.
        downlinks=data.get("downlinks", {}),
        former=data.get("former", {}),
        away=tuple(data.get("away", ())),
        left_alone=tuple(data.get("left_alone", ())),
    )


def joint_digest(manifests: Mapping[str, Manifest]) -> str:
    """One digest for the manifests of several stacks, by the stacks' names."""
    lines = "".join(f"{name}\0{manifest.digest}\n" for name, manifest in sorted(manifests.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
