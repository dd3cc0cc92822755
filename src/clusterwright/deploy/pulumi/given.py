"""Trees that devices were given last, by a stack's state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clusterwright.deploy.pulumi.upper_layer import Downlinks

PROVIDER_TYPE = "pulumi:providers:clusterwright"


@dataclass(frozen=True, slots=True)
class Given:
    """The digest of each device's last tree, "" where it is known to hold another one.

    ``failed`` says why devices did not take their last tree; ``downlinks`` are the offers of a stack of the upper layer
    to pods. ``manifest`` is the digest of the stack's last manifest, "" where that is not known, ``provider`` the
    settings of its provider: where files are kept, and how they reach devices.
    """

    trees: Mapping[str, str]
    failed: Mapping[str, str]
    downlinks: Downlinks = field(default_factory=dict)
    manifest: str = ""
    provider: Mapping[str, str] = field(default_factory=dict)

    def under(self, former: Mapping[str, str]) -> Given:
        """The same under the names that devices have now; ``former`` has those before, of the ones that were renamed.

        A state that knows a device by its new name has been told already.
        """
        now = {was: name for name, was in former.items() if name not in self.trees}
        return replace(
            self,
            trees={now.get(name, name): digest for name, digest in self.trees.items()},
            failed={now.get(name, name): why for name, why in self.failed.items()},
            downlinks={now.get(name, name): of for name, of in self.downlinks.items()},
        )

    def with_running(self, devices: Iterable[str]) -> Given:
        """The same with ``devices`` that run, though the state does not know them: they hold something else."""
        return replace(self, trees={**self.trees, **dict.fromkeys(devices, "")})


def read_given(state: Mapping[str, Any]) -> Given:
    """Devices' last trees from a stack's state; ``state`` is the deployment that Pulumi exports."""
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
    return Given(trees=trees, failed=failed, downlinks=downlinks, manifest=manifest, provider=provider)
