"""The chapters on jobs: every variable of NCCL and PyTorch with its origin, and the placement of the spec's jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.extras.place.placement import linear, place, shuffled
from clusterwright.extras.place.room import NODE, Room, room_for
from clusterwright.finding import ClusterwrightError
from clusterwright.hosts.nccl.files import settings_by_node
from clusterwright.report.page import Block, Cell, PageTable, Section, code, long_code, number
from clusterwright.spec.model import CLUSTER
from clusterwright.spec.text.document import format_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.extras.place.placement import Placement
    from clusterwright.intent.nccl_settings import Setting
    from clusterwright.plan.model import Plan
    from clusterwright.spec.text.document import Document
    from clusterwright.spec.workload import Job

SEED = 1  # of the random placement, shown for comparison


def nccl_section(plan: Plan) -> Section | None:
    """Each variable, its value, its line in the spec, and the reason; None without profiles."""
    profiles = plan.spec.nccl_profiles
    if not profiles:
        return None
    uses = []
    for profile in profiles:
        pytorch = f" and PyTorch {profile.pytorch}" if profile.pytorch else ""
        uses.append(f"{', '.join(profile.nodes)} on {profile.fabric}, NCCL {profile.version}{pytorch}")
    text = f"For {'; '.join(uses)}. Each value follows from the line of the spec beside it."
    tables = []
    for index, (settings, node) in enumerate(settings_by_node(plan).items()):
        tables.append(_settings_table(plan, settings, f"nccl-settings-{index}", node))
    return Section("nccl", "NCCL and PyTorch", (Block(heading="", text=text, drawings=(), tables=tuple(tables)),))


def _settings_table(plan: Plan, settings: tuple[Setting, ...], name: str, node: str) -> PageTable:
    document = plan.spec.document
    rows = tuple(_setting_row(setting, document) for setting in settings)
    columns = ("Variable", "Value", "Written to", "Why", "From", "Line")
    return PageTable(name=name, caption=f"As on {node}", columns=columns, rows=rows)


def _setting_row(setting: Setting, document: Document) -> tuple[Cell, ...]:
    return (
        code(setting.name),
        long_code(setting.value),
        Cell(setting.written_to),
        Cell(setting.reason, "prose"),
        long_code(format_path(setting.origin, document.data)),
        long_code(str(document.locate(setting.origin))),
    )


def jobs_section(plan: Plan) -> Section | None:
    """Bytes of a step by the layer crossed, for each job: as placed, and as placed by a scheduler without topology."""
    if not plan.spec.jobs:
        return None
    blocks = tuple(_job_block(plan, job) for job in plan.spec.jobs)
    return Section("jobs", "Jobs and the layers that they cross", blocks)


def _job_block(plan: Plan, job: Job) -> Block:
    try:
        room = room_for(plan, job)
        placements = (place(room, job), linear(room, job), shuffled(room, job, SEED))
    except ClusterwrightError as error:
        return Block(job.name, str(error))
    columns = ("Layer", "Planned, GB", "Linear, GB", "Random, GB")
    table = PageTable(
        name=f"job-{job.name}",
        caption="Bytes of a step by the highest layer that they cross",
        columns=columns,
        rows=_layer_rows(room, placements),
        note="The command clusterwright place names the nodes and the ranks on them.",
    )
    axes = " × ".join(f"{size} {axis}" for axis, size in job.sizes.items() if size > 1)
    return Block(
        heading=job.name,
        text=f"{job.ranks:,} ranks on {job.nodes}: {axes or 'one rank'}.",
        drawings=(),
        tables=(table,),
    )


def _layer_rows(room: Room, placements: tuple[Placement, ...]) -> tuple[tuple[Cell, ...], ...]:
    by_placement = [placement.bytes_by_layer() for placement in placements]
    rows = []
    for index, name in enumerate(room.layers):
        cells = [_gigabytes(layers, index) for layers in by_placement]
        rows.append((Cell(_layer(name)), *cells))
    return tuple(rows)


def _gigabytes(bytes_by_layer: Sequence[float], layer: int) -> Cell:
    return number(bytes_by_layer[layer] / 1e9) if bytes_by_layer else Cell("–")


def _layer(name: str) -> str:
    if name == NODE:
        return "NVLink, inside a node"
    return "across the cluster" if name == CLUSTER else f"inside a {name}"
