"""Skipped rules as one sentence, for formats without a list for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.rules.engine import NotJudged


def unjudged_text(item: NotJudged) -> str:
    """``Not checked because of CW152 at spec.yaml:5:9: CW501, CW502.``"""
    return f"Not checked because of {item.because.code} at {item.because.position}: {', '.join(item.codes)}."
