"""The world is closed for values: each that changes is judged by a proof, is on a list, or leaves claims not proven.

Every field of every rendered switch file is changed. With ``CLUSTERWRIGHT_SWEEP=all`` every edit of a field is made,
and the proofs judge each of those fields that they are to judge; else one edit of a field is drawn, and a few for them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from tests.plans import plan_of
from tests.plans import plan_with as overlaid
from tests.proofs.ethernet_edits import NVUE, SONIC
from tests.proofs.ethernet_trees import AGENT, BGP, EOS, texts_read_once
from tests.proofs.value_edits import ValueEdit, json_edits, line_edits
from tests.switches.test_managed_switch import managed_plan

from clusterwright.artifact import Artifact
from clusterwright.finding import VerifyError
from clusterwright.output.plain import PlainFiles
from clusterwright.output.rendering import Rendering
from clusterwright.plan.model import Plan
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of
from clusterwright.proofs.unread import UNREAD, VALUES
from clusterwright.switches.managed.reader.mlnxos import PATH as MLNX_OS
from clusterwright.switches.managed.reader.nvos import PATH as NVOS

SWEEP_ALL = os.environ.get("CLUSTERWRIGHT_SWEEP") == "all"
JUDGED_FIELDS = 10
"""Fields of each file whose edits the proofs judge where not all of them do."""
SPECS = {EOS: "lab-roce", AGENT: "lab-roce", BGP: "lab-roce", SONIC: "lab-sonic", NVUE: "lab-nvue"}
MANAGED = {MLNX_OS: "qm9700", NVOS: "q3400"}
SEED = 37
LATE = ("ethernet-failures", "isolation")
"""The checks that take longest, made last."""

# Edits after which a file says the same, and why.
SAME: tuple[tuple[str, str, str], ...] = (
    (EOS, r"end", "ends a file that ends there anyway"),
    (
        EOS,
        r"qos map traffic-class .* to tx-queue|lldp run|no aaa root",
        "so by default, and not printed then (EOS user manual)",
    ),
    (EOS, r"interface \* / (?:no shutdown|switchport(?: mode access)?)", "so by default, and not printed then"),
    (EOS, r"management api http-commands / (?:protocol https|no protocol http)", "so by default, and not printed then"),
    (
        AGENT,
        (
            r"sw / (?:version|staticRoutesToNull|vlans / \* / (?:recordStats|routable|ipAddresses)"
            r"|ports / \* / pfc / watchdog / recoveryAction|vlanPorts / \* / emit(?:Priority)?Tags"
            r"|(?:interfaces|staticRoutesToNull) / \* / routerID|qosPolicies / \* / (?:rules|qosMap / expMaps)"
            r"|loadBalancers / \* / fieldSelection / (?:mplsFields|udfGroups)"
            r"|portQueueConfigs / backend / \* / streamType"
            r"|switchSettings / switchIdToSwitchInfo / \* / (?:switchType|switchIndex|systemPortRanges.*)"
            r"|trafficCounters / \* / types|aclTableGroup / stage|udfConfig / udfPacketMatcher / \* / \*)"
            r"|platform(?: / chip)?|thriftApiToRateLimitInQps"
        ),
        "so by default (agent_config.thrift, switch_config.thrift), and printed all the same",
    ),
    (
        BGP,
        (
            r"listen_port|peer_groups / \* / pre_filter / warning_only|policies / prefix_lists / \* / boolean_operator"
            r"|policies / .* / description"
        ),
        "so by default (bgp_config.thrift, bgp_policy.thrift), and printed all the same",
    ),
    (NVUE, r"- set: / system: / ssh-server: / state: enabled", "so by default, and printed all the same"),
    (SONIC, r".*(?:PASSWORD|passkey)", "a secret stands there, which nobody knows before it is on the switch"),
    (SONIC, r"AAA / authentication / failthrough", "off by default (hostcfgd)"),
    (
        SONIC,
        r"DEVICE_METADATA / localhost / (?:default_pfcwd_status|synchronous_mode)",
        "so by default (init_cfg.json.j2)",
    ),
    (SONIC, r"FEATURE / .* / (?:auto_restart|state)", "so by default (init_cfg.json.j2)"),
    (SONIC, r"LLDP / GLOBAL / (?:enabled|hello_time)", "so by default (sonic-lldp.yang)"),
    (SONIC, r"MGMT_PORT / \* / admin_status|PORT / \* / autoneg", "so by default (sonic-port.yang)"),
    (
        SONIC,
        r"NTP / global / admin_state|NTP_SERVER / \* / (?:association_type|iburst)",
        "so by default (sonic-ntp.yang)",
    ),
    (SONIC, r"SSH_SERVER / POLICIES / inactivity_timeout", "so by default (sonic-ssh-server.yang)"),
    (SONIC, r"SYSLOG_SERVER / \* / (?:port|protocol)", "so by default (sonic-syslog.yang)"),
    (
        SONIC,
        r"TACPLUS / global / (?:timeout|auth_type)|TACPLUS_SERVER / \* / tcp_port",
        "so by default (sonic-system-tacacs.yang)",
    ),
)


class Sweep(NamedTuple):
    """The fields of a file by what happens when their value changes, with one edit of each that proofs judge."""

    same: frozenset[str]
    judged: tuple[tuple[str, ValueEdit], ...]
    edits: int


def plan_with(path: str, folder: Path) -> Plan:
    """A plan some switches of which have a file at ``path``."""
    return managed_plan(folder, MANAGED[path]) if path in MANAGED else plan_of(SPECS[path])


def texts_of(plan: Plan, path: str) -> tuple[Artifact, ...]:
    """The files at a path, of one switch of each role."""
    kinds = {kind for check in CHECKS for kind in check.kinds}
    own, _ = Rendering(plan).of_kinds_by_image(kinds)
    by_role = {plan.by_name[made.device].role: made for made in own if made.path == path}
    return tuple(by_role.values())


def edits_of(made: Artifact) -> Iterator[ValueEdit]:
    text = made.content.decode()
    return json_edits(text) if made.path in {AGENT, BGP, SONIC} else line_edits(text)


def is_unread(path: str, text: str) -> bool:
    """Whether readers refuse a text, or do not know all of it."""
    try:
        return bool(UNREAD[path](text))
    except (ValueError, TypeError, AttributeError):
        return True


def sweep(plan: Plan, path: str) -> Sweep:
    """Change every field of a file at ``path`` once, and say what decides about it."""
    chosen = Random(f"{SEED} {path}")
    plain = PlainFiles(plan)
    same: set[str] = set()
    judged: list[tuple[str, ValueEdit]] = []
    count = 0
    seen: set[str] = set()
    for made in texts_of(plan, path):
        by_field: dict[str, list[ValueEdit]] = {}
        for edit in edits_of(made):
            by_field.setdefault(edit.field, []).append(edit)
        for field in sorted(by_field.keys() - seen):
            edits = by_field[field]
            for edit in edits if SWEEP_ALL else [chosen.choice(edits)]:
                count += 1
                if is_unread(path, edit.text):
                    continue
                try:
                    places = tuple(plain.differing(made.device, path, edit.text))
                except ValueError:
                    continue  # the file does not read, and no claim of it is proven
                if not places:
                    same.add(field)
                elif all(VALUES[path].may_differ(keys) for keys in places):
                    judged.append((made.device, edit))
        seen |= by_field.keys()
    return Sweep(frozenset(same), tuple(judged), count)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Plan, Sweep]]:
    """The plan of a file, and its sweep, by the file's path."""

    @cache
    def swept_once(path: str) -> tuple[Plan, Sweep]:
        plan = plan_with(path, tmp_path_factory.mktemp("plan"))
        return plan, sweep(plan, path)

    return swept_once


@pytest.mark.parametrize("path", [*SPECS, *MANAGED])
def test_a_value_that_changes_is_known_to_differ(path: str, swept: Callable[[str], tuple[Plan, Sweep]]) -> None:
    _, found = swept(path)
    reasons = [pattern for file, pattern, _ in SAME if file == path]
    silent = sorted(field for field in found.same if not any(re.fullmatch(pattern, field) for pattern in reasons))
    assert silent == [], f"{path}: {found.edits} edits"
    assert found.edits > 10


class JudgedTree:
    """A rendered tree whose files are edited one at a time, and judged as the files of a folder are."""

    def __init__(self, plan: Plan) -> None:
        kinds = {kind for check in CHECKS for kind in check.kinds}
        own, images = Rendering(plan).of_kinds_by_image(kinds)
        shared = [(image.members, image.files) for image in images]
        self.whole = tree_of(plan.name, own, Declaration(plan), shared, PlainFiles(plan))

    def with_text(self, device: str, path: str, text: str) -> RenderedTree:
        """The tree with another text in the place of a file's."""
        kind = self.whole.files[device, path].kind
        made = Artifact(device, path, text.encode(), kind)
        files = {**self.whole.files, **tree_of(self.whole.cluster, [made]).files}
        return replace(self.whole, files=files, others=((device, path),))


def unsettled(tree: RenderedTree) -> str:
    """The first check that a tree does not settle, "" where all are proven."""
    for check in sorted(CHECKS, key=lambda check: check.name in LATE):
        try:
            if check.applies(tree) and not check.run(tree).is_settled:
                return check.name
        except VerifyError:
            return "refused"
    return ""


# Fields whose edit may leave everything as it was: an entry that another one repeats, or the order of two alike.
MEAN_THE_SAME = re.compile(
    r".*ACL_RULE / \* / (?:PRIORITY|ETHER_TYPE|IP_PROTOCOL)|.*access-list.*|.*aclEntries.*|- set: / acl: / \* / rule:.*"
    r"|.*prefix-list.*|.*PREFIX.*"
)


@pytest.mark.parametrize("path", SPECS)
def test_what_the_proofs_are_to_judge_they_judge(path: str, swept: Callable[[str], tuple[Plan, Sweep]]) -> None:
    plan, found = swept(path)
    subject = JudgedTree(plan)
    edits = found.judged
    harmless = [group.pattern for group in VALUES[path].harmless]
    if not SWEEP_ALL:
        edits = tuple(Random(SEED).sample(edits, min(JUDGED_FIELDS, len(edits))))
    blind = []
    with texts_read_once():
        assert unsettled(subject.whole) == ""
        for device, edit in edits:
            places = tuple(PlainFiles(plan).differing(device, path, edit.text))
            is_harmless = all(any(p.fullmatch(" / ".join(keys)) for p in harmless) for keys in places)
            caught = unsettled(subject.with_text(device, path, edit.text))
            if not caught and not is_harmless and not MEAN_THE_SAME.fullmatch(edit.field):
                blind.append(f"{device}: {edit.field}: {edit.what}")
    assert blind == []


@pytest.mark.parametrize("path", [*SPECS, *MANAGED])
def test_what_touches_no_claim_stands_there_with_the_program_that_reads_it(path: str) -> None:
    for group in VALUES[path].harmless:
        assert group.program, group
        assert len(group.reason.split()) > 1, group


@pytest.mark.parametrize(
    ("path", "pattern", "other"),
    [(AGENT, r'(?<="profileID": )35', "26"), (SONIC, r'(?<="lanes": ")17,18', "18,17")],
)
def test_a_field_of_which_facts_have_a_part_has_to_be_as_it_is_rendered(path: str, pattern: str, other: str) -> None:
    """Copper's and fibre's profile have one speed, and two orders of lanes have one number."""
    plan = plan_of(SPECS[path])
    made = next(made for made in texts_of(plan, path) if plan.by_name[made.device].role == "rtsw")
    text = re.sub(pattern, other, made.content.decode(), count=1)
    (keys,) = PlainFiles(plan).differing(made.device, path, text)
    assert not VALUES[path].may_differ(keys)


ADDED = """
extra_config:
  - role: rtsw
    file: etc/sonic/config_db.json
    merge: {PORT: {Ethernet0: {index: "9"}}}
    reason: "a test"
"""
VOUCHED = '    unread: [{line: "PORT / Ethernet0", because: "the module of this cage has another number"}]\n'


@pytest.mark.parametrize(("overlay", "word"), [(ADDED, "not proven, because values differ"), (ADDED + VOUCHED, "")])
def test_a_value_that_a_spec_adds_is_one_that_somebody_vouches_for(overlay: str, word: str, tmp_path: Path) -> None:
    plan = overlaid(tmp_path, "lab-sonic", overlay)
    links = next(check for check in CHECKS if check.name == "ethernet-links")
    verdict = links.run(JudgedTree(plan).whole)
    assert verdict.unjudged.startswith(word)
    assert bool(verdict.unjudged) == bool(word)
    assert {place.unread.text for place in verdict.unread} == {"PORT / Ethernet0 / index"}
