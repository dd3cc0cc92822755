"""Releases of EOS and SONiC: each word that only newer ones have is refused where a tier states an older one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.plans import plan_with
from tests.rules.overlays import findings_of

from clusterwright import data_files
from clusterwright.output.rendering import Rendering
from clusterwright.spec.hardware.system_releases import SystemReleases
from clusterwright.spec.hardware.systems import systems

STARTUP_CONFIG = "mnt/flash/startup-config"
SONIC_SCHEMA = data_files.folder("inventory") / "schema" / "sonic-config-db.schema.json"


def releases_of(system: str) -> SystemReleases:
    releases = systems()[system].releases
    assert releases is not None
    return releases


# In all models, and read by SONiC's own programs only since (tests/foreign/test_sonic_templates.py).
NOT_READ_BEFORE = {"PREFIX sequence_number": "202511"}


def newer_names(node: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """The tables, rows and fields of SONiC's schema that came with a release, and that release."""
    if not isinstance(node, dict):
        return
    if "x-since" in node:
        yield " ".join(above), node["x-since"]
    for name, below in node.get("properties", {}).items():
        yield from newer_names(below, (*above, name))


def test_words_of_sonic_are_the_names_that_its_oldest_models_lack() -> None:
    releases = releases_of("sonic")
    schema = json.loads(SONIC_SCHEMA.read_text())
    since = {word.spelling: word.since for word in releases.words}
    assert since == dict(newer_names(schema)) | NOT_READ_BEFORE


@pytest.mark.parametrize("system", ["eos", "sonic"])
def test_the_default_release_lacks_nothing_and_is_known(system: str) -> None:
    releases = releases_of(system)
    assert releases.knows(releases.default)
    assert releases.lacking(releases.default) == ()
    for word in releases.words:
        assert word in releases.lacking(releases.known[0])
        assert word not in releases.lacking(word.since)


def test_a_release_of_three_numbers_lacks_what_a_later_one_brought() -> None:
    releases = releases_of("eos")
    assert releases.lacking("4.33.0F")
    assert releases.lacking("4.32")
    assert not releases.lacking("4.33")
    assert not releases.lacking("4.33.2F")


def test_eos_names_the_release_that_its_text_is_written_for(tmp_path: Path) -> None:
    overlay = "fabrics:\n  - name: backend\n    tiers:\n      - {role: ctsw, release: 4.34.2F}\n"
    rendering = Rendering(plan_with(tmp_path, "lab-roce", overlay))
    for switch, release in (("ctsw-p00-00", "EOS-4.34.2F"), ("atsw-00", "EOS-4.33.1F")):
        (text,) = (made.content for made in rendering.of_device(switch) if made.path == STARTUP_CONFIG)
        assert release.encode() in text.partition(b"\n")[0]


@pytest.mark.parametrize(
    ("base", "tier", "release", "words"),
    [
        ("lab-sonic", "rtsw", "202505", {"password_authentication", "permit_root_login", "PREFIX", "DNS_OPTIONS"}),
        ("lab-sonic", "rtsw", "202605", set()),
        ("lab-roce", "ctsw", "4.32.2F", {"load-balance policies"}),
        ("lab-roce", "ctsw", "4.34.2F", set()),
    ],
)
def test_what_a_release_lacks_is_refused_where_it_is_stated(
    base: str, tier: str, release: str, words: set[str], tmp_path: Path
) -> None:
    overlay = f'fabrics:\n  - name: backend\n    tiers:\n      - {{role: {tier}, release: "{release}"}}\n'
    shutil.copy(data_files.folder("inventory") / "lab-roce.yaml", tmp_path)  # which lab-sonic extends
    findings = [finding for finding in findings_of(tmp_path, overlay, base) if finding.code in {"CW351", "CW352"}]
    assert len(findings) == len(words)
    for word in words:
        assert any(word in finding.message for finding in findings)
    assert {finding.position.line for finding in findings} <= {5}
