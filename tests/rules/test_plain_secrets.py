"""CW555 on lines that keep a secret: the value in clear is refused, a placeholder in its place is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright import data_files
from clusterwright.rules.engine import lint_path

LAB = data_files.folder("inventory") / "lab-roce.yaml"
LINES = (
    "username auditor role network-operator secret sha512 {}",
    "enable password sha512 {}",
    "tacacs-server host 10.0.0.9 key 7 {}",
    "radius-server key 7 {}",
    "snmp-server community {} ro",
    "snmp-server user monitor readers v3 auth sha {} priv aes <secret snmp-privacy>",
    "snmp-server user monitor readers v3 auth sha <secret snmp-auth> priv aes {}",
    "key 0a {}",
    "secret 1 7 {} receive-lifetime infinite transmit-lifetime infinite",
    "ntp authentication-key 1 sha1 7 {}",
)


def codes(folder: Path, line: str) -> set[str]:
    """The errors that lint tells of a spec with this line added to a switch."""
    file = folder / "spec.yaml"
    item = f"  - role: atsw\n    reason: a test\n    lines:\n      - '{line}'\n"
    file.write_text(f"extends: {LAB}\nextra_config:\n{item}")
    return {finding.code for finding in lint_path(file).errors}


@pytest.mark.parametrize("line", LINES)
def test_a_value_in_clear_is_refused(tmp_path: Path, line: str) -> None:
    assert "CW555" in codes(tmp_path, line.format("a1b2c3d4"))


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("name", ["auditor", "old-key", "secret-password"])
def test_a_placeholder_is_taken_whatever_its_name(tmp_path: Path, line: str, name: str) -> None:
    assert "CW555" not in codes(tmp_path, line.format(f"<secret {name} as sha512-crypt>"))


@pytest.mark.parametrize("form", ["<secret Auditor>", "<secret auditor as type 7 x y>", "<secret auditor@>"])
def test_what_is_meant_as_a_placeholder_is_told(tmp_path: Path, form: str) -> None:
    assert codes(tmp_path, LINES[0].format(form)) == {"CW557"}
