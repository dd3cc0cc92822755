"""Who has a lock keeps others out until the file or folder is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterwright.durable import only_one, replace, took_lock
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_lock_has_one_owner_until_it_is_closed(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as mine, (tmp_path / "lock").open("a") as other:
        assert took_lock(mine)
        assert took_lock(mine), "it is mine already"
        assert not took_lock(other)
        mine.close()
        assert took_lock(other)


def test_one_run_at_a_time_changes_a_folder(tmp_path: Path) -> None:
    with only_one(tmp_path):
        with pytest.raises(ClusterwrightError, match="another run is changing this folder"), only_one(tmp_path):
            pass
        with only_one(tmp_path.parent):
            pass
    with only_one(tmp_path):
        pass


def test_a_file_is_its_owners_alone_unless_it_is_meant_for_others(tmp_path: Path) -> None:
    replace(tmp_path / "state", b"")
    replace(tmp_path / "spec", b"", 0o644)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("state", "spec")] == [0o600, 0o644]
