"""Facts of a network OS about a machine's ports beside their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from clusterwright.finding import ClusterwrightError
from clusterwright.spec.hardware.cages import PortBlock, PortMode


class PlatformPortError(ClusterwrightError):
    """A port that a platform does not have, or that cannot run as planned."""


@dataclass(frozen=True, slots=True)
class SpeedProfile:
    """A setting of a port by its ``id``: a speed over ``media`` (``copper`` or ``optical``) and so many ``lanes``."""

    id: int
    speed_gbps: int
    media: str
    lanes: int


@dataclass(frozen=True, slots=True)
class PlatformPort:
    """A port as a network OS knows it on one machine.

    ``number`` is its logical id, or its cage's place on the front panel. ``lanes`` are those of the chip, ``alias`` its
    name in the vendor's tools; ``breakout`` is what the mode of its ``cage`` is called there, and ``subport`` its place
    among the ports of the cage, 0 where it is the only one. ``profiles`` are the speeds that it supports, preferred
    ones first; none where modes alone say that.
    """

    number: int
    lanes: tuple[int, ...] = ()
    alias: str = ""
    cage: str = ""
    breakout: str = ""
    subport: int = 0
    profiles: tuple[SpeedProfile, ...] = ()

    def profile(self, name: str, speed_gbps: int, medium: str, lanes: int) -> int:
        """The id of the profile for a speed over a cable of this medium; of the other medium where only that exists.

        Whether there is any does not depend on the medium. Raises PlatformPortError when the port, ``name``, has none.
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
"""Ports by name and mode, mode "" for what holds in every mode."""


@dataclass(frozen=True)
class MachinePorts:
    """A machine as its network OS knows it.

    ``machine`` is the system's name for the hardware below, ``blocks`` what models have that list no ports themselves.
    ``describe`` gives its ports; it is asked once, and only where one of them is.
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
        """The port ``name`` in a mode of its cage. Raises PlatformPortError where there is none."""
        wanted = "" if mode is None else mode.name
        found_port = self.ports.get((name, wanted)) or self.ports.get((name, ""))
        if found_port is not None:
            return found_port
        modes = [port_mode for port, port_mode in self.ports if port == name]
        if modes:
            raise PlatformPortError(f"the platform {self.name} runs {name} as {', '.join(modes)}, not as {wanted}")
        raise PlatformPortError(f"the platform {self.name} has no port {name}; check the model's cages and subports")
