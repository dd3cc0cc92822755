"""The console script ``pulumi-resource-clusterwright``, started by Pulumi's engine to serve the provider."""

from __future__ import annotations


def main() -> None:
    """Serve the provider until the engine ends the process."""
    from clusterwright import __version__
    from clusterwright.deploy.pulumi.provider import ClusterwrightProvider
    from clusterwright.deploy.pulumi.serving import serve

    serve(ClusterwrightProvider, __version__)
