"""Distributions that images can be built from, as the tools that build them call them."""

from __future__ import annotations

from dataclasses import dataclass

# Release names of mkosi 25 (mkosi(1), Release=).
_DEBIAN = {"12": "bookworm", "13": "trixie"}
_UBUNTU = {"22.04": "jammy", "24.04": "noble"}
_RED_HAT = {
    "alma": ("alma", "9", "10"),
    "almalinux": ("alma", "9", "10"),
    "centos stream": ("centos", "9", "10"),
    "rocky": ("rocky", "9", "10"),
    "rhel": ("rhel", "9", "10"),
}


@dataclass(frozen=True, slots=True)
class Distribution:
    """``tool`` is mkosi's name, ``release`` its release; ``family`` is ``debian``, ``ubuntu`` or ``red-hat``."""

    tool: str
    release: str
    family: str

    @property
    def kernel(self) -> str:
        """The package that brings the distribution's own kernel."""
        return {"debian": "linux-image-amd64", "ubuntu": "linux-image-generic", "red-hat": "kernel"}[self.family]


def distribution_of(text: str) -> Distribution | None:
    """The distribution that a spec writes as "Debian 13" or "CentOS Stream 10"; None for one that is not known."""
    name, _, release = text.lower().rpartition(" ")
    if name == "debian" and release in _DEBIAN:
        return Distribution("debian", _DEBIAN[release], "debian")
    if name == "ubuntu" and release in _UBUNTU:
        return Distribution("ubuntu", _UBUNTU[release], "ubuntu")
    tool, *releases = _RED_HAT.get(name, ("",))
    return Distribution(tool, release, "red-hat") if release in releases else None


def known_distributions() -> tuple[str, ...]:
    """Every distribution that can be written, as a spec writes it."""
    names = [f"Debian {release}" for release in _DEBIAN] + [f"Ubuntu {release}" for release in _UBUNTU]
    written = {"centos stream": "CentOS Stream", "rhel": "RHEL"}
    red_hat = [
        f"{written.get(name, name.capitalize())} {release}"
        for name, (_, *releases) in _RED_HAT.items()
        for release in releases
    ]
    return (*names, *red_hat)
