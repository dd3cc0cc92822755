"""The hardware catalogue: the published figures, and what is said about a catalogue file that is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from clusterwright import data_files
from clusterwright.finding import SpecError
from clusterwright.spec.bracket import MAX_NAMES, expand
from clusterwright.spec.catalogue import load_catalogue
from clusterwright.spec.reader import read_document
from clusterwright.spec.schema import check

if TYPE_CHECKING:
    from clusterwright.spec.hardware import HardwareModel

HARDWARE = data_files.folder("inventory") / "hardware"
FILES = sorted(HARDWARE.glob("*.yaml"))
SCHEMA: dict[str, Any] = json.loads((HARDWARE.parent / "schema" / "hardware.schema.json").read_text(encoding="utf-8"))


def cages(model: HardwareModel, speed_gbps: int | None = None) -> int:
    return sum(len(block.cages) for block in model.blocks if speed_gbps is None or block.mode(speed_gbps))


def logical_ports(model: HardwareModel) -> list[str]:
    """Every logical port that the model's cages can offer in any of their modes, each once per cage."""
    ports: list[str] = []
    for block in model.blocks:
        suffixes = {suffix for mode in block.modes for suffix in mode.subports}
        ports += [cage + suffix for cage in block.cages for suffix in sorted(suffixes)]
    return ports


# --- the schema ------------------------------------------------------------------------------------------------------


def test_the_schema_is_a_valid_json_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_closes_every_object_and_describes_every_property() -> None:
    def walk(node: Any, at: str) -> None:
        if isinstance(node, list):
            for index, item in enumerate(node):
                walk(item, f"{at}[{index}]")
        if not isinstance(node, dict):
            return
        if node.get("type") == "object":
            assert node.get("additionalProperties") is False, f"{at} takes unknown keys"
            for name, prop in node["properties"].items():
                described = prop if "description" in prop else SCHEMA["$defs"][prop["$ref"].removeprefix("#/$defs/")]
                assert described["description"], f"{at}.{name} has no description"
        for key, value in node.items():
            walk(value, f"{at}.{key}")

    walk(SCHEMA, "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_is_valid_short_and_names_its_schema(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()

    assert check(read_document(path), "hardware") == []
    assert lines[0] == "# yaml-language-server: $schema=../schema/hardware.schema.json"
    assert len(lines) < 300


# --- the figures -----------------------------------------------------------------------------------------------------


def test_every_model_that_the_articles_name_and_what_goes_with_them_is_there() -> None:
    assert {
        *("dgx-a100", "dgx-h100", "grand-teton-h100", "service-server"),
        *("wedge400", "wedge400-grand-teton", "minipack2"),
        *("dcs-7804r3", "dcs-7804r3-macsec", "dcs-7808r3", "dcs-7816r3"),
        *("dcs-7010tx-48", "dcs-7050sx3-48yc8", "dcs-7060x6-64pe-sonic"),
        *("qm8700", "qm8790", "cs8500", "qm9700", "qm9790"),
        *("q3400", "ufm-appliance", "infiniband-server"),
        *("flasharray-c", "flashblade", "altus", "yv3-sierra-point", "hammerspace-anvil", "hammerspace-dsx"),
    } == set(load_catalogue())


@pytest.mark.parametrize(
    ("name", "speed_gbps", "expected"),
    [
        ("minipack2", None, 128),
        ("minipack2", 200, 128),
        ("minipack2", 400, 64),
        ("wedge400", None, 48),
        ("wedge400", 400, 16),
        ("wedge400", 200, 48),
        ("wedge400-grand-teton", None, 48),
        ("wedge400-grand-teton", 400, 8),
        ("dcs-7804r3", 400, 144),
        ("dcs-7804r3-macsec", 400, 144),
        ("dcs-7808r3", 400, 288),
        ("dcs-7816r3", 400, 576),
        ("qm8700", 200, 40),
        ("qm8790", 200, 40),
        ("cs8500", 200, 800),
        ("qm9700", 400, 64),
        ("qm9790", 400, 64),
        ("dcs-7010tx-48", 1, 48),
        ("dcs-7010tx-48", 25, 4),
        ("dcs-7050sx3-48yc8", 25, 56),
        ("dcs-7050sx3-48yc8", 100, 8),
    ],
)
def test_port_counts_are_the_published_ones(name: str, speed_gbps: int | None, expected: int) -> None:
    assert cages(load_catalogue()[name], speed_gbps) == expected


def test_port_names_are_those_of_the_network_os() -> None:
    catalogue = load_catalogue()

    assert logical_ports(catalogue["minipack2"])[:2] == ["eth2/1/1", "eth2/3/1"]
    assert {port.split("/")[0] for port in logical_ports(catalogue["minipack2"])} == {
        f"eth{pim}" for pim in range(2, 10)
    }
    assert len(logical_ports(catalogue["wedge400"])) == 144  # subports in FBOSS's own platform mapping
    assert logical_ports(catalogue["dcs-7804r3"])[0] == "Ethernet3/1/1"
    assert logical_ports(catalogue["dcs-7804r3"])[-1] == "Ethernet6/36/7"
    assert logical_ports(catalogue["dcs-7050sx3-48yc8"])[47:49] == ["Ethernet48", "Ethernet49/1"]
    assert catalogue["cs8500"].blocks[0].cages[39:41] == ("L01/40", "L02/1")
    assert catalogue["qm9790"].blocks[0].cages[1:3] == ("1/2", "2/1")


def test_logical_ports_have_one_name_each() -> None:
    for model in load_catalogue().values():
        ports = logical_ports(model)
        assert len(ports) == len(set(ports)), model.name


def test_an_odd_minipack2_cage_at_400g_takes_the_even_one_beside_it() -> None:
    minipack2 = load_catalogue()["minipack2"]
    taken = []
    for block in minipack2.blocks:
        fast = block.mode(400)
        if fast is not None:
            assert fast.disables is not None
            other = minipack2.block(fast.disables)
            assert other is not None
            taken += list(zip(block.cages, other.cages, strict=True))

    assert len(taken) == 64
    for odd, even in taken:
        pim, cage = odd.split("/")
        assert even == f"{pim}/{int(cage) + 1}"


def test_the_director_is_a_non_blocking_clos_of_40_port_chips() -> None:
    director = load_catalogue()["cs8500"]

    assert director.chips is not None
    assert (director.chips.leaves, director.chips.external, director.chips.spines) == (40, 20, 20)
    assert director.chips.external + director.chips.spines == 40  # ports of a leaf chip
    assert director.chips.leaves == 40  # ports of a spine chip


@pytest.mark.parametrize(("name", "speed_gbps"), [("dgx-a100", 200), ("dgx-h100", 400), ("grand-teton-h100", 400)])
def test_nodes_have_eight_rails_with_a_gpu_each_and_two_frontend_nics(name: str, speed_gbps: int) -> None:
    node = load_catalogue()[name]
    backend, frontend = node.nic_group("backend"), node.nic_group("frontend")

    assert node.gpus is not None
    assert backend is not None
    assert frontend is not None
    assert node.gpus.count == 8
    assert backend.speed_gbps == speed_gbps
    assert [nic.gpu for nic in backend.nics] == list(range(8))
    assert [nic.interface for nic in backend.nics] == [f"be{rail}" for rail in range(8)]
    assert [nic.interface for nic in frontend.nics] == ["fe0", "fe1"]


def test_the_dgx_a100_map_is_the_published_one() -> None:
    backend = load_catalogue()["dgx-a100"].nic_group("backend")

    assert backend is not None
    assert [nic.rdma_device for nic in backend.nics] == [f"mlx5_{n}" for n in (0, 1, 2, 3, 6, 7, 8, 9)]
    assert [nic.numa for nic in backend.nics] == [3, 3, 1, 1, 7, 7, 5, 5]


def test_storage_tiers_divide_into_whole_devices() -> None:
    catalogue = load_catalogue()

    assert catalogue["flasharray-c"].capacity_tb * 100 == 175_000
    assert catalogue["flashblade"].capacity_tb * 20 == 10_000
    assert catalogue["altus"].capacity_tb * 125 == 46_000
    assert catalogue["yv3-sierra-point"].capacity_tb * 7_500 == 240_000


def test_buffers_are_those_of_the_chips() -> None:
    catalogue = load_catalogue()
    wedge400, minipack2 = catalogue["wedge400"].buffer, catalogue["minipack2"].buffer

    assert wedge400 is not None
    assert minipack2 is not None
    assert (wedge400.size_bytes, wedge400.cell_bytes) == (64 * 2**20, 254)
    assert (minipack2.size_bytes, minipack2.cell_bytes) == (2 * 234_606 * 254, 254)


def test_what_is_assumed_stays_with_the_model() -> None:
    assumed = load_catalogue()["grand-teton-h100"].assumed

    assert any(text.startswith("nics.backend: ") for text in assumed)
    assert any(text.startswith("power_w: not published") for text in assumed)
    assert not any(text.startswith("gpus: ") for text in assumed)  # published, with its source


# --- bracket patterns ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("eth0", ("eth0",)),
        ("[1-3]", ("1", "2", "3")),
        ("e[7-7]", ("e7",)),
        ("e[1-6:2]", ("e1", "e3", "e5")),
        ("L[09-11]x", ("L09x", "L10x", "L11x")),
        ("E[3-4]/[1-2]", ("E3/1", "E3/2", "E4/1", "E4/2")),
    ],
)
def test_patterns_expand_in_order(pattern: str, names: tuple[str, ...]) -> None:
    assert expand(pattern) == names


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("e[4-1]", "the range [4-1] runs backwards"),
        ("e[1-4:0]", "the range [1-4:0] has a step of 0"),
        ("e[1-4", '"e[1-4" is no range such as [1-16] or [1-15:2]'),
        ("e[a]", '"e[a]" is no range such as [1-16] or [1-15:2]'),
        ("[1-999999]/[1-999999]", f"it stands for more than {MAX_NAMES} names"),
    ],
)
def test_bad_patterns_say_what_is_wrong(pattern: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}$"):
        expand(pattern)


# --- a user's own file -----------------------------------------------------------------------------------------------

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

    assert cages(catalogue["my-switch"]) == 8
    assert "my-node" in catalogue
    assert "minipack2" in catalogue
    assert set(load_catalogue(tmp_path)) == {"my-switch", "my-node"}


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        (
            SWITCH,
            ("name: my-switch", "name: minipack2"),
            '4:11 CW130 The catalogue has a model "minipack2" already, at ',
        ),
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
