"""CW565 and CW566: rollout windows in known time zones, and enough approvers."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule
from clusterwright.signatures import public_key_of


@rule("CW565", Severity.ERROR)
def unknown_clock(subject: Subject) -> Iterator[Problem]:
    """Rollout windows in an unknown time zone."""
    for window in subject.spec.rollout.windows:
        if window.zone is None:
            message = f"This machine knows no time zone {window.timezone}: no wave would ever start."
            yield Problem((*window.path, "timezone"), message, "Name one of the IANA database, such as Europe/Berlin.")


@rule("CW566", Severity.ERROR)
def too_few_approvers(subject: Subject) -> Iterator[Problem]:
    """Impossible approvals: too few approvers, repeated keys or names, invalid keys."""
    policy = subject.spec.rollout
    name_by_key: dict[str, str] = {}
    for approver in policy.approvers:
        if public_key_of(approver.key) is None:
            yield Problem((*approver.path, "key"), f"{approver.name}: this is not an Ed25519 key.", "Write it anew.")
            continue
        if approver.name in name_by_key.values():
            yield Problem((*approver.path, "name"), f"{approver.name} is an approver twice.", "Remove one.")
        key = approver.key.split()[1]
        if key in name_by_key:
            message = f"{approver.name} has the key of {name_by_key[key]}: one person could sign for both."
            yield Problem((*approver.path, "key"), message, "Give each their own key.")
        name_by_key[key] = approver.name
    if policy.approvers and policy.approvals > len(policy.approvers):
        message = f"{policy.approvals} approvals are required, and {len(policy.approvers)} approvers are named."
        yield Problem((*policy.path, "approvals"), message, "Name more approvers, or require fewer approvals.")
