"""The report as one HTML page without network access, with the inventory's CSV files beside it."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from clusterwright import __version__, data_files
from clusterwright.extras.crew.files import crew_files
from clusterwright.extras.crew.route import laid_routes
from clusterwright.lists.as_csv import csv_files, csv_lines
from clusterwright.lists.records import Inventory
from clusterwright.report.figures import figures
from clusterwright.report.leaves import leaves
from clusterwright.report.page import Card, Origin, Page, plural, power, storage
from clusterwright.report.search_index import SearchIndex
from clusterwright.report.sections.claims import (
    assumptions_section,
    exceptions_section,
    expectations_section,
    findings_section,
    is_met,
)
from clusterwright.report.sections.data import data_section
from clusterwright.report.sections.images import images_section
from clusterwright.report.sections.jobs import jobs_section, nccl_section
from clusterwright.report.sections.network import addresses_section, fabrics_section, isolation_section
from clusterwright.report.sections.physical import cabling_section, racks_section
from clusterwright.report.sections.proofs import ProvenClaim, proofs_card, proofs_section
from clusterwright.report.sections.rollouts import rollouts_section
from clusterwright.report.sections.simulation import simulation_section
from clusterwright.report.totals import RackKind, power_w, rack_kinds, tier_totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from jinja2 import Template

    from clusterwright.finding import Finding
    from clusterwright.plan.model import Plan
    from clusterwright.report.device_tables import Jobs
    from clusterwright.report.page import Leaf
    from clusterwright.report.rollout_history import Rollout
    from clusterwright.spec.hardware.models import HardwareModel

PAGE = "index.html"
_DOWNLOADS = (
    ("devices.csv", "every device with its place, role and addresses"),
    ("cables.csv", "every cable, in the order of laying"),
    ("addresses.csv", "every address of every interface"),
)


_CREW_DOWNLOADS = (
    ("materials.csv", "what to order: devices, cables, optics"),
    ("pulls.csv", "bundles of cables, in the order in which they are pulled"),
    ("labels.csv", "what stands on each label, two for each cable"),
)


def report_files(
    plan: Plan,
    findings: tuple[Finding, ...],
    rollouts: tuple[Rollout, ...] = (),
    claims: tuple[ProvenClaim, ...] | None = None,
    *,
    pages: bool = False,
    digest: str = "",
) -> Mapping[str, str]:
    """File name to text: ``index.html`` and its CSV files; with ``pages`` it links to the other pages.

    ``digest`` covers the spec's files.
    """
    page = report_page(plan, findings, rollouts, claims, pages=pages)
    return {PAGE: render_page(page, origin_of(plan, digest)), **csv_files(Inventory(plan))}


def origin_of(plan: Plan, digest: str) -> Origin:
    """The sources of a report of ``plan``."""
    gpus = sum(model.gpus.count for model in _models_of_devices(plan) if model.gpus is not None)
    totals = f"{len(plan.devices):,} devices, {len(plan.cables):,} cables, {gpus:,} GPUs"
    return Origin(
        program=f"clusterwright {__version__}", source=Path(plan.spec.document.file).name, digest=digest, totals=totals
    )


def _models_of_devices(plan: Plan) -> Iterator[HardwareModel]:
    return (plan.spec.catalogue[device.model] for device in plan.devices)


def leaf_files(plan: Plan, digest: str = "", jobs: Jobs | None = None) -> Mapping[str, Iterable[str]]:
    """File name to text of all other pages, each made on reading: the data hall's, the racks', the devices'.

    ``jobs`` are those of the devices' pages; None leaves the tables of jobs out.
    """
    origin = origin_of(plan, digest)
    environment = _environment()
    template = environment.get_template("leaf.html.j2")
    inventory = Inventory(plan)
    routes = tuple(laid_routes(inventory))
    index = SearchIndex(inventory, routes)
    search = environment.get_template("search.html.j2").render(
        cluster=plan.name, scripts=index.scripts, footer=origin.text
    )
    return {
        **crew_files(inventory),
        "materials.csv": csv_lines(inventory)["materials.csv"],
        "report.css": (_style(origin),),
        "report.js": (_asset("report.js"),),
        "search.html": (search,),
        "search.js": (_asset("search.js"),),
        **index.files,
        **{name: _later(template, make, origin.text) for name, make in leaves(inventory, routes, jobs).items()},
    }


def report_page(
    plan: Plan,
    findings: tuple[Finding, ...],
    rollouts: tuple[Rollout, ...] = (),
    claims: tuple[ProvenClaim, ...] | None = None,
    *,
    pages: bool = False,
) -> Page:
    """All content of the page, as text; ``rollouts`` are those of an audit log, ``claims`` the verdicts."""
    planned = figures(plan)
    tiers = tier_totals(plan)
    kinds = rack_kinds(plan)
    images = tuple(section for section in (images_section(plan), rollouts_section(rollouts)) if section is not None)
    optional = (simulation_section(plan), nccl_section(plan), jobs_section(plan))
    return Page(
        title=plan.spec.title,
        cluster=plan.name,
        source=plan.spec.document.file,
        cards=(*_cards(plan, planned, kinds, findings), proofs_card(claims)),
        downloads=(*_DOWNLOADS, *(_CREW_DOWNLOADS if pages else ())),
        has_leaves=pages,
        sections=(
            fabrics_section(plan, tiers),
            expectations_section(plan, planned),
            proofs_section(claims),
            *(section for section in optional if section is not None),
            racks_section(plan, kinds),
            cabling_section(plan),
            *images,
            addresses_section(plan),
            isolation_section(plan),
            *(section for section in (data_section(plan),) if section is not None),
            exceptions_section(plan),
            findings_section(findings),
            assumptions_section(plan),
        ),
    )


def render_page(page: Page, origin: Origin) -> str:
    """The page as HTML. The content security policy admits its style sheet and script by digest, nothing else."""
    style = _style(origin)
    script = _asset("report.js")
    return (
        _environment()
        .get_template("index.html.j2")
        .render(
            page=page,
            footer=origin.text,
            style=style,
            script=script,
            style_digest=_digest(style),
            script_digest=_digest(script),
        )
    )


def _cards(
    plan: Plan, planned: Mapping[str, float], kinds: tuple[RackKind, ...], findings: tuple[Finding, ...]
) -> tuple[Card, ...]:
    models = {device.model: plan.spec.catalogue[device.model] for device in plan.devices}
    nodes = [model for model in models.values() if model.gpus is not None]
    gpu_models = sorted({model.gpus.model for model in nodes if model.gpus is not None})
    roles = {name: int(count) for name, count in planned.items() if name.startswith("switches.")}
    storage_pb = planned.get("storage_pb", 0)
    peaks = {name.partition(".")[2]: value for name, value in planned.items() if name.startswith("peak_petaflops.")}
    published = sum(expectation.source is not None for expectation in plan.spec.expectations)
    met = sum(is_met(expectation, planned.get(expectation.figure)) for expectation in plan.spec.expectations)
    cards = [
        Card("GPUs", f"{planned['gpus']:,.0f}", ", ".join(gpu_models)),
        Card("Nodes", f"{planned['nodes']:,.0f}", ", ".join(sorted(model.name for model in nodes))),
        Card("Racks", f"{sum(kind.count for kind in kinds):,}", f"of {plural(len(kinds), 'kind')}"),
        Card("Switches", f"{sum(roles.values()):,}", f"in {plural(len(roles), 'role')}"),
        Card("Cables", f"{len(plan.cables):,}", f"in {plural(len(plan.spec.fabrics), 'fabric')}"),
        Card("Power", power(power_w(plan)), "as rated in the catalogue"),
        Card("Expected figures", f"{met} of {len(plan.spec.expectations)} met", f"{published} of them published"),
        Card("Findings", f"{len(findings):,}", "from lint"),
    ]
    if "bf16" in peaks:
        others = ", ".join(f"{name} {peaks[name]:,.0f}" for name in ("fp64", "tf32", "fp8") if name in peaks)
        cards.insert(1, Card("Peak, bf16", f"{peaks['bf16']:,.0f} PFLOPS", others))
    if storage_pb:
        cards.insert(-2, Card("Storage", storage(storage_pb), "usable"))
    return tuple(cards)


def _style(origin: Origin) -> str:
    """The style sheet, with a footer for every printed sheet: a browser prints a footer of HTML only once."""
    text = "".join(map(_css_character, origin.text))
    return f'{_asset("report.css")}@page {{ @bottom-left {{ content: "{text}"; font: 7pt sans-serif; }} }}\n'


def _css_character(letter: str) -> str:
    """A character of a CSS string, escaped if necessary."""
    return rf"\{ord(letter):06x}" if letter in '"\\<' or ord(letter) < 32 else letter


def _later(template: Template, make: Callable[[], Leaf], footer: str) -> Iterator[str]:
    yield template.render(leaf=make(), footer=footer)


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(data_files.folder("templates") / "report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    environment.filters["prose"] = _prose
    return environment


def _prose(text: str) -> Markup:
    """A sentence with code between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    pieces = [Markup("<code>{}</code>").format(part) if index % 2 else part for index, part in enumerate(parts)]
    return Markup().join(pieces)


def _asset(name: str) -> str:
    return (data_files.folder("templates") / "report" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
