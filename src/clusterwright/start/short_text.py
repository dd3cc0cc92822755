"""The text of a short spec: of a cluster on one switch, or of machines and their fabric alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clusterwright.start.frontend import needs_chip_settings
from clusterwright.start.sizing_request import SizedTier, Sizing, SizingRequest
from clusterwright.start.spec_text import driver_words, expectations, host_cables, spec_title, tier_texts
from clusterwright.text.templates import template

_MANAGERS = 2  # of the subnet: one may fail
_COPPER_M = 5  # through the rack, beside the cables of GPUs


def one_switch_text(request: SizingRequest, sizing: Sizing, file: str) -> str:
    """The commented YAML of a cluster on two or three switches, with nodes installed by the user.

    ``file`` is the later name of the spec, for the commands in its comments.
    """
    switches = (*sizing.backend, *sizing.frontend, *sizing.management)
    (backend,) = tier_texts(sizing.backend, 0, *host_cables(request, sizing.backend[0], "backend", "dac", 2))
    (frontend,) = tier_texts(sizing.frontend, 0, *host_cables(request, sizing.frontend[0], "frontend", "dac", 2))
    return template("start/one-switch.yaml.j2").render(
        **_shared_words(request, sizing, switches),
        file=file,
        sizing=sizing,
        backend=backend,
        frontend=frontend,
        management=tier_texts(sizing.management, 0, "copper", _COPPER_M),
        managers=min(_MANAGERS, request.nodes),
        distribution=request.distribution,
        driver=_driver_sentence(request),
        scheduler=request.scheduler,
        shares_nvlink=request.node_model.nvlink_domain_nodes is not None and request.scheduler != "kueue",
    )


def bare_text(request: SizingRequest, sizing: Sizing, figures: Mapping[str, float]) -> str:
    """The commented YAML of machines and the GPUs' fabric, without anything deployed onto nodes.

    ``figures`` of its plan become expectations if there are several tiers.
    """
    has_tiers = len(sizing.backend) > 1
    medium, length_m = ("aoc", 15) if request.rails and has_tiers else ("dac", 2)
    first_asn = 4200100000 if request.fabric != "infiniband" and has_tiers else 0
    cables = host_cables(request, sizing.backend[0], "backend", medium, length_m)
    return template("start/bare.yaml.j2").render(
        **_shared_words(request, sizing, sizing.backend),
        backend=tier_texts(sizing.backend, first_asn, *cables),
        engine="ftree" if has_tiers else "updn",  # ftree routes no lone switch
        figures=expectations(request, sizing, figures) if has_tiers else [],
    )


def _shared_words(request: SizingRequest, sizing: Sizing, switches: tuple[SizedTier, ...]) -> dict[str, Any]:
    return {
        "title": spec_title(request),
        "name": request.name,
        "hardware": json.dumps(request.hardware, ensure_ascii=False) if request.hardware else "",
        "node_model": request.node_model,
        "nodes": request.nodes,
        "levels": _levels(request, sizing),
        "fabric": request.fabric,
        "mtu": 4096 if request.fabric == "infiniband" else 9000,
        "chips": sorted({tier.model.name for tier in switches if needs_chip_settings(tier.model)}),
    }


def _levels(request: SizingRequest, sizing: Sizing) -> str:
    """The levels of the site as YAML; empty if the nodes fill one rack."""
    rack = f"{{name: rack, of: {sizing.rack_nodes}}}"
    if len(sizing.backend) > 1:
        return f", levels: [{rack}, {{name: pod, of: {sizing.pod_racks}}}]"
    return "" if sizing.rack_nodes == request.nodes else f", levels: [{rack}]"


def _driver_sentence(request: SizingRequest) -> str:
    driver = driver_words(request.node_model)["driver"]
    if driver is None:
        return "You install the driver of the GPUs together with the system."
    return f"You install {driver.name} {driver.version} or later together with the system."
