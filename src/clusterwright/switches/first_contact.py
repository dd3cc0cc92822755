"""First file of an unconfigured switch: accounts with their keys, and no secret."""

from __future__ import annotations

from typing import NamedTuple

from clusterwright.plan.first_contact import PortContact
from clusterwright.plan.model import Plan
from clusterwright.spec.hardware.systems import systems
from clusterwright.spec.site import Operator
from clusterwright.text.templates import template

ADMIN = "admin"


class ContactFile(NamedTuple):
    """A file for all switches of a system with equal names of management ports."""

    name: str
    text: str


def administrators(plan: Plan) -> tuple[Operator, ...]:
    """Administrators of switches: operators of role admin with a key."""
    return tuple(operator for operator in plan.spec.site.operators if _is_administrator(operator))


def _is_administrator(operator: Operator) -> bool:
    """Whether an operator has the administrator's role and a key to log in with."""
    return operator.role == ADMIN and bool(operator.keys)


def linux_script(plan: Plan, contact: PortContact, *, flag: str = "", closing: tuple[str, ...] = ()) -> ContactFile:
    """A script for a Linux-based system.

    The factory's accounts, with public passwords, are locked once there is another. ``flag`` is a line required by the
    system in the script; ``closing`` are the last commands.
    """
    accounts = administrators(plan)
    names = {account.name for account in accounts}
    locked: list[str] = []
    if accounts:
        locked += [name for name in systems()[contact.system].factory_accounts if name not in names]
    text = template("switch/first-contact.sh.j2").render(accounts=accounts, closing=closing, flag=flag, locked=locked)
    return ContactFile(name=f"{contact.system}.sh", text=text)
