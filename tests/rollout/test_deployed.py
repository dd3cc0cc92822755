"""What stacks were brought to: notes on disk that a preview compares with, and what is said when one is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright.deploy.pulumi.units import Stack
from clusterwright.finding import ClusterwrightError
from clusterwright.rollout.deployed import recorded

STACK = Stack("lab-roce-pod0", "pod0", "pod0", ())


@pytest.mark.parametrize(
    ("content", "told"),
    [("{", "JSONDecodeError"), ("{}", "KeyError"), ('{"spec": "", "program": "", "trees": 7}', "TypeError")],
)
def test_a_damaged_note_is_named_with_what_to_do(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "deployed" / "lab-roce-pod0.json"
    file.parent.mkdir()
    file.write_text(content)

    with pytest.raises(ClusterwrightError) as refused:
        recorded(tmp_path, [STACK])

    assert str(refused.value) == (
        f"{file}: cannot be read ({told}). It only serves previews: remove it, and the next "
        "`clusterwright up` writes it again."
    )


def test_a_stack_without_a_note_is_left_out(tmp_path: Path) -> None:
    assert recorded(tmp_path, [STACK]) == {}
