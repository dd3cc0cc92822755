"""A planned fabric as ibnetdiscover would list it, for fabrics that are too large or too fast for the simulator."""

from __future__ import annotations

import re
from collections.abc import Callable

from clusterwright.hosts.opensm.writer.fabric import fabric_file
from clusterwright.plan.model import Plan

_HEAD = re.compile(r'(Switch|Hca)\s+(\d+) "([SH])-([0-9a-f]+)"\s+# "(.*?)"')
_LINK = re.compile(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"([SH])-([0-9a-f]+)"\[(\d+)\]')


def _same(name: str) -> str:
    return name


def _planned(guid: int) -> int:
    return guid


def listing(
    plan: Plan,
    rate: str,
    *,
    described: Callable[[str], str] = _same,
    guid: Callable[[int], int] = _planned,
    fabric: str = "backend",
) -> str:
    """The listing with every link at ``rate`` (``4xNDR``); ``described`` and ``guid`` rename and renumber nodes.

    Adapters' node GUIDs are their port GUIDs less one, as in the planned fabric's file.
    """
    lines = fabric_file(plan, fabric).text.splitlines()
    names = {match[4]: described(match[5]) for line in lines if (match := _HEAD.match(line))}
    out = ["#", "# Topology file: generated on Tue Jun  5 14:15:10 2007", "#"]
    switch = True
    own = ""
    for line in lines:
        if head := _HEAD.match(line):
            switch = head[1] == "Switch"
            own = head[4]
            number = guid(int(own, 16))
            kind, label = ("Switch", "switchguid") if switch else ("Ca", "caguid")
            tail = " enhanced port 0 lid 1 lmc 0" if switch else ""
            out += ["", "vendid=0x2c9", "devid=0xd2f2", f"sysimgguid=0x{number:x}", f"{label}=0x{number:x}"]
            out.append(f'{kind}\t{head[2]} "{head[3]}-{number:016x}"\t\t# "{names[own]}"{tail}')
        elif link := _LINK.match(line):
            peer = guid(int(link[3], 16))
            left = "" if switch else f"({guid(int(own, 16)) + 1:x}) "
            right = f"({peer + 1:x}) " if link[2] == "H" else ""
            note = "" if switch else "lid 2 lmc 0 "
            comment = f'# {note}"{names[link[3]]}" lid 1 {rate}'
            out.append(f'[{link[1]}]{left}\t"{link[2]}-{peer:016x}"[{link[4]}]{right}\t\t{comment}')
    return "\n".join(out) + "\n"
