"""SONiC's own templates write FRR's configuration from the rendered tables: the text that the proofs and labs take.

A switch writes /etc/frr/frr.conf so when its BGP container starts (dockers/docker-fpm-frr/docker_init.sh). Outside of
`make test`: `make test-foreign` runs it.
"""

from __future__ import annotations

import ipaddress
import json
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import pytest
from tests.foreign.sonic_sources import CACHE, OLDER, WRITTEN_FOR, archive
from tests.plans import plan_of, plan_with

from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.switches.sonic.writer.frr import frr_conf

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(1800)]
TEMPLATES = "src/sonic-frr-mgmt-framework/templates"
FILES = ("bgpd/bgpd.conf.db.j2", "staticd/staticd.db.conf.j2", "bfdd/bfdd.conf.j2")
CONFIG = "etc/sonic/config_db.json"
# Lines of SONiC's that change nothing of the fabric: other families, what FRR does by itself, the management VRF.
WITHOUT_EFFECT = ("address-family ipv4", "address-family ipv6", "address-family l2vpn", "bgp log-neighbor-changes")
IPV4 = """
fabrics:
  - name: backend
    addressing: {hosts: 10.40.0.0/20, hosts_per_switch: 27, links: 10.41.0.0/16, loopbacks: 10.42.0.0/24}
"""


@cache
def templates_of(release: str) -> Path:
    """The folder of a release's templates."""
    target = CACHE / f"sonic-templates-{release}"
    if not target.exists():
        target.mkdir(parents=True)
        words = ["tar", "--extract", "--directory", str(target)]
        subprocess.run(words, input=archive(release, TEMPLATES), check=True)
    return target / TEMPLATES


def _is_of(version: int) -> Callable[[object], bool]:
    """sonic-cfggen's filters ``ipv4`` and ``ipv6``."""

    def is_of(value: object) -> bool:
        try:
            return ipaddress.ip_interface(str(value)).version == version
        except ValueError:
            return False

    return is_of


def written_by_sonic(release: str, tables: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """The lines of FRR's configuration from a release's templates, with keys taken apart as sonic-cfggen does."""
    root = templates_of(release)
    folders = [root, *(folder for folder in root.iterdir() if folder.is_dir())]
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(folders), trim_blocks=True)
    environment.filters.update(ipv4=_is_of(4), ipv6=_is_of(6))
    rows_by_key: dict[str, dict[object, Any]] = {}
    for table, rows in tables.items():
        rows_by_key[table] = {tuple(key.split("|")) if "|" in key else key: rows[key] for key in sorted(rows)}
    return _lines("\n".join(environment.get_template(file).render(rows_by_key) for file in FILES))


def _lines(text: str) -> set[str]:
    lines = {" ".join(line.split()) for line in text.splitlines()}
    return {line for line in lines if line and not line.startswith("!")}


def _tables(plan: Plan, device: str) -> Mapping[str, Mapping[str, Any]]:
    (config,) = (artifact for artifact in Rendering(plan).of_device(device) if artifact.path == CONFIG)
    tables: Mapping[str, Mapping[str, Any]] = json.loads(config.content)
    return tables


def _has_effect(line: str, tables: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a line of SONiC's is about the fabric, and not said already of a neighbour's group."""
    routes = {key.rpartition("|")[2] for key in tables.get("STATIC_ROUTE", {}) if key.startswith("mgmt|")}
    is_of_management = line in {"vrf mgmt", "exit-vrf"} or bool(routes.intersection(line.split()))
    neighbours = {key.rpartition("|")[2] for key in tables["BGP_NEIGHBOR"]}
    is_said_of_group = line.endswith(" activate") and line.split()[1] in neighbours
    return not (line.startswith(WITHOUT_EFFECT) or is_of_management or is_said_of_group)


@pytest.mark.parametrize("release", WRITTEN_FOR)
@pytest.mark.parametrize("overlay", ["", IPV4], ids=["ipv6", "ipv4"])
def test_a_switch_writes_the_text_that_is_proven(release: str, overlay: str, tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-sonic", overlay)
    switches = [device.name for device in plan.devices if device.name.startswith("rtsw-")]
    assert switches
    for switch in switches:
        tables = _tables(plan, switch)
        ours, theirs = _lines(frr_conf(tables).decode()), written_by_sonic(release, tables)
        assert ours - theirs <= {
            "end",
            f"hostname {switch}",
            *(line for line in ours if line.startswith(WITHOUT_EFFECT)),
        }
        assert not {line for line in theirs - ours if _has_effect(line, tables)}


def test_older_templates_stop_at_a_numbered_prefix() -> None:
    """So CW352 refuses that release and older ones (inventory/systems/sonic.yaml)."""
    with pytest.raises(jinja2.exceptions.UndefinedError):
        written_by_sonic(OLDER, _tables(plan_of("lab-sonic"), "rtsw-p00r00"))
