"""The pictures of the pages: boxes and lines from a few lists, as SVG that follows a dark screen."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from tests.pages.fabric_pictures import FABRIC_PICTURES

_STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#1c2430}.s{font-size:12px;fill:#4a5566}"
    "rect{fill:#eef3fa;stroke:#3d6ea8}.z{fill:none;stroke-dasharray:5 4}path{stroke:#3d6ea8;fill:none;stroke-width:1.5}"
    "@media(prefers-color-scheme:dark){text{fill:#e6ebf2}.s{fill:#aeb9c8}rect{fill:#1d2733;stroke:#7fb0e6}"
    ".z{fill:none}path{stroke:#7fb0e6}#a path{fill:#7fb0e6}}"
)
_ARROW = (
    '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0 8 4 0 8Z" style="fill:#3d6ea8;stroke:none"/></marker></defs>'
)


@dataclass(frozen=True)
class Box:
    """A box at its upper left corner, with a name and a line below it; ``zone`` is drawn as a dashed frame."""

    x: int
    y: int
    name: str
    below: str = ""
    width: int = 150
    height: int = 52
    zone: bool = False

    def svg(self) -> str:
        middle = self.x + self.width // 2
        up = self.y + (20 if self.zone or self.below else self.height // 2 + 5)
        kind = ' class="z"' if self.zone else ""
        parts = [f'<rect{kind} x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="6"/>']
        parts.append(f'<text x="{middle}" y="{up}" text-anchor="middle">{escape(self.name)}</text>')
        if self.below:
            parts.append(f'<text class="s" x="{middle}" y="{up + 19}" text-anchor="middle">{escape(self.below)}</text>')
        return "".join(parts)


def picture(title: str, width: int, height: int, boxes: list[Box], lines: list[str], arrows: list[str]) -> str:
    """The SVG of ``boxes`` with ``lines`` and ``arrows``, each the data of a path; ``title`` says it in words."""
    drawn = [f'<path d="{way}"/>' for way in lines]
    drawn += [f'<path d="{way}" marker-end="url(#a)"/>' for way in arrows]
    body = "\n".join([*drawn, *(box.svg() for box in boxes)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>{_ARROW}\n{body}\n</svg>\n"
    )


def data_flow() -> str:
    """One spec to devices, with the checks on the way."""
    names = [
        ("spec", "what you write"),
        ("plan", "ports, cables, numbers"),
        ("text", "files of every device"),
        ("devices", "by Pulumi and Ansible"),
    ]
    top = [Box(10 + 210 * index, 20, name, below, 160) for index, (name, below) in enumerate(names)]
    checks = [
        Box(10, 120, "lint", "rules", 160),
        Box(220, 120, "report, inventory", "for people, programs", 160),
        Box(430, 120, "verify", "proofs from the text", 160),
        Box(640, 120, "observe, refresh", "cabling, drift", 160),
    ]
    along = [f"M{box.x + 160} 46H{box.x + 208}" for box in top[:-1]]
    down = [f"M{box.x + 80} 72V118" for box in top]
    return picture("Data flows one way, and is checked at each stage", 810, 190, [*top, *checks], [], [*along, *down])


def fabrics() -> str:
    """A fabric by rail beside one by rack."""
    boxes: list[Box] = []
    lines: list[str] = []
    for left, title, leaves, links in (
        (10, "by rail: --rails", ("leaf, rail 0", "leaf, rail 1"), ((0, 0), (0, 1), (1, 0), (1, 1))),
        (430, "by rack: --no-rails", ("leaf, rack 0", "leaf, rack 1"), ((0, 0), (1, 1))),
    ):
        boxes += [Box(left + 10 + 190 * index, 40, f"spine {index}") for index in range(2)]
        boxes += [Box(left + 10 + 190 * index, 130, name) for index, name in enumerate(leaves)]
        boxes += [Box(left + 10 + 190 * index, 220, f"node {index}", "NIC 0, NIC 1") for index in range(2)]
        boxes.append(Box(left, 8, title, "", 360, 280, zone=True))
        lines += [f"M{left + 85 + 190 * a} 130L{left + 85 + 190 * b} 92" for a in range(2) for b in range(2)]
        lines += [f"M{left + 85 + 190 * node} 220L{left + 85 + 190 * leaf} 182" for node, leaf in links]
    return picture("A leaf for each rail, or a leaf for each rack", 800, 300, boxes, lines, [])


def zones() -> str:
    """Zones, and the only ways between them."""
    boxes = [
        Box(10, 20, "training", "zone: nodes that compute", 220, 60, zone=False),
        Box(330, 20, "storage", "zone: file servers", 220, 60),
        Box(330, 130, "operators", "zone: people's networks", 220, 60),
        Box(10, 130, "services", "zone: scheduler, boot, logs", 220, 60),
        Box(620, 75, "everything else", "no flow: nothing passes", 180, 60, zone=True),
    ]
    arrows = ["M230 50H328", "M120 80V128", "M330 160H232"]
    return picture("Between zones passes what a flow declares, and nothing else", 810, 210, boxes, [], arrows)


PICTURES = {"data-flow.svg": data_flow, "fabrics.svg": fabrics, "zones.svg": zones, **FABRIC_PICTURES}
