"""The command as a user starts it: exit statuses, paths, outputs, and no traceback whatever happens."""

from __future__ import annotations

import json
import os
import pty
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli import in_process

from clusterwright import data_files

INVENTORY = data_files.folder("inventory")
COMMAND = Path(sys.executable).with_name("clusterwright")


def run(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """A folder with a spec that has one error, beside the lab that it changes."""
    shutil.copy(INVENTORY / "lab-roce.yaml", tmp_path / "lab.yaml")
    (tmp_path / "wrong.yaml").write_text("extends: lab.yaml\ncolour: rot\n")
    return tmp_path


def test_findings_exit_with_1_and_are_shown_on_their_line(wrong: Path) -> None:
    done = run("lint", "wrong.yaml", cwd=wrong)
    assert done.returncode == 1
    assert done.stdout.splitlines()[:3] == [
        'wrong.yaml:2:1: error CW110: unknown key "colour" in the top level.',
        "  2 | colour: rot",
        "    | ^^^^^^",
    ]
    assert not done.stderr
    assert "\x1b" not in done.stdout


def test_a_folder_is_searched_and_hidden_files_are_left_alone(wrong: Path) -> None:
    (wrong / ".hidden").mkdir()
    (wrong / ".hidden" / "x.yaml").write_text("[")
    done = in_process.command("lint", ".", "--format", "json", cwd=wrong)
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert report["files"] == ["lab.yaml", "wrong.yaml"]
    assert report["summary"] == {"error": 1, "warning": 0, "note": 0, "unselected": 0, "not_judged": 0}


def test_without_a_path_the_inventory_here_or_else_this_folder_is_checked(wrong: Path) -> None:
    assert in_process.command("lint", cwd=wrong).returncode == 1
    (wrong / "inventory").mkdir()
    shutil.move(wrong / "lab.yaml", wrong / "inventory" / "lab.yaml")
    clean = in_process.command("lint", cwd=wrong)
    assert (clean.returncode, clean.stdout) == (0, "no findings in 1 file\n")


def test_fail_on_sets_the_bar(wrong: Path) -> None:
    (wrong / "wrong.yaml").write_text("extends: lab.yaml\n# clusterwright: ignore[CW203] a reason\ntitle: x\n")
    assert in_process.command("lint", "wrong.yaml", cwd=wrong).returncode == 1
    assert in_process.command("lint", "wrong.yaml", "--fail-on", "error", cwd=wrong).returncode == 0


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github", "gitlab", "junit"])
def test_every_format_can_be_written_to_a_file(wrong: Path, form: str) -> None:
    printed = in_process.command("lint", "wrong.yaml", "--format", form, cwd=wrong)
    written = in_process.command("lint", "wrong.yaml", "--format", form, "--output", "report", cwd=wrong)
    assert (printed.returncode, written.returncode, written.stdout) == (1, 1, "")
    assert (wrong / "report").read_text() == printed.stdout
    assert "CW110" in printed.stdout


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A device without room that a test may lose: whoever may replace the real one gets a copy of it."""
    if os.geteuid():
        return Path("/dev/full")
    device = tmp_path / "full"
    try:
        os.mknod(device, 0o600 | stat.S_IFCHR, Path("/dev/full").stat().st_rdev)
        device.open("w").close()
    except OSError as error:
        pytest.skip(f"no device can be made here: {error.strerror}")
    return device


@pytest.mark.parametrize(
    "command",
    [
        ["lint", "lab.yaml", "--output", "out"],
        ["inventory", "lab.yaml", "--format", "json", "--out", "out"],
        ["diff", "lab.yaml", "other.yaml", "--cables", "out"],
        ["audit", "export", ".", "--out", "out"],
    ],
)
def test_a_device_is_written_to_and_not_replaced(command: list[str], wrong: Path, full: Path) -> None:
    """A report to /dev/stdout made a file of it for whoever may, and one to a full device was lost in silence."""
    (wrong / "out").symlink_to(full)
    (wrong / "other.yaml").write_text("extends: lab.yaml\ntitle: x\n")
    record(wrong)
    done = in_process.command(*command, cwd=wrong)
    assert (done.returncode, (wrong / "out").is_symlink(), full.is_char_device()) == (2, True, True), done.stderr
    assert "out: cannot be written: No space left on device" in done.stderr


@pytest.mark.parametrize(
    "command", ["lint", "render --out out", "verify", "report --out out", "diff wrong.yaml", "preview"]
)
def test_ctrl_c_is_told_in_one_line(command: str, wrong: Path) -> None:
    """Pressed while the command opens its spec; the line in which a terminal shows ^C is ended first."""
    script = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def press(event, what):\n"
        "    if event == 'open' and str(what[0]).endswith('lab.yaml'):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.addaudithook(press)\n"
        "from clusterwright.cli.main import main\n"
        "main()\n"
    )
    name, *options = command.split()
    done = subprocess.run(
        [sys.executable, "-c", script, name, "lab.yaml", *options],
        cwd=wrong,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\ninterrupted\n")
    assert not (wrong / "out").exists()


def test_a_worker_that_meets_ctrl_c_first_leaves_it_to_its_parent() -> None:
    """Between its start and its first line a worker died of it with a traceback."""
    script = (
        "import os, signal\n"
        "from clusterwright.output.forked import fan_out\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "print(fan_out(lambda share: [share], [1, 2]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("[1, 2]\n", "")


@pytest.mark.parametrize(
    "command", ["lint {}/lab.yaml", "verify {}/lab.yaml", "diff {0}/lab.yaml {0}/wrong.yaml", "audit verify {}"]
)
def test_a_folder_that_this_user_may_not_look_into_is_told(
    command: str, wrong: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from clusterwright.cli import main

    record(wrong)
    arguments = command.format(wrong).split()
    main._run(arguments)  # imports what it needs, which somebody else may not read
    capsys.readouterr()
    is_root = os.geteuid() == 0
    wrong.chmod(0)
    try:
        if is_root:
            os.seteuid(65534)
        status = main._run(arguments)
    finally:
        if is_root:
            os.seteuid(0)
        wrong.chmod(0o700)
    said = capsys.readouterr()
    assert status == 2
    assert "Permission denied" in said.out + said.err
    assert "defect" not in said.err


def record(root: Path) -> None:
    """Lays a record without rollouts under ``root``."""
    (root / "audit").mkdir()
    (root / "audit/rollouts.jsonl").touch()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lint", "absent.yaml"], "absent.yaml: there is no such file or folder"),
        (["lint", "empty"], "no *.yaml file"),
        (["lint", "wrong.yaml", "--output", "wrong.yaml/report"], "wrong.yaml/report: cannot be written"),
        (["lint", "--format", "yaml"], "'yaml' is not one of"),
        (["lnit"], 'Did you mean "lint"?'),
        (["keys", "paln"], 'There is no command "paln". Did you mean "plan"?'),
        (["explain", "CW1O2"], 'Did you mean "CW102"?'),
        (["explain", "cw696"], 'Did you mean "CW693"?'),
        (["explain", "CW999"], 'There is no rule and no page "CW999". `clusterwright explain` lists all.'),
        (["explain", "CW23"], 'There is no rule and no page "CW23". `clusterwright explain` lists all.'),
        (["explain", "isolatoin"], 'Did you mean "isolation"?'),
    ],
)
def test_what_cannot_run_says_so_and_exits_with_2(wrong: Path, arguments: list[str], said: str) -> None:
    (wrong / "empty").mkdir()
    done = in_process.command(*arguments, cwd=wrong)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not [file for file in wrong.iterdir() if file.name.startswith(".")]


def test_explain_prints_a_page_and_lists_all_rules() -> None:
    page = run("explain", "cw110")
    assert page.returncode == 0
    assert page.stdout.startswith("# CW110: ")
    other = run("explain", "Isolation.md")
    assert (other.returncode, other.stdout.partition(":")[0]) == (0, "# Isolation")
    listing = run("explain")
    assert "\n  isolation          Isolation: zones" in listing.stdout
    assert listing.returncode == 0
    assert "CW203" in listing.stdout
    assert "\ntopology and capacity\n" in listing.stdout


def test_a_terminal_that_cannot_show_every_character_is_served(wrong: Path) -> None:
    (wrong / "wrong.yaml").write_text("extends: wrong.yaml\n")
    for encoding, arrow in (("latin-1", "\\u2192"), ("ascii", "→"), ("utf-8", "→")):  # click sends UTF-8 for ASCII
        done = run("lint", "wrong.yaml", cwd=wrong, PYTHONIOENCODING=encoding, LC_ALL="C")
        assert done.returncode == 1
        assert f"wrong.yaml {arrow} wrong.yaml" in done.stdout
        assert not done.stderr


def test_a_reader_that_leaves_early_is_no_error(wrong: Path) -> None:
    (wrong / "wrong.yaml").write_text("extends: lab.yaml\n" + "".join(f"key{n}: 1\n" for n in range(60)))
    done = subprocess.run(
        ["bash", "-c", f"{COMMAND} lint wrong.yaml wrong.yaml --format json | true"],
        cwd=wrong,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert done.stderr == ""


def test_a_defect_is_told_briefly_and_in_full_only_when_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from clusterwright.cli import main

    monkeypatch.setitem(main.COMMANDS, "lint", ("clusterwright.cli.nowhere:lint", ""))
    monkeypatch.setattr(sys, "argv", ["clusterwright", "lint"])
    for debug in ("0", "1"):
        monkeypatch.setenv("CLUSTERWRIGHT_DEBUG", debug)
        with pytest.raises(SystemExit) as caught:
            main.main()
        assert caught.value.code == 2
        said = capsys.readouterr().err
        assert "a defect of its own: ModuleNotFoundError" in said
        assert ("Traceback" in said) == (debug == "1")


def test_a_full_disk_is_no_defect_of_the_program() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [COMMAND, "explain", "CW203"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "the output cannot be written: No space left on device. Make room, or send it elsewhere.\n"


@pytest.mark.parametrize(
    ("closed", "status", "said"),
    [
        (">&-", 2, "the output cannot be written: Bad file descriptor. Make room, or send it elsewhere.\n"),
        ("<&-", 0, ""),
        (">&- 2>&-", 2, ""),
        ("<&- >&- 2>&-", 2, ""),
    ],
)
def test_a_closed_stream_is_no_defect_of_the_program(closed: str, status: int, said: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" explain CW203 {closed}', COMMAND], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (status, said)
    assert bool(done.stdout) is (status == 0)


def test_a_missing_package_is_no_defect_of_the_program() -> None:
    code = (
        "import sys; sys.modules['pulumi'] = None; from clusterwright.cli.main import main;"
        "sys.argv[1:] = ['preview', 'inventory/lab-ib.yaml', '--pod', 's00']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "needs the Python package pulumi" in done.stderr
    assert "defect" not in done.stderr


def test_a_closed_input_is_an_empty_spec() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" lint - <&-', COMMAND], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "CW101: the file is empty" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        ["report", "--out", "out"],
        ["inventory"],
        ["place"],
        ["nccl"],
        ["simulate", "--ranks", "8"],
        ["render", "--out", "out"],
    ],
)
def test_every_command_shows_a_mistake_in_the_spec_where_it_stands(wrong: Path, command: list[str]) -> None:
    done = in_process.command(*command, "wrong.yaml", cwd=wrong)
    assert done.returncode in {1, 2}
    assert done.stderr.splitlines()[:3] == [
        'wrong.yaml:2:1: error CW110: unknown key "colour" in the top level.',
        "  2 | colour: rot",
        "    | ^^^^^^",
    ]
    assert not done.stdout
    assert not (wrong / "out").exists()


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": "1"}, False)],
)
@pytest.mark.parametrize("command", ["lint", "nccl", "verify"])
def test_colours_are_for_terminals_whose_owners_want_them(
    wrong: Path, command: str, environment: dict[str, str], coloured: bool
) -> None:
    clean = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TERM"}}
    master, terminal = pty.openpty()
    subprocess.run(
        [COMMAND, command, "wrong.yaml"],
        cwd=wrong,
        env={**clean, **environment},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        check=False,
        timeout=60,
    )
    said = os.read(master, 65536)
    os.close(terminal)
    os.close(master)
    assert b"CW110" in said
    assert (b"\x1b[1;31m" in said) is coloured


def test_linting_loads_nothing_heavy() -> None:
    heavy = {"pulumi", "numpy", "scipy", "rich", "jinja2", "ansible", "requests", "grpc"}
    program = "import sys, clusterwright.cli.lint; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not heavy & set(loaded)
