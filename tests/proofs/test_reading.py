"""What checks take from switches' files part by part is what they would take of all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import pytest
from tests.plans import plan_of

from clusterwright.artifact import Artifact
from clusterwright.cli.proofs import prove
from clusterwright.finding import VerifyError
from clusterwright.output.rendering import Rendering
from clusterwright.proofs import reading
from clusterwright.proofs.declaration import Declaration
from clusterwright.proofs.reading import SwitchReading, read_together
from clusterwright.proofs.registry import CHECKS
from clusterwright.proofs.tree import RenderedTree, tree_of

READ = ("ethernet-links", "isolation", "management")
# Something wrong on every switch for each of those, by the file that says it.
FAULTS: dict[str, Callable[[str], str]] = {
    "mnt/flash/startup-config": lambda text: (
        text.replace("   mtu 9000\n", "   mtu 1500\n", 1).replace("\nntp server ", "\nntp server 192.0.2.", 1)
        + "username eve privilege 15 role network-admin nopassword\nip route 0.0.0.0/0 192.0.2.1\n"
    ),
    "etc/coop/agent.conf": lambda text: text.replace('"state": 2', '"state": 1', 1),
    "etc/pam.d/sshd": lambda text: text + "auth required pam_tacplus.so server=192.0.2.9\n",
    "etc/chrony.conf": lambda text: "server 192.0.2.9\n",
}


@cache
def files() -> tuple[Artifact, ...]:
    return tuple(Rendering(plan_of("lab-roce")).of_devices())


def faulty() -> RenderedTree:
    edited = (
        Artifact(file.device, file.path, FAULTS[file.path](file.content.decode()).encode(), file.kind)
        if file.path in FAULTS
        else file
        for file in files()
    )
    return tree_of("lab-roce", edited, Declaration(plan_of("lab-roce")))


def told(tree: RenderedTree, names: Iterable[str]) -> dict[str, list[str]]:
    chosen = [check for check in CHECKS if check.name in names]
    return {check.name: sorted(map(str, verdict.counterexamples)) for check, verdict in prove(tree, chosen)}


def test_some_switches_after_others_are_judged_as_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = told(faulty(), READ)
    assert all(len(own) > 3 for own in at_once.values())
    alone = {name: told(faulty(), [name])[name] for name in READ}
    monkeypatch.setattr(reading, "_AT_ONCE", 2)
    assert told(faulty(), READ) == at_once == alone


def test_all_who_ask_take_a_part_before_the_next_one_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_AT_ONCE", 4)
    tree, asked = faulty(), list[tuple[str, int]]()

    def taking(name: str) -> Callable[[RenderedTree], int]:
        def take(part: RenderedTree) -> int:
            asked.append((name, len(part.files)))
            return len(part.files)

        return take

    one, other = (SwitchReading(tree, taking(name)) for name in ("one", "other"))
    read_together([one, other, one])
    assert [name for name, _ in asked] == ["one", "other"] * len(one.parts)
    assert one.parts == other.parts
    assert sum(one.parts) == len(tree.files)
    before = len(asked)
    read_together([one, other])
    assert len(asked) == before


def test_text_that_does_not_read_leaves_nothing_half_read() -> None:
    tree, tries = faulty(), list[int]()

    def bad(part: RenderedTree) -> int:
        tries.append(len(part.files))
        if len(tries) == 1:
            raise VerifyError("rtsw-p00r00:/etc/coop/agent.conf:3: not JSON")
        return len(part.files)

    good, second = SwitchReading(tree, lambda part: len(part.files)), SwitchReading(tree, bad)
    with pytest.raises(VerifyError, match="not JSON"):
        read_together([good, second])
    assert sum(good.parts) == sum(second.parts) == len(tree.files)
