"""The Pulumi program of every stack; see ``clusterwright.deploy.pulumi.program``."""

from clusterwright.deploy.pulumi.program import run

run()
