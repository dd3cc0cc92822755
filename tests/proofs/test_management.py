"""What a switch lacks of the spec's operators, servers and watchers is told, on every system."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from tests.plans import plan_of, plan_with
from tests.switches.test_managed_switch import managed_plan

from clusterwright.artifact import Artifact
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.management import MANAGEMENT
from clusterwright.proofs.tree import tree_of

EOS, AGENT, SONIC = "mnt/flash/startup-config", "etc/coop/agent.conf", "etc/sonic/config_db.json"
NVUE = "etc/clusterwright/nvue.yaml"
SYSUSERS, KEYS, PASSWORDS = (
    "etc/sysusers.d/clusterwright.conf",
    "etc/ssh/authorized_keys.d/netops",
    "etc/clusterwright/passwords",
)
CHRONY, RSYSLOG, PAM = "etc/chrony.conf", "etc/rsyslog.d/90-clusterwright.conf", "etc/pam.d/sshd"
PROFILE, SNMPD = "etc/NetworkManager/system-connections/eth0.nmconnection", "etc/snmp/snmpd.conf"
SWITCH = {EOS: ("lab-roce", "ctsw-p00-00"), SONIC: ("lab-sonic", "rtsw-p00r00"), NVUE: ("lab-nvue", "rtsw-p00r00")}
SWITCH |= dict.fromkeys((SYSUSERS, KEYS, PASSWORDS, CHRONY, RSYSLOG, PAM, PROFILE, SNMPD), ("lab-roce", "rsw-p00r00"))
SECTION = r"\n(?: .*\n)*"


@cache
def artifacts(spec: str, device: str) -> tuple[Artifact, ...]:
    return tuple(
        artifact for artifact in Rendering(plan_of(spec)).of_device(device) if artifact.kind in MANAGEMENT.kinds
    )


def judged(plan: Plan, files: tuple[Artifact, ...], path: str = "", old: str = "", new: str = "") -> Verdict:
    """The verdict on one switch, with the first match in one of its files written otherwise."""
    found = []
    for file in files:
        content = file.content
        if file.path == path:
            content = re.sub(old, new, content.decode(), count=1, flags=re.M).encode()
            assert content != file.content, f"{old} changes nothing"
        found.append(Artifact(file.device, file.path, content, file.kind))
    return MANAGEMENT.run(tree_of(plan.spec.name, found, Declaration(plan)))


LACKS: dict[str, tuple[str, str, str, str]] = {
    "EOS: an account": (EOS, r"^username netops .*\n(?=username)", "", "may not change the switch"),
    "EOS: every line of it": (EOS, r"(?:^username netops .*\n)+", "", "the operator netops has no account"),
    "EOS: its key": (EOS, r"^username netops ssh-key .*\n", "", "a key of the operator netops"),
    "EOS: its password": (EOS, r"secret sha512 <.*", "nopassword", "has no password"),
    "EOS: another name": (EOS, r"^ip name-server vrf MGMT .*\n", "", "does not use 10.99.240.53 as a name server"),
    "EOS: in another VRF": (EOS, r"^ip name-server vrf MGMT ", "ip name-server vrf default ", "this line names it"),
    "EOS: time": (EOS, r"^ntp server .*\n", "", "does not use 10.99.240.123 as a time server"),
    "EOS: its log": (EOS, r"^logging vrf MGMT host .*\n", "", "does not send its log to 10.99.240.14"),
    "EOS: one of two servers of logins": (EOS, r"^tacacs-server host 10.99.240.50 .*\n", "", "10.99.240.50 for logins"),
    "EOS: a server in no group": (EOS, r"^   server 10.99.240.50 .*\n", "", "this line names it"),
    "EOS: an unused group": (EOS, r"^(aaa authentication login default) group CENTRAL", r"\1", "this line names it"),
    "EOS: SNMP's user": (EOS, r"^snmp-server user .*\n", "", "no user monitoring of SNMP"),
    "EOS: SNMP": (EOS, r"^snmp-server vrf MGMT\n", "", "SNMP does not answer"),
    "EOS: SSH": (EOS, rf"^management ssh{SECTION}", "", "SSH does not answer"),
    "EOS: eAPI": (EOS, rf"^management api http-commands{SECTION}", "", "eAPI does not answer"),
    "EOS: gNMI": (EOS, rf"^management api gnmi{SECTION}", "", "gNMI at port 6030 does not answer"),
    "EOS: gNMI elsewhere": (EOS, "port 6030", "port 50051", "gNMI at port 6030 does not answer"),
    "SONiC: names": (SONIC, r'"10.99.240.53": \{\}', "", "does not use 10.99.240.53 as a name server"),
    "SONiC: time": (SONIC, r'"10.99.240.123"', '"10.99.240.124"', "does not use 10.99.240.123 as a time server"),
    "SONiC: time that is off": (
        SONIC,
        r'"admin_state": "enabled"(?=, "server_role")',
        '"admin_state": "disabled"',
        "this line names it",
    ),
    "SONiC: its log": (SONIC, r'"10.99.240.14"', '"10.99.240.15"', "does not send its log to 10.99.240.14"),
    "SONiC: logins": (SONIC, r'"tacacs\+,local"', '"local"', "this line names it"),
    "SONiC: gNMI elsewhere": (SONIC, r'"port": "6030"', '"port": "50051"', "gNMI at port 6030"),
    "SONiC: SNMP's user": (SONIC, r'^  "SNMP_USER": \{\n.*\n  \}', '  "SNMP_USER": {}', "no user monitoring of SNMP"),
    "SONiC: SNMP that is off": (SONIC, r'(?<="snmp": \{"state": ")enabled', "disabled", "SNMP does not answer"),
    "SONiC: no features": (SONIC, r'^  "FEATURE": \{\n(?:    .*\n)*  \},\n', "", "gNMI does not answer"),
    "NVUE: SNMP that is off": (NVUE, r'(?<=snmp-server:\n        enable: )"on"', '"off"', "SNMP does not answer"),
    "NVUE: SSH that is off": (NVUE, "state: enabled", "state: disabled", "SSH does not answer"),
    "NVUE: an account": (
        NVUE,
        r"^ +netops:\n(?: {12}.*\n)+",
        "          eve: {}\n",
        "the operator netops has no account",
    ),
    "NVUE: its key": (NVUE, r"^( +key: )AAAA\S+", r"\1AAAAC3", "a key of the operator netops"),
    "NVUE: its role": (NVUE, "role: system-admin", "role: nvue-monitor", "may not change the switch"),
    "NVUE: its password": (NVUE, r"hashed-password: .*", 'hashed-password: "*"', "has no password"),
    "NVUE: names": (NVUE, '"10.98.240.53"', '"10.98.240.54"', "does not use 10.98.240.53 as a name server"),
    "NVUE: time in another VRF": (NVUE, r"(?<=      ntp:\n        )mgmt:", "default:", "this line names it"),
    "NVUE: its log": (NVUE, '"10.98.240.14"', '"10.98.240.15"', "does not send its log to 10.98.240.14"),
    "NVUE: logins that are off": (NVUE, r'(?<=tacacs:\n          )enable: "on"', 'enable: "off"', "this line names it"),
    "NVUE: unused logins": (NVUE, r'"10": tacacs', '"10": local', "this line names it"),
    "NVUE: SNMP's user": (NVUE, r"^( +)monitoring:", r"\1other:", "no user monitoring of SNMP"),
    "Linux: an account": (SYSUSERS, r"^u netops .*\nm netops .*\n", "u eve -\n", "may not change the switch"),
    "Linux: its role": (SYSUSERS, r"^m netops .*\n", "", "may not change the switch"),
    "Linux: its key": (KEYS, r"ssh-ed25519 \S+", "ssh-ed25519 AAAA", "a key of the operator netops"),
    "Linux: its password": (PASSWORDS, r"<.*>", "!", "has no password"),
    "Linux: time": (CHRONY, r"^server .*\n", "", "does not use 10.99.240.123 as a time server"),
    "Linux: its log": (RSYSLOG, r'target="[^"]*"', 'target="10.99.240.15"', "does not send its log to 10.99.240.14"),
    "Linux: logins": (PAM, r"^auth +sufficient .*\n", "", "10.99.240.49 for logins, although this line names it"),
    "Linux: SNMP's user": (SNMPD, r"^createUser .*\nrouser .*\n", "", "no user monitoring of SNMP"),
}


@pytest.mark.parametrize("name", LACKS)
def test_what_a_switch_lacks_is_told(name: str) -> None:
    path, old, new, said = LACKS[name]
    spec, device = SWITCH[path]
    before = judged(plan_of(spec), artifacts(spec, device))
    assert before.is_proven, before.counterexamples
    result = judged(plan_of(spec), artifacts(spec, device), path, old, new)
    assert any(re.search(said, example.message) for example in result.counterexamples), result.counterexamples
    assert {example.device for example in result.counterexamples} == {device}


MANAGED = {
    "MLNX-OS: time": ("qm9700", r"^ntp server .*\n", "does not use 10.0.9.123 as a time server"),
    "MLNX-OS: time that is off": ("qm9700", r"^ntp enable\n", "this line names it"),
    "MLNX-OS: its log": ("qm9700", r"^logging \S+\n", "does not send its log to 10.0.9.14"),
    "MLNX-OS: an account": ("qm9700", r"^(?:username|ssh client user) netops .*\n", "netops"),
    "MLNX-OS: SNMP's user": ("qm9700", r"(?:^snmp-server user .*\n)+", "no user monitoring of SNMP"),
    "MLNX-OS: SNMP's user without a key": ("qm9700", r"^snmp-server user \S+ v3 auth .*\n", "SNMP does not answer"),
    "MLNX-OS: SNMP's user that is off": ("qm9700", r"^snmp-server user \S+ v3 enable\n", "SNMP does not answer"),
    "MLNX-OS: no SSH": ("qm9700", r"^ssh server enable\n", "SSH does not answer"),
    "NVOS: SSH that is off": ("q3400", r"(?<=ssh-server:\n        state: )enabled", "SSH does not answer"),
    "NVOS: names": ("q3400", r'^ +dns:\n +server:\n +"10.0.9.53": \{\}\n', "does not use 10.0.9.53 as a name server"),
    "NVOS: time that is off": ("q3400", r"(?<=ntp:\n        state: )enabled", "this line names it"),
    "NVOS: its key": ("q3400", r"(?<=key: )AAAA\S+", "a key of the operator netops"),
}


@pytest.mark.parametrize("name", MANAGED)
def test_what_a_managed_switch_lacks_is_told(name: str, tmp_path: Path) -> None:
    model, old, said = MANAGED[name]
    plan = managed_plan(tmp_path, model)
    device = next(device.name for device in plan.devices if device.role == "leaf")
    files = tuple(artifact for artifact in Rendering(plan).of_device(device) if artifact.kind in MANAGEMENT.kinds)
    assert judged(plan, files).is_proven
    result = judged(plan, files, files[0].path, old, "disabled" if "off" in name and model == "q3400" else "")
    assert any(said in example.message for example in result.counterexamples), result.counterexamples


def test_what_files_of_a_system_say_nothing_of_is_noted(tmp_path: Path) -> None:
    plan = managed_plan(tmp_path, "q3400")
    device = next(device.name for device in plan.devices if device.role == "leaf")
    notes = judged(plan, tuple(e for e in Rendering(plan).of_device(device) if e.kind in MANAGEMENT.kinds)).notes
    assert any("NVOS" in note and "SNMP" in note for note in notes), notes


def test_servers_of_nodes_alone_are_none_of_switches(tmp_path: Path) -> None:
    """Switches have the servers of the management network, nodes those of the site."""
    plan = plan_with(tmp_path, "lab-roce", 'site:\n  management: {ntp: ["10.99.240.124"]}\n')
    own = tuple(artifact for artifact in Rendering(plan).of_device("ctsw-p00-00") if artifact.kind in MANAGEMENT.kinds)
    assert judged(plan, own).is_proven
    result = judged(plan, own, EOS, r"^(ntp server vrf MGMT )10.99.240.124", r"\g<1>10.99.240.123")
    assert [example.message for example in result.counterexamples] == [
        "the switch does not use 10.99.240.124 as a time server, the spec's server for that"
    ]


def test_without_a_spec_nothing_is_judged() -> None:
    result = MANAGEMENT.run(tree_of("lab-roce", artifacts(*SWITCH[EOS])))
    assert not result.is_proven
    assert result.unjudged.startswith("not checked")


def test_ssh_without_a_word_on_it_answers_everywhere() -> None:
    """EOS serves SSH in the default VRF by itself."""
    files = [
        Artifact(e.device, e.path, re.sub(rf"(?m)^management ssh{SECTION}", "", e.content.decode()).encode(), e.kind)
        for e in artifacts(*SWITCH[EOS])
    ]
    result = ISOLATION.run(tree_of("lab-roce", files, Declaration(plan_of("lab-roce"))))
    assert any("SSH answers in the default VRF" in example.message for example in result.counterexamples)


def test_sonic_without_a_word_on_ssh_takes_passwords() -> None:
    device = SWITCH[SONIC][1]
    (own,) = (artifact for artifact in artifacts(*SWITCH[SONIC]) if artifact.path == SONIC)
    content = re.sub(r'(?m)^  "SSH_SERVER": \{\n.*\n  \},\n', "", own.content.decode()).encode()
    assert content != own.content
    tree = tree_of("lab-sonic", [Artifact(device, SONIC, content, own.kind)], Declaration(plan_of("lab-sonic")))
    messages = [example.message for example in ISOLATION.run(tree).counterexamples]
    assert any("password_authentication is not said and ought to be false" in message for message in messages), messages
