"""Every machine with GPUs, and what lint says of first specs for some of them."""

from __future__ import annotations

from tests.rules.overlays import UNTRIED

from clusterwright.spec.hardware.catalogue import load_catalogue

# What the catalogue gains is tried from then on.
NODE_MODELS = tuple(name for name, model in load_catalogue().items() if model.kind == "node" and model.gpus is not None)
# Nobody published where the adapters of some models are, and planes inside a switch are counted as one.
KNOWN_GAPS = {UNTRIED, "CW274", "CW290"}
