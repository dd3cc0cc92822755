"""``clusterwright approve``: a signature under another operator's preview."""

from __future__ import annotations

from pathlib import Path

import click

from clusterwright.finding import ClusterwrightError


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--name", required=True, help="Your name under `rollout.approvers` of the spec.")
@click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Your private Ed25519 key, in PEM or as ssh-keygen writes it.",
)
@click.option("--yes", is_flag=True, help="Sign without a prompt; the signed text is still shown.")
def approve(*, file: Path, name: str, key: Path, yes: bool) -> int:
    """Sign the preview in FILE, written by `preview --save`, for `up --approved FILE`.

    The signed text is shown first: the preview, and digests of every byte to send and of the devices' content. A
    signature is valid for seven days. You cannot approve a change that you carry out yourself.

    Exit status: 0 signed, 2 refused.
    """
    from datetime import UTC, datetime

    from clusterwright.rollout.approval import load_approval, write_approval
    from clusterwright.signatures import private_key_in

    approved = load_approval(file)
    click.echo(approved.text)
    click.echo(f"\nmanifest {approved.manifest}\ncompared with {approved.base}")
    for signature in approved.signatures:
        click.echo(f"signed by {signature.name}, {signature.at}")
    if not name.strip():
        raise ClusterwrightError("--name is empty: say as whom of the spec's approvers you sign.")
    private = private_key_in(key, lambda: str(click.prompt(f"Passphrase of {key}", hide_input=True, err=True)))
    if not yes:
        click.confirm(f"Sign this as {name}?", abort=True, err=True)
    write_approval(file, approved.signed(name, datetime.now(UTC), private))
    click.echo(f"{file}: signed by {name}", err=True)
    return 0
