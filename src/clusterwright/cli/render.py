"""``clusterwright render``: every file of every device, as a folder with a manifest."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.cli.terminal import progress
from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.plan.model import Plan

_EXIT_FINDINGS = 1


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="The directory to write; replaced as a whole."
)
@click.option("--only", multiple=True, metavar="GLOB", help="Only devices whose name matches; may be repeated.")
@click.option("--pod", "pods", multiple=True, metavar="POD", help="Only this layer (pod0, ...); may be repeated.")
@click.option("--merged", is_flag=True, help="Write each device's whole tree into its directory, without shared files.")
@click.option(
    "--bundles",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Instead of --out: a file for each device, with its secrets, as roles/deploy.yml takes it.",
)
@click.option(
    "--secrets",
    type=click.Path(path_type=Path),
    help="With --bundles: sources of secrets, if SPEC has no `secrets:`.",
)
def render(
    spec: Path,
    out: Path | None,
    only: tuple[str, ...],
    pods: tuple[str, ...],
    *,
    merged: bool,
    bundles: Path | None,
    secrets: Path | None,
) -> int:
    """Writes DIR/<device>/<path on the device> for every device of SPEC, and DIR/manifest.json with their digests.

    Files in common to all nodes of a group are written once, as DIR/image/<group>/<path on the device>, and those of
    all switches with one system as DIR/switch/<system>/<path on the device>; the manifest's "groups" list their
    devices. A file of the same path in a device's own folder takes precedence. With --merged every folder has all files
    of its device.

    SPEC is linted first; errors stop it. DIR is replaced in one step at the end, and stays as it is after a failure.
    A tree of another cluster is not replaced. Files that stay as they are keep their time. Equal files in DIR are hard
    links of each other: copy one before you edit it.

    With --bundles, DIR has one file for each device that --only and --pod select, and no manifest. The files contain
    secrets, and only you can read them.

    Exit status: 0 written, 1 the spec has errors, 2 could not run.
    """
    from clusterwright.cli.planning import sound_plan
    from clusterwright.output.workers import render_tree

    if (out is None) is (bundles is None):
        raise ClusterwrightError("Name one folder: --out DIR for files to look at, --bundles DIR for Ansible.")
    if secrets is not None and bundles is None:
        raise ClusterwrightError("--secrets is for --bundles: a rendered tree has names of secrets, and no values.")
    plan = sound_plan(spec)
    if plan is None:
        return _EXIT_FINDINGS
    names = choose(plan, only, pods)
    if bundles is not None:
        return _write_bundles(plan, names, bundles, secrets or (spec if plan.spec.secrets else None))
    if out is None:
        return 0
    progress(f"{plan.name}: rendering {len(names):,} devices")
    written = render_tree(plan, names, out, is_merged=merged)
    files, size_mb = sum(device.files for device in written), sum(device.size_bytes for device in written) / 1e6
    progress(f"{plan.name}: {files:,} files, {size_mb:,.1f} MB, in {out}")
    return 0


def _write_bundles(plan: Plan, names: list[str], folder: Path, secrets: Path | None) -> int:
    from clusterwright.deploy.ansible.bundles import write_bundles
    from clusterwright.deploy.secrets.sources import SecretFile

    values = None if secrets is None else SecretFile(secrets).fetch(None)
    written = write_bundles(plan, names, folder, values)
    click.echo(
        f"{plan.name}: {len(written.over_ssh):,} bundles for deploy.yml, {len(written.over_eapi):,} for deploy_eos.yml,"
        f" in {folder}",
        err=True,
    )
    for device, reason in written.skipped.items():
        click.echo(f"note: no bundle of {device}: {reason}", err=True)
    return 0


def choose(plan: Plan, globs: Iterable[str], pods: Iterable[str] = ()) -> list[str]:
    """Names of the devices in any of ``pods`` (by stack names) that match any glob; without globs, all of these.

    Raises ClusterwrightError for an unknown pod, and for a glob without a matching device.
    """
    from clusterwright.deploy.pulumi.units import choose as choose_stacks
    from clusterwright.deploy.pulumi.units import cut

    pods = tuple(pods)
    names = [device.name for device in plan.devices]
    if pods:
        pod_devices = set(chain.from_iterable(stack.devices for stack in choose_stacks(cut(plan), pods)))
        names = [name for name in names if name in pod_devices]
    globs = tuple(globs)
    if not globs:
        return names
    idle = [glob for glob in globs if not any(fnmatchcase(name, glob) for name in names)]
    if idle:
        shown = ", ".join(dict.fromkeys((names[0], names[-1])))
        raise ClusterwrightError(f"no device of {plan.name} matches {' or '.join(idle)}; names look like {shown}")
    return [name for name in names if any(fnmatchcase(name, glob) for glob in globs)]
