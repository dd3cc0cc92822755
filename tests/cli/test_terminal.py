"""Nothing that a device, a server or a file says steers the terminal; files that are none end no command badly."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from tests.cli.in_process import command

from clusterwright import data_files
from clusterwright.cli.terminal import EscapingStream, visible_text
from clusterwright.given_file import read_given

LAB = data_files.folder("inventory") / "lab-roce.yaml"
EVIL = "evil\x1b]0;PWN\x07\x1b[2J\x9b31m\u202e\r"
DEVICE, PORT = "rtsw-p00r00", "eth2/1/1"


NAMES: tuple[object, ...] = (None, "", 1, [], {})


def steers(text: str) -> bool:
    return any(ord(char) < 32 and char not in "\n\t" for char in text) or bool(set("\x9b\u202e\x7f") & set(text))


def lldp(folder: Path, content: object) -> Path:
    file = folder / f"{DEVICE}.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def eos(name: object, port: object = "x") -> object:
    return {"lldpNeighbors": [{"port": PORT, "neighborDevice": name, "neighborPort": port, "ttl": 1}]}


@pytest.mark.parametrize("form", ["text", "json", "csv", "progress"])
def test_the_names_of_neighbours_steer_no_terminal(tmp_path: Path, form: str) -> None:
    done = command("observe", LAB, "--lldp", lldp(tmp_path, eos(EVIL, EVIL)), "--format", form, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert not steers(done.stdout.replace("\r\n", "\n") + done.stderr)
    if form == "json":
        json.loads(done.stdout)


def test_what_devices_run_steers_no_terminal(tmp_path: Path) -> None:
    place = tmp_path / "running/gpu-p00r00n0/etc/sysctl.d"
    place.mkdir(parents=True)
    (place / "90-clusterwright.conf").write_text(f"{EVIL}\n\x00{EVIL} = 1\n")
    done = command("observe", LAB, "--running", tmp_path / "running", cwd=tmp_path)
    assert "defect" not in done.stderr
    assert not steers(done.stdout + done.stderr)


def test_names_of_files_and_texts_of_errors_steer_no_terminal(tmp_path: Path) -> None:
    typed: list[list[str | Path]] = [["lint", f"{EVIL}.yaml"], ["observe", LAB, "--lldp", EVIL], ["explain", EVIL]]
    for words in typed:
        done = command(*words, cwd=tmp_path)
        assert done.returncode
        assert not steers(done.stdout + done.stderr), words


def test_lines_stay_lines() -> None:
    stream = io.StringIO()
    EscapingStream(stream).writelines(["a\tb\r\n", "c\rd\n", "é → ü\n"])
    assert stream.getvalue() == "a\tb\r\nc<U+000D>d\né → ü\n"
    assert visible_text("\x1b[2J") == "<U+001B>[2J"


@pytest.mark.parametrize(
    "content",
    [
        {
            "lldp": {
                "interface": [{PORT: {"chassis": {}, "port": {"id": {"type": "mac", "value": "02:00:00:00:00:01"}}}}]
            }
        },
        *(eos(name) for name in NAMES),
        *(eos("x", port) for port in NAMES),
        "[" * 100_000 + "]" * 100_000,
        '{"lldp":' * 100_000 + "1" + "}" * 100_000,
        {"lldpNeighbors": None},
        {"lldp": None},
        {"result": None},
    ],
)
@pytest.mark.parametrize("form", ["text", "progress"])
def test_a_dump_with_holes_is_an_answer_or_one_error(tmp_path: Path, content: object, form: str) -> None:
    done = command("observe", LAB, "--lldp", lldp(tmp_path, content), "--format", form, cwd=tmp_path)
    assert done.returncode in {1, 2}
    assert "defect" not in done.stderr, done.stderr


def test_devices_and_pipes_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "zero").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "run/gpu-p00r00n0/etc").mkdir(parents=True)
    for name in ("zero", "pipe"):
        link = tmp_path / name
        typed: list[list[str | Path]] = [
            ["observe", LAB, "--lldp", link],
            ["observe", LAB, "--ibnetdiscover", link],
            ["bringup", LAB, f"perftest={link}", "--group", "pod0"],
            ["lint", link],
            ["lint", "--fix", link],
            ["verify", "--records", link, "--public-key", link],
            ["sync", "netbox", LAB, "--url", "https://127.0.0.1:9", "--token-file", link],
        ]
        for words in typed:
            done = command(*words, cwd=tmp_path)
            assert done.returncode in {1, 2}, words
            assert "defect" not in done.stderr, (words, done.stderr)
        with pytest.raises(Exception, match="no regular file"):
            read_given(link)
