"""What devices run against what they were to run: every kind of file, by meaning."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from tests.pages.shown import assert_whole, shown_by

from clusterwright.cli.main import cli
from clusterwright.data_files import folder
from clusterwright.device_files.drift import is_as_planned
from clusterwright.known_secrets import value_without_secrets, without_secrets
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.spec.load import load_spec

SPEC = folder("inventory") / "lab-roce.yaml"
SONIC = folder("inventory") / "lab-sonic.yaml"
NODE, EOS, FBOSS = "gpu-p00r00n0", "ctsw-p00-00", "rtsw-p00r00"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return build_plan(load_spec(SPEC))


def text(plan: Plan, device: str, path: str) -> str:
    return next(item.content.decode() for item in Rendering(plan).of_device(device) if item.path == path)


@pytest.fixture
def place(tmp_path: Path) -> Callable[[str, str, str], None]:
    """Puts what a device said into the folder."""

    def put(device: str, name: str, said: str) -> None:
        path = tmp_path / "running" / device / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(said)

    return put


def observe(tmp_path: Path, *options: str, spec: Path = SPEC) -> tuple[int, str]:
    done = CliRunner().invoke(
        cli, ["observe", str(spec), "--running", str(tmp_path / "running"), *options], standalone_mode=False
    )
    if done.exception is not None:
        raise done.exception
    return int(done.return_value or 0), done.output


def messages(output: str) -> list[str]:
    return [
        line
        for line in output.splitlines()
        if not re.match(r"\d+ differences?|no differences|revert:|note:|adopt:", line)
    ]


def as_eos_prints(rendered: str) -> str:
    """The text as `show running-config` prints it: a header of its own, secrets encrypted, an end."""
    said = re.sub(r"key 0 <secret [a-z-]+>", "key 7 0110100A4808", rendered)
    said = re.sub(r"password 7 <secret [^>]+>", "password 7 3kBuZZngAaLpq7FItTCQDQ==", said)
    said = re.sub(r"secret sha512 <secret [^>]+>", "secret sha512 $6$salt$0123456789", said)
    said = re.sub(r"auth sha <secret [a-z-]+> priv aes <secret [a-z-]+>", "auth sha 9cab12 priv aes 01fe", said)
    return "! Command: show running-config\n" + said.replace("! device:", "! device :") + "!\nend\n"


def test_what_runs_as_planned_is_no_difference_however_it_is_written(
    plan: Plan, tmp_path: Path, place: Callable[[str, str, str], None]
) -> None:
    place(EOS, "running-config", as_eos_prints(text(plan, EOS, "mnt/flash/startup-config")))
    agent = json.loads(text(plan, FBOSS, "etc/coop/agent.conf"))
    agent["sw"]["ports"].reverse()
    place(FBOSS, "etc/coop/agent.conf", json.dumps(agent, indent=7, sort_keys=True))
    sysctl = (
        text(plan, NODE, "etc/sysctl.d/90-clusterwright.conf")
        .replace(" = ", "=")
        .replace("4096 87380 ", "4096\t87380\t")
    )
    place(NODE, "sysctl", sysctl + "kernel.ostype = Linux\n")
    place(NODE, "etc/nccl.conf", "\n".join(reversed(text(plan, NODE, "etc/nccl.conf").splitlines())))
    place(NODE, "nft-ruleset", text(plan, NODE, "etc/nftables.conf").replace("\t", "  "))

    assert observe(tmp_path) == (0, "no differences on 3 devices\n")


def with_port_4444_open(rules: str) -> str:
    hole = "        tcp dport 4444 accept\n"
    return re.sub(r"(hook input[^\n]*\n(?:\s*policy[^\n]*\n)?)", rf"\1{hole}", rules, count=1)


def test_the_page_shows_what_observe_says(plan: Plan, tmp_path: Path) -> None:
    collected = tmp_path / "running"
    for device in plan.devices:
        for item in Rendering(plan).of_device(device.name):
            file = collected / device.name / item.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(item.content)
    changes = (
        (EOS, "mnt/flash/startup-config", lambda running: running.replace("   mtu 9000\n", "   mtu 1500\n", 1)),
        (NODE, "etc/nccl.conf", lambda running: running.replace("NCCL_IB_TC=200", "NCCL_IB_TC=96")),
        (NODE, "etc/nftables.conf", with_port_4444_open),
    )
    for device_name, path, change in changes:
        file = collected / device_name / path
        file.write_text(change(file.read_text()))

    status, output = observe(tmp_path)
    page = shown_by("drift.md", "clusterwright observe inventory/lab-roce.yaml --running")
    assert status == 1
    assert_whole(page, output.replace(str(SPEC), "inventory/lab-roce.yaml"))


def test_eos_is_compared_by_section_and_adopted_as_lines(
    plan: Plan, tmp_path: Path, place: Callable[[str, str, str], None]
) -> None:
    said = as_eos_prints(text(plan, EOS, "mnt/flash/startup-config"))
    said = (
        said.replace("   mtu 9000\n", "   mtu 1500\n", 1)
        if "   mtu 9000\n" in said
        else re.sub(r"   mtu \d+\n", "   mtu 1500\n", said, count=1)
    )
    interface = said[: said.index("   mtu 1500\n")].rpartition("\ninterface ")[2].split("\n")[0]
    said = said.replace("no ip routing vrf MGMT\n", "", 1).replace(
        "\nend\n", "\ninterface Loopback77\n   description somebody's test\n   no shutdown\n!\nend\n"
    )
    place(EOS, "running-config", said)

    status, output = observe(tmp_path)
    assert status == 1
    found = messages(output)
    file = f"{EOS} mnt/flash/startup-config: "
    (changed,) = (line for line in found if "mtu" in line)
    assert changed.startswith(f"{file}interface {interface}: mtu ")
    assert changed.endswith(" is planned, mtu 1500 runs")
    assert f"{file}no ip routing vrf MGMT is planned and does not run" in found
    assert f"{file}interface Loopback77 runs and is not planned" in found
    assert len(found) == 3
    assert f"revert: clusterwright refresh {SPEC} --pod pod0 && clusterwright up {SPEC} --pod pod0" in output

    _, adopted = observe(tmp_path, "--adopt")
    (entry,) = yaml.safe_load(adopted)["extra_config"]
    assert entry["device"] == EOS
    assert entry["lines"] == [
        "interface Loopback77",
        "   description somebody's test",
        "   no shutdown",
        f"interface {interface}",
        "   mtu 1500",
    ]
    missing = "# ctsw-p00-00 mnt/flash/startup-config: no ip routing vrf MGMT is planned and does not run"
    assert f"{missing}: the spec cannot remove it" in adopted


def test_what_was_adopted_is_planned_from_then_on(
    plan: Plan, tmp_path: Path, place: Callable[[str, str, str], None]
) -> None:
    said = as_eos_prints(text(plan, EOS, "mnt/flash/startup-config"))
    mtu = said.index("mtu 9000")
    said = f"{said[:mtu]}mtu 1500\n   logging event link-status{said[mtu + len('mtu 9000') :]}"  # of one interface
    place(EOS, "running-config", said.replace("\nend\n", "\ninterface Loopback77\n   description a test\n!\nend\n"))
    agent = json.loads(text(plan, FBOSS, "etc/coop/agent.conf"))
    agent["sw"]["switchSettings"]["maxRouteCounterIDs"] = 5
    place(FBOSS, "etc/coop/agent.conf", json.dumps(agent))
    status, adopted = observe(tmp_path, "--adopt")
    assert status == 1

    spec = tmp_path / "lab-roce.yaml"
    body = SPEC.read_text()
    shutil.copytree(folder("inventory") / "hardware", tmp_path / "hardware")
    assert "\nextra_config:" not in body
    spec.write_text(f"{body}\n{adopted}")

    assert observe(tmp_path, spec=spec) == (0, "no differences on 2 devices\n")


def test_json_is_compared_by_path(plan: Plan, tmp_path: Path, place: Callable[[str, str, str], None]) -> None:
    agent = json.loads(text(plan, FBOSS, "etc/coop/agent.conf"))
    name = agent["sw"]["ports"][0]["name"]
    agent["sw"]["ports"][0]["state"] = 1
    gone = agent["sw"]["ports"].pop(1)["name"]
    place(FBOSS, "etc/coop/agent.conf", json.dumps(agent))

    _, output = observe(tmp_path, "--format", "json")
    found = {entry["place"]: entry for entry in json.loads(output)["drift"]}
    assert found[f"/sw/ports[name={name}]/state"]["planned"] == "2"
    assert found[f"/sw/ports[name={name}]/state"]["runs"] == "1"
    assert found[f"/sw/ports[name={gone}]"]["kind"] == "missing"
    assert len(found) == 2
    assert "it would pin the whole list" in observe(tmp_path, "--adopt")[1]


def test_sonic_tables_are_compared_by_path(tmp_path: Path, place: Callable[[str, str, str], None]) -> None:
    plan = build_plan(load_spec(SONIC))
    device = next(
        item.name
        for item in plan.devices
        if item.kind == "switch"
        and any(file.path.endswith("config_db.json") for file in Rendering(plan).of_device(item.name))
    )
    path = next(file.path for file in Rendering(plan).of_device(device) if file.path.endswith("config_db.json"))
    tables = json.loads(text(plan, device, path))
    port = next(iter(tables["PORT"]))
    tables["PORT"][port]["mtu"] = "1500"
    tables["VLAN"] = {"Vlan77": {"vlanid": "77"}}
    place(device, path, json.dumps(tables))

    _, output = observe(tmp_path, spec=SONIC)
    assert f"{device} {path}: /PORT/{port}/mtu: " in output
    assert '/VLAN: {"Vlan77": {"vlanid": "77"}} runs and is not planned' in output
    _, adopted = observe(tmp_path, "--adopt", spec=SONIC)
    (entry,) = yaml.safe_load(adopted)["extra_config"]
    assert entry["merge"] == {"PORT": {port: {"mtu": "1500"}}, "VLAN": {"Vlan77": {"vlanid": "77"}}}
    assert entry["file"] == path


def test_a_node_is_compared_by_keys_and_rules(
    plan: Plan, tmp_path: Path, place: Callable[[str, str, str], None]
) -> None:
    place(
        NODE,
        "sysctl",
        text(plan, NODE, "etc/sysctl.d/90-clusterwright.conf").replace("rp_filter = 1", "rp_filter = 0", 1),
    )
    place(
        NODE,
        "etc/nccl.conf",
        text(plan, NODE, "etc/nccl.conf").replace("NCCL_IB_TC=200", "NCCL_IB_TC=96") + "NCCL_DEBUG=INFO\n",
    )
    rules = text(plan, NODE, "etc/nftables.conf")
    place(NODE, "nft-ruleset", with_port_4444_open(rules))

    status, output = observe(tmp_path)
    assert status == 1
    found = messages(output)
    assert f"{NODE} etc/sysctl.d/90-clusterwright.conf: net.ipv4.conf.all.rp_filter: 1 is planned, 0 runs" in found
    assert f"{NODE} etc/nccl.conf: NCCL_IB_TC: 200 is planned, 96 runs" in found
    assert f"{NODE} etc/nccl.conf: NCCL_DEBUG: INFO runs and is not planned" in found
    (opened,) = [line for line in found if "nftables" in line]
    assert opened.endswith(": tcp dport 4444 accept runs and is not planned")
    assert len(found) == 4

    _, adopted = observe(tmp_path, "--adopt")
    assert f"# at the image training, or one of its own for {NODE} by an exception:\nsysctl:\n" in adopted
    assert "# at nccl, for every node:\nvariables:\n  NCCL_IB_TC: '96'\n" in adopted
    assert "net.ipv4.conf.all.rp_filter: '0'" in adopted
    assert "packet filters follow from zones and flows alone" in adopted

    _, metrics = observe(tmp_path, "--format", "prometheus")
    labels = f'cluster="lab-roce",device="{NODE}",role="node"'
    assert f'clusterwright_drift_differences{{{labels},kind="changed"}} 2\n' in metrics
    assert f'clusterwright_drift_differences{{{labels},kind="unexpected"}} 2\n' in metrics
    assert f'clusterwright_drift_differences{{{labels},kind="missing"}} 0\n' in metrics


@pytest.fixture
def namespace() -> Iterator[str]:
    name = "cw-drift-nft"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


def test_the_kernels_own_listing_of_a_loaded_filter_is_no_difference(
    plan: Plan, tmp_path: Path, place: Callable[[str, str, str], None], namespace: str
) -> None:
    inside = ("ip", "netns", "exec", namespace, "nft")
    subprocess.run([*inside, "-f", "-"], input=text(plan, NODE, "etc/nftables.conf"), text=True, check=True)
    listed = subprocess.run([*inside, "list", "ruleset"], capture_output=True, text=True, check=True).stdout
    place(NODE, "nft-ruleset", listed)

    assert observe(tmp_path) == (0, "no differences on 1 device\n")


@pytest.mark.parametrize(
    ("device", "name", "said", "told"),
    [
        (FBOSS, "etc/coop/agent.conf", "{", "rtsw-p00r00/etc/coop/agent.conf: cannot be read as etc/coop/agent.conf"),
        (NODE, "nft-ruleset", "table inet x {\n  chain y {\n    quux\n", "cannot be read as etc/nftables.conf: line 3"),
        (NODE, "sysctl", "nonsense\n", 'line 1: "nonsense" has no "="'),
        ("nobody", "sysctl", "a = 1\n", "no device of lab-roce is called nobody"),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, place: Callable[[str, str, str], None], device: str, name: str, said: str, told: str
) -> None:
    place(device, name, said)

    with pytest.raises(Exception, match=re.escape(told)):
        observe(tmp_path)


UNPLANNED = {
    "neighbor CTSW password 7 3kBuZZngAaLpq7FItTCQDQ==": "3kBu",
    "neighbor 10.0.0.9 password plain-word": "plain-word",
    "username guest privilege 1 role network-operator secret sha512 $6$salt$ABCabc.123": "$6$",
    "enable password sha512 $6$other$ABCabc.456": "$6$",
    "snmp-server user guest group v3 localized f5717f44 auth sha 9cab12de priv aes 01fe45aa": "9cab12de",
    "snmp-server user second group v3 auth sha-256 another-one priv aes256 last-one": "another-one",
    "snmp-server community not-public ro": "not-public",
    "tacacs-server host 192.0.2.1 vrf MGMT key 7 0110100A4808": "0110100A4808",
    "tacacs-server key 0 tac-word": "tac-word",
    "radius-server host 192.0.2.2 vrf MGMT auth-port 1812 key 7 030752180500": "030752180500",
    "ntp authentication-key 3 sha1 7 0110AABBCC": "0110AABBCC",
}


def test_a_secret_that_runs_without_being_planned_is_not_shown(
    plan: Plan, tmp_path: Path, place: Callable[[str, str, str], None]
) -> None:
    profile = "mac security\n   profile guests\n      key 0a77 7 06070D221D1C5A4B51\n"
    lines = "".join(f"{line}\n" for line in UNPLANNED) + profile
    place(EOS, "running-config", as_eos_prints(text(plan, EOS, "mnt/flash/startup-config")) + lines)
    for options in ((), ("--format", "json"), ("--adopt",)):
        _, output = observe(tmp_path, *options)
        assert not [line for line, secret in UNPLANNED.items() if secret in output]
        assert "06070D221D1C5A4B51" not in output
        assert "(a secret)" in output
    shown = messages(observe(tmp_path)[1])
    assert (
        f"{EOS} mnt/flash/startup-config: username guest privilege 1 role network-operator secret sha512 (a secret)"
        in (line.removesuffix(" runs and is not planned") for line in shown)
    )
    assert "it holds a secret" in observe(tmp_path, "--adopt")[1]


@pytest.mark.parametrize("at_version", ["", "@4"])
def test_whatever_runs_in_place_of_a_secret_is_as_planned(at_version: str) -> None:
    planned = f"neighbor CTSW password 7 <secret bgp{at_version} as eos-bgp CTSW>"
    assert is_as_planned(planned, "neighbor CTSW password 7 3kBuZZngAaLpq7FItTCQDQ==")
    assert not is_as_planned(planned, "neighbor ATSW password 7 3kBuZZngAaLpq7FItTCQDQ==")
    assert is_as_planned(f"key 0 <secret tacacs{at_version}>", "key 7 0110100A4808")
    assert not is_as_planned("key 0 <secret ...>", "key 7 0110100A4808")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("m_key 0x1234abcd", "m_key (a secret)"),
        ("~ etc/opensm/m-key\n  -0x1234abcd\n", "~ etc/opensm/m-key\n  -0x(a secret)\n"),
        ('"passkey": "hunter2", "asn": 65000', '"passkey": "(a secret)", "asn": 65000'),
        ('"auth_password": "x", "md5": true', '"auth_password": "(a secret)", "md5": true'),
        ("root:$y$j9T$F5Jx5$X3DX6:19000::", "root:(a secret):19000::"),
        ("createUser mon SHA one AES two", "createUser mon SHA (a secret) AES (a secret)"),
        ("   secret 1 7 073D2E58 receive-lifetime infinite", "   secret 1 7 (a secret) receive-lifetime infinite"),
        ("      key 0a01 7 0110AA fallback", "      key 0a01 7 (a secret) fallback"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
         "-----BEGIN PRIVATE KEY----- (a secret) -----END PRIVATE KEY-----"),
    ],
)  # fmt: skip
def test_secrets_are_told_by_where_they_stand(line: str, shown: str) -> None:
    assert without_secrets(line) == shown
    assert without_secrets(shown) == shown


@pytest.mark.parametrize(
    "line",
    [
        "neighbor CTSW password 7 <secret bgp@4 as eos-bgp CTSW>",
        "key 0a01 7 <secret cak as eos-cak> fallback",
        '"passkey": "<secret/tacacs@2>"',
        "service password-encryption",
        "password minimum length 8",
        "aaa authentication login default group tacacs+ local",
        "certificate gnmi.crt key gnmi.key",
        "username guest nopassword",
        "neighbor CTSW peer group",
        "ip access-list secrets-of-others",
    ],
)
def test_other_lines_and_placeholders_stay(line: str) -> None:
    assert without_secrets(line) == line


def test_a_value_is_a_secret_by_its_key(plan: Plan, tmp_path: Path, place: Callable[[str, str, str], None]) -> None:
    assert value_without_secrets("m_key", "0x12") == "(a secret)"
    assert value_without_secrets("passkey", '"word"') == '"(a secret)"'
    assert value_without_secrets("router bgp 65000", "maximum-paths 4") == "maximum-paths 4"
