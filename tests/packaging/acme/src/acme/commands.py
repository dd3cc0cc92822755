"""Acme's commands."""

from pathlib import Path

import click

import clusterwright


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
def acme_ports(spec: Path) -> int:
    """Counts the ports of Acme's switches in SPEC."""
    plan = clusterwright.plan(clusterwright.load(spec))
    switches = [device for device in plan.devices if plan.spec.catalogue[device.model].manufacturer == "Acme"]
    click.echo(f"{len(switches)} switches of Acme")
    return 0
