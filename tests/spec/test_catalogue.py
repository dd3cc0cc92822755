"""The hardware catalogue: its schema, and the published figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from clusterwright import data_files
from clusterwright.spec.hardware.accelerators import runs_fabric_manager
from clusterwright.spec.hardware.catalogue import load_catalogue
from clusterwright.spec.hardware.systems import systems
from clusterwright.spec.schema.check import check
from clusterwright.spec.text.reader import read_document

if TYPE_CHECKING:
    from clusterwright.spec.hardware.models import HardwareModel

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


def test_every_model_that_publications_name_and_what_goes_with_them_is_there() -> None:
    assert {
        *("dgx-a100", "dgx-h100", "grand-teton-h100", "service-server"),
        *("wedge400", "wedge400-grand-teton", "minipack2"),
        *("dcs-7804r3", "dcs-7804r3-macsec", "dcs-7808r3", "dcs-7816r3"),
        *("dcs-7010tx-48", "dcs-7050sx3-48yc8", "dcs-7060x6-64pe-sonic"),
        *("dcs-7060x6-64pe-sonic-800g", "sn5600-sonic", "sn4700-sonic", "z9864f-on-sonic", "as9736-64d-sonic"),
        "ds5000-sonic",
        *("sn2201", "sn3700", "sn4700", "sn5600", "sn5610", "sn5640"),
        *("dcs-7060x6-64pe", "dcs-7060dx5-64s", "dcs-7050dx4-32s", "dcs-7280dr3-24"),
        *("dgx-h200", "hgx-h200", "dgx-b200", "hgx-b200"),
        *("dgx-b300", "dgx-b300-planes", "hgx-b300", "hgx-b300-planes"),
        *("gb200-nvl72-tray", "gb300-nvl72-tray", "gb300-nvl72-tray-planes"),
        *("nvl72-switch-tray", "gb200-power-shelf"),
        *("mi300x-8gpu", "mi355x-8gpu"),
        *("qm8700", "qm8790", "cs8500", "qm9700", "qm9790"),
        *("q3200", "q3400", "ufm-appliance", "infiniband-server"),
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
        ("dcs-7060x6-64pe", 800, 64),
        ("dcs-7060dx5-64s", 400, 64),
        ("dcs-7050dx4-32s", 400, 32),
        ("dcs-7280dr3-24", 400, 24),
        ("sn2201", 1, 48),
        ("sn3700", 200, 32),
        ("sn5610", 800, 64),
        ("sn5640", 400, 64),
        ("q3400", 800, 144),
        ("q3200", 800, 36),
    ],
)
def test_port_counts_are_the_published_ones(name: str, speed_gbps: int | None, expected: int) -> None:
    assert cages(load_catalogue()[name], speed_gbps) == expected


def test_every_switch_has_a_chip_that_its_system_runs_on() -> None:
    for model in load_catalogue().values():
        if model.asic is not None and (system := systems().get(model.network_os or "")) is not None:
            assert model.asic in system.chips, model.name


@pytest.mark.parametrize(
    ("name", "in_node"),
    [("dgx-h100", True), ("hgx-b200", True), ("gb200-nvl72-tray", False), ("service-server", False)],
)
def test_a_node_sets_up_the_nvlink_switches_that_it_has(name: str, *, in_node: bool) -> None:
    model = load_catalogue()[name]

    assert runs_fabric_manager(model) is in_node
    assert model.nvlinks == (18 if model.gpus else 0)


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
