"""CW175: patches of SONiC's configuration loosening access to the switch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusterwright.finding import Severity
from clusterwright.rules.rule import Problem, Subject, rule

_FILE = "etc/sonic/config_db.json"
# Tables controlling access to the switch, from sonic-buildimage's yang models. A patch may add to them and tighten
# them; a removed entry opens access, or makes SONiC fall back to a default.
_TABLES = frozenset(
    {
        *("AAA", "TACPLUS", "TACPLUS_SERVER", "RADIUS", "RADIUS_SERVER", "LDAP", "LDAP_SERVER"),
        *("GNMI", "GNMI_CLIENT_CERT", "PASSW_HARDENING", "RESTAPI", "SNMP_AGENT_ADDRESS_CONFIG", "SNMP_USER"),
        *("SSH_SERVER", "TELEMETRY", "MGMT_VRF_CONFIG"),
    }
)
# The only closed values of each field, in any row of these tables.
_CLOSED = {
    "failthrough": ("false",),
    "permit_root_login": ("no", "forced-commands-only"),
    "password_authentication": ("false",),
    "client_auth": ("true",),
    "user_auth": ("cert", "password", "jwt"),
    "allow_insecure": ("false",),
    "mgmtvrfenabled": ("true",),
    "snmp_user_type": ("priv",),
    "snmp_user_permission": ("ro",),
}
_EMPTY = ("passkey", "password", "password_hash", "snmp_user_auth_password", "snmp_user_encryption_password")
_ROW = 2  # keys in the path of a row: its table's and its own
_METHODS = "login"
_ACCOUNTS = ("LOCAL_USER", "USER", "USERS", "USER_TABLE")
_WORDS = "SNMP_COMMUNITY"


@rule("CW175", Severity.ERROR)
def opening_patch(subject: Subject) -> Iterator[Problem]:
    """Patches removing or loosening access control of a switch."""
    fix = "Remove it, and configure operators, servers and collectors under `site`."
    for item in subject.spec.extra_config:
        if item.file != _FILE:
            continue
        for path, wrong in openings(item.merge):
            yield Problem((*item.path, "merge", *path), wrong, fix, key=True)


def openings(patch: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The key path and the error of each entry in a patch of config_db.json that opens access."""
    for name, rows in patch.items():
        if name in _TABLES:
            yield from _loosened((name,), rows)
        elif name in _ACCOUNTS:
            yield from _accounts(name, rows)
        elif name == _WORDS and rows is not None:
            yield (name,), "Every client that knows the community string can read the switch."


def _loosened(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Errors at ``path`` of one of the tables and below it."""
    key = path[-1].lower()
    is_row = len(path) <= _ROW
    if value is None or (is_row and not isinstance(value, Mapping)):
        yield path, f"It removes {'|'.join(path)}, which controls access to the switch."
    elif isinstance(value, Mapping):
        for inner, below in value.items():
            yield from _loosened((*path, str(inner)), below)
    else:
        words = [str(word).strip().lower() for word in _items(value)]
        if key == _METHODS and "none" in words:
            yield path, "The method `none` permits every login."
        elif key in _CLOSED and any(word not in _CLOSED[key] for word in words):
            yield path, f"{path[-1]} must be {' or '.join(_CLOSED[key])}: any other value weakens access control."
        elif key in _EMPTY and "" in words:
            yield path, f"{path[-1]} is empty: no password is required."


def _items(value: Any) -> Sequence[Any]:
    """The values of a field: a single one, a list, or several separated by commas."""
    return value if isinstance(value, list) else str(value).split(",")


def _accounts(table: str, rows: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Accounts without a password among ``rows``."""
    if isinstance(rows, Mapping):
        for name, row in rows.items():
            fields = row if isinstance(row, Mapping) else {}
            if row is not None and not any(fields.get(key) for key in ("password", "password_hash", "hashed_password")):
                yield (table, str(name)), f"The account {name} has no password."
