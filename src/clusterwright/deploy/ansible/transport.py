"""Settings of Ansible for one transport to devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from clusterwright.deploy.target import DeviceTree, Outcome


@dataclass(frozen=True, slots=True)
class PlaybookPlaces:
    """Paths of a playbook's inputs on the machine running it, as text with Ansible's variables.

    ``bundles`` is the folder of payloads, ``scratch`` one for temporary files, ``files`` has those of
    ``Transport.files`` by their meaning.
    """

    bundles: str
    scratch: str
    files: Mapping[str, str]


class Transport(Protocol):
    """A playbook with its inventory and settings, for the devices in ``addresses``."""

    @property
    def addresses(self) -> Mapping[str, str]:
        """Device -> address."""
        ...

    @property
    def playbook(self) -> str:
        """The playbook's name among the roles."""
        ...

    @property
    def is_portable(self) -> bool:
        """Whether an execution node can do it as well as the control node."""
        ...

    @property
    def files(self) -> Mapping[str, Path]:
        """Required files, by their purpose."""
        ...

    def settled(self, tree: DeviceTree) -> Outcome | None:
        """The outcome for a tree that needs no connection to the device; None for all others."""
        ...

    def payload(self, tree: DeviceTree) -> bytes:
        """The playbook's input file for a device."""
        ...

    def inventory(self, devices: Collection[str], places: PlaybookPlaces, *, reading: bool) -> Mapping[str, Any]:
        """The hosts of one run alone: Ansible's start-up time grows with its inventory."""
        ...

    def environment(self, places: PlaybookPlaces) -> Mapping[str, str]:
        """Ansible's settings beyond those of every run."""
        ...
