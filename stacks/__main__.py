"""The Pulumi program of every stack; see ``clusterwright.deploy.program``."""

from clusterwright.deploy.program import run

run()
