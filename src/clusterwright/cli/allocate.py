"""``clusterwright allocate``: writes down what stands, so that it stays where it is while the spec grows."""

from __future__ import annotations
