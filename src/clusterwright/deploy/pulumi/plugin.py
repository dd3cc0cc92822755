"""The console script ``pulumi-resource-clusterwright``, which Pulumi's engine starts to serve the provider."""

from __future__ import annotations

import os


def main() -> None:
    """Serve the provider until the engine ends the process."""
    # The provider starts Ansible by forking. gRPC's fork support would restart its threads in the child, which then
    # find their file descriptors closed and disturb the run; without it the child goes straight to Ansible. It has to
    # be set before gRPC is loaded.
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
    from clusterwright import __version__
    from clusterwright.deploy.pulumi.provider import ClusterwrightProvider
    from clusterwright.deploy.pulumi.serving import serve

    serve(ClusterwrightProvider, __version__)
