"""The text of a short spec: of a cluster on one switch, or of machines and their fabric alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clusterwright.start.sizing import needs_chip_settings
from clusterwright.start.spec_text import driver_words, expectations, host_cables, spec_title, tier_texts
from clusterwright.start.wish import SizedTier, Sizing, Wish
from clusterwright.text.templates import template

_MANAGERS = 2  # of the subnet: one may fail
_COPPER_M = 5  # through the rack, beside the cables of GPUs


def one_switch_text(wish: Wish, sizing: Sizing, file: str) -> str:
    """The commented YAML of a cluster whose nodes somebody has installed, on two or three switches.

    ``file`` is what the spec will be called, for the commands that its comments name.
    """
    switches = (*sizing.backend, *sizing.frontend, *sizing.management)
    (backend,) = tier_texts(sizing.backend, 0, *host_cables(wish, sizing.backend[0], "backend", "dac", 2))
    (frontend,) = tier_texts(sizing.frontend, 0, *host_cables(wish, sizing.frontend[0], "frontend", "dac", 2))
    return template("start/one-switch.yaml.j2").render(
        **_shared_words(wish, sizing, switches),
        file=file,
        sizing=sizing,
        backend=backend,
        frontend=frontend,
        management=tier_texts(sizing.management, 0, "copper", _COPPER_M),
        managers=min(_MANAGERS, wish.nodes),
        distribution=wish.distribution,
        driver=_driver_sentence(wish),
        scheduler=wish.scheduler,
        shares_nvlink=wish.node_model.nvlink_domain_nodes is not None and wish.scheduler != "kueue",
    )


def bare_text(wish: Wish, sizing: Sizing, figures: Mapping[str, float]) -> str:
    """The commented YAML of machines and the GPUs' fabric, and nothing that is deployed onto nodes.

    ``figures`` of its plan become expectations where there are several tiers.
    """
    medium = ("aoc", 15) if wish.rails and len(sizing.backend) > 1 else ("dac", 2)
    return template("start/bare.yaml.j2").render(
        **_shared_words(wish, sizing, sizing.backend),
        backend=tier_texts(
            sizing.backend,
            4200100000 if wish.fabric != "infiniband" and len(sizing.backend) > 1 else 0,
            *host_cables(wish, sizing.backend[0], "backend", *medium),
        ),
        engine="updn" if len(sizing.backend) == 1 else "ftree",  # ftree routes no lone switch
        figures=expectations(wish, sizing, figures) if len(sizing.backend) > 1 else [],
    )


def _shared_words(wish: Wish, sizing: Sizing, switches: tuple[SizedTier, ...]) -> dict[str, Any]:
    return {
        "title": spec_title(wish),
        "name": wish.name,
        "hardware": json.dumps(wish.hardware, ensure_ascii=False) if wish.hardware else "",
        "node_model": wish.node_model,
        "nodes": wish.nodes,
        "levels": _levels(wish, sizing),
        "fabric": wish.fabric,
        "mtu": 4096 if wish.fabric == "infiniband" else 9000,
        "chips": sorted({tier.model.name for tier in switches if needs_chip_settings(tier.model)}),
    }


def _levels(wish: Wish, sizing: Sizing) -> str:
    """How the nodes stand, where that is not one rack."""
    if len(sizing.backend) > 1:
        pod = f", {{name: pod, of: {sizing.pod_racks}}}"
        return f", levels: [{{name: rack, of: {sizing.rack_nodes}}}{pod}]"
    return "" if sizing.rack_nodes == wish.nodes else f", levels: [{{name: rack, of: {sizing.rack_nodes}}}]"


def _driver_sentence(wish: Wish) -> str:
    driver = driver_words(wish.node_model)["driver"]
    if driver is None:
        return "You install the driver of the GPUs together with the system."
    return f"You install {driver.name} {driver.version} or later together with the system."
