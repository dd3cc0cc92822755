"""Which first spec a wish makes: one switch, several tiers, or machines and their fabric alone."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.spec.distribution import distribution_of
from clusterwright.spec.hardware.models import Catalogue, HardwareModel
from clusterwright.spec.slurm_releases import CONFIGLESS_OVER_IPV6
from clusterwright.start.one_switch import size_one_switch
from clusterwright.start.short_text import bare_text, one_switch_text
from clusterwright.start.sizing import MOST_NODES_IN_RACK, size
from clusterwright.start.spec_text import spec_text
from clusterwright.start.wish import CannotSizeError, Sizing, Wish


def size_design(wish: Wish, catalogue: Catalogue, service: HardwareModel) -> Sizing:
    """The switches of what ``wish`` says; nodes of one rack get one switch where its ports suffice.

    Raises CannotSizeError, with the reason.
    """
    if wish.one_switch is None and _is_for_one_switch(wish):
        try:
            return size_one_switch(wish, catalogue, service)
        except CannotSizeError:
            return size(wish, catalogue, service)
    if wish.one_switch:
        for flag, is_wished in (("--tenants", wish.tenants > 1), ("--storage", wish.storage is not None)):
            if is_wished:
                raise CannotSizeError(f"init writes no {flag} on one switch: leave it out, or take --no-one-switch.")
        return size_one_switch(wish, catalogue, service)
    return size(wish, catalogue, service)


def design_text(wish: Wish, sizing: Sizing, figures: Mapping[str, float], file: str) -> str:
    """The commented YAML of a design; ``figures`` of its plan become expectations where it has some.

    Raises CannotSizeError for a distribution whose Slurm cannot work in the design.
    """
    if wish.bare:
        return bare_text(wish, sizing, figures)
    if sizing.is_on_one_switch:
        return one_switch_text(wish, sizing, file)
    distribution = distribution_of(wish.distribution)
    slurm = distribution.of.slurm if distribution is not None and wish.scheduler == "slurm" else None
    if slurm is not None and slurm < CONFIGLESS_OVER_IPV6:
        raise CannotSizeError(
            f"init writes IPv6 networks for several tiers, over which slurmd {slurm} of {wish.distribution} fetches no"
            " configuration. Take --scheduler none or kueue, or a distribution with Slurm 24.05: Debian 13, Rocky 10."
        )
    return spec_text(wish, sizing, figures, file)


def _is_for_one_switch(wish: Wish) -> bool:
    """Whether nothing is wished for that one switch cannot have, and one rack holds the nodes."""
    is_plain = wish.tenants == 1 and wish.storage is None and wish.rails and wish.oversubscription == 1
    return is_plain and wish.nodes <= MOST_NODES_IN_RACK and len(wish.switches) <= 1
