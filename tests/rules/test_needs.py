"""What machines need of each other: one table, and no row of it without a finding when its flows are gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.golden_files import REFRESH
from tests.plans import plan_of
from tests.rules.overlays import findings_of

from clusterwright.intent.needs.need import Need, meets
from clusterwright.intent.needs.table import needs_of
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan

PAGE = Path(__file__).parents[2] / "docs" / "zones.md"
TABLE = {"CW505", "CW609", "CW614", "CW621", "CW622", "CW623", "CW624", "CW625", "CW626"}


def files_of(plan: Plan, device: str) -> dict[str, bytes]:
    return {artifact.path: artifact.content for artifact in Rendering(plan).of_device(device)}


def table(plan: Plan) -> tuple[Need, ...]:
    return needs_of(plan.spec, {device.name: device.node_group for device in plan.devices})


@pytest.mark.parametrize("name", ["lab-roce", "lab-ib", "lab-nvue", "lab-border", "lab-tenants", "rsc-phase1"])
def test_every_need_of_a_spec_is_met_by_a_flow(name: str) -> None:
    plan = plan_of(name)
    assert not [need for need in table(plan) if not any(meets(plan.spec, need, flow) for flow in plan.spec.flows)]


@pytest.mark.parametrize("flow", [flow.name for flow in plan_of("lab-roce").spec.flows])
def test_a_flow_that_goes_missing_is_found(flow: str, tmp_path: Path) -> None:
    """Every flow of the lab is there because a machine needs it."""
    findings = findings_of(tmp_path, f"flows:\n  - {{name: {flow}, remove: true}}\n", "lab-roce")
    assert TABLE & {finding.code for finding in findings}, [str(finding) for finding in findings]


def test_nfs_over_rdma_asks_for_roce_where_no_infiniband_is_between(tmp_path: Path) -> None:
    options = "mounts:\n  - {name: home, options: [vers=4.2, proto=rdma, port=20049, hard, noatime, nodev, nosuid]}\n"
    messages = [finding.message for finding in findings_of(tmp_path, options, "lab-nvue") if finding.code == "CW505"]
    assert len(messages) == 2
    assert all("over UDP port 4791" in message for message in messages)


def test_a_boot_server_listens_where_the_table_says() -> None:
    """Ports of the rendered servers, and of every URL that firmware, iPXE and installers are told."""
    plan = plan_of("lab-roce")
    needed = {(need.protocol, need.low) for need in table(plan) if need.booting}
    texts = {path: content.decode("utf-8", "replace") for path, content in files_of(plan, "svc-v00n0").items()}
    assert set(re.findall(r"listen \S+:(\d+)", texts["etc/nginx/conf.d/clusterwright-boot.conf"])) == {"80"}
    assert "tftp-single-port" in texts["etc/dnsmasq.d/clusterwright-boot.conf"]
    told = {
        (scheme, port)
        for path, text in texts.items()
        if path.startswith(("etc/kea/", "srv/http/")) and not path.endswith(".cpio")
        for scheme, port in re.findall(r"(\w+)://\[fd00[0-9a-f:]*\](?::(\d+))?/", text)
    }
    assert told == {("http", ""), ("tftp", "")}
    assert needed == {("udp", 547), ("udp", 69), ("tcp", 80)}


def test_a_running_node_needs_flows_that_its_running_filter_has(tmp_path: Path) -> None:
    """A flow to a zone of kind boot is gone after boot, and meets nothing that a running node needs."""
    text = "flows:\n  - {name: slurmctld, to: boot}\n"
    assert {finding.code for finding in findings_of(tmp_path, text, "lab-roce")} == {"CW623"}


def test_a_machine_boots_from_a_zone_of_kind_boot(tmp_path: Path) -> None:
    text = "flows:\n  - {name: boot, to: services}\n  - {name: boot-firmware, to: services}\n"
    findings = [finding for finding in findings_of(tmp_path, text, "lab-roce") if finding.code == "CW622"]
    assert [finding.hint.partition("ports: ")[2] for finding in findings] == ["[80]}.", "[547]}.", "[69]}."]


def test_kubernetes_answers_where_the_spec_says(tmp_path: Path) -> None:
    """Behind a load balancer its API server has another port than the one that kubeadm takes."""
    port, flow = "scheduler: {kueue: {api_port: 443}}\n", "flows: [{name: kubernetes, ports: [443]}]\n"
    assert {finding.code for finding in findings_of(tmp_path, port, "lab-roce")} == {"CW623"}
    assert findings_of(tmp_path, f"{port}{flow}", "lab-roce") == ()


def test_srun_listens_where_the_flow_is(tmp_path: Path) -> None:
    files = files_of(plan_of("lab-roce"), "svc-v00n0")
    assert b"\nSrunPortRange=61000-63999\n" in files["etc/slurm/slurm.conf"]


def test_an_installer_needs_its_mirror_and_names(tmp_path: Path) -> None:
    """Where an image is laid on disk the installer fetches packages over the network that it boots from."""
    mirror = "{name: a, url: 'https://m.example.net/d', key: /k.gpg, suites: [trixie], components: [main]}"
    text = f"images:\n  - {{name: training, delivery: disk, repositories: [{mirror}]}}\n"
    messages = [finding.message for finding in findings_of(tmp_path, text, "lab-roce") if finding.code == "CW622"]
    assert any("m.example.net over TCP port 443" in message for message in messages), messages
    assert any("over UDP port 53: it resolves m.example.net" in message for message in messages), messages


def test_the_page_shows_the_table_of_a_lab() -> None:
    rows = dict.fromkeys(
        (need.who.name, need.whom.name, need.port, need.why, need.unit, "at boot" if need.booting else "always")
        for need in table(plan_of("lab-border"))
    )
    text = PAGE.read_text() if PAGE.is_file() else ""
    head = "| client | server | port | reason | program | time |\n| --- | --- | --- | --- | --- | --- |\n"
    made = text.partition(head)[0] + head + "".join(f"| {' | '.join(row)} |\n" for row in rows)
    if REFRESH:
        PAGE.write_text(made)
    assert REFRESH or made == text, "docs/zones.md is stale; `make golden` writes it"
