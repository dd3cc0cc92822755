"""The addresses that the inventory lists are those that devices are configured with: none missing, none invented."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from ipaddress import IPv4Interface, IPv6Interface, ip_interface

import pytest
import yaml
from tests.report.specs import IPOIB, plan_of

from clusterwright.artifact import Artifact
from clusterwright.compare.plans import address_changes
from clusterwright.facts.router import Router, shown
from clusterwright.hosts.linux.reader.network import read_nic
from clusterwright.lists.as_ansible import ansible_lines
from clusterwright.lists.records import Inventory
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.switches.fboss.reader.configuration import read_fboss
from clusterwright.switches.sonic.reader.configuration import read_sonic

KINDS = ("eos", "fboss", "sonic", "managed-switch", "node-network")
LABS = ("lab-roce", "lab-ib", "lab-sonic", "lab-border", IPOIB)
Own = tuple[str, str, IPv4Interface | IPv6Interface]  # device, interface, address with its length


@pytest.mark.parametrize("name", LABS)
def test_the_inventory_lists_what_devices_are_configured_with(name: str) -> None:
    plan = plan_of(name)
    written = set(configured(plan))
    listed = {
        (record["device"], record["port"], ip_interface(f"{record['address']}/{record['prefix_length']}"))
        for record in Inventory(plan).addresses()
    }
    silent = {own for own in listed if not is_written(plan, own)}
    assert {plan.by_name[device].kind for device, _, _ in silent} == {"node"}  # BMCs, and machines of somebody else
    assert listed - silent == written


@pytest.mark.parametrize("name", ["lab-roce", "lab-sonic"])
def test_what_readers_take_from_a_switch_is_listed(name: str) -> None:
    """The proofs' own readers find no address on a switch that the inventory does not have there."""
    plan = plan_of(name)
    listed = {(record["device"], record["address"]) for record in Inventory(plan).addresses()}
    found = 0
    for router in routers(plan):
        for address in (*(each for _, each in router.own_addresses), *(p.address for p in router.ports if p.address)):
            found += 1
            assert (router.device, shown(address)) in listed
    assert found


def test_every_gateway_is_on_the_switch_that_has_it() -> None:
    inventory = Inventory(plan_of("lab-roce"))
    gateways = {(record["device"], record["gateway"]) for record in inventory.subnets() if record["gateway"]}
    on = {(r["device"], r["address"]): r["port"] for r in inventory.addresses() if r["side"] == "gateway"}
    assert gateways == set(on)
    assert set(on.values()) == {"Vlan100", "fboss100"}


def test_ip_over_infiniband_is_listed_with_its_network_interface_and_space() -> None:
    inventory = Inventory(plan_of(IPOIB))
    own = {r["device"]: r for r in inventory.addresses() if r["side"] == "ipoib"}
    assert own["gpu-s00r00n0"] == {
        "address": "10.96.2.1", "prefix_length": 22, "device": "gpu-s00r00n0", "port": "iblustre", "side": "ipoib",
        "fabric": "backend",
    }  # fmt: skip
    assert {r["prefix"]: r["kind"] for r in inventory.subnets() if r["fabric"] == "backend"} == {
        "10.96.0.0/22": "ipoib", "10.96.2.0/23": "ipoib-hosts",
    }  # fmt: skip
    assert {interface.device for interface in inventory.interfaces() if interface.name == "iblustre"} == set(own)
    assert "backend" in {r["name"] for r in inventory.vrfs()}


def test_ansible_has_every_address_by_interface() -> None:
    plan = plan_of("lab-border")
    hosts = json.loads("".join(ansible_lines(Inventory(plan))))["all"]["hosts"]
    told = {(name, port, text) for name, own in hosts.items() for port, text in own.get("cw_addresses", {}).items()}
    assert told == {
        (r["device"], r["port"], f"{r['address']}/{r['prefix_length']}") for r in Inventory(plan).addresses()
    }


def test_nothing_changes_between_a_plan_and_itself() -> None:
    assert not list(address_changes(plan_of("lab-border"), plan_of("lab-border"), {}, {}, str))


def is_written(plan: Plan, own: Own) -> bool:
    """Whether a configuration is written for an interface: not for a BMC, nor for a machine without an image."""
    device, port, _ = own
    side = next(
        (e.side for c in plan.cables_of[device] for e in (c.a, c.b) if (e.device, e.port) == (device, port)), ""
    )
    return plan.by_name[device].kind == "switch" or (plan.by_name[device].image is not None and side != "management")


def artifacts(plan: Plan) -> Iterator[Artifact]:
    yield from Rendering(plan).of_kinds(KINDS)


def routers(plan: Plan) -> Iterator[Router]:
    texts = {(artifact.device, artifact.path): artifact.content.decode() for artifact in artifacts(plan)}
    for (device, path), text in texts.items():
        if path == "etc/coop/agent.conf":
            yield read_fboss(device, text, texts[device, "etc/coop/bgpcpp.conf"])
        elif path == "etc/sonic/config_db.json":
            yield read_sonic(device, text)


def configured(plan: Plan) -> Iterator[Own]:
    """Every address in the rendered text, with the interface that it stands under."""
    for artifact in artifacts(plan):
        name, text = artifact.path.rpartition("/")[2], artifact.content.decode()
        if name == "startup-config":
            yield from eos(artifact.device, text)
        elif name == "agent.conf":
            yield from fboss(artifact.device, text)
        elif name == "config_db.json":
            yield from sonic(artifact.device, text)
        elif name.endswith(".nmconnection"):
            yield from network_manager(artifact.device, text)
        elif name == "clusterwright" and "interface" in text:
            lines = re.findall(r"^interface (\S+) ip(?:v6)? address ([0-9a-f.:]+) ?(/\d+)", text, re.M)
            yield from ((artifact.device, port, ip_interface(address + length)) for port, address, length in lines)
        elif name == "startup.yaml":
            yield from nvos(artifact.device, text)
        elif name.endswith(".network") and (nic := read_nic(artifact.device, artifact.path, text)) is not None:
            for address in re.findall(r"^Address=(\S+)", text, re.M):
                yield artifact.device, nic.name, ip_interface(address)


def network_manager(device: str, text: str) -> Iterator[Own]:
    port = re.findall(r"^interface-name=(.*)", text, re.M)[0]
    for address in re.findall(r"^address1=(\S+)", text, re.M):
        yield device, port, ip_interface(address)


def eos(device: str, text: str) -> Iterator[Own]:
    for block in re.findall(r"^interface (.+\n(?:   .*\n)*)", text, re.M):
        port = block.split("\n")[0]
        for address in re.findall(r"ip(?:v6)? address (\S+/\d+)", block):
            yield device, port, ip_interface(address)


def nvos(device: str, text: str) -> Iterator[Own]:
    for part in yaml.safe_load(text):
        for port, interface in part.get("set", {}).get("interface", {}).items():
            for address in interface.get("ip", {}).get("address", {}):
                yield device, port, ip_interface(address)


def fboss(device: str, text: str) -> Iterator[Own]:
    agent = json.loads(text)["sw"]
    virtual = {"loopback", "hosts"}
    for each in agent["interfaces"]:
        port = f"fboss{each['intfID']}" if each["name"] in virtual else each["name"]
        yield from ((device, port, ip_interface(own)) for own in each["ipAddresses"])


def sonic(device: str, text: str) -> Iterator[Own]:
    for table, rows in json.loads(text).items():
        if table.endswith("INTERFACE"):
            yield from ((device, port, ip_interface(own)) for port, _, own in (k.partition("|") for k in rows) if own)
