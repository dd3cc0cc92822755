"""Labels to print: A4 sheets in SVG with the labels of the cable ends in each rack."""

from __future__ import annotations

from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING

import segno

from clusterwright.extras.crew.route import colour_code, in_floor_order, laid_routes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterwright.extras.crew.route import CableEnd, LaidRoute
    from clusterwright.lists.records import Inventory

# A4 with 3 × 8 labels of 70 by 37 mm without gaps, a common format of label sheets.
_WIDTH, _HEIGHT = 210, 297
_COLUMNS, _ROWS = 3, 8
_LABEL_WIDTH, _LABEL_HEIGHT = 70.0, 37.0
_TOP = (_HEIGHT - _ROWS * _LABEL_HEIGHT) / 2
_QR_SIDE = 22.0
_MOST_LETTERS = 19  # of 2.6 mm beside the code

Label = tuple["CableEnd", "CableEnd", "LaidRoute"]


def label_sheets(inventory: Inventory) -> Mapping[str, Iterator[str]]:
    """File name to its pieces: ``labels-RACK-1.svg`` and so on, 24 labels each, in walking order.

    A label has the near end's identifier and then the far one's, the fabric's colour, and a QR code with both.
    """
    by_rack: dict[str, list[Label]] = defaultdict(list)
    for route in in_floor_order(list(laid_routes(inventory))):
        for near, far in ((route.lower, route.upper), (route.upper, route.lower)):
            by_rack[near.rack].append((near, far, route))
    size = _COLUMNS * _ROWS
    sheets: dict[str, Iterator[str]] = {}
    for rack, labels in by_rack.items():
        for number, start in enumerate(range(0, len(labels), size), 1):
            sheets[f"labels-{rack}-{number}.svg"] = _sheet(labels[start : start + size])
    return sheets


def _sheet(labels: Sequence[Label]) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}mm" height="{_HEIGHT}mm" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="monospace" font-size="2.6">\n'
    )
    for number, label in enumerate(labels):
        x, y = number % _COLUMNS * _LABEL_WIDTH, _TOP + number // _COLUMNS * _LABEL_HEIGHT
        yield f'<g transform="translate({x:g} {y:g})">{_label(*label)}</g>\n'
    yield "</svg>\n"


def _label(near: CableEnd, far: CableEnd, route: LaidRoute) -> str:
    text = f"{near.identifier} / {far.identifier}"
    code = segno.make(text, error="m", micro=False).svg_inline(border=2, omitsize=True)
    side = f'x="{_LABEL_WIDTH - _QR_SIDE - 3:g}" y="5" width="{_QR_SIDE:g}" height="{_QR_SIDE:g}"'
    lines = (
        *_wrapped(near.identifier, True),
        *_wrapped(far.identifier, False),
        (f"{route.fabric}, {route.colour}"[:_MOST_LETTERS], False),
        (f"{route.length_m:g} m {route.medium} {route.speed_gbps}G", False),
    )
    words = ""
    for row, (line, bold) in enumerate(lines):
        weight = "bold" if bold else "normal"
        words += f'<text x="6" y="{8 + 4 * row}" font-weight="{weight}">{escape(line)}</text>'
    colour = f'<rect x="2" y="3" width="2.5" height="{_LABEL_HEIGHT - 6:g}" fill="{colour_code(route.colour)}"/>'
    return colour + words + code.replace("<svg ", f"<svg {side} ", 1)


def _wrapped(text: str, bold: bool) -> Iterator[tuple[str, bool]]:
    """An identifier in lines short enough for the space beside the QR code."""
    for start in range(0, len(text), _MOST_LETTERS):
        yield text[start : start + _MOST_LETTERS], bold
