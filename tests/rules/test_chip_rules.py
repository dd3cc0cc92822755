"""CW230: entries of filters against what a chip holds, and a question where nobody publishes that."""

from __future__ import annotations

from tests.plans import plan_of

from clusterwright.rules.isolation.filter_sizes import asked_above
from clusterwright.spec.hardware.systems import systems


def test_only_bounds_of_chips_answer_whether_a_list_fits() -> None:
    bounded = {name for name, system in systems().items() if system.has_chip_bound}
    assert bounded == {"fboss"}


def test_spectrum_1_holds_what_nvidia_publishes() -> None:
    nvue = systems()["nvue"]
    assert nvue.rules_on("spectrum-1", 6) == 250
    assert nvue.rules_on("spectrum-1", 4) == 500
    assert nvue.rules_on("spectrum-4", 6) is None


def test_a_switch_is_asked_about_beyond_what_its_chip_holds() -> None:
    catalogue = plan_of("lab-nvue").spec.catalogue
    assert asked_above(catalogue["sn2201"], 6) == 250
    assert asked_above(catalogue["dcs-7060x6-64pe-sonic"], 6) == asked_above(catalogue["sn5600"], 6) == 1_000
