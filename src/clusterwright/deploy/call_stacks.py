"""Keeping Python's call stack out of a stack's state.

Pulumi's SDK notes with every resource from where in the program it was registered, frame by frame. All units come from
one loop, so that says nothing; but it is half of a pod's state, which the engine writes anew with each step, and it
names folders of the machine that deployed last.
"""

from __future__ import annotations

from pulumi.runtime import resource
from pulumi.runtime.proto import source_pb2


def leave_out_call_stacks() -> None:
    """Register resources without it from here on, in this process."""
    resource._get_stack_trace = source_pb2.StackTrace
