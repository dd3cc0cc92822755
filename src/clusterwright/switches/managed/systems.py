"""The systems of managed InfiniBand switches."""

from __future__ import annotations

import re
from dataclasses import replace

from clusterwright.device_files.differing import by_keys, by_lines
from clusterwright.device_files.line_drift import compare_lines
from clusterwright.device_files.writer import Writer
from clusterwright.facts.reader import Unsupported
from clusterwright.switches.managed import writer
from clusterwright.switches.managed.reader import systems
from clusterwright.switches.nvue.drift import compare_nvue
from clusterwright.switches.switch_system import Probes, ReleaseProbe, SwitchSystem

_WRITER = Writer(writer.KIND, writer.applies, writer.render)
_PROBES = Probes(
    neighbours=Unsupported("ibnetdiscover says what its fabric's ports are cabled to"),
    counters=Unsupported("ibqueryerrors reads the counters of its fabric's ports"),
    sessions=Unsupported("it speaks no BGP"),
)


def running_release(text: str) -> str:
    """The row ``image  nvos-25.02.4014`` (NVOS user manual v25.02.4282, nv show system version)."""
    image = re.search(r"^image +nvos-(\S+)", text, re.MULTILINE)
    if image is None:
        raise ValueError("no image")
    return image[1]


_EFFECTS = Unsupported("nobody here renders what changes forwarding there; a switch that changes counts as away")
_STEPS = Unsupported("no step of a role is known to suit it: people apply the file with the switch's own command")
MLNX_OS = SwitchSystem(
    reader=systems.MLNX_OS,
    writer=_WRITER,
    drift={},
    differing={systems.MLNX_OS.file: by_lines(compare_lines)},
    effects=_EFFECTS,
    probes=_PROBES,
    steps=_STEPS,
)
NVOS = SwitchSystem(
    reader=systems.NVOS,
    writer=_WRITER,
    drift={},
    differing={systems.NVOS.file: by_keys(compare_nvue)},
    effects=_EFFECTS,
    probes=replace(_PROBES, release=ReleaseProbe(("nv", "show", "system", "version"), running_release)),
    steps=_STEPS,
)
