"""Tenants that share a switch are told apart by their ports, whatever source address their hosts write."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from tests.plans import plan_with

from clusterwright.artifact import Artifact
from clusterwright.data_files import folder
from clusterwright.intent.edge import host_lists, tenant_label
from clusterwright.intent.switch import view_switch
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.check import Verdict
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.isolation.proof import ISOLATION
from clusterwright.proofs.tree import tree_of

# By model of the shared leaf, how its files name the list of a tenant where it is bound, or has its rules.
MODELS = {
    "sn5600": r"HOSTS-(VISION|LANGUAGE)(?=-V[46]:\n +inbound)",
    "sn5600-sonic": r"HOSTS_(VISION|LANGUAGE)(?=_V[46]\|)",
    "dcs-7060x6-64pe": r"(?<=access-group )HOSTS-(VISION|LANGUAGE)",
}
OTHER = {"VISION": "LANGUAGE", "LANGUAGE": "VISION"}
SCHEMAS = {
    "etc/clusterwright/nvue.yaml": "nvue.schema.json",
    "etc/sonic/config_db.json": "sonic-config-db.schema.json",
}
SHARED = """\
nodes:
  - {{name: vision, count: 8}}
  - {{name: language, count: 8}}
fabrics:
  - {{name: backend, tiers: [{{role: leaf, model: {model}, per: cluster}}]}}
"""
LEAF = "leaf-00"


@cache
def shared_plan(model: str, path: Path) -> Plan:
    """Two tenants whose rails share leaves."""
    return plan_with(path, "lab-tenants", SHARED.format(model=model))


@pytest.fixture(params=MODELS)
def plan(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return shared_plan(request.param, tmp_path_factory.getbasetemp())


def judged(plan: Plan, *, is_swapped: bool = False) -> Verdict:
    """The verdict on the leaf; ``is_swapped``: each tenant has the list of the other."""
    bound = re.compile(MODELS[plan.by_name[LEAF].model])
    files = []
    for file in Rendering(plan).of_device(LEAF):
        text = file.content.decode()
        if is_swapped:
            text = bound.sub(lambda match: match[0][:6] + OTHER[match[1]], text)
        files.append(Artifact(file.device, file.path, text.encode(), file.kind))
    return ISOLATION.run(tree_of(plan.spec.name, files, Declaration(plan)))


def test_each_tenant_has_a_list_at_its_own_ports(plan: Plan) -> None:
    lists = host_lists(plan, view_switch(plan, plan.by_name[LEAF]))
    assert [one.tenant for one in lists] == ["VISION", "LANGUAGE"]
    assert not lists[0].ports & lists[1].ports
    of_vision = {network for permit in lists[0].permits for network in permit.sources}
    of_language = {network for permit in lists[1].permits for network in permit.sources}
    assert of_vision
    assert not [one for one in of_vision for other in of_language if one.overlaps(other)]
    assert not judged(plan).counterexamples


def test_the_list_of_another_tenant_at_a_port_is_refuted(plan: Plan) -> None:
    """Hosts of one tenant could send from addresses of the other, to whomever that one may reach."""
    result = judged(plan, is_swapped=True)
    assert {example.device for example in result.counterexamples} == {LEAF}


def test_the_schemas_of_systems_take_the_lists(plan: Plan) -> None:
    for file in Rendering(plan).of_device(LEAF):
        if file.path in SCHEMAS:
            schema = json.loads((folder("inventory") / "schema" / SCHEMAS[file.path]).read_text())
            document = yaml.safe_load(file.content)
            Draft202012Validator(schema).validate(document)


def test_a_long_name_and_hosts_of_several_zones_have_a_label_that_fits() -> None:
    labels = [tenant_label(zones) for zones in (("vision",), ("a" * 40,), ("vision", "language"), ("vision-language",))]
    assert labels[0] == "VISION"
    assert len(set(labels)) == len(labels)
    assert max(map(len, labels)) <= 18


def test_a_switch_of_one_tenant_has_one_list_as_before(tmp_path: Path) -> None:
    plan = plan_with(tmp_path, "lab-tenants", "")
    leaf = next(device for device in plan.devices if device.role == "leaf")
    (only,) = host_lists(plan, view_switch(plan, leaf))
    assert only.suffix == ""
