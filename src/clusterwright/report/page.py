"""Parts of a report page: cards, sections, pictures, tables. Everything is text; the template lays it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.report.drawing import Drawing

FILTER_FROM_ROWS = 20  # a table without scrolling needs no filter
FOLD_FROM_ROWS = 30  # report.css has the number of visible rows of a folded table


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell.

    ``style`` has classes of the style sheet, separated by spaces: number, code, long, prose, good, bad, warning, quiet,
    head, line (unbroken), tick (a box to tick off). ``href`` links to another page of the report; ``anchor`` names the
    row, for links to it.
    """

    text: str
    style: str = ""
    href: str = ""
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table; ``note`` stands below it. ``is_worked_through`` keeps a list open for ticking off every row."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    is_worked_through: bool = False

    @property
    def heads(self) -> tuple[Cell, ...]:
        """The heads of the columns, at the right over figures."""
        heads = []
        for index, name in enumerate(self.columns):
            is_numeric = any(row[index].style == "number" for row in self.rows)
            heads.append(Cell(name, "number" if is_numeric else ""))
        return tuple(heads)

    @property
    def has_filter(self) -> bool:
        """True for tables with a field to filter the rows."""
        return len(self.rows) > FILTER_FROM_ROWS

    @property
    def folds(self) -> bool:
        """True for tables folded on a screen until the reader opens them; paper shows all rows."""
        return len(self.rows) > FOLD_FROM_ROWS and not self.is_worked_through


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a section: a heading (may be empty), a sentence, pictures side by side, then tables."""

    heading: str
    text: str = ""
    drawings: tuple[Drawing, ...] = ()
    tables: tuple[PageTable, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A chapter of the page; ``name`` is its anchor."""

    name: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """A figure in large type."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """The sources of a report, for the foot of each page and each printed sheet."""

    program: str
    source: str
    digest: str
    """SHA-256 over the spec's files; "" if only a plan is known."""
    totals: str

    @property
    def text(self) -> str:
        """The line."""
        spec = f"{self.source}, sha256:{self.digest[:16]}" if self.digest else self.source
        return f"{self.program} · {spec} · {self.totals}"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A separate page below the report's first: for a rack, a device, or a list too long for the first.

    ``up`` is the path from its folder to the report's: "" or "../". ``facts`` are pairs of a title and its value, which
    may be a link.
    """

    title: str
    cluster: str
    up: str
    text: str
    facts: tuple[tuple[str, Cell], ...]
    tables: tuple[PageTable, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """The first page of the report; ``has_leaves`` marks a report with further pages."""

    title: str
    cluster: str
    source: str
    cards: tuple[Card, ...]
    downloads: tuple[tuple[str, str], ...]
    has_leaves: bool
    sections: tuple[Section, ...]


def number(value: float, digits: int = 0) -> Cell:
    """A figure with thousands separated, right-aligned."""
    return Cell(f"{value:,.{digits}f}", "number")


def figure(value: float) -> Cell:
    """A figure with up to three digits after the point, without trailing zeros."""
    text = f"{value:,.3f}"
    return Cell(text.rstrip("0").rstrip("."), "number")


def power(watts: float) -> str:
    """Watts in W, kW or MW."""
    if watts < 1e3:
        return f"{watts:,.0f} W"
    return f"{watts / 1e3:,.1f} kW" if watts < 1e6 else f"{watts / 1e6:,.2f} MW"


def bandwidth(gbps: float) -> str:
    """Gb/s, or Tb/s from a thousand on."""
    if gbps < 1e3:
        return f"{gbps:,.4g} Gb/s"
    return f"{gbps / 1e3:,.1f} Tb/s" if gbps < 1e5 else f"{gbps / 1e3:,.0f} Tb/s"


def storage(petabytes: float) -> str:
    """Petabytes, or terabytes below one."""
    return f"{petabytes:,.4g} PB" if petabytes >= 1 else f"{petabytes * 1e3:,.4g} TB"


def distance(metres: float) -> str:
    """Metres, or kilometres from one on."""
    return f"{metres:,.0f} m" if metres < 1e3 else f"{metres / 1e3:,.1f} km"


def code(text: str) -> Cell:
    """A name from files, in the font of code."""
    return Cell(text, "code")


def long_code(text: str) -> Cell:
    """The same for long names: it breaks anywhere."""
    return Cell(text, "code long")


def plural(count: int, noun: str) -> str:
    """``1 rack``, ``1,536 racks``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
