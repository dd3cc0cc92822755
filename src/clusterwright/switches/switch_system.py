"""A switch system, in one record. Its syntax stays inside its package.

A member without a value is ``Unsupported`` with the reason, so that code for all systems can report it. Possible
settings of a system are data (inventory/systems), read by rules and intent without this record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from clusterwright.device_files.differing import Differing
from clusterwright.device_files.drift import Compare
from clusterwright.device_files.effect import Effects
from clusterwright.device_files.writer import Writer
from clusterwright.facts.reader import SystemReader, Unsupported
from clusterwright.plan.first_contact import PortContact
from clusterwright.plan.model import Plan
from clusterwright.plugins import SYSTEMS, load_plugin, plugins, unusable_plugin
from clusterwright.switches.first_contact import ContactFile

_NOT_WRITTEN = Unsupported("its package writes no first configuration")
_NO_RELEASE = Unsupported("no command is known that prints its release")


@dataclass(frozen=True, slots=True)
class SessionsProbe:
    """The question for a switch's BGP sessions: the ``command``, by the switch's own API if ``is_eapi``.

    ``states`` reads the JSON of the answer: addresses as Python writes them, states as RFC 4271 does. Raises
    ValueError, LookupError, TypeError or AttributeError for another answer.
    """

    command: tuple[str, ...]
    states: Callable[[Any], Iterator[tuple[str, str]]]
    is_eapi: bool = False


@dataclass(frozen=True, slots=True)
class ReleaseProbe:
    """The question for a switch's running release: the ``command``, by the switch's own API if ``is_eapi``.

    ``release`` reads the answer: JSON of an API, text otherwise. Raises ValueError, LookupError, TypeError or
    AttributeError for an answer without a release.
    """

    command: tuple[str, ...]
    release: Callable[[Any], str]
    is_eapi: bool = False


@dataclass(frozen=True, slots=True)
class Probes:
    """Questions to a running switch: commands for operators during bring-up, and those of the gates."""

    neighbours: tuple[str, ...] | Unsupported
    counters: tuple[str, ...] | Unsupported
    sessions: SessionsProbe | Unsupported
    configuration: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Commands that print the running configuration, by the path of the rendered file; other files are copied."""
    release: ReleaseProbe | Unsupported = _NO_RELEASE


@dataclass(frozen=True, slots=True)
class SwitchSystem:
    """A system, in one record.

    ``drift`` compares running files by file, ``differing`` finds the places different from the rendered file,
    ``effects`` are those of a file's changes while it is applied. ``steps`` names the file of the role device_tree with
    the steps to bring the switch onto its changed files (roles/device_tree/systems). ``first_contact`` writes an
    unconfigured switch's first file.
    """

    reader: SystemReader
    writer: Writer
    drift: Mapping[str, Compare]
    differing: Mapping[str, Differing]
    effects: Effects | Unsupported
    probes: Probes
    steps: str | Unsupported
    first_contact: Callable[[Plan, PortContact], ContactFile] | Unsupported = _NOT_WRITTEN

    @property
    def system(self) -> str:
        """Its name, as the hardware catalogue's ``network_os`` has it."""
        return self.reader.system


@cache
def installed_systems() -> tuple[SwitchSystem, ...]:
    """The switch systems of installed packages, by name.

    Raises ClusterwrightError for one that cannot be loaded, or has another name than its entry point.
    """
    systems = []
    for name, entry in plugins(SYSTEMS).items():
        system: SwitchSystem = load_plugin(entry, SwitchSystem)
        if system.system != name:
            raise unusable_plugin(entry, f'is the system "{system.system}": the entry point has to have its name')
        systems.append(system)
    return tuple(systems)
