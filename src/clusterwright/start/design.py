"""Choice of the first spec for a request: one switch, several tiers, or machines and their fabric alone."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.spec.distribution import distribution_of
from clusterwright.spec.hardware.models import Catalogue, HardwareModel
from clusterwright.spec.slurm_releases import CONFIGLESS_OVER_IPV6
from clusterwright.start.one_switch import size_one_switch
from clusterwright.start.short_text import bare_text, one_switch_text
from clusterwright.start.sizing import MOST_NODES_IN_RACK, size
from clusterwright.start.sizing_request import CannotSizeError, Sizing, SizingRequest
from clusterwright.start.spec_text import spec_text


def size_design(request: SizingRequest, catalogue: Catalogue, service: HardwareModel) -> Sizing:
    """The switches for ``request``; nodes of one rack get one switch if its ports suffice.

    Raises CannotSizeError, with the reason.
    """
    if request.one_switch is None and _is_for_one_switch(request):
        try:
            return size_one_switch(request, catalogue, service)
        except CannotSizeError:
            return size(request, catalogue, service)
    if request.one_switch:
        if request.tenants > 1:
            raise CannotSizeError(_not_on_one_switch("--tenants"))
        if request.storage is not None:
            raise CannotSizeError(_not_on_one_switch("--storage"))
        return size_one_switch(request, catalogue, service)
    return size(request, catalogue, service)


def design_text(request: SizingRequest, sizing: Sizing, figures: Mapping[str, float], file: str) -> str:
    """The commented YAML of a design; ``figures`` of its plan become expectations if it has any.

    Raises CannotSizeError for a distribution with a Slurm that cannot work in the design.
    """
    if request.bare:
        return bare_text(request, sizing, figures)
    if sizing.is_on_one_switch:
        return one_switch_text(request, sizing, file)
    distribution = distribution_of(request.distribution)
    slurm = distribution.of.slurm if distribution is not None and request.scheduler == "slurm" else None
    if slurm is not None and slurm < CONFIGLESS_OVER_IPV6:
        raise CannotSizeError(
            f"init writes IPv6 networks for several tiers, over which slurmd {slurm} of {request.distribution}"
            " fetches no configuration. Take --scheduler none or kueue, or a distribution with Slurm 24.05: Debian 13,"
            " Rocky 10."
        )
    return spec_text(request, sizing, figures, file)


def _not_on_one_switch(flag: str) -> str:
    return f"init writes no {flag} on one switch: leave it out, or take --no-one-switch."


def _is_for_one_switch(request: SizingRequest) -> bool:
    """Whether one switch can serve everything requested, and one rack holds the nodes."""
    if request.tenants > 1 or request.storage is not None:
        return False
    if not request.rails or request.oversubscription != 1:
        return False
    return request.nodes <= MOST_NODES_IN_RACK and len(request.switches) <= 1
