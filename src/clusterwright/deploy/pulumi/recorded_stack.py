"""Devices' last trees according to a stack's state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clusterwright.deploy.pulumi.upper_layer import Downlinks

PROVIDER_TYPE = "pulumi:providers:clusterwright"


@dataclass(frozen=True, slots=True)
class RecordedStack:
    """The digest of each device's last tree, "" for a device known to hold other files.

    ``failed`` has the reasons of devices without their last tree; ``downlinks`` are the offers of a stack of the upper
    layer to pods. ``manifest`` is the digest of the stack's last manifest, "" if unknown, ``provider`` the settings of
    its provider: the folder of files, and the transport to devices.
    """

    trees: Mapping[str, str]
    failed: Mapping[str, str]
    downlinks: Downlinks = field(default_factory=dict)
    manifest: str = ""
    provider: Mapping[str, str] = field(default_factory=dict)

    def under(self, former: Mapping[str, str]) -> RecordedStack:
        """The state under the devices' present names; ``former`` has the former names of renamed devices.

        A device already under its new name in the state is not renamed again.
        """
        new_names = {old: new for new, old in former.items() if new not in self.trees}
        return replace(
            self,
            trees={new_names.get(name, name): digest for name, digest in self.trees.items()},
            failed={new_names.get(name, name): reason for name, reason in self.failed.items()},
            downlinks={new_names.get(name, name): offers for name, offers in self.downlinks.items()},
        )

    def with_running(self, devices: Iterable[str]) -> RecordedStack:
        """The state with running ``devices`` added: their files are unknown."""
        return replace(self, trees={**self.trees, **dict.fromkeys(devices, "")})


def read_given(state: Mapping[str, Any]) -> RecordedStack:
    """Devices' last trees from a stack's state; ``state`` is a deployment exported by Pulumi."""
    trees: dict[str, str] = {}
    failed: dict[str, str] = {}
    downlinks: dict[str, Mapping[str, str]] = {}
    manifest = ""
    provider: dict[str, str] = {}
    for resource in state.get("resources", []):
        outputs = resource.get("outputs", {})
        if resource["type"] == "pulumi:pulumi:Stack":
            manifest = outputs.get("manifest", "")
        if resource["type"] == PROVIDER_TYPE:
            provider = {key: value for key, value in resource.get("inputs", {}).items() if isinstance(value, str)}
        if resource.get("custom") and isinstance(outputs.get("devices"), dict):
            trees |= outputs["devices"]
            failed |= outputs.get("failed", {})
            downlinks |= dict.fromkeys(outputs["devices"], outputs.get("downlinks", {}))
    return RecordedStack(trees=trees, failed=failed, downlinks=downlinks, manifest=manifest, provider=provider)
