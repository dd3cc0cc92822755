"""``lint --fix``: what has one right answer is amended, and not a byte besides."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cli.in_process import command

from clusterwright import data_files
from clusterwright.finding import Amendment, Finding
from clusterwright.rules.amending import amended
from clusterwright.rules.engine import lint_path
from clusterwright.spec.text.source import reading_instead

LAB = data_files.folder("inventory") / "lab-roce.yaml"


def fix(content: bytes, file: Path) -> tuple[bytes, list[Finding]]:
    def found(now: bytes) -> tuple[Finding, ...]:
        with reading_instead(file, now):
            return lint_path(file).findings

    return amended(content, str(file), found)


def run(*arguments: str, cwd: Path, given: str | None = None) -> CompletedProcess[str]:
    return command("lint", *arguments, cwd=cwd, given=given)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(LAB, tmp_path / "lab.yaml")
    return tmp_path


SPOILT = """\
# A remark: titel, extend.
extend:   lab.yaml   # the base
"titel": 'x # y'   # named so
renamd: []
expect:
  - {figure: nodes,   value: 8  }   # in one line
  # a figure of its own
  - figure: racks   # in several
    value: 4        # counted
zones:
  - name: compute
    nodes:
      - compute   # stays
      - compute
    fabrics: [ frontend,
      backend, frontend ]
flows:
  - name: boot-firmware
    ports:   # of iPXE
      - "1000-1010"   # none
      -   547  # of firmware

      - 69
"""
MENDED = """\
# A remark: titel, extend.
extends:   lab.yaml   # the base
"title": 'x # y'   # named so
renamed: []
expect:
  - {figure: nodes,   value: 8, assumed: "TODO: say why, or give the source"  }   # in one line
  # a figure of its own
  - figure: racks   # in several
    assumed: "TODO: say why, or give the source"
    value: 4        # counted
zones:
  - name: compute
    nodes:
      - compute   # stays
    fabrics: [ backend,
      frontend ]
flows:
  - name: boot-firmware
    ports:   # of iPXE
      - 69
      -   547  # of firmware

      - "1000-1010"   # none
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_what_has_one_right_answer_is_amended_and_nothing_else(folder: Path, end: str, mark: str) -> None:
    file = folder / "a.yaml"
    before, after = ((mark + text.replace("\n", end)).encode() for text in (SPOILT, MENDED))
    file.write_bytes(before)
    shown = run("--diff", "a.yaml", cwd=folder)
    assert (shown.returncode, file.read_bytes()) == (1, before)
    assert '+    assumed: "TODO' in shown.stdout
    run("--fix", "a.yaml", cwd=folder)
    assert file.read_bytes() == after
    assert fix(after, file) == (after, []), "a second run changes nothing"
    assert run("--diff", "a.yaml", cwd=folder).returncode == 0
    findings = [finding for finding in lint_path(file).findings if finding.code == "CW195"]
    assert [finding.position.line for finding in findings] == [6, 9]


@pytest.mark.parametrize(
    "text",
    [
        "extends: lab.yaml\ncolour: red\n",  # like no key
        "extends: lab.yaml\ntitle: x\ntitel: y\n",  # the right one is there as well
        "extends: lab.yaml\nsite:\n  dnss: [10.0.0.1]\n  dns: [10.0.0.2]\n",
        "extends: lab.yaml\r\ntitel: y\n",  # line ends of two kinds
        "extends: lab.yaml\nzones:\n  - name: compute\n    nodes:\n      - compute\n      - compute  # why\n",
        "extends: lab.yaml\ntitel: [\n",
        "extends: lab.yaml\n# clusterwright: ignore[CW213]\ntitle: x\n",
        "extends: lab.yaml\nflows:\n  - {name: boot-firmware, ports: [547,  # of firmware\n    69]}\n",
        "extends: lab.yaml\nsite:\n  dns: [fd00::2, fd00::1]\n",  # the order in which they are asked
    ],
)
def test_what_has_no_single_answer_stays_as_it_is(folder: Path, text: str) -> None:
    file = folder / "a.yaml"
    file.write_bytes(text.encode())
    assert fix(text.encode(), file) == (text.encode(), [])


def test_an_order_that_somebody_explains_is_not_told(folder: Path) -> None:
    file = folder / "a.yaml"
    ports = ["      # Firmware.\n", "      - 547\n", "      # iPXE.\n", "      - 69\n"]
    for left_out, told in ((2, True), (0, False)):
        lines = [line for index, line in enumerate(ports) if index != left_out]
        file.write_text("extends: lab.yaml\nflows:\n  - name: boot-firmware\n    ports:\n" + "".join(lines))
        assert any(finding.code == "CW196" for finding in lint_path(file).findings) is told


def test_an_order_is_accepted_as_every_note_is(folder: Path) -> None:
    file = folder / "a.yaml"
    text = "extends: lab.yaml\nflows:\n  - name: boot-firmware\n    ports: [547, 69]"
    file.write_text(f"{text}  # clusterwright: ignore[CW196] as the vendor lists them\n")
    result = lint_path(file)
    assert not [finding for finding in result.findings if finding.code == "CW196"]
    assert fix(file.read_bytes(), file)[1] == []


def test_the_standard_input_goes_to_the_standard_output_amended(folder: Path) -> None:
    done = run("--fix", "-", "--stdin-filename", "a.yaml", cwd=folder, given="extends: lab.yaml\ntitel: y # z\n")
    assert (done.returncode, done.stdout) == (0, "extends: lab.yaml\ntitle: y # z\n")
    assert "amended a.yaml:2:1: CW110" in done.stderr
    assert not (folder / "a.yaml").exists()


def test_a_file_below_is_amended_when_it_is_linted_itself(folder: Path) -> None:
    (folder / "base.yaml").write_text(LAB.read_text().replace("title:", "titel:", 1))
    (folder / "a.yaml").write_text("extends: base.yaml\n")
    run("--fix", "a.yaml", cwd=folder)
    assert "titel:" in (folder / "base.yaml").read_text()
    assert run("--fix", ".", cwd=folder).returncode == 0
    assert (folder / "base.yaml").read_text() == LAB.read_text()


def test_keys_misspelt_anywhere_in_a_spec_come_back_byte_for_byte(folder: Path) -> None:
    """Two letters of a key change places: the text is what it was, or the key was left alone."""
    text, file = LAB.read_text(), folder / "lab.yaml"
    keys = list(re.finditer(r"(?<=[{,] )([a-z_]{6,})(?=: )|^ *(?:- )?([a-z_]{6,})(?=:)", text, re.MULTILINE))
    came_back = 0
    for match in random.Random(7).sample(keys, 25):
        start, end = match.span(1) if match[1] else match.span(2)
        key = text[start:end]
        at = next((at for at in range(1, len(key) - 2) if key[at] != key[at + 1]), 1)
        spoilt = text[:start] + key[:at] + key[at + 1] + key[at] + key[at + 2 :] + text[end:]
        after, done = fix(spoilt.encode(), file)
        assert after.decode() in {text, spoilt}, (key, [each.message for each in done])
        came_back += after.decode() == text
    assert came_back > 15


def test_every_kind_of_amendment_is_tried_here() -> None:
    assert len(Amendment) == 5  # flows: test_fix_flows.py
