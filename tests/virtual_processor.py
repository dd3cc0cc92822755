"""The processor of a virtual node: the machine's own where KVM gives it, else one that QEMU emulates."""

from __future__ import annotations

import subprocess
from functools import cache

# No AVX: libraries that find it choose code that takes an emulated processor longer. `enforce` refuses a host that
# lacks something: some virtual machines have a /dev/kvm that starts no guest.
MODEL = "Nehalem,enforce"
_PROBE_TIMEOUT_S = 20


@cache
def processor() -> tuple[str, ...]:
    """QEMU's options for one processor."""
    return _options("kvm" if _has_kvm() else "tcg,thread=multi")


def _options(accelerator: str) -> tuple[str, ...]:
    return "-accel", accelerator, "-cpu", MODEL, "-smp", "1"


def _has_kvm() -> bool:
    command = ["qemu-system-x86_64", *_options("kvm"), "-S", "-nodefaults", "-display", "none", "-monitor", "stdio"]
    try:
        done = subprocess.run(command, input=b"quit\n", capture_output=True, timeout=_PROBE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
