"""The picture of a fabric: the highest tier on top, a frame for each shown pod, links as labelled bundles.

A fabric of equal pods shows the first two, a gap and the last; if pods differ, each kind is one frame in a stack.
The left margin has the sums over all pods.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.report.drawing import Drawing, Shape, label, line, rectangle, text_width
from clusterwright.report.topology import Column, Run, Speeds, Topology, TopologyCell, topology

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.model import Plan
    from clusterwright.spec.fabric import Fabric

_BOX_HEIGHT = 54
_LINK_HEIGHT = 76  # between two rows: room for the bundle and its label
_MARGIN = 12
_MOST_ROLES = 3  # named in the margin of a row
_PADDING = 10
_FRAME_TITLE = 34
_GAP_WIDTH = 110
_SPACING = 18
_WANTED_WIDTH = 1110  # fits a wide screen
_WIDEST_COLUMN = 300
_MOST_FRAMES = 6
_NAME_SIZE = 15
_SMALL_SIZE = 12
_STRANDS = (-0.3, 0.0, 0.3)


@dataclass(frozen=True, slots=True)
class _Slot:
    """A frame from left to right, for ``stands_for`` columns like ``column``; a gap if that is None."""

    column: Column | None
    title: str
    stands_for: int
    x: float = 0.0
    width: float = 0.0

    @property
    def centre(self) -> float:
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class _Rows:
    """Places of rows: row 0 (the endpoints) at the bottom; from ``shared_from`` on a row is one box over all frames."""

    count: int
    shared_from: int

    @property
    def frame_top(self) -> float:
        shared = self.count - self.shared_from
        return _MARGIN + shared * (_BOX_HEIGHT + _LINK_HEIGHT)

    @property
    def frame_bottom(self) -> float:
        return self.top_of(0) + _BOX_HEIGHT + _FRAME_TITLE

    def top_of(self, row: int) -> float:
        """The upper edge of a row's boxes; boxes inside frames lie lower by the frame's padding."""
        inside = _PADDING if row < self.shared_from else 0
        return _MARGIN + inside + (self.count - 1 - row) * (_BOX_HEIGHT + _LINK_HEIGHT)


def topology_drawing(plan: Plan, fabric: Fabric) -> Drawing:
    """The drawing of one fabric, with numbers counted in the plan."""
    view = topology(plan, fabric)
    rows = _Rows(view.rows_per_column + len(view.shared), view.rows_per_column)
    sums = _sums(view)
    left = _MARGIN + max((text_width(text, _NAME_SIZE) for _, text, _ in sums), default=0.0) + _SPACING
    slots = _placed(_slots(view.runs), left)
    right = max([left + 240, *(slot.x + slot.width for slot in slots), *(left + _box_width(c) for c in view.shared)])
    shapes: list[Shape] = []
    for row, name, detail in sums:
        shapes.append(label(_MARGIN, rows.top_of(row) + 24, name, "sum-name", "start"))
        shapes.append(label(_MARGIN, rows.top_of(row) + 42, detail, "sum-detail", "start"))
    for slot in slots:
        shapes += _gap(slot, rows) if slot.column is None else _frame(slot, slot.column, rows, bool(view.shared))
    for index, cell in enumerate(view.shared):
        y = rows.top_of(rows.shared_from + index)
        if index + 1 < len(view.shared):
            above = rows.top_of(rows.shared_from + index + 1) + _BOX_HEIGHT
            shapes += _bundle((left + right) / 2, y, above, spread=300, text=links_text(cell.uplinks))
        shapes += _box(left, y, right - left, cell)
    return Drawing(
        name=f"fabric-{fabric.name}",
        title=f"Topology of the {fabric.name} fabric",
        description=_description(view),
        width=round(right + _MARGIN),
        height=round(rows.frame_bottom + _MARGIN),
        shapes=tuple(shapes),
    )


def links_text(speeds: Speeds) -> str:
    """``3,456 × 400G``; several speeds are joined by a plus sign."""
    return " + ".join(f"{count:,} × {speed}G" for speed, count in speeds)


def _slots(runs: tuple[Run, ...]) -> list[_Slot]:
    if len(runs) == 1 and runs[0].count <= 4:
        return [_Slot(column, _title(column), 1) for column in runs[0].columns]
    if len(runs) == 1:
        first, second, *_, last = runs[0].columns
        return [
            _Slot(first, _title(first), 1),
            _Slot(second, _title(second), 1),
            _Slot(None, "more, all equal", runs[0].count - 3),
            _Slot(last, _title(last), 1),
        ]
    slots = [_Slot(run.columns[0], _run_title(run), run.count) for run in runs[:_MOST_FRAMES]]
    rest = sum(run.count for run in runs[_MOST_FRAMES:])
    return [*slots, _Slot(None, "others", rest)] if rest else slots


def _placed(slots: list[_Slot], left: float) -> list[_Slot]:
    gaps = sum(slot.column is None for slot in slots)
    columns = max(1, len(slots) - gaps)
    free = _WANTED_WIDTH - left - gaps * _GAP_WIDTH - (len(slots) - 1) * _SPACING
    wanted = min(_WIDEST_COLUMN, free / columns)
    placed: list[_Slot] = []
    x = left
    for slot in slots:
        width = float(_GAP_WIDTH) if slot.column is None else max(wanted, _least_width(slot, slot.column))
        placed.append(_Slot(column=slot.column, title=slot.title, stands_for=slot.stands_for, x=x, width=width))
        x += width + _SPACING
    return placed


def _least_width(slot: _Slot, column: Column) -> float:
    inner = [text_width(slot.title, 13) + 50, *(_box_width(cell) for cell in column.cells)]
    inner += [text_width(_bundle_text(slot, cell), _SMALL_SIZE) + 18 for cell in column.cells]
    return max(inner) + 2 * _PADDING


def _title(column: Column) -> str:
    title = f"{column.level} {column.name}" if column.level else "outside the groups"
    return f"{title}, one NVLink domain" if column.shares_nvlink else title


def _run_title(run: Run) -> str:
    first, last = run.columns[0], run.columns[-1]
    return _title(first) if run.count == 1 else f"{first.level} {first.name} – {last.name}"


def _box_width(cell: TopologyCell) -> float:
    return max(text_width(_name(cell), _NAME_SIZE), text_width(_detail(cell), _SMALL_SIZE)) + 12


def _name(cell: TopologyCell) -> str:
    roles = {role for role, _, _ in cell.members}
    return f"{cell.count:,} × {min(roles)}" if len(roles) == 1 else f"{cell.count:,} devices"


def _detail(cell: TopologyCell) -> str:
    """The model of a single role, else the roles; a list too long to read becomes its length."""
    roles = list(dict.fromkeys(role for role, _, _ in cell.members))
    models = list(dict.fromkeys(model for _, model, _ in cell.members))
    words, noun = (models, "models") if len(roles) == 1 else (roles, "roles")
    text = ", ".join(words) if len(words) <= 3 else f"{len(words)} {noun}"
    return f"{text}, in {cell.planes:,} planes" if cell.planes > 1 else text


def _frame(slot: _Slot, column: Column, rows: _Rows, joins_shared: bool) -> Iterator[Shape]:
    height = rows.frame_bottom - rows.frame_top
    if slot.stands_for > 1:
        for offset in (8, 4):
            yield rectangle(
                slot.x + offset, rows.frame_top + offset, slot.width, height=height, style="frame", radius=10
            )
    yield rectangle(slot.x, rows.frame_top, slot.width, height=height, style="frame", radius=10)
    yield label(slot.x + _PADDING, rows.frame_bottom - 11, slot.title, "frame-title", "start")
    if slot.stands_for > 1:
        x = slot.x + slot.width - _PADDING
        yield label(x, rows.frame_bottom - 11, f"× {slot.stands_for:,}", "frame-count", "end")
    filled = [row for row, cell in enumerate(column.cells) if cell.members]
    spread = min(slot.width * 0.5, 150)
    for row in filled:
        cell = column.cells[row]
        y = rows.top_of(row)
        above = min((upper for upper in filled if upper > row), default=None)
        if above is not None:
            bottom_of_above = rows.top_of(above) + _BOX_HEIGHT
            yield from _bundle(slot.centre, y, bottom_of_above, spread=spread, text=_bundle_text(slot, cell))
        elif joins_shared and cell.uplinks:
            # The bundle leaves the frame; its label sits in the free space above it.
            shared = rows.top_of(rows.shared_from) + _BOX_HEIGHT
            middle = (shared + rows.frame_top) / 2
            yield from _bundle(slot.centre, y, shared, spread=spread, text=_bundle_text(slot, cell), label_y=middle)
        yield from _box(slot.x + _PADDING, y, slot.width - 2 * _PADDING, cell)


def _bundle_text(slot: _Slot, cell: TopologyCell) -> str:
    text = links_text(cell.uplinks)
    return f"{text} each" if text and slot.stands_for > 1 else text


def _box(x: float, y: float, width: float, cell: TopologyCell) -> Iterator[Shape]:
    style = "box endpoint" if any(kind != "switch" for kind in cell.kinds) else "box"
    yield rectangle(x, y, width, height=_BOX_HEIGHT, style=style)
    yield label(x + width / 2, y + 24, _name(cell), "box-name")
    yield label(x + width / 2, y + 42, _detail(cell), "box-model")


def _bundle(
    x: float, bottom: float, top: float, *, spread: float, text: str, label_y: float | None = None
) -> Iterator[Shape]:
    """Lines from ``bottom`` up to ``top`` around ``x``, every strand to every strand, and the number of links."""
    for start in _STRANDS:
        for end in _STRANDS:
            yield line(x + start * spread, bottom, x + end * spread, top, "strand")
    if not text:
        return
    middle = (bottom + top) / 2 if label_y is None else label_y
    wide = text_width(text, _SMALL_SIZE) + 16
    yield rectangle(x - wide / 2, middle - 12, wide, height=24, style="pill", radius=12)
    yield label(x, middle + 4.5, text, "pill-text")


def _gap(slot: _Slot, rows: _Rows) -> Iterator[Shape]:
    middle = (rows.frame_top + rows.frame_bottom) / 2
    yield label(slot.centre, middle - 16, "⋯", "gap-dots")
    yield label(slot.centre, middle + 6, f"+ {slot.stands_for:,}", "gap-count")
    yield label(slot.centre, middle + 24, slot.title, "gap-level")


def _sums(view: Topology) -> list[tuple[int, str, str]]:
    """For each row: its number, its devices over all columns, and the number of its uplinks."""
    sums = []
    for row in range(view.rows_per_column):
        members: Counter[str] = Counter()
        uplinks: Counter[int] = Counter()
        for run in view.runs:
            cell = run.columns[0].cells[row]
            for role, _, count in cell.members:
                members[role] += count * run.count
            for speed, links in cell.uplinks:
                uplinks[speed] += links * run.count
        sums.append((row, _sum_name(members), f"{uplinks.total():,} links up" if uplinks else ""))
    for index, cell in enumerate(view.shared):
        links = sum(count for _, count in cell.uplinks)
        members = Counter()
        for role, _, count in cell.members:
            members[role] += count
        sums.append((view.rows_per_column + index, _sum_name(members), f"{links:,} links up" if links else ""))
    return sums


def _sum_name(members: Counter[str]) -> str:
    """Devices of a row by role, such as leaves of two generations; their total if there are too many roles to read."""
    if len(members) > _MOST_ROLES:
        return f"{members.total():,} devices"
    return " + ".join(f"{count:,} {role}" for role, count in members.items())


def _description(view: Topology) -> str:
    parts = []
    for run in view.runs:
        rows = "; ".join(_cell_text(cell) for cell in run.columns[0].cells if cell.members)
        parts.append(f"{run.count:,} × {run.columns[0].level or 'outside the groups'}, each with {rows}.")
    parts += [f"Above: {_cell_text(cell)}." for cell in view.shared]
    return " ".join(parts)


def _cell_text(cell: TopologyCell) -> str:
    uplinks = f", {links_text(cell.uplinks)} upwards" if cell.uplinks else ""
    return f"{_name(cell)}{uplinks}"
