"""Drawings as data: shapes with coordinates in CSS pixels, rendered as SVG by a template.

The page's style sheet sets the colours, by class, so a drawing follows light, dark and print.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

CHARACTER_WIDTH_EM = 0.59  # a generous average advance of the page's fonts, in their semi-bold cuts
WIDE_FROM = 900


@dataclass(frozen=True, slots=True)
class Shape:
    """An SVG element: its tag, attributes and text."""

    tag: str
    attributes: Mapping[str, str | float]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture: its size, a description in words (for blind readers), and shapes from back to front."""

    name: str
    title: str
    description: str
    width: float
    height: float
    shapes: tuple[Shape, ...]
    caption: str = ""

    @property
    def is_wide(self) -> bool:
        """True for drawings that may shrink a little to fit the page; a narrow one always keeps its size."""
        return self.width > WIDE_FROM


def rectangle(x: float, y: float, width: float, *, height: float, style: str, radius: float = 6) -> Shape:
    """A rectangle by its upper left corner."""
    return Shape(
        "rect",
        {
            "x": _short(x),
            "y": _short(y),
            "width": _short(width),
            "height": _short(height),
            "rx": radius,
            "class": style,
        },
    )


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> Shape:
    """A straight line."""
    return Shape("line", {"x1": _short(x1), "y1": _short(y1), "x2": _short(x2), "y2": _short(y2), "class": style})


def label(x: float, y: float, text: str, style: str, anchor: str = "middle") -> Shape:
    """Text with its baseline at ``y``; ``anchor`` is ``start``, ``middle`` or ``end``."""
    return Shape("text", {"x": _short(x), "y": _short(y), "text-anchor": anchor, "class": style}, text)


def text_width(text: str, size: float) -> float:
    """An upper bound of the width of ``text`` at a font size of ``size`` pixels."""
    return len(text) * size * CHARACTER_WIDTH_EM


def _short(value: float) -> float:
    rounded = round(float(value), 1)
    return int(rounded) if rounded.is_integer() else rounded
