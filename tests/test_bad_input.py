"""Bad input of every kind is refused with a position or lints clean; what lints clean is planned and rendered.

Nothing here may raise, take long, fill the memory, or leave half an output folder behind.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.in_process import command
from tests.spec_mutations import HUGE, TRICKS, spoiled

from clusterwright import data_files
from clusterwright.finding import Finding, Severity
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec

INVENTORY = data_files.folder("inventory")
# How many spoilt specs of each: the small ones have every section of the large ones, and take a fortieth as long.
MUTATIONS = {"lab-roce": 100, "lab-ib": 100, "rsc-phase1": 30, "rsc": 8, "roce-24k": 8, "ib-24k": 8}
LIMIT_S = 20.0  # many times what a spec takes: what this ends is a search that grows with the damage
NOBODY = 65534
# Of one lint with everything that Python and the JSON Schema need; the largest reference spec takes 40 MB.
MEMORY_LIMIT_BYTES = 1 << 30
RENDERED_DEVICES = 6


@pytest.fixture(autouse=True)
def raising(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that stops on an error of its own is a defect here, whatever else is wrong with the spec."""
    monkeypatch.setenv("CLUSTERWRIGHT_DEBUG", "1")


def lint_in_time(file: Path) -> tuple[Finding, ...]:
    """What lint finds, having looked at each finding and at the clock."""
    begin = time.process_time()
    findings = lint_path(file).findings
    assert time.process_time() - begin < LIMIT_S
    lines = _lines(file)
    for finding in findings:
        assert finding.message.endswith("."), finding
        assert finding.hint, finding
        assert finding.position.column >= 1
        if finding.position.file == str(file):
            assert 1 <= finding.position.line <= lines, finding
    return findings


def _lines(file: Path) -> int:
    small = file.is_file() and file.stat().st_size < 10_000_000 and os.access(file, os.R_OK)
    return file.read_bytes().count(b"\n") + 1 if small else 1


def is_refused(findings: tuple[Finding, ...]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)


def plan_and_render(file: Path) -> None:
    """Builds the plan and renders some devices of each role, the first and the last of it."""
    plan = build_plan(load_spec(file))
    by_role: dict[str, list[str]] = {}
    for device in plan.devices:
        by_role.setdefault(device.role, []).append(device.name)
    for names in by_role.values():
        for name in {names[0], names[-1]}:
            Rendering(plan).of_device(name)


@pytest.fixture(scope="module")
def inventory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reference specs, for mutations that extend them."""
    folder = tmp_path_factory.mktemp("inventory")
    (folder / "allocated").mkdir()
    for file in [*INVENTORY.glob("*.yaml"), *INVENTORY.glob("allocated/*.yaml")]:
        (folder / file.relative_to(INVENTORY)).write_bytes(file.read_bytes())
    return folder


@pytest.mark.parametrize("name", MUTATIONS)
def test_spoilt_specs_are_refused_or_can_be_planned_and_rendered(name: str, inventory: Path) -> None:
    text = (INVENTORY / f"{name}.yaml").read_text()
    file = inventory / "spoilt.yaml"
    refused = 0
    for seed in range(MUTATIONS[name]):
        file.write_bytes(spoiled(text, f"{name} {seed}"))
        if is_refused(lint_in_time(file)):
            refused += 1
        else:
            plan_and_render(file)
    assert MUTATIONS[name] / 3 < refused < MUTATIONS[name], "many of these break something, and some do not"


@pytest.mark.parametrize("trick", TRICKS)
def test_yaml_tricks_are_refused(trick: str, tmp_path: Path) -> None:
    file = tmp_path / "trick.yaml"
    file.write_text(f"{(INVENTORY / 'lab-ib.yaml').read_text()}\n{trick}\n")
    assert lint_in_time(file)


COUNTS = (
    ("count: 16", "count: {}"),
    ("{name: rack, of: 4, within: su}", "{{name: rack, of: {}, within: su}}"),
    ("count: 4", "count: {}"),
    ("up: {links: 8", "up: {{links: {}"),
    ("subnet_manager: {nodes: compute, count: 2", "subnet_manager: {{nodes: compute, count: {}"),
    ("mtu: 4096", "mtu: {}"),
    ("pkey: 1", "pkey: {}"),
    ("hosts_per_switch: 22", "hosts_per_switch: {}"),
    ("base: 4200000300", "base: {}"),
    ("length_m: 3}", "length_m: {}}}"),
    ("value: 128", "value: {}"),
)
LINT_WITHIN_LIMITS = """
import resource, sys
from clusterwright.finding import Severity
from clusterwright.rules.engine import lint_path
for path in sys.argv[1:]:
    findings = lint_path(path).findings
    print(path, max((finding.severity for finding in findings), default=0))
"""


def test_huge_counts_are_refused_before_anything_is_expanded(tmp_path: Path) -> None:
    text = (INVENTORY / "lab-ib.yaml").read_text()
    files = []
    for index, (written, pattern) in enumerate(COUNTS):
        assert written in text, written
        for value in HUGE:
            files.append(tmp_path / f"{index}-{value}.yaml")
            files[-1].write_text(text.replace(written, pattern.format(value), 1))
    begin = time.monotonic()
    done = limited(sys.executable, "-c", LINT_WITHIN_LIMITS, *files)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begin < LIMIT_S * len(files)
    verdicts = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert len(verdicts) == len(files)
    for file in files:
        if file.name.split("-", 1)[1] in {"1000000000.yaml", f"{10**30}.yaml", "-1.yaml"} and "base" not in file.name:
            assert verdicts[str(file)] != "0", file.name


def limited(*program: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a program that may not take more memory than lint needs."""
    return subprocess.run(
        program,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES)),
    )


def test_the_largest_cluster_that_is_expanded_is_linted_in_time(tmp_path: Path) -> None:
    text = (INVENTORY / "lab-ib.yaml").read_text()
    file = tmp_path / "large.yaml"
    file.write_text(text.replace("count: 16", "count: 31990", 1))
    findings = lint_in_time(file)
    assert is_refused(findings)
    assert "CW200" not in {finding.code for finding in findings}


def _directory(path: Path) -> None:
    path.mkdir()


def _symlink_loop(path: Path) -> None:
    path.symlink_to(path.name)


def _hundred_megabytes(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(100 << 20)


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


ODD_FILES: dict[str, Callable[[Path], object]] = {
    "a directory": _directory,
    "a missing file": lambda path: None,
    "a FIFO": os.mkfifo,
    "a symbolic link to itself": _symlink_loop,
    "a dangling link": _dangling,
    "100 MB of zeros": _hundred_megabytes,
    "100 MB of YAML": lambda path: path.write_bytes(b"# nothing but a comment\n" * 4_400_000),
    "an empty file": lambda path: path.write_bytes(b""),
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "UTF-16": lambda path: path.write_bytes((INVENTORY / "lab-ib.yaml").read_text().encode("utf-16")),
    "an archive": lambda path: path.write_bytes(bytes(range(256)) * 16),
}


@pytest.mark.parametrize("kind", ODD_FILES)
def test_files_that_are_no_specs_are_refused(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "odd.yaml"
    ODD_FILES[kind](file)
    assert is_refused(lint_in_time(file))


@pytest.mark.parametrize("kind", ODD_FILES)
@pytest.mark.parametrize("key", ["extends", "hardware"])
def test_files_that_are_no_specs_are_refused_where_another_names_them(kind: str, key: str, tmp_path: Path) -> None:
    ODD_FILES[kind](tmp_path / "odd.yaml")
    file = tmp_path / "spec.yaml"
    text = (INVENTORY / "lab-ib.yaml").read_text()
    file.write_text(text + ("extends: odd.yaml\n" if key == "extends" else "hardware: [odd.yaml]\n"))
    assert is_refused(lint_in_time(file))


def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "secret.yaml"
    file.write_bytes((INVENTORY / "lab-ib.yaml").read_bytes())
    file.chmod(0)
    superuser = os.geteuid() == 0  # who may read everything
    if superuser:
        os.seteuid(NOBODY)
    try:
        findings = lint_path(file).findings
    finally:
        if superuser:
            os.seteuid(0)
    assert [finding.code for finding in findings] == ["CW101"]
    assert "Permission denied" in findings[0].message


BROKEN: dict[str, Callable[[str], str]] = {
    "not YAML": lambda text: text[:700] + "\n: [",
    "an unknown key": lambda text: text.replace("count: 16", "cuont: 16", 1),
    "a huge count": lambda text: text.replace("count: 16", f"count: {10**30}", 1),
    "an unknown model": lambda text: text.replace("qm9790", "qm9791", 1),
    "too few ports": lambda text: text.replace("{links: 8, ", "{links: 60, ", 1),
    "a cycle": lambda text: f"{text}\nextends: broken.yaml\n",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_the_command_refuses_a_bad_spec_and_leaves_the_output_alone(kind: str, tmp_path: Path) -> None:
    good = INVENTORY / "lab-ib.yaml"
    bad = tmp_path / "broken.yaml"
    bad.write_text(BROKEN[kind](good.read_text()))
    out = tmp_path / "out"
    first = command("render", good, "--out", out, "--only", "mgmt*", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in out.rglob("*") if file.is_file()}
    fresh = tmp_path / "fresh"
    for arguments in (("lint", bad), ("render", bad, "--out", out), ("render", bad, "--out", fresh)):
        done = command(*arguments, cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr
        assert "broken.yaml:" in done.stdout + done.stderr
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in out.rglob("*") if file.is_file()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.yaml", "out"]
