"""Having Pulumi's SDK say no more of a stack's resources than the engine needs.

With every resource it notes from where in the program it was registered, frame by frame. All units come from one loop,
so that says nothing; but it is half of a pod's state, which the engine writes anew with each step, and it names folders
of the machine that deployed last.

Of every resource it also tells the engine four times how far its registration is, as a call each, for ``--debug``.
That is a tenth of what a preview costs which changes nothing.
"""

from __future__ import annotations

import pulumi
from pulumi.runtime import resource
from pulumi.runtime.proto import source_pb2


def leave_out_call_stacks() -> None:
    """Register resources without it from here on, in this process."""
    resource._get_stack_trace = source_pb2.StackTrace


def leave_out_debug_messages() -> None:
    """Tell the engine nothing for ``--debug`` from here on, in this process."""
    pulumi.log.debug = _say_nothing


def _say_nothing(*_: object, **__: object) -> None:
    pass
