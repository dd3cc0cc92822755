"""The manifest of a stack: which tree every device of every unit is to have, by digest.

It lies in the object store like the trees that it names, so its own digest stands for every byte that a stack brings to
its devices. A stack's program that is given a manifest registers what it says and renders nothing: what was shown and
approved is what is sent, whatever becomes of the spec meanwhile.
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
    """A unit with the digest of each device's tree; devices that the target does not reach are left out."""

    name: str
    kind: str
    devices: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The wanted state of one stack; units without devices are left out.

    ``downlinks`` are what the upper layer offers pods: in its own manifest to all, in a pod's what that leans on.
    ``former`` are the names that devices had before they were renamed, which a state may know them by. ``away`` are
    those out of service: their digests are what they were given last, and nothing is sent to them. ``left_alone`` are
    those that an update of other devices leaves as they are, in the same way.
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
        """The same without changes of devices ``away``: each keeps its tree of ``given``, or is in no unit."""
        out = {name for name in self.trees if name in away}
        if not out:
            return self
        held = {name: digest for name, digest in self.trees.items() if name not in out}
        held |= {name: given[name] for name in out if name in given}
        units = (
            replace(unit, devices={name: held[name] for name in unit.devices if name in held}) for unit in self.units
        )
        remaining = tuple(unit for unit in units if unit.devices)
        return replace(self, units=remaining, away=tuple(sorted(out & given.keys())))

    def alone(self, devices: Collection[str], given: Mapping[str, str]) -> Manifest:
        """The same for ``devices`` only: every other one keeps its tree of ``given``, or is in no unit."""
        others = self.trees.keys() - frozenset(devices)
        kept = self.leaving_out(others, given)
        return replace(kept, away=self.away, left_alone=tuple(sorted(others & given.keys())))

    def with_trees(self, digests: Mapping[str, str]) -> Manifest:
        """The same with the trees of ``digests`` for the devices that it names."""
        if self.trees.keys().isdisjoint(digests):
            return self
        units = (
            replace(unit, devices={name: digests.get(name, digest) for name, digest in unit.devices.items()})
            for unit in self.units
        )
        return replace(self, units=tuple(units))

    @property
    def trees(self) -> dict[str, str]:
        """Every device's tree."""
        trees: dict[str, str] = {}
        for unit in self.units:
            trees.update(unit.devices)
        return trees

    def content(self) -> bytes:
        """The manifest as the store keeps it."""
        data = {key: value for key, value in asdict(self).items() if key not in ("away", "left_alone") or value}
        return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()

    @property
    def digest(self) -> str:
        """SHA-256 of ``content``."""
        return hashlib.sha256(self.content()).hexdigest()


def manifest_of(
    cluster: str, stack: Stack, trees: Mapping[str, str], downlinks: Downlinks, former: Mapping[str, str]
) -> Manifest:
    """The manifest of ``stack`` when ``trees`` has the digest of each device that the target reaches.

    ``former`` has the earlier names of the cluster's devices that were renamed.
    """
    units = (
        ManifestUnit(unit.name, unit.kind, {name: trees[name] for name in unit.devices if name in trees})
        for unit in stack.units
    )
    # An unmanaged switch has no files of its own, and the target may not reach every device.
    return Manifest(
        cluster=cluster,
        stack=stack.name,
        layer=stack.layer,
        pod=stack.pod,
        units=tuple(unit for unit in units if unit.devices),
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
        downlinks=data.get("downlinks", {}),
        former=data.get("former", {}),
        away=tuple(data.get("away", ())),
        left_alone=tuple(data.get("left_alone", ())),
    )  # earlier ones had none


def joint_digest(manifests: Mapping[str, Manifest]) -> str:
    """One digest for the manifests of several stacks, by the stacks' names."""
    lines = "".join(f"{name}\0{manifest.digest}\n" for name, manifest in sorted(manifests.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
