"""The chapter on images: their identity by content, and the nodes' downloads with their servers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterwright.output.fleet import Fetched, fetched, planned_macs
from clusterwright.plan.boot import servers_by_rack
from clusterwright.report.page import Block, Cell, PageTable, Section, code, number, plural

if TYPE_CHECKING:
    from clusterwright.plan.model import Plan


def images_section(plan: Plan) -> Section | None:
    """Bytes fetched by nodes, image by image, and the racks of every boot server; None without network boot."""
    images = fetched(plan)
    if not images:
        return None
    text = (
        f"{plural(sum(image.nodes for image in images), 'node')} fetch a golden image and rendered files, the same"
        " for all that run it, and an overlay of their own: names, addresses, and what else only they have."
    )
    planned = planned_macs(plan)
    if planned:
        text += (
            f" {plural(planned, 'adapter')} on the boot fabric have no noted MAC address yet and are offered nothing."
        )
    return Section(
        "images",
        "Images",
        (Block(heading="", text=text, drawings=(), tables=(_image_table(images), _server_table(plan))),),
    )


def _image_table(images: tuple[Fetched, ...]) -> PageTable:
    rows = tuple(_image_row(image) for image in images)
    names = ("Image", "Nodes", "Packages", "Rendered files", "Image and kernel", "Overlay", "Script", "A node fetches")
    return PageTable(
        name="images-fetched",
        caption="Bytes that a node fetches",
        columns=names,
        rows=rows,
        note="In bytes. The image's own size is known once it is built (`size_bytes`); overlay and script are those of"
        " the largest of the first and last nodes of every pod.",
    )


def _image_row(image: Fetched) -> tuple[Cell, ...]:
    return (
        code(f"{image.identity.name} {image.identity.version}"),
        number(image.nodes),
        number(image.packages),
        number(image.shared_bytes),
        number(image.image_bytes) if image.image_bytes else Cell("not measured", "warning"),
        number(image.overlay_bytes),
        number(image.script_bytes),
        number(image.each_bytes) if image.image_bytes else Cell("", "number"),
    )


def _server_table(plan: Plan) -> PageTable:
    racks = servers_by_rack(plan)
    first = Counter(servers[0] for servers in racks.values())
    second = Counter(servers[1] for servers in racks.values() if len(servers) > 1)
    rows = tuple((code(name), number(first[name]), number(second[name])) for name in sorted({*first, *second}))
    return PageTable(
        name="boot-servers",
        caption="Boot servers",
        columns=("Server", "Racks that ask it first", "Racks that ask it second"),
        rows=rows,
    )
