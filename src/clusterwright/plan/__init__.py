"""Devices, ports, cables, addresses and ranks.

This package has the name of the function ``clusterwright.plan``, and takes its place there once anything of it is
imported: so it can be called as that function can.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.plan.model import Plan
    from clusterwright.spec.model import ClusterSpec


class _CallablePackage(ModuleType):
    def __call__(self, spec: ClusterSpec) -> Plan:
        from clusterwright.plan.build import build_plan

        return build_plan(spec)


sys.modules[__name__].__class__ = _CallablePackage
