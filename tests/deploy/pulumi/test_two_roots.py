"""Two operators with a root each and one state backend: one stack is changed by one of them at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.deploy.pulumi.rendered_pod import render_pod
from tests.deploy.pulumi.site import STACK, Site, site_in

pytestmark = pytest.mark.usefixtures("pulumi_on_the_path")


def test_updates_from_two_roots_follow_each_other(tmp_path: Path) -> None:
    """Of two at once one may find Pulumi's lock, or a stack that was none a moment ago: it says so and does nothing."""
    for name in ("pod", "one", "other", "state"):
        (tmp_path / name).mkdir()
    pod = render_pod(tmp_path / "pod")
    sites = [site_in(tmp_path / name, pod) for name in ("one", "other")]
    backend = ("--backend", f"file://{tmp_path / 'state'}?metadata=skip")

    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda site: site.program(*backend), sites))

    told = "".join(done.stdout + done.stderr for done in both)
    assert any(done.returncode == 0 for done in both), told
    assert "Traceback" not in told
    refusals = (f"{STACK} is being changed", f"{STACK}' already exists; nothing was done")
    for done in both:
        said = done.stdout + done.stderr
        assert done.returncode == 0 or any(words in said for words in refusals), said
    for site in sites:
        again = site.program(*backend)
        assert again.returncode == 0, again.stdout + again.stderr


def test_what_one_root_left_half_done_another_ends(tmp_path: Path) -> None:
    """The second root has neither the objects nor the record of the first: what the state says is enough."""
    for name in ("pod", "one", "other", "state"):
        (tmp_path / name).mkdir()
    pod = render_pod(tmp_path / "pod")
    one = site_in(tmp_path / "one", pod)
    other = Site(tmp_path / "other" / "up", pod.spec)
    backend = ("--backend", f"file://{tmp_path / 'state'}?metadata=skip")
    assert one.program(*backend).returncode == 0
    one.give_nodes_another_setting()
    paused = one.program(*backend, "--pause-after", "1")
    assert paused.returncode == 4, paused.stdout + paused.stderr

    ended = other.program(*backend)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr
    again = other.program(*backend)
    assert "nothing changed" in again.stderr
