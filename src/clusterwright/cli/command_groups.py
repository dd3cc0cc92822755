"""The groups of commands in the help, by the reader's task as in docs/daily.md."""

from __future__ import annotations

GROUPS = {
    "Start": ("init", "models", "schema"),
    "Before anything is sent": (
        "lint",
        "explain",
        "render",
        "verify",
        "diff",
        "report",
        "inventory",
        "allocate",
        "snapshot",
        "evidence",
    ),
    "Questions to the plan": ("nccl", "why", "place", "simulate"),
    "On the devices": ("preview", "approve", "up", "refresh", "status", "stop", "audit", "destroy"),
    "Devices in service": ("observe", "bringup", "drain", "undrain", "visit", "replace", "keys"),
    "Beside the devices": ("lab", "sync", "import"),
}
OTHERS = "Of other packages"
