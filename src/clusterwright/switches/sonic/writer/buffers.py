"""Buffers on SONiC: pools, profiles, priority groups and queues, with headroom from each cable's speed and length.

One ingress pool takes everything; its ``xoff`` part is the headroom of all lossless groups together. At egress a
lossless queue has no limit of its own, since packets accepted at ingress must leave, and lossy queues share the rest.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from clusterwright.intent.headroom import GROUP_CELLS, QUEUE_CELLS, divide_pool, headroom_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.intent.switch import SwitchView
    from clusterwright.intent.switch_links import Link
    from clusterwright.intent.traffic_classes import NumberedClass

INGRESS, EGRESS = "ingress_lossless_pool", "egress_lossless_pool"
LOSSY_IN, LOSSY_OUT, LOSSLESS_OUT = "ingress_lossy_profile", "egress_lossy_profile", "egress_lossless_profile"
# Cells below the threshold at which a group resumes: SONiC's pg_profile_lookup.ini for Tomahawk 5 (3,556 bytes).
RESUME_CELLS = 14
# A group or queue may take as much as is still free (two to the power of dynamic_th), as in the same files.
SHARE = "0"
# The list of cable lengths that SONiC's buffer manager reads.
CABLE_LIST = "AZURE"


def buffer_tables(view: SwitchView, classes: Sequence[NumberedClass]) -> dict[str, Any]:
    """The tables; none for a chip of unknown memory in the catalogue."""
    buffer = view.model.buffer
    if buffer is None:
        return {}
    cell = buffer.cell_bytes
    profiles: dict[str, dict[str, str]] = {
        LOSSY_IN: {"pool": INGRESS, "size": "0", "static_th": str(buffer.size_bytes)},
        LOSSY_OUT: {"pool": EGRESS, "size": str(QUEUE_CELLS * cell), "dynamic_th": SHARE},
        LOSSLESS_OUT: {"pool": EGRESS, "size": "0", "static_th": str(buffer.size_bytes)},
    }
    groups, queues = {}, {}
    promised = 0
    for link in view.links:
        name = _profile_name(link)
        cells = headroom_cells(link.cable.speed_gbps, link.cable.headroom_m, view.fabric.mtu)
        profiles[name] = {
            "pool": INGRESS,
            "size": str(GROUP_CELLS * cell),
            "dynamic_th": SHARE,
            "xon": str(GROUP_CELLS * cell),
            "xon_offset": str(RESUME_CELLS * cell),
            "xoff": str(cells * cell),
        }
        for item in classes:
            group, queue = f"{link.port.port}|{item.number}", f"{link.port.port}|{item.entry.queue}"
            if item.is_lossless:
                promised += cells
                groups[group] = {"profile": name}
                queues[queue] = {"profile": LOSSLESS_OUT}
            else:
                groups[group] = {"profile": LOSSY_IN}
                queues[queue] = {"profile": LOSSY_OUT}
    pool = divide_pool(buffer, promised)
    shared = str(pool.shared_cells * cell)
    return {
        "BUFFER_POOL": {
            INGRESS: {
                "type": "ingress",
                "mode": "dynamic",
                "size": shared,
                "xoff": str(pool.headroom_cells * cell),
            },
            EGRESS: {"type": "egress", "mode": "dynamic", "size": shared},
        },
        "BUFFER_PROFILE": dict(sorted(profiles.items())),
        "BUFFER_PG": groups,
        "BUFFER_QUEUE": queues,
        "CABLE_LENGTH": {CABLE_LIST: {link.port.port: f"{ceil(link.cable.headroom_m)}m" for link in view.links}},
    }


def _profile_name(link: Link) -> str:
    return f"pg_lossless_{link.cable.speed_gbps * 1000}_{ceil(link.cable.headroom_m)}m_profile"
