"""Switches that get files over SSH which nothing there would act on are refused before anything is touched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.plans import plan_of

from clusterwright.deploy.pulumi.units import cut
from clusterwright.deploy.targets import ANSIBLE, DIRECTORY, TargetSettings
from clusterwright.finding import ClusterwrightError
from clusterwright.plan.model import Plan
from clusterwright.rollout.activation import require_activation


def target(folder: Path, *devices: str, **more: Any) -> TargetSettings:
    for name in ("key", "hosts"):
        (folder / name).touch()
    access = {"private_key": "key", "known_hosts": "hosts", "user": "root", **more}
    access["addresses"] = dict.fromkeys(devices, "10.0.0.1")
    (folder / "access.yaml").write_text(json.dumps(access))
    return TargetSettings(ANSIBLE, folder / "up", folder / "access.yaml")


def first(plan: Plan, system: str) -> str:
    models = plan.spec.catalogue
    return next(
        device.name for device in plan.devices if device.kind == "switch" and models[device.model].network_os == system
    )


CASES: Mapping[str, str] = {"mlnx-os": "rsc-phase1", "eos": "lab-roce"}


@pytest.mark.parametrize(("system", "spec"), CASES.items())
def test_a_switch_without_steps_is_refused_over_ssh(system: str, spec: str, tmp_path: Path) -> None:
    plan = plan_of(spec)
    name = first(plan, system)
    with pytest.raises(ClusterwrightError) as refused:
        require_activation(plan, target(tmp_path, name), cut(plan))
    assert f"{name} ({system}: " in str(refused.value)
    assert "Nothing was touched" in str(refused.value)


def test_steps_of_the_site_nodes_and_a_directory_are_none_to_refuse(tmp_path: Path) -> None:
    plan = plan_of("lab-roce")
    name = first(plan, "eos")
    own = [{"name": "site", "files": ["mnt/flash/*"], "activate": [["site-apply"]]}]
    require_activation(plan, target(tmp_path, name, switch_overs=own), cut(plan))
    require_activation(plan, target(tmp_path, "gpu-p00r00n0", first(plan, "fboss")), cut(plan))
    require_activation(plan, TargetSettings(DIRECTORY, tmp_path / "up"), cut(plan))
