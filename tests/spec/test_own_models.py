"""A user's own catalogue file: its models are used, and what is wrong with it is said where it stands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterwright.finding import SpecError
from clusterwright.spec.hardware.catalogue import load_catalogue

if TYPE_CHECKING:
    pass


SWITCH = """\
version: 1
kind: hardware
models:
  - name: my-switch
    kind: switch
    manufacturer: Acme
    part: X1
    technology: [ethernet]
    network_os: eos
    units: {value: 1, source: data sheet}
    power_w: {value: 100, source: data sheet}
    weight_kg: {value: 9.5, source: data sheet}
    ports:
      - block: "odd"
        cages: "E[1-7:2]"
        connector: qsfp-dd
        source: data sheet
        modes:
          - {name: 1x400, speed_gbps: 400, subports: [""], disables: even}
      - block: "even"
        cages: "E[2-8:2]"
        connector: qsfp-dd
        source: data sheet
        modes:
          - {name: 1x200, speed_gbps: 200, subports: [""]}
"""

NODE = """\
version: 1
kind: hardware
models:
  - name: my-node
    kind: node
    manufacturer: Acme
    part: N1
    technology: [roce]
    units: {value: 4, source: data sheet}
    power_w: {value: 4000, source: data sheet}
    weight_kg: {value: 60, source: data sheet}
    gpus: {count: 2, model: G, memory_gb: 80, source: data sheet}
    nics:
      - group: backend
        speed_gbps: 400
        source: data sheet
        devices:
          - {interface: be0, rdma_device: mlx5_0, pci: "0000:01:00.0", gpu: 0}
          - {interface: be1, rdma_device: mlx5_1, pci: "0000:02:00.0", gpu: 1}
"""


def problems(folder: Path, text: str) -> list[str]:
    """``line:column code message`` of every finding about a user's catalogue file with this text."""
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_catalogue(extra=[path])
    assert all(finding.position.file == str(path) and finding.hint for finding in caught.value.findings)
    return [f"{f.position.line}:{f.position.column} {f.code} {f.message}" for f in caught.value.findings]


def test_a_spec_can_bring_its_own_models(tmp_path: Path) -> None:
    (tmp_path / "switch.yaml").write_text(SWITCH, encoding="utf-8")
    (tmp_path / "node.yaml").write_text(NODE, encoding="utf-8")

    catalogue = load_catalogue(extra=[tmp_path / "switch.yaml", tmp_path / "node.yaml"])

    assert sum(len(block.cages) for block in catalogue["my-switch"].blocks) == 8
    assert "my-node" in catalogue
    assert "minipack2" in catalogue
    assert set(load_catalogue(tmp_path)) == {"my-switch", "my-node"}


def test_a_model_of_the_spec_replaces_that_of_the_catalogue(tmp_path: Path) -> None:
    """The catalogue grows: a spec that had described a model before goes on as it is."""
    (tmp_path / "switch.yaml").write_text(SWITCH.replace("name: my-switch", "name: minipack2"), encoding="utf-8")
    catalogue = load_catalogue(extra=[tmp_path / "switch.yaml"])
    assert sum(len(block.cages) for block in catalogue["minipack2"].blocks) == 8
    assert len(catalogue) == len(load_catalogue())


def test_a_chip_is_known_with_and_without_dashes(tmp_path: Path) -> None:
    (tmp_path / "switch.yaml").write_text(SWITCH.replace("network_os: eos", "network_os: eos\n    asic: tomahawk-5"))
    assert load_catalogue(extra=[tmp_path / "switch.yaml"])["my-switch"].asic == "tomahawk5"


def test_two_models_of_a_spec_do_not_share_a_name(tmp_path: Path) -> None:
    for name in ("one.yaml", "other.yaml"):
        (tmp_path / name).write_text(SWITCH, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_catalogue(extra=[tmp_path / "one.yaml", tmp_path / "other.yaml"])
    assert [finding.code for finding in caught.value.findings] == ["CW130"]


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        (SWITCH, ("disables: even", "disables: evne"), '19:70 CW131 There is no block "evne" to disable.'),
        (SWITCH, ("E[2-8:2]", "E[2-6:2]"), '19:70 CW131 A cage of "odd" (4 cages) cannot disable the one with the'),
        (
            SWITCH,
            ("disables: even", "disables: odd"),
            '19:70 CW131 A cage of "odd" (4 cages) cannot disable the one with',
        ),
        (SWITCH, ("E[2-8:2]", "E[1-8:2]"), '21:16 CW131 The cage "E1" comes twice.'),
        (
            SWITCH,
            ("E[2-8:2]", "E[8-2:2]"),
            '21:16 CW131 "E[8-2:2]" cannot be expanded: the range [8-2:2] runs backwards',
        ),
        (SWITCH, ('"even"', '"odd"'), '20:16 CW131 The block "odd" comes twice.'),
        (SWITCH, ('"even"', '"even[1-3]"'), "21:16 CW131 4 cages cannot be dealt evenly to 3 blocks."),
        (
            SWITCH,
            ("disables: even", 'disables: "even[1-2]"'),
            "19:70 CW131 disables: stands for 2 of the blocks, block: for 1.",
        ),
        (SWITCH, ("network_os: eos", "platform: x"), "4:5 CW131 A switch needs network_os:."),
        (
            SWITCH,
            ("network_os: eos", "network_os: eos\n    asic: tomahawk9"),
            '10:11 CW131 "tomahawk9" is no chip that',
        ),
        (
            SWITCH,
            ("network_os: eos", "network_os: nvue\n    asic: spectrum9"),
            '10:11 CW131 "spectrum9" is no chip that',
        ),
        (SWITCH, ("kind: switch", "kind: director"), "4:5 CW131 A director needs chips:."),
        (SWITCH, ("kind: switch", "kind: storage"), "4:5 CW131 A storage needs nics: to be cabled by."),
        (NODE, ("gpu: 1", "gpu: 2"), "19:77 CW131 The NIC sits beside GPU 2, but the model has 2."),
        (NODE, ("interface: be1", "interface: be0"), '19:25 CW131 The interface "be0" comes twice.'),
        (NODE, ("0000:02:00.0", "0000:01:00.0"), '19:56 CW131 The pci "0000:01:00.0" comes twice.'),
        (NODE, ("units: {value: 4, source: data sheet}", "units: {value: 4}"), "9:12 CW111 "),
        (NODE, ("source: data sheet}", "source: data sheet, assumed: because it fits}"), "9:43 CW113 "),
        (NODE, ("value: 4,", "value: -4,"), "9:20 CW114 "),
        (NODE, ("    gpus:", "    gpu:"), "12:5 CW110 "),
    ],
)
def test_a_bad_file_gives_a_positioned_finding(
    tmp_path: Path, text: str, change: tuple[str, str], expected: str
) -> None:
    changed = text.replace(*change, 1)
    assert changed != text

    found = problems(tmp_path, changed)

    assert any(line.startswith(expected) for line in found), found


def test_a_director_without_enough_cages_is_refused(tmp_path: Path) -> None:
    chips = "    chips: {leaves: 3, external: 4, spines: 4, source: data sheet}\n"
    director = SWITCH.replace("kind: switch", "kind: director").replace("    ports:\n", f"{chips}    ports:\n")

    assert problems(tmp_path, director) == [
        "13:12 CW131 3 leaf chips with 4 front ports each make 12 ports, but the model has 8 cages."
    ]


def test_leaf_chips_that_do_not_divide_by_their_modules_are_refused(tmp_path: Path) -> None:
    chips = "    chips: {leaves: 4, external: 2, spines: 2, modules: 3, source: data sheet}\n"
    director = SWITCH.replace("kind: switch", "kind: director").replace("    ports:\n", f"{chips}    ports:\n")

    assert problems(tmp_path, director) == ["13:57 CW131 4 leaf chips do not divide by 3 modules."]


def test_every_mistake_of_a_stage_is_shown_at_once(tmp_path: Path) -> None:
    both = SWITCH.replace("disables: even", "disables: evne").replace("network_os: eos", "platform: x")

    assert len(problems(tmp_path, both)) == 2


def test_a_missing_file_is_a_finding(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        load_catalogue(extra=[tmp_path / "nowhere.yaml"])

    assert [finding.code for finding in caught.value.findings] == ["CW101"]


PCIE = """\
    pcie:
      cpu: {arch: ARCH}
      numa_cpus: ["0-71", "72-143"]
      link_speed_gts: 32
      link_width: 16
      gpus: ["0008:01:00.0", "0009:01:00.0"]
      source: data sheet
"""


def test_processors_of_arm_need_no_words_of_x86(tmp_path: Path) -> None:
    (tmp_path / "node.yaml").write_text(NODE + PCIE.replace("ARCH", "arm64"), encoding="utf-8")
    assert load_catalogue(extra=[tmp_path / "node.yaml"])["my-node"].pcie is not None


def test_processors_of_x86_have_a_vendor_and_those_of_arm_none(tmp_path: Path) -> None:
    lacking = problems(tmp_path, NODE + PCIE.replace("ARCH", "x86_64"))
    assert sorted(found.split(" ", 2)[2] for found in lacking) == [
        f"x86_64 has a {word}, by which NCCL takes its bandwidth." for word in ("family", "model", "vendor")
    ]
    strange = problems(tmp_path, NODE + PCIE.replace("ARCH", "arm64, vendor: GenuineIntel"))
    assert [found.split(" ", 2)[2] for found in strange] == ["arm64 has no vendor of CPUID."]


BMCS = """\
    management:
      - {name: bmc, speed_gbps: 1, source: data sheet}
      - {name: dpu-bmc, speed_gbps: 1, source: data sheet}
"""
TRAY = """\
version: 1
kind: hardware
models:
  - name: my-tray
    kind: device
    manufacturer: Acme
    part: T1
    units: {value: 1, source: data sheet}
    power_w: {value: 0, source: data sheet}
    weight_kg: {value: 30, source: data sheet}
    management: {name: pmc, speed_gbps: 1, source: data sheet}
"""


def test_a_node_has_several_management_ports_and_a_device_these_alone(tmp_path: Path) -> None:
    (tmp_path / "node.yaml").write_text(NODE + BMCS)
    (tmp_path / "tray.yaml").write_text(TRAY)
    catalogue = load_catalogue(extra=[tmp_path / "node.yaml", tmp_path / "tray.yaml"])
    assert catalogue["my-node"].management_names == ("bmc", "dpu-bmc")
    assert catalogue["my-tray"].management_names == ("pmc",)
    assert catalogue["my-tray"].technology == ()


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        (NODE + BMCS, ("name: dpu-bmc", "name: bmc"), '22:16 CW131 The management port "bmc" comes twice.'),
        (NODE + BMCS, ("name: dpu-bmc", "name: be0"), "22:16 CW131 be0 is a NIC as well."),
        (NODE + BMCS, ("dpu-bmc, speed_gbps: 1", "b, speed_gbps: 10"), "22:31 CW131 b runs at 10G, bmc at 1G."),
        (SWITCH + BMCS, ("source: X", ""), "28:9 CW131 A switch with 2 management ports: systems are managed by one"),
        (NODE, ("value: 4000", "value: 0"), "10:22 CW131 A node draws power."),
        (NODE, ("    technology: [roce]\n", ""), '4:5 CW111 models[my-node] lacks the key "technology".'),
        (
            TRAY,
            ("units:", "network_os: nvos\n    units:"),
            "8:17 CW131 A device has management ports alone, and no netw",
        ),
        (
            TRAY,
            ("{name: pmc, speed_gbps: 1, source: data sheet}", "pmc"),
            "11:17 CW112 models[my-tray].management must ",
        ),
    ],
)
def test_management_ports_that_cannot_be_are_refused(
    tmp_path: Path, text: str, change: tuple[str, str], expected: str
) -> None:
    (problem,) = problems(tmp_path, text.replace(*change, 1))
    assert problem.startswith(expected)
