"""CW692 against the renderers: what it lets pass is written, and what it refuses could not be."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.rules.overlays import INVENTORY, codes, findings_of

from clusterwright.finding import ClusterwrightError
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.spec.load import load_spec

TIERS = {
    "wedge400-grand-teton": ("fboss", "frontend", "rsw", "rsw-p00r00"),
    "dcs-7060x6-64pe-sonic": ("sonic", "backend", "rtsw", "rtsw-p00r00"),
}
GRAND_TETON, SONIC = TIERS


def _own_model(folder: Path, model: str, changes: dict[str, str]) -> str:
    """A spec whose tier has the catalogue's model with ``changes`` under another name, beside the files it needs."""
    system, fabric, role, _ = TIERS[model]
    text = (INVENTORY / "hardware" / f"{system}.yaml").read_text()
    body = text[text.index(f"  - name: {model}\n") :].split("\n\n")[0]
    for before, after in {f"name: {model}": "name: of-ours", **changes}.items():
        assert before in body
        body = body.replace(before, after)
    (folder / "models.yaml").write_text(f"version: 1\nkind: hardware\nmodels:\n{body}\n")
    for base in ("lab-roce", "lab-sonic"):
        shutil.copy(INVENTORY / f"{base}.yaml", folder)
    overlay = (
        f"hardware: [models.yaml]\nfabrics:\n  - name: {fabric}\n    tiers:\n      - {{role: {role}, model: of-ours}}\n"
    )
    if system == "fboss":
        overlay += 'chip_settings:\n  - {name: of-ours, assumed: "Lane maps come from the vendor."}\n'
    return overlay


@pytest.mark.parametrize(
    ("model", "changes", "sentence"),
    [
        (
            GRAND_TETON,
            {"PLATFORM_WEDGE400_GRANDTETON": "PLATFORM_ELBERT"},
            "nothing is known of the platform PLATFORM_ELBERT; name",
        ),
        (
            GRAND_TETON,
            {"    platform: PLATFORM_WEDGE400_GRANDTETON\n": ""},
            "nothing is known of a model without `platform`; name",
        ),
        (GRAND_TETON, {"eth1/[2-16:2]": "eth1/[50-64:2]"}, "GRANDTETON has no port eth1/50/1; check"),
        (GRAND_TETON, {"eth1/[2-16:2]": "Ethernet[2-16:2]"}, "GRANDTETON has no port Ethernet2/1; check"),
        (
            SONIC,
            {"Arista-7060X6-64PE-64x400G": "Arista-7060X6-32PE"},
            "nothing is known of the platform Arista-7060X6-32PE; name",
        ),
        (
            SONIC,
            {"    platform: Arista-7060X6-64PE-64x400G\n": ""},
            "nothing is known of a model without `platform`; name",
        ),
        (
            SONIC,
            {"Ethernet[0-504:8]": "Ethernet[8-512:8]"},
            "64PE-64x400G has no port Ethernet512; check",
        ),
        (SONIC, {"Ethernet[0-504:8]": "eth[0-504:8]"}, "64PE-64x400G has no port eth0; check"),
        (SONIC, {'[""]': '["/1"]'}, "64PE-64x400G has no port Ethernet0/1; check"),
    ],
)
def test_lint_says_what_rendering_would_stop_at(
    model: str, changes: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    findings = findings_of(tmp_path, "extends: lab-sonic.yaml\n" + _own_model(tmp_path, model, changes))
    assert "CW692" in codes(findings), findings
    objection = next(finding for finding in findings if finding.code == "CW692")
    assert sentence in objection.message
    plan = build_plan(load_spec(tmp_path / "spec.yaml"))
    with pytest.raises(ClusterwrightError) as refused:  # some texts are made when they are asked for
        [artifact.content for artifact in Rendering(plan).of_device(TIERS[model][3])]
    assert str(refused.value).split(";")[0] in objection.message or "no port" in str(refused.value)


@pytest.mark.parametrize("model", TIERS)
def test_a_model_of_ones_own_with_the_platforms_ports_is_written(model: str, tmp_path: Path) -> None:
    findings = findings_of(tmp_path, "extends: lab-sonic.yaml\n" + _own_model(tmp_path, model, {}))
    assert not findings
    assert Rendering(build_plan(load_spec(tmp_path / "spec.yaml"))).of_device(TIERS[model][3])
