"""How hosts are shared out over execution nodes, and what is made of a worker's stream: no process is started here."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.deploy.ansible.execution import ConnectedMesh, MeshNode, home_of_pods, read_execution
from clusterwright.deploy.ansible.folder import KEPT_RUNS, abandoned_units, run_folder
from clusterwright.deploy.ansible.mesh import Mesh
from clusterwright.deploy.ansible.transcript import Transcript, holding_of, outcome_of
from clusterwright.deploy.ansible.worker_stream import HOST_BYTES, OWN_BYTES, StreamError, WorkerStream
from clusterwright.deploy.target import Status, Unreachable
from clusterwright.deploy.targets import read_access
from clusterwright.finding import ClusterwrightError

NAMES = st.sampled_from("uvwxyz")


@st.composite
def meshes(draw: st.DrawFn) -> tuple[dict[str, int], tuple[MeshNode, ...]]:
    """Pods with their sizes, and execution nodes of which some name pods, one that does not exist among them."""
    sizes = draw(st.dictionaries(st.sampled_from([f"p{index}" for index in range(9)]), st.integers(1, 400), min_size=1))
    names = draw(st.lists(NAMES, min_size=1, unique=True))
    named = {name: draw(st.lists(st.sampled_from([*sizes, "gone"]), max_size=3, unique=True)) for name in names}
    return sizes, tuple(MeshNode(name, tuple(named[name])) for name in names)


@given(meshes())
def test_every_pod_has_one_home_and_the_one_that_names_it_first(
    mesh: tuple[dict[str, int], tuple[MeshNode, ...]],
) -> None:
    sizes, nodes = mesh
    homes = home_of_pods(sizes, nodes)
    assert homes.keys() == sizes.keys()
    for pod, home in homes.items():
        assert home in {node.name for node in nodes}
        assert home == next((node.name for node in nodes if pod in node.pods), home)


@given(st.dictionaries(st.sampled_from([f"p{index}" for index in range(12)]), st.integers(1, 400)), st.integers(1, 5))
def test_shares_differ_by_no_more_than_the_largest_pod(sizes: dict[str, int], count: int) -> None:
    nodes = tuple(MeshNode(f"exec{index}") for index in range(count))
    loads = {node.name: 0 for node in nodes}
    for pod, home in home_of_pods(sizes, nodes).items():
        loads[home] += sizes[pod]
    assert max(loads.values()) - min(loads.values()) <= max(sizes.values(), default=0)


@given(meshes(), st.data())
def test_a_batch_is_shared_out_whole_and_as_the_cluster_is(
    mesh: tuple[dict[str, int], tuple[MeshNode, ...]], data: st.DataObject
) -> None:
    sizes, nodes = mesh
    pods = {f"{pod}n{index}": pod for pod, size in sizes.items() for index in range(min(size, 5))}
    execution = ConnectedMesh(Path("socket"), nodes, pods, 15, 60)
    batch = data.draw(st.lists(st.sampled_from([*pods, "stranger"]), unique=True))
    shares = execution.partition(batch)
    assert sorted(name for share in shares.values() for name in share) == sorted(batch)
    whole = {name: node for node, share in execution.partition(pods).items() for name in share}
    assert all(whole[name] == node for node, share in shares.items() for name in share if name in pods)


def test_whoever_is_left_does_the_share_of_a_node_that_is_not_there(tmp_path: Path) -> None:
    """Three nodes, one of them away: its four jobs go to the two others, two to each."""
    nodes = tuple(MeshNode(name) for name in "uvw")
    mesh = Mesh(ConnectedMesh(Path("socket"), nodes, {}, 15, 60), tmp_path, 2)
    mesh.leave_out("u", "the mesh has no route to it")
    taken = [mesh.take("u", {"u": "the mesh has no route to it"}) for _ in range(4)]
    assert sorted(name or "" for name in taken) == ["v", "v", "w", "w"]
    assert mesh.take("v", {"u": "", "w": ""}) == "v"
    assert mesh.take("v", {"u": "", "v": "", "w": ""}) is None


def stream_of(*lines: dict[str, object], exit_code: str = "0") -> bytes:
    """What a worker writes: events, its artifacts, its last word."""
    bundle = io.BytesIO()
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("rc", exit_code)
        archive.writestr("../../escaped", "a worker chooses its names")
    content = bundle.getvalue()
    written = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    written += json.dumps({"zipfile": len(content)}).encode() + b"\n" + base64.b64encode(content)
    return written + json.dumps({"eof": True}).encode() + b"\n"


@given(st.integers(1, 400))
def test_a_stream_is_the_same_however_it_is_cut(piece: int) -> None:
    text = stream_of({"status": "running"}, {"event": "keepalive"}, {"event": "a"}, {"event": "b"}, exit_code="4")
    stream = WorkerStream(1)
    events = []
    for start in range(0, len(text), piece):
        events += [line["event"] for line in stream.feed(text[start : start + piece])]
    assert (events, stream.ended, stream.exit_code) == (["a", "b"], True, 4)
    assert stream.received_bytes == len(text)


def test_a_stream_that_breaks_off_has_not_ended() -> None:
    text = stream_of({"event": "a"})
    stream = WorkerStream(1)
    assert [each["event"] for each in stream.feed(text[:-3])] == ["a"]
    assert not stream.ended


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"Traceback (most recent call last):\n", "no JSON object"),
        (b'{"zipfile": 99999999999}\n', "announced a bundle"),
        (b'{"zipfile": 6}\nAAAAAAAA', "cannot be read"),
    ],
)
def test_what_no_worker_writes_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(StreamError, match=reason):
        list(WorkerStream(1).feed(text))


def test_a_worker_cannot_fill_the_control_node() -> None:
    stream, limit_bytes = WorkerStream(2), OWN_BYTES + 2 * HOST_BYTES
    for _ in range(limit_bytes // 65536):
        assert not list(stream.feed(b"x" * 65536))
    with pytest.raises(StreamError, match="more than"):
        list(stream.feed(b"x" * 65536))


def answered(*changes: str) -> Transcript:
    return Transcript(answers={"n0": {"held": {}, "changes": list(changes), "diff": []}}, ended=True)


def test_what_a_lost_run_had_changed_counts_as_changed() -> None:
    finished = answered()
    finished.follow(answered("etc/motd"))
    wanted = outcome_of(answered(), "n0", "", check=True).digest
    outcome = outcome_of(finished, "n0", wanted, check=False)
    assert (outcome.status, outcome.changed) == (Status.APPLIED, ("etc/motd",))


def test_what_was_not_tried_is_out_of_reach_and_not_in_doubt() -> None:
    untried = Transcript(untried="no execution node is left")
    assert outcome_of(untried, "n0", "", check=False).status is Status.UNREACHABLE
    assert holding_of(untried, "n0") == Unreachable("no execution node is left")


@pytest.mark.parametrize("text", ["", "[]", '{"nodes": {}}', '{"control_socket": 1, "nodes": [], "pods": {}}'])
def test_a_file_that_names_no_mesh_is_refused_by_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "execution.json"
    file.write_text(text)
    with pytest.raises(ClusterwrightError, match=r"execution\.json: this is no file of execution nodes"):
        read_execution(file)


def test_a_file_without_execution_nodes_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "execution.json"
    with pytest.raises(ClusterwrightError, match="cannot be read: No such file"):
        read_execution(file)
    file.write_text('{"control_socket": "/run/x", "nodes": {}, "pods": {}, "lost_after_s": 15, "silent_after_s": 60}')
    with pytest.raises(ClusterwrightError, match="leave `execution` out of the access file"):
        read_execution(file)


def test_the_access_file_names_who_does_the_work(tmp_path: Path) -> None:
    (tmp_path / "access.yaml").write_text(
        "private_key: id\nknown_hosts: known_hosts\naddresses: {n0: 10.0.0.2}\nexecution: execution.json\n"
    )
    (tmp_path / "execution.json").write_text(
        '{"control_socket": "/run/mesh.sock", "nodes": {"exec": ["p0"]}, "pods": {"n0": "p0"}, '
        '"lost_after_s": 15, "silent_after_s": 60}'
    )
    execution = read_access(tmp_path / "access.yaml").execution
    assert execution == ConnectedMesh(Path("/run/mesh.sock"), (MeshNode("exec", ("p0",)),), {"n0": "p0"}, 15, 60)


def make_runs(folder: Path) -> list[str]:
    """Runs one after the other, as one of several stacks makes them; the units that it took for abandoned."""
    found: list[str] = []
    for _ in range(40):
        found += abandoned_units(folder)
        with run_folder(folder) as private:
            private.note.write_text("under-way")
            (private.bundles / "device").write_text("tree")
            private.note.unlink()
    return found


def test_stacks_that_go_side_by_side_make_and_remove_runs_in_one_folder(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4) as stacks:
        assert list(stacks.map(make_runs, [tmp_path] * 4)) == [[]] * 4
    assert len(list(tmp_path.glob("run-*"))) < KEPT_RUNS + 4, "one that is under way stays"
