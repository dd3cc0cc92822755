"""Conditions for the start of an update: its approvals, an open window, and the policy of the spec.

An operator can override each condition on the command line, with a recorded reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.cli.stacks.checked import CheckedPreview, CheckOptions
    from clusterwright.cli.stacks.options import ChosenStacks
    from clusterwright.rollout.approval import Approved
    from clusterwright.rollout.audit import RecordedOverride
    from clusterwright.rollout.prepare import Prepared
    from clusterwright.spec.model import ClusterSpec
    from clusterwright.spec.rollout import RolloutPolicy


@dataclass(frozen=True, slots=True)
class Permission:
    """The policy's conditions for the start of an update.

    ``policies`` are those of the spec in force and of the new one. ``opening`` is the start of the next window, "" for
    an open one. ``missing`` names the missing approvals, "" for none.
    """

    policies: tuple[RolloutPolicy, ...]
    opening: str
    missing: str

    @property
    def lines(self) -> Iterator[str]:
        """The unmet conditions as text."""
        if self.opening:
            yield f"no wave starts now: the next window opens {self.opening}"
        if self.missing:
            yield f"not approved yet: {self.missing}"


def now() -> datetime:
    """The current time, for windows and signatures."""
    return datetime.now(UTC)


def permission(
    site: ChosenStacks, prepared: Prepared, checked: CheckedPreview | None, approved: Approved | None
) -> Permission:
    """The conditions of the spec in force and of the new one; none for a drain or its end."""
    if checked is None or checked.preview.moves_state_alone:
        return Permission(policies=(), opening="", missing="")
    policies = [site.spec.rollout]
    if checked.preview.policy_in_force is not None:
        policies.insert(0, checked.preview.policy_in_force)
    return permission_by(tuple(policies), approved, needs_window=bool(prepared.waves))


def permission_by(policies: tuple[RolloutPolicy, ...], approved: Approved | None, *, needs_window: bool) -> Permission:
    """The conditions of ``policies`` at this moment, for the user of this process. Raises ClusterwrightError."""
    from clusterwright.rollout.approval import missing_approvals
    from clusterwright.rollout.audit import who

    moment = now()
    operators = frozenset((who()[0], os.environ.get("SUDO_USER", "")))
    opening = closed_until(policies, moment) if needs_window else ""
    return Permission(
        policies=policies,
        opening=opening,
        missing=missing_approvals(approved, policies, operators, moment),
    )


def closed_until(policies: Iterable[RolloutPolicy], moment: datetime) -> str:
    """The start of the next window of the first policy without an open one; "" where waves may start.

    Raises ClusterwrightError.
    """
    from clusterwright.rollout.windows import local_opening, next_opening

    for policy in policies:
        opening = next_opening(policy.windows, moment)
        if opening is not None:
            return local_opening(opening, policy.windows)
    return ""


def require_allowed(
    site: ChosenStacks,
    prepared: Prepared,
    checked: CheckedPreview | None,
    *,
    file: Path | None,
    accept: str,
    checking: CheckOptions,
    is_resumed: bool,
) -> Permission:
    """Raises ClusterwrightError for an update other than the approved one, and for a broken policy without override."""
    from clusterwright.deploy.store import Store
    from clusterwright.rollout.approval import NotApprovedError, load_approval, require_approved

    approved = load_approval(file) if file else None
    if approved and not is_resumed:
        require_approved(approved, prepared, Store(site.root / "objects"))
    if approved and is_resumed and approved.manifest != prepared.digest:
        raise ClusterwrightError("the rollout under way sends other files than those approved")
    if prepared.breaks and not accept:
        raise ClusterwrightError(
            f"{len(prepared.breaks)} of {len(prepared.waves)} waves break the policy of the spec's `rollout:`. Nothing "
            'was touched. Take it in smaller steps, or answer for it: --accept "why".'
        )
    allowed = permission(site, prepared, checked, approved)
    if allowed.missing and not checking.unapproved:
        raise NotApprovedError(
            f"{allowed.missing}. Nothing was touched. `preview --save FILE` writes what is to be approved, "
            "`clusterwright approve FILE` signs it, `up --approved FILE` sends it; --unapproved --because "
            '"why" answers for it alone.'
        )
    is_signed_for = any(policy.approvers for policy in allowed.policies) and not checking.unapproved
    if approved and checked and is_signed_for and not is_resumed and not approved.text.startswith(checked.text):
        raise NotApprovedError(
            "the signed preview differs from this update. Nothing was touched: create it again, with the options of "
            "`up` (--jobs, --accept-refuted), and have it approved."
        )
    if allowed.opening and not checking.outside_window:
        raise ClusterwrightError(
            f"no wave may start now: the next window of the spec's `rollout:` opens {allowed.opening}. Nothing was "
            'touched. --outside-window --because "why" answers for it.'
        )
    return allowed


def lapsed_lines(spec: ClusterSpec) -> Iterator[str]:
    """Lapsed exceptions of a spec, a line each."""
    from clusterwright.rules.spec.lapsed import lapsed

    for item in lapsed(spec, now().date()):
        yield f"{item.message} {item.hint}"


def overdue_lines(spec: ClusterSpec) -> Iterator[str]:
    """Lapsed exceptions and expired, due or unreadable certificates, a line each."""
    yield from lapsed_lines(spec)
    if not spec.keys:
        return
    from clusterwright.keys.certificates import certificate_dues

    try:
        yield from certificate_dues(spec.keys, Path(spec.document.file).parent, now().date())
    except ClusterwrightError as error:
        yield f"the expiry of certificates is unknown: {error}"


def recorded_overrides(allowed: Permission, checking: CheckOptions, user: str) -> Iterator[RecordedOverride]:
    """The overrides on the command line, for the audit log."""
    from clusterwright.rollout.audit import RecordedOverride

    if allowed.opening and checking.outside_window:
        yield RecordedOverride(f"outside the windows: the next opens {allowed.opening}", checking.because.strip(), user)
    if allowed.missing and checking.unapproved:
        yield RecordedOverride(f"unapproved: {allowed.missing}", checking.because.strip(), user)
