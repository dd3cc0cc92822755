"""Designs that are refused as written: the exact errors, and that their hints lead to a spec without any.

`mixed` has too few ports, `jvd` names a system that no one here configures, `acme2` leaves out the chip of its switch,
and `b200-stor` has one subnet prefix twice and promises a ratio that it does not have. None of them is planned as
written: each would need a figure that only its author has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from clusterwright.finding import Finding, Severity
from clusterwright.rules.engine import lint_path

DESIGNS = Path(__file__).parent / "designs"
Data = dict[str, Any]


class Design:
    """A spec and its hardware file as data, in a folder of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self.file = folder / f"{name}.yaml"
        self.spec: Data = yaml.safe_load((DESIGNS / f"{name}.yaml").read_text())
        self._hardware_file = folder / self.spec["hardware"][0]
        self.hardware: Data = yaml.safe_load((DESIGNS / self.spec["hardware"][0]).read_text())

    def tier(self, role: str) -> Data:
        """The tier of a role, in any fabric."""
        for fabric in self.spec["fabrics"]:
            tiers: list[Data] = fabric["tiers"]
            for tier in tiers:
                if tier["role"] == role:
                    return tier
        raise LookupError(role)

    def errors(self) -> list[Finding]:
        """The errors in both as they are now, in the order of the spec."""
        self.file.write_text(yaml.safe_dump(self.spec, sort_keys=False))
        self._hardware_file.write_text(yaml.safe_dump(self.hardware, sort_keys=False))
        return [finding for finding in lint_path(self.file).findings if finding.severity is Severity.ERROR]


def sentences(findings: list[Finding]) -> list[tuple[str, str, str]]:
    """Code, message and hint of each."""
    return [(finding.code, finding.message, finding.hint) for finding in findings]


CROWDED_LEAF = (
    "CW201",
    (
        "leaf-p00-00 needs 64 ports of 400G for the links from below, and others for 16 uplinks; sn4700 has 32 left for"
        " them."
    ),
    "Put more leaf switches there, attach fewer links to each, or take a larger model.",
)
CROWDED_GLEAF = (
    "CW201",
    (
        "gleaf-g00-00 needs 144 ports of 400G for the links from below, and others for 64 uplinks; sn5600 has 128 left"
        " for them."
    ),
    "Put more gleaf switches there, attach fewer links to each, or take a larger model.",
)
CROWDED_SPINE = "spine-00 needs 160 ports of 400G for the links from below; sn5600 has 128 left for them."
NARROW_LEAF = (
    "CW204",
    "Above leaf there is 4.00 times less bandwidth than its NICs have.",
    "Add uplinks, or expect oversubscription.backend.leaf with its reason.",
)
NARROW_GLEAF = (
    "CW204",
    "Above gleaf there is 2.25 times less bandwidth than its NICs have.",
    "Add uplinks, or expect oversubscription.backend.gleaf with its reason.",
)
SMALL_SUBNET = ("CW303", "backend has 144 NICs on one switch, and addresses for 127 in a /24.", "A /23 holds them.")


def test_mixed_generations_as_written_have_too_few_ports(tmp_path: Path) -> None:
    design = Design(tmp_path, "mixed")
    assert sentences(design.errors()) == [CROWDED_LEAF, NARROW_LEAF, NARROW_GLEAF, SMALL_SUBNET]


def test_mixed_generations_pass_with_larger_leaves_and_more_switches(tmp_path: Path) -> None:
    design = Design(tmp_path, "mixed")
    design.tier("leaf")["model"] = "sn5600"
    assert sentences(design.errors()) == [NARROW_LEAF, CROWDED_GLEAF, NARROW_GLEAF, SMALL_SUBNET]
    design.tier("gleaf")["count"] = 3
    assert sentences(design.errors()) == [NARROW_LEAF]
    design.tier("leaf")["up"]["links"] = 64
    (finding,) = design.errors()
    assert finding.message == CROWDED_SPINE
    assert finding.hint.startswith("Put more spine switches there")
    design.tier("spine")["count"] = 32
    assert not design.errors()


def test_a_hint_for_more_spines_counts_the_uplinks_of_leaves(tmp_path: Path) -> None:
    design = Design(tmp_path, "mixed")
    design.tier("leaf")["count"] = 4
    design.tier("gleaf")["count"] = 3
    (finding,) = design.errors()
    assert finding.message == CROWDED_SPINE
    assert finding.hint == (
        "Take a larger model, attach fewer links to each, or put more spine switches there and give each leaf an uplink"
        " to every one."
    )
    design.tier("spine")["count"] = 32
    assert [finding.code for finding in design.errors()] == ["CW214"]  # without the uplinks
    design.tier("leaf").update(up={"links": 32, "speed_gbps": 400}, model="sn5600")
    assert not design.errors()


def test_switches_of_another_system_are_planned_as_external(tmp_path: Path) -> None:
    design = Design(tmp_path, "jvd")
    (finding,) = design.errors()
    assert (finding.code, finding.message) == ("CW131", '"junos-evolved" is no system that is known.')
    assert "external is any that another owner configures" in finding.hint
    design.hardware["models"][0]["network_os"] = "external"
    assert not design.errors()


def test_a_model_of_ones_own_needs_its_chip_for_the_words_of_queues(tmp_path: Path) -> None:
    design = Design(tmp_path, "acme2")
    findings = design.errors()
    assert [(finding.code, finding.path) for finding in findings] == [
        ("CW443", "fabrics[backend].tiers[leaf].model"),
        ("CW431", "fabrics[backend].tiers[spine].model"),
        ("CW443", "fabrics[backend].tiers[spine].model"),
    ]
    chips = findings[0].hint.removesuffix(".").rpartition(": ")[2].split(", ")
    assert "tomahawk4" in chips
    for chip in chips:
        design.hardware["models"][0]["asic"] = chip
        assert not {finding.code for finding in design.errors()} & {"CW443"}, chip
    design.hardware["models"][0]["asic"] = "tomahawk4"
    assert not design.errors()


def test_two_subnets_of_one_host_need_prefixes_and_a_promise_needs_its_ratio(tmp_path: Path) -> None:
    design = Design(tmp_path, "b200-stor")
    assert sentences(design.errors()) == [
        (
            "CW255",
            (
                "storage and backend have the subnet prefix 0xfe80000000000000, and compute is in both: programs on it"
                " treat them as one subnet."
            ),
            "Give storage a `subnet_prefix` of its own, as 0xfe80000000000001.",
        ),
        (
            "CW203",
            "oversubscription.storage.sleaf is planned as 1.133, expected 1.334 within 1%.",
            (
                "The figure comes from: 4:3 of the storage fabric. It is the mean of a tier: write `at_most: 1.334` for"
                " a bound of each switch."
            ),
        ),
    ]
    design.spec["fabrics"][1]["subnet_manager"]["subnet_prefix"] = "0xfe80000000000001"
    promise = design.spec["expect"][0]
    promise["at_most"] = promise.pop("value")
    del promise["tolerance"]
    assert not design.errors()
