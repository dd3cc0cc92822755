"""The pictures of published fabrics: the report's drawings as SVG of their own, which follows a dark screen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape

from clusterwright import data_files
from clusterwright.plan.build import build_plan
from clusterwright.report.topology_svg import topology_drawing
from clusterwright.spec.load import load_spec

DESIGNS = sorted((data_files.folder("inventory") / "published").glob("*.yaml"))
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#4a5566}.box-name,.sum-name{font-size:15px;font-weight:600;fill:#1c2430}"
    ".box{fill:#eef3fa;stroke:#3d6ea8}.frame{fill:none;stroke:#9aa7b8}.pill{fill:#fff;stroke:#c5cedb}line{stroke:#8a97a8}"
    "@media(prefers-color-scheme:dark){text{fill:#aeb9c8}.box-name,.sum-name{fill:#e6ebf2}.box{fill:#1d2733;stroke:#7fb0e6}"
    ".frame{stroke:#5f6f82}.pill{fill:#10161e;stroke:#3a4656}line{stroke:#5f6f82}}"
)


def fabric_picture(design: str) -> str:
    """The first fabric of a published design."""
    plan = build_plan(load_spec(data_files.folder("inventory") / "published" / f"{design}.yaml"))
    drawing = topology_drawing(plan, plan.spec.fabrics[0])
    parts = []
    for shape in drawing.shapes:
        attributes = " ".join(f'{name}="{escape(str(value))}"' for name, value in shape.attributes.items())
        parts.append(f"<{shape.tag} {attributes}>{escape(shape.text)}</{shape.tag}>")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawing.width} {drawing.height}" role="img">'
        f"<title>{escape(plan.spec.title or plan.name)}</title><style>{_STYLE}</style>{''.join(parts)}</svg>\n"
    )


FABRIC_PICTURES: dict[str, Callable[[], str]] = {
    f"published/{design.stem}.svg": partial(fabric_picture, design.stem) for design in DESIGNS
}
