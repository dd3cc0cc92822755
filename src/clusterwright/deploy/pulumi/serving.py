"""Serve the provider to Pulumi's engine, with errors in the engine's form and lines for its display.

The SDK's servicer turns every error into one with a traceback in its text. A device refusing a configuration is no bug,
so here it becomes the engine's partial failure: the resource is recorded in its present state, and the same command
resumes it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import grpc
from pulumi.provider.experimental.property_value import PropertyValue
from pulumi.provider.experimental.provider import Provider
from pulumi.provider.experimental.server import ProviderServicer
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, provider_pb2, provider_pb2_grpc, status_pb2

from clusterwright.finding import ClusterwrightError

_PARENT_LOOK_S = 0.3

_MESSAGE_LIMIT_BYTES = 400 * 1024 * 1024  # the engine's own limit for one message


class PartialFailure(ClusterwrightError):
    """A unit with only some devices in the wanted state; has the unit's id and new state."""

    def __init__(self, message: str, resource_id: str, properties: Mapping[str, PropertyValue]) -> None:
        super().__init__(message)
        self.resource_id = resource_id
        self.properties = properties


@dataclass(frozen=True, slots=True)
class EngineLog:
    """The engine's display."""

    engine_address: str

    async def info(self, urn: str, message: str) -> None:
        """Show ``message`` under the resource ``urn``, in previews and updates alike."""
        await self._show(engine_pb2.INFO, urn, message)

    async def warning(self, urn: str, message: str) -> None:
        """Show a message that needs attention under the resource ``urn``."""
        await self._show(engine_pb2.WARNING, urn, message)

    async def _show(self, severity: engine_pb2.LogSeverity.ValueType, urn: str, message: str) -> None:
        async with grpc.aio.insecure_channel(self.engine_address) as channel:
            await engine_pb2_grpc.EngineStub(channel).Log(
                engine_pb2.LogRequest(severity=severity, message=message, urn=urn)
            )


class Servicer(ProviderServicer):
    """The SDK's servicer with the errors of this project."""

    async def Create(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        """See the provider protocol."""
        return await _answer(super().Create, request, context)

    async def Update(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        """See the provider protocol."""
        return await _answer(super().Update, request, context)

    async def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        """See the provider protocol."""
        return await _answer(super().Delete, request, context)

    async def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        """See the provider protocol."""
        return await _answer(super().Diff, request, context)

    async def Read(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        """See the provider protocol."""
        return await _answer(super().Read, request, context)

    async def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        """See the provider protocol."""
        return await _answer(super().Configure, request, context)


async def _answer(method: Callable[[Any, Any], Awaitable[Any]], request: Any, context: Any) -> Any:
    try:
        return await method(request, context)
    except Exception as error:
        cause = error.__context__  # the SDK wraps what the provider raised
        if isinstance(cause, PartialFailure):
            await context.abort(grpc.StatusCode.UNKNOWN, str(cause), _partial_failure_metadata(cause))
        if isinstance(cause, ClusterwrightError):
            await context.abort(grpc.StatusCode.UNKNOWN, str(cause))
        raise


def _partial_failure_metadata(failure: PartialFailure) -> tuple[tuple[str, bytes], ...]:
    detail = provider_pb2.ErrorResourceInitFailed(
        id=failure.resource_id,
        properties=PropertyValue.marshal_map(dict(failure.properties)),
        reasons=[str(failure)],
    )
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=str(failure))
    status.details.add().Pack(detail)
    return (("grpc-status-details-bin", status.SerializeToString()),)


def serve(make_provider: Callable[[EngineLog], Provider], version: str) -> None:
    """Serve until the engine ends the process, or is gone itself.

    The engine's address is the first argument without a dash.
    """
    address = next(argument for argument in sys.argv[1:] if not argument.startswith("-"))
    asyncio.run(_serve(make_provider(EngineLog(address)), version, address))


async def _serve(provider: Provider, version: str, address: str) -> None:
    limits = [("grpc.max_receive_message_length", _MESSAGE_LIMIT_BYTES)]
    server = grpc.aio.server(options=limits)
    servicer = Servicer(sys.argv[1:], version, provider, engine_address=address)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await _end_with(os.getppid())


async def _end_with(engine: int) -> None:
    """End the process after the engine was killed: the next engine must not meet an older provider at the devices.

    Current work is torn off as by a kill; targets roll it back, or resume it, at their next attempt.
    """
    while os.getppid() == engine:
        await asyncio.sleep(_PARENT_LOOK_S)
    os._exit(1)
