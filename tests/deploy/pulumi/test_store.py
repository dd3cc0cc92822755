"""The object store behind Pulumi's digests, and the lines that a preview shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright.artifact import Artifact
from clusterwright.deploy.pulumi.changes import bounded, changed_lines
from clusterwright.deploy.store import MissingObject, Store


def artifact(path: str, content: bytes, mode: int = 0o644) -> Artifact:
    return Artifact("leaf-00", path, content, "eos", mode)


def test_a_tree_comes_back_as_it_was_put(tmp_path: Path) -> None:
    store = Store(tmp_path)
    tree = (artifact("b", b"\x00\xff"), artifact("a", b"text\n", 0o600))

    assert store.get_tree("leaf-00", store.put_tree(tree)) == (tree[1], tree[0])


def test_a_trees_digest_covers_modes_but_not_the_device(tmp_path: Path) -> None:
    store = Store(tmp_path)
    digest = store.put_tree((artifact("a", b"x"),))

    assert store.put_tree((artifact("a", b"x", 0o600),)) != digest
    assert store.put_tree((Artifact("leaf-01", "a", b"x", "eos"),)) == digest


def test_of_two_trees_only_what_differs_is_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    kept = Artifact("d", "etc/kept", b"same", "test")
    old, new = Artifact("d", "etc/conf", b"1", "test"), Artifact("d", "etc/conf", b"2", "test")
    gone, mode = Artifact("d", "etc/gone", b"x", "test"), Artifact("d", "etc/mode", b"y", "test")
    locked = replace(mode, mode=0o600)
    before, after = store.put_tree((kept, old, gone, mode)), store.put_tree((kept, new, locked))
    (tmp_path / kept.sha256[:2] / kept.sha256[2:]).unlink()

    assert store.get_differing("d", before, after) == ((old, gone, mode), (new, locked))
    assert store.get_differing("d", after, after) == ((), ())


def test_damaged_and_absent_objects_are_named(tmp_path: Path) -> None:
    store = Store(tmp_path)
    digest = store.put(b"content")
    (tmp_path / digest[:2] / digest[2:]).write_bytes(b"contenT")

    with pytest.raises(MissingObject, match=digest):
        store.get(digest)
    with pytest.raises(MissingObject, match="f" * 64):
        store.get("f" * 64)


def test_objects_are_for_their_owner_only(tmp_path: Path) -> None:
    digest = Store(tmp_path).put(b"content")

    assert (tmp_path / digest[:2] / digest[2:]).stat().st_mode & 0o077 == 0


def test_changes_are_lines_of_configuration() -> None:
    before = (artifact("same", b"x\n"), artifact("old", b"x\n"), artifact("mtu", b"a\nmtu 9000\nb\nc\n"))
    after = (artifact("same", b"x\n", 0o600), artifact("new", b"x\ny\n"), artifact("mtu", b"a\nmtu 9216\nb\nc\n"))

    assert list(changed_lines(before, after)) == [
        "~ mtu",
        "  @@ -1,3 +1,3 @@",
        "   a",
        "  -mtu 9000",
        "  +mtu 9216",
        "   b",
        "+ new (2 lines, mode 0644)",
        "- old (1 line)",
        "~ same (mode 0644 -> 0600)",
    ]


def test_binary_changes_are_sizes() -> None:
    assert list(changed_lines((artifact("k", b"\xff"),), (artifact("k", b"\xfe\xff"),))) == [
        "~ k (binary, 1 -> 2 bytes)"
    ]


def test_long_changes_are_cut_and_counted() -> None:
    assert bounded(iter("abcde"), 3) == ["a", "b", "... and 3 more lines"]
    assert bounded(iter("abc"), 3) == ["a", "b", "c"]
