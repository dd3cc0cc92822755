"""A string of a spec is refused, or what programs read of the rendered files is that string and nothing else.

The places are found from the schema. Control characters have to be refused in all of them. What else a format could
take for something else than text is planted wherever the kind of the place lets it pass; then all files are read by
readers of their formats, and have to say what they said before, but for the planted text.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import subprocess
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from hier_config import Platform, get_hconfig
from tests.spec.planted import CONTROL, Leaf, holds, leaves, places, with_texts, worst

from clusterwright import data_files
from clusterwright.finding import Severity
from clusterwright.output.rendering import Rendering
from clusterwright.plan.build import build_plan
from clusterwright.plan.model import Plan
from clusterwright.report.html import report_files
from clusterwright.rules.engine import lint_path
from clusterwright.spec.load import load_spec
from clusterwright.spec.text.document import Path as Place
from clusterwright.spec.text.document import format_path
from clusterwright.spec.text.extends import read_spec_document

KNOWN = dict(places())
# What lab-roce leaves out of the places that take more than plain words.
MORE = """extends: {folder}/lab-roce.yaml
extra_config:
  - {{role: ctsw, lines: ["no logging console"], reason: planted, assumed: planted here}}
exceptions:
  - {{device: ctsw-p00-00, state: drained, reason: planted, assumed: planted here}}
nccl:
  variables: {{NCCL_DEBUG_FILE: /tmp/a, TORCH_NCCL_DEBUG_INFO_PIPE_FILE: /tmp/b}}
images:
  - name: training
    health: {{leave_out: {{bios: planted}}}}
    kernel_parameters: [iommu=pt, planted=x]
    checks: [{{name: planted, run: "true planted"}}]
    sysctl: {{kernel.planted: x}}
mounts:
  - {{name: home, options: ["vers=4.2", proto=tcp, xprtsec=mtls, hard, noatime, nodev, nosuid, context=x]}}
  - {{name: planted, nodes: [compute], mountpoint: /planted, system: storage, type: beegfs, options: [ro],
     export: "10.0.0.1:/a", protection: {{kind: client-side-aead}}}}
"""
# Texts that files are called by, or by which lists are sorted: with another text comes another order. A file system of
# another kind is reached by other ports.
CALLED = frozenset({"local_file", "package", "path", "mountpoint", "folder", "placed_file", "file_system"})
# Digests of what is planted, and the place in the spec that the report names.
DIGEST = re.compile(
    r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{12})(?![0-9a-f])|sha256-[A-Za-z0-9+/]+=*|(?<=spec\.yaml):1:\d+"
)
SHELL = ("PWD=", "OLDPWD=", "_=")
VARIABLES = 'set -a; . "$1"; env -0'


def test_the_schema_has_strings() -> None:
    assert len(KNOWN) > 200
    kinds = {schema["kind"] for schema in KNOWN.values()}
    assert {"name", "text", "export", "kernel_parameter", "config_line", "ssh_key"} <= kinds


@pytest.mark.parametrize("place", sorted(KNOWN))
def test_no_place_takes_a_control_character(place: str) -> None:
    for start in ("a", "/a", "a=b", "0", "10.0.0.0/8", ""):
        assert not [text for text in CONTROL if holds(KNOWN[place], start + text)]


@pytest.mark.parametrize("base", ["lab-roce", "lab-ib"])
def test_what_a_string_may_hold_arrives_as_it_is(base: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    folder = data_files.folder("inventory")
    spec.write_text(MORE.format(folder=folder) if base == "lab-roce" else f"extends: {folder}/{base}.yaml\n")
    data = read_spec_document(spec).data
    found = list(leaves(data, KNOWN))
    spec.write_text(json.dumps(data))
    before = readings(spec, {})

    planted = sound(spec, data, {leaf.path: text for leaf in found if (text := changed(leaf, data)) is not None})
    assert len(planted) > 20
    after = readings(spec, {text: str(at(data, path)) for path, text in planted.items()})

    assert after.keys() == before.keys()
    assert not {path: (before[path], after[path]) for path in before if after[path] != before[path]}


def changed(leaf: Leaf, data: Any) -> str | None:
    """The text to plant; None where the kind takes plain words alone. Of a list the last one is changed."""
    text, around = str(at(data, leaf.path)), at(data, leaf.path[:-1])
    number = sum(ord(char) * place for place, char in enumerate(str(leaf.path)))  # tells planted texts apart
    planted = worst(leaf.schema, f"{text}p{number}")
    is_left = leaf.schema["kind"] in CALLED or (isinstance(around, list) and leaf.path[-1] != len(around) - 1)
    return planted if not is_left and worst(leaf.schema, text) != text else None


def sound(spec: Path, data: Any, texts: Mapping[Place, str]) -> dict[Place, str]:
    """Writes ``data`` with those of ``texts`` that lint does not refuse, and gives them."""
    texts = dict(texts)
    for _ in range(4):
        spec.write_text(json.dumps(with_texts(data, texts)))
        refused = {finding.path for finding in lint_path(spec).findings if finding.severity is Severity.ERROR}
        if not refused:
            return texts
        planted = with_texts(data, texts)
        kept = {path: text for path, text in texts.items() if not _is_below(format_path(path, planted), refused)}
        assert len(kept) < len(texts), refused
        texts = kept
    raise AssertionError("lint refuses more each time")


def _is_below(path: str, refused: set[str]) -> bool:
    return any(path == each or path.startswith((f"{each}.", f"{each}[")) for each in refused)


def at(data: Any, path: Place) -> Any:
    for part in path:
        data = data[part]
    return data


def readings(spec: Path, words: Mapping[str, str]) -> dict[str, Any]:
    """What readers make of every file of the spec, the planted ``words`` back in their places."""
    plan: Plan = build_plan(load_spec(spec))
    texts = {f"{artifact.device}/{artifact.path}": artifact.content for artifact in Rendering(plan).of_devices()}
    texts |= {f"report/{name}": text.encode() for name, text in report_files(plan, ()).items()}
    found: dict[bytes, Any] = {}
    read: dict[str, Any] = {}
    for path, content in texts.items():
        if b"\x00" in content or content[:4] in (b"PK\x03\x04",):
            continue  # archives: of the same files
        if content not in found:
            found[content] = plain(reading(path, content.decode(), spec.parent / "read"), words)
        read[DIGEST.sub("H", path)] = found[content]
    return read


def plain(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for planted, text in sorted(words.items(), key=lambda each: -len(each[0])):
            value = value.replace(planted, text)
        return DIGEST.sub("H", value)
    if isinstance(value, dict):
        return {plain(key, words): plain(below, words) for key, below in value.items()}
    return [plain(below, words) for below in value] if isinstance(value, list | tuple) else value


def reading(path: str, text: str, scratch: Path) -> Any:
    """What a reader of the file's format makes of it."""
    name = path.rpartition("/")[2]
    if name.endswith(".json"):
        return json.loads(text)
    if name.endswith((".yaml", ".yml")) or name in ("user-data", "meta-data"):
        return list(yaml.safe_load_all(text))
    if name.endswith(".csv"):
        rows = list(csv.reader(io.StringIO(text)))
        assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@"))]
        return rows
    if name.endswith(".html"):
        return Page.of(text)
    if name.endswith(".xml"):
        return ElementTree.canonicalize(text, strip_text=True)
    if name == "startup-config":
        return [line.cisco_style_text() for line in get_hconfig(Platform.ARISTA_EOS, text).all_children()]
    if name == "fstab":
        return [[field.encode().decode("unicode_escape") for field in line.split()] for line in text.splitlines()]
    return program_reading(path, text, scratch)


def program_reading(path: str, text: str, scratch: Path) -> Any:
    """The same of files that nft or a shell reads."""
    if path.rpartition("/")[2].startswith("nftables"):
        subprocess.run(["unshare", "-n", "nft", "--check", "--file", "-"], input=text.encode(), check=True)
        return re.sub(r' comment "[^"\\]*"$', "", text, flags=re.MULTILINE).splitlines()
    scratch.write_text(text)
    if "/grub.d/" in path or "/profile.d/" in path:
        read = subprocess.run(["sh", "-c", VARIABLES, "sh", str(scratch)], env={}, capture_output=True, check=True)
        return sorted(line for line in read.stdout.decode().split("\0") if not line.startswith(SHELL))
    if text.startswith("#!/bin/sh"):
        subprocess.run(["sh", "-n", str(scratch)], check=True)
        return shlex.split(text, comments=True)
    if "/systemd/" in path:
        return text.replace("%%", "%").splitlines()
    return text.splitlines()


class Page(HTMLParser):
    """The elements and texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[Any] = []

    @classmethod
    def of(cls, text: str) -> list[Any]:
        page = cls()
        page.feed(text)
        return page.parts

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        is_figure = data.replace(",", "").strip().isdigit()  # the sizes of what is longer now
        self.parts.append("N" if is_figure else data)
