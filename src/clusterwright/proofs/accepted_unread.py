"""Text of `extra_config` of unknown meaning, accepted by the spec with a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping

from clusterwright.plan.model import Device, Plan


def accepted_unread_on(plan: Plan, device: Device) -> Mapping[tuple[str | None, str], str]:
    """Reasons by accepted text on a device; `router bgp` without a number is the device's own process."""
    reasons = {}
    for addition in plan.spec.extra_config:
        if not addition.concerns(device.name, device.role, device.fabric):
            continue
        for entry in addition.unread:
            for place in addition.places(entry.line):
                with_number = re.sub(r"^router bgp(?= / )", f"router bgp {device.asn}", place)
                reasons[addition.file, with_number] = entry.because
    return reasons
