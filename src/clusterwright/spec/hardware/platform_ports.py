"""Properties of a machine's ports in a network OS, besides their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from clusterwright.finding import ClusterwrightError
from clusterwright.spec.hardware.cages import PortBlock, PortMode


class PlatformPortError(ClusterwrightError):
    """A port missing on a platform, or unable to run as planned."""


@dataclass(frozen=True, slots=True)
class SpeedProfile:
    """A setting of a port by its ``id``: a speed over ``media`` (``copper`` or ``optical``) with a number of
    ``lanes``."""

    id: int
    speed_gbps: int
    media: str
    lanes: int


@dataclass(frozen=True, slots=True)
class PlatformPort:
    """A port of one machine in its network OS."""

    number: int
    """Its logical id, or its cage's place on the front panel."""
    lanes: tuple[int, ...] = ()
    """Lanes of the chip."""
    alias: str = ""
    """Its name in the vendor's tools."""
    cage: str = ""
    breakout: str = ""
    """The mode of its ``cage`` in the vendor's tools."""
    subport: int = 0
    """Its place among the ports of the cage; 0 for a single port."""
    profiles: tuple[SpeedProfile, ...] = ()
    """Supported speeds, preferred ones first; empty if the modes alone define them."""

    def profile(self, name: str, speed_gbps: int, medium: str, lanes: int) -> int:
        """The id of the profile for a speed over a cable of this medium, or else of the other medium.

        Whether there is any does not depend on the medium. Raises PlatformPortError if the port, ``name``, has none.
        """
        is_copper = medium in {"dac", "copper", "backplane"}
        preferred = ("copper", "optical") if is_copper else ("optical", "copper")
        for media in preferred:
            for profile in self.profiles:
                if (profile.speed_gbps, profile.media) == (speed_gbps, media) and profile.lanes == lanes:
                    return profile.id
        raise PlatformPortError(
            f"{name} has no speed profile for {speed_gbps}G on {lanes} lane{'s' * (lanes > 1)}; give the tier ports or"
            " a mode that run at it"
        )


Ports = Mapping[tuple[str, str], PlatformPort]
"""Ports by name and mode, mode "" for properties common to all modes."""


@dataclass(frozen=True)
class MachinePorts:
    """A machine in its network OS.

    ``machine`` is the system's name of the hardware, ``blocks`` the ports for models without a list of their own.
    ``describe`` computes the ports; it is called once, when one of them is needed.
    """

    name: str
    describe: Callable[[], Ports] = field(compare=False)
    machine: str | None = None
    blocks: tuple[PortBlock, ...] = ()

    @cached_property
    def ports(self) -> Ports:
        """The ports, by name and mode."""
        return self.describe()

    def port(self, name: str, mode: PortMode | None) -> PlatformPort:
        """The port ``name`` in a mode of its cage. Raises PlatformPortError if there is none."""
        mode_name = "" if mode is None else mode.name
        platform_port = self.ports.get((name, mode_name)) or self.ports.get((name, ""))
        if platform_port is not None:
            return platform_port
        modes = [port_mode for port, port_mode in self.ports if port == name]
        if modes:
            raise PlatformPortError(f"the platform {self.name} runs {name} as {', '.join(modes)}, not as {mode_name}")
        raise PlatformPortError(f"the platform {self.name} has no port {name}; check the model's cages and subports")
