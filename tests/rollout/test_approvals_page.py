"""The page on windows and approvals, walked with the real engine as if all windows were closed; and its refusals."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from tests.cli.in_process import command
from tests.pages.shown import all_blocks, assert_part
from tests.test_docs import REPOSITORY

from clusterwright.cli.stacks import allowed, up
from clusterwright.data_files import folder
from clusterwright.rollout.approval import Approved, missing_approvals
from clusterwright.rollout.windows import local_opening, next_opening
from clusterwright.spec.rollout import DEFAULT_ROLLOUT, Approver, RolloutPolicy, Window

TEXT = (REPOSITORY / "docs/approvals.md").read_text()
SATURDAY = datetime(2026, 11, 28, 12, tzinfo=UTC)
SETTING = "net.core.netdev_max_backlog"


def key_pair(name: str) -> tuple[bytes, str]:
    """A private key as ssh-keygen writes it, and the line of its public half."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    return private, f"{public} {name}@example.net"


def window(opens: str, closes: str, *days: str, timezone: str = "UTC") -> Window:
    week = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    return Window(days=days or week, opens=opens, closes=closes, timezone=timezone, path=())


@pytest.mark.parametrize(
    ("windows", "opens"),
    [
        ((), None),
        ((window("11:00", "13:00"),), None),
        ((window("12:00", "12:01"),), None),
        ((window("11:00", "12:00"),), datetime(2026, 11, 29, 11, tzinfo=UTC)),
        ((window("22:00", "13:00", "fri"),), None),
        ((window("22:00", "12:00", "fri"),), datetime(2026, 12, 4, 22, tzinfo=UTC)),
        ((window("08:00", "16:00", "mon", timezone="Europe/Berlin"),), datetime(2026, 11, 30, 7, tzinfo=UTC)),
        ((window("00:00", "00:00", "sat"),), None),
        ((window("13:00", "14:00", "sat"), window("12:30", "12:40", "sun")), datetime(2026, 11, 28, 13, tzinfo=UTC)),
    ],
)
def test_the_next_window(windows: tuple[Window, ...], opens: datetime | None) -> None:
    assert next_opening(windows, SATURDAY) == opens


def test_a_window_follows_the_clocks_of_its_zone_over_daylight_saving_time() -> None:
    berlin = (window("02:30", "03:30", "sun", timezone="Europe/Berlin"),)
    summer = next_opening(berlin, datetime(2026, 10, 24, 12, tzinfo=UTC))
    assert summer == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert local_opening(summer, berlin) == "Sun 2026-10-25 02:30 Europe/Berlin"
    assert next_opening(berlin, datetime(2026, 10, 25, 2, 29, tzinfo=UTC)) is None, "03:30 is after clocks went back"
    assert next_opening(berlin, datetime(2026, 10, 25, 2, 30, tzinfo=UTC)) is not None


class Signed:
    """A preview, and two approvers."""

    def __init__(self) -> None:
        self.keys = {name: Ed25519PrivateKey.generate() for name in ("alice", "bob")}
        lines = {
            name: key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
            for name, key in self.keys.items()
        }
        self.approvers = tuple(Approver(name=name, key=line, path=()) for name, line in lines.items())
        self.preview = Approved(manifest="m", base="b", manifests={"c-pod0": "d"}, text="what changes")

    def policy(self, approvals: int = 1) -> RolloutPolicy:
        fields = {name: getattr(DEFAULT_ROLLOUT, name) for name in DEFAULT_ROLLOUT.__dataclass_fields__}
        return RolloutPolicy(**{**fields, "approvers": self.approvers, "approvals": approvals})

    def by(self, *names: str, at: datetime = SATURDAY) -> Approved:
        approved = self.preview
        for name in names:
            approved = approved.signed(name, at, self.keys[name])
        return approved


def test_enough_others_have_to_sign() -> None:
    signed = Signed()
    policies = [signed.policy()]
    assert missing_approvals(signed.by("alice"), policies, {"carol"}, SATURDAY) == ""
    assert missing_approvals(signed.by("alice"), [signed.policy(2)], {"carol"}, SATURDAY).startswith("1 of 2")
    assert missing_approvals(signed.by("alice", "bob"), [signed.policy(2)], {"carol"}, SATURDAY) == ""
    assert missing_approvals(signed.by("alice", "alice"), [signed.policy(2)], {"carol"}, SATURDAY).startswith("1 of 2")
    assert missing_approvals(signed.by("alice"), policies, {"alice"}, SATURDAY).endswith("approvers: bob")
    assert missing_approvals(None, policies, {"carol"}, SATURDAY).startswith("0 of 1")


@pytest.mark.parametrize(
    "forged",
    [
        {"manifest": "another"},
        {"base": "another"},
        {"text": "nothing changes"},
        {"manifests": {"c-pod1": "d"}},
    ],
)
def test_a_signature_stands_for_one_preview_alone(forged: dict[str, Any]) -> None:
    signed = Signed()
    approved = signed.by("alice")
    fields = {name: getattr(approved, name) for name in approved.__dataclass_fields__}
    assert missing_approvals(Approved(**{**fields, **forged}), [signed.policy()], (), SATURDAY).startswith("0 of 1")


def test_a_signature_ends_after_seven_days_and_is_none_before_it_was_made() -> None:
    signed = Signed()
    approved = signed.by("alice")
    policies = [signed.policy()]
    assert missing_approvals(approved, policies, (), SATURDAY + timedelta(days=7)) == ""
    assert missing_approvals(approved, policies, (), SATURDAY + timedelta(days=7, seconds=1)) != ""
    assert missing_approvals(approved, policies, (), SATURDAY - timedelta(hours=1)) != ""


def test_another_name_or_key_signs_for_nobody() -> None:
    signed = Signed()
    for_bob = signed.preview.signed("bob", SATURDAY, signed.keys["alice"])
    assert missing_approvals(for_bob, [signed.policy()], (), SATURDAY).startswith("0 of 1")
    unknown = signed.preview.signed("mallory", SATURDAY, Ed25519PrivateKey.generate())
    assert missing_approvals(unknown, [signed.policy()], (), SATURDAY).startswith("0 of 1")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("approvals")
    (policy,) = (block for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL))
    for name in ("alice", "bob"):
        private, public = key_pair(name)
        (place / f"{name}.key").write_bytes(private)
        policy = re.sub(rf"(name: {name}, key: )[^}}]*", rf"\g<1>{public}", policy)
    text = (folder("inventory") / "lab-roce.yaml").read_text()
    (had,) = re.findall(r"^rollout: \{(.*?)\}.*\n", text, re.MULTILINE)
    policy += "".join(f"  {key}\n" for key in had.split(", "))
    without = re.sub(r"^rollout: .*\n", "", text, flags=re.MULTILINE)
    (place / "cluster.yaml").write_text(f"{without}\n{policy}")
    done = command("up", "cluster.yaml", *LAYERS, "--unapproved", "--because", "the first racks", cwd=place)
    assert done.returncode == 0, done.stderr
    return place


LAYERS = ("--pod", "pod0", "--pod", "services-rack0", "--upper")


def edit(site: Path, old: str, new: str) -> None:
    text = (site / "cluster.yaml").read_text()
    assert text.count(old) == 1
    (site / "cluster.yaml").write_text(text.replace(old, new))


def record(site: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (site / "up/audit/rollouts.jsonl").read_text().splitlines()]


def run(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return command(*words, cwd=site)


@pytest.fixture
def on_saturday(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = "Mon 2026-11-30 08:00 Europe/Berlin"
    for module in (allowed, up):
        monkeypatch.setattr(
            module, "closed_until", lambda policies, _: closed if any(p.windows for p in policies) else ""
        )


UPDATES, DESTROY = TEXT.split("## Destroy\n")


def walk(site: Path, text: str) -> None:
    for block in all_blocks(text):
        for step in block.steps:
            done = run(site, *shlex.split(step.command)[1:])
            assert done.returncode == 0, done.stderr
            assert_part(step, done.stdout + done.stderr)


@pytest.mark.slow
@pytest.mark.usefixtures("pulumi_on_the_path", "on_saturday")
def test_the_page_is_true(site: Path) -> None:
    edit(site, f"{SETTING}: 250000", f"{SETTING}: 200000")
    bare = run(site, "up", "cluster.yaml", *LAYERS, "--reason", "deeper queues", "--yes")
    assert (bare.returncode, "0 of 1 valid approvals" in bare.stderr) == (2, True), bare.stderr
    walk(site, UPDATES)
    (started,) = (entry for entry in record(site) if entry["event"] == "started" and entry["reason"] == "deeper queues")
    assert [signature["name"] for signature in started["signatures"]] == ["alice"]
    (answer,) = started["answers"]
    assert answer["what"] == "outside the windows: the next opens Mon 2026-11-30 08:00 Europe/Berlin"
    assert answer["reason"] == "agreed with all tenants"


@pytest.mark.slow
@pytest.mark.usefixtures("pulumi_on_the_path", "on_saturday")
def test_a_drain_needs_neither_and_taking_out_the_approvers_needs_them(site: Path) -> None:
    because = ("--unapproved", "--outside-window", "--because", "what the page left")
    rest = run(site, "up", "cluster.yaml", *LAYERS, "--reason", "the rest", "--yes", *because)
    assert rest.returncode == 0, rest.stderr
    words = ("cluster.yaml", "gpu-p00r00n0", "--because", "a GPU falls off the bus", "--yes")
    for task in ("drain", "undrain"):
        done = run(site, task, *words)
        assert done.returncode == 0, done.stderr
    text = (site / "cluster.yaml").read_text()
    edit(site, text[text.index("rollout:\n") :], "")
    edit(site, f"{SETTING}: 200000", f"{SETTING}: 150000")
    refused = run(site, "up", "cluster.yaml", *LAYERS, "--reason", "alone", "--yes")
    assert (refused.returncode, "0 of 1 valid approvals" in refused.stderr) == (2, True), refused.stderr
    (site / "cluster.yaml").write_text(text)


@pytest.mark.slow
@pytest.mark.usefixtures("pulumi_on_the_path", "on_saturday")
def test_outside_a_window_nothing_starts_and_a_preview_that_lies_is_refused(site: Path) -> None:
    edit(site, f"{SETTING}: 200000", f"{SETTING}: 180000")
    saved = run(site, "preview", "cluster.yaml", *LAYERS, "--no-engine", "--save", "change.json")
    assert saved.returncode == 0, saved.stderr
    shown = json.loads((site / "change.json").read_text())
    (site / "lie.json").write_text(json.dumps({**shown, "text": "lab-roce: nothing changes"}))
    for file in ("change.json", "lie.json"):
        signed = run(site, "approve", file, "--name", "bob", "--key", "bob.key", "--yes")
        assert signed.returncode == 0, signed.stderr
    words = ("up", "cluster.yaml", *LAYERS, "--reason", "deeper", "--yes", "--approved")
    lie = run(site, *words, "lie.json")
    assert (lie.returncode, "the signed preview differs" in lie.stderr) == (2, True), lie.stderr
    closed = run(site, *words, "change.json")
    assert (closed.returncode, "opens Mon 2026-11-30 08:00 Europe/Berlin" in closed.stderr) == (2, True), closed.stderr
    assert not any(entry["reason"] == "deeper" for entry in record(site) if entry["event"] == "started")


@pytest.mark.slow
@pytest.mark.usefixtures("pulumi_on_the_path", "on_saturday")
def test_clearing_devices_is_asked_the_same_and_a_refresh_nothing(site: Path) -> None:
    """The last one: it clears a pod."""
    asked = run(site, "refresh", "cluster.yaml", *LAYERS, "--reason", "what is there")
    assert asked.returncode == 0, asked.stderr
    assert "refresh changes no device: it needs no window and no approval" in asked.stderr
    before = list((site / "up/flash").rglob("*"))
    words = ("destroy", "cluster.yaml", "--pod", "pod0", "--yes", "--reason", "alone")
    alone = run(site, *words)
    assert (alone.returncode, "0 of 1 valid approvals" in alone.stderr) == (2, True), alone.stderr
    # Who takes the approvers out of the spec first is asked by the spec in force.
    text = (site / "cluster.yaml").read_text()
    edit(site, text[text.index("rollout:\n") :], "")
    without = run(site, *words)
    (site / "cluster.yaml").write_text(text)
    assert (without.returncode, "0 of 1 valid approvals" in without.stderr) == (2, True), without.stderr
    update = run(site, "preview", "cluster.yaml", "--pod", "pod0", "--no-engine", "--save", "update.json")
    assert update.returncode == 0, update.stderr
    assert run(site, "approve", "update.json", "--name", "bob", "--key", "bob.key", "--yes").returncode == 0
    other = run(site, *words, "--approved", "update.json")
    assert (other.returncode, "approves the removal of other files" in other.stderr) == (2, True), other.stderr
    saved = run(site, *words, "--save", "clear.json")
    assert saved.returncode == 0, saved.stderr
    assert run(site, "approve", "clear.json", "--name", "bob", "--key", "bob.key", "--yes").returncode == 0
    closed = run(site, *words, "--approved", "clear.json")
    assert (closed.returncode, "opens Mon 2026-11-30 08:00 Europe/Berlin" in closed.stderr) == (2, True), closed.stderr
    assert list((site / "up/flash").rglob("*")) == before, "something was touched"
    walk(site, DESTROY)
    (started,) = (entry for entry in record(site) if entry["event"] == "started" and entry["action"] == "destroy")
    assert [signature["name"] for signature in started["signatures"]] == ["alice"]
    assert [answer["reason"] for answer in started["answers"]] == ["agreed with all tenants"]
    assert started["preview"]["text"].startswith("destroy: ")
