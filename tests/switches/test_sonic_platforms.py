"""Any SONiC switch: lanes, aliases and breakouts as its vendor publishes them, from the catalogue or its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.plans import plan_with
from tests.switches.test_sonic import config, objections

from clusterwright.finding import SpecError
from clusterwright.rules.engine import lint_path
from clusterwright.spec.hardware.catalogue import load_catalogue
from clusterwright.spec.hardware.models import HardwareModel
from clusterwright.spec.hardware.platform_ports import PlatformPortError

SN5600 = """
fabrics:
  - name: backend
    tiers:
      - {role: rtsw, model: sn5600-sonic, down: {mode: 2x400}, up: {mode: 1x400}}
  - name: frontend
    tiers:
      - {role: rsw, model: sn5600-sonic, down: {blocks: [cages]}, up: {blocks: [cages], mode: 2x200}}
"""
MODEL = """
version: 1
kind: hardware
models:
  - name: of-ours
    kind: switch
    manufacturer: Somebody
    part: S1
    technology: [ethernet, roce]
    network_os: sonic
    platform: Somebody-S1
    platform_file: FILES
    units: {value: 1, assumed: "a figure of a test"}
    power_w: {value: 100, assumed: "a figure of a test"}
    weight_kg: {value: 10, assumed: "a figure of a test"}
"""
INTERFACES = {
    f"Ethernet{8 * index}": {
        "index": ",".join([str(index + 1)] * 8),
        "lanes": ",".join(str(lane) for lane in range(65 - 8 * index, 73 - 8 * index)),
        "breakout_modes": {
            "1x400G[200G]": [f"Eth{index + 1}"],
            "2x200G": [f"Eth{index + 1}/1", f"Eth{index + 1}/2"],
            "4x25G(4)[10G]": [f"Eth{index + 1}/{n}" for n in range(1, 5)],
            "1x100G(2)+2x50G(2)": [f"Eth{index + 1}/{n}" for n in range(1, 4)],
        },
    }
    for index in range(8)
}
SKU = {name: {"default_brkout_mode": "2x200G"} for name in list(INTERFACES)[:4]}
INI = """# name       lanes       alias   index  speed
Ethernet0    17,18       etp1a   1      200000
Ethernet2    19,20       etp1b   1      200000
Ethernet4    1,2,3,4,5,6,7,8  etp2    2      400000
"""


def model(folder: Path, files: str, **written: Any) -> HardwareModel:
    """The model of a catalogue file beside which ``written`` lie."""
    for name, content in written.items():
        text = content if isinstance(content, str) else json.dumps({"interfaces": content})
        (folder / f"{name}.{'ini' if name == 'port_config' else 'json'}").write_text(text)
    catalogue = folder / "own.yaml"
    catalogue.write_text(MODEL.replace("FILES", files))
    return load_catalogue(extra=[catalogue])["of-ours"]


@pytest.mark.parametrize(
    ("name", "port", "mode", "lanes", "alias", "breakout"),
    [
        ("sn5600-sonic", "Ethernet12", "2x400", range(12, 16), "etp2b", "2x400G[200G,100G,50G,40G,25G,10G]"),
        ("sn5600-sonic", "Ethernet14", "4x200", range(14, 16), "etp2d", "4x200G[100G,50G,25G,10G]"),
        ("sn5600-sonic", "Ethernet512", "1x25", range(512, 513), "etp65", "1x25G[10G]"),
        ("sn4700-sonic", "Ethernet252", "2x200", range(252, 256), "etp32b", "2x200G[100G,50G,40G,25G,10G,1G]"),
        ("dcs-7060x6-64pe-sonic-800g", "Ethernet4", "2x400", range(21, 25), "etp1b", "2x400G"),
        ("dcs-7060x6-64pe-sonic", "Ethernet8", "1x400", range(1, 9), "etp2", "1x400G"),
        ("z9864f-on-sonic", "Ethernet8", "1x800", range(17, 25), "etp2", "1x800G"),
        ("as9736-64d-sonic", "Ethernet84", "2x200", range(253, 257), "Eth11/2(Port11)", "2x200G"),
        ("as9736-64d-sonic", "Ethernet1", "4x25", range(130, 131), "Eth1/2(Port1)", "4x25G[10G](4)"),
    ],
)
def test_ports_are_those_that_vendors_publish(
    name: str, port: str, mode: str, lanes: range, alias: str, breakout: str
) -> None:
    switch = load_catalogue()[name]
    (found,) = {
        each
        for block in switch.blocks
        for each in block.modes
        for cage in block.cages
        if each.name == mode and port in each.ports(cage)
    }

    known = switch.platform_port(port, found)

    assert (known.lanes, known.alias, known.breakout) == (tuple(lanes), alias, breakout)


@pytest.mark.parametrize("name", [name for name, each in load_catalogue().items() if each.network_os == "sonic"])
def test_no_two_ports_of_a_mode_share_a_lane(name: str) -> None:
    switch = load_catalogue()[name]
    if switch.platform_ports is None:
        assert name == "ds5000-sonic"  # its lanes are not published
        return
    for block in switch.blocks:
        for mode in block.modes:
            ports = [switch.platform_port(port, mode) for cage in block.cages for port in mode.ports(cage)]
            lanes = [lane for port in ports for lane in port.lanes]
            assert len(lanes) == len(set(lanes)) == len(ports) * block.lanes(mode)


@pytest.mark.parametrize(
    ("device", "port", "row"),
    [
        (
            "rtsw-p00r00",
            "Ethernet4",
            {"alias": "etp1b", "index": "1", "lanes": "4,5,6,7", "speed": "400000", "subport": "2"},
        ),
        (
            "rsw-p00r00",
            "Ethernet2",
            {"alias": "etp1b", "index": "1", "lanes": "2,3", "speed": "200000", "subport": "2"},
        ),
    ],
)
def test_an_sn5600_is_written_with_its_breakouts(device: str, port: str, row: dict[str, str], tmp_path: Path) -> None:
    tables = config(plan_with(tmp_path, "lab-sonic", SN5600), device)

    assert objections(tables) == []
    assert {key: tables["PORT"][port][key] for key in row} == row
    lanes = [lane for each in tables["PORT"].values() for lane in each["lanes"].split(",")]
    assert sorted(map(int, lanes)) == list(range(513))
    assert set(tables["BREAKOUT_CFG"]) == {f"Ethernet{number}" for number in range(0, 513, 8)}
    assert tables["BREAKOUT_CFG"]["Ethernet0"]["brkout_mode"].startswith("2x400G[" if "rtsw" in device else "4x200G[")


def test_what_does_not_fit_is_told_at_the_tier(tmp_path: Path) -> None:
    base = Path(__file__).parents[2] / "inventory" / "lab-sonic.yaml"
    spec = tmp_path / "too-fast.yaml"
    tiers = "[{role: rtsw, model: sn4700-sonic, down: {mode: 1x400}, up: {mode: 1x400}}]"
    spec.write_text(f"extends: {base}\nfabrics: [{{name: backend, tiers: {tiers}}}]\n")
    crowded = tmp_path / "crowded.yaml"
    crowded.write_text(f"extends: {base}\nfabrics: [{{name: backend, tiers: {tiers.replace('1x400', '2x400')}}}]\n")

    assert not [finding for finding in lint_path(spec).findings if finding.code == "CW692"]
    findings = lint_path(crowded).findings
    assert findings
    assert {(Path(finding.position.file).name, finding.position.line) for finding in findings} <= {
        ("crowded.yaml", 2),
        ("lab-roce.yaml", 56),
    }


def test_a_vendors_files_are_taken_as_they_are(tmp_path: Path) -> None:
    whole = model(tmp_path, "platform.json", platform=INTERFACES)
    sku = model(tmp_path, "[platform.json, hwsku.json]", platform=INTERFACES, hwsku=SKU)
    rows = model(tmp_path, "port_config.ini", port_config=INI)

    (block,) = whole.blocks
    assert (block.name, len(block.cages), block.connector) == ("osfp", 8, "osfp")
    # A breakout that mixes speeds cannot be asked for; further speeds come after the usual ones.
    assert [mode.name for mode in block.modes] == ["1x400", "2x200", "4x25", "1x200"]
    assert whole.platform_port("Ethernet12", block.modes[1]).lanes == (61, 62, 63, 64)
    assert whole.platform_port("Ethernet9", block.modes[2]).lanes == (58,)
    assert [len(block.cages) for block in sku.blocks] == [4]
    assert sku.blocks[0].modes[0].name == "2x200"
    assert [(block.cages, [mode.name for mode in block.modes]) for block in rows.blocks] == [
        (("Ethernet0", "Ethernet2"), ["1x200"]),
        (("Ethernet4",), ["1x400"]),
    ]
    port = rows.platform_port("Ethernet2", rows.blocks[0].modes[0])
    assert (port.lanes, port.number, port.alias, port.breakout) == ((19, 20), 1, "etp1b", "")
    with pytest.raises(PlatformPortError, match="runs Ethernet12 as 2x200, not as 1x400"):
        whole.platform_port("Ethernet12", block.modes[0])


def test_a_system_that_has_no_such_files_takes_none(tmp_path: Path) -> None:
    (tmp_path / "platform.json").write_text(json.dumps({"interfaces": INTERFACES}))
    catalogue = tmp_path / "own.yaml"
    catalogue.write_text(MODEL.replace("FILES", "platform.json").replace("network_os: sonic", "network_os: fboss"))

    with pytest.raises(SpecError, match=r"own\.yaml:12:20: CW131 fboss has no files that describe a platform"):
        load_catalogue(extra=[catalogue])


@pytest.mark.parametrize(
    ("files", "written", "complaint"),
    [
        ("nowhere.json", {}, "does not exist"),
        ("platform.json", {"platform": "{"}, "is not JSON"),
        ("platform.json", {"platform": {}}, "has no `interfaces`"),
        ("hwsku.json", {"hwsku": SKU}, "name platform.json, with hwsku.json or without"),
        ("[platform.json, port_config.ini]", {"platform": INTERFACES, "port_config": INI}, "name platform.json"),
        ("platform.json", {"platform": INTERFACES | {"Ethernet8": INTERFACES["Ethernet0"]}}, "have the same lane 65"),
        ("platform.json", {"platform": {"Ethernet0": {"lanes": "0,x"}}}, "has no `breakout_modes`"),
        ("platform.json", {"platform": {"eth0": {"lanes": "0"}}}, "eth0 is no port"),
        (
            "platform.json",
            {"platform": {"Ethernet0": {"lanes": "0", "index": "1", "breakout_modes": {"2x50G": ["a", "b"]}}}},
            "does not fit",
        ),
        (
            "platform.json",
            {"platform": {"Ethernet0": {"lanes": "0", "index": "1", "breakout_modes": {"fast": ["a"]}}}},
            "which is none",
        ),
        (
            "[platform.json, hwsku.json]",
            {"platform": INTERFACES, "hwsku": {"Ethernet0": {"default_brkout_mode": "8x50G"}}},
            "do not list",
        ),
        (
            "port_config.ini",
            {"port_config": "# name lanes alias index\nEthernet0 0,1 etp1 1\n"},
            "no port with its lanes",
        ),
    ],
)
def test_files_that_describe_no_ports_are_told(
    files: str, written: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match=complaint) as caught:
        model(tmp_path, files, **written)

    (finding,) = caught.value.findings
    assert (Path(finding.position.file).name, finding.position.line) == ("own.yaml", 12)
