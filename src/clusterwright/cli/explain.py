"""``clusterwright explain``: a rule's page or another one of the docs, or the list of all of them."""

from __future__ import annotations

from difflib import get_close_matches

import click

from clusterwright.data_files import pages
from clusterwright.finding import ClusterwrightError

# Letters that are typed, or read from a screen, where a code has a digit.
_LOOKALIKES = str.maketrans("OIL", "011")


@click.command()
@click.argument("page", required=False)
def explain(page: str | None) -> int:
    """Prints the page of a rule (CW203): what is wrong, why it matters, how to mend it, with examples.

    PAGE is a rule's code, or the name of another page of the docs, such as isolation. Without it, all are listed.

    Exit status: 0 printed, 2 there is no such page.
    """
    if page is None:
        _list()
        return 0
    known = pages()
    found = known.get(page.upper()) or known.get(page.lower().removesuffix(".md"))
    if found is None:
        close = get_close_matches(page.upper().translate(_LOOKALIKES), known, 1) or get_close_matches(
            page.lower(), known, 1
        )
        hint = f'Did you mean "{close[0]}"?' if close else "`clusterwright explain` lists all."
        raise ClusterwrightError(f'There is no rule and no page "{page}". {hint}')
    click.echo(found.read_text(encoding="utf-8"), nl=False)
    return 0


def _list() -> None:
    from clusterwright.rules.registry import all_rules

    family = ""
    for rule in all_rules().values():
        if rule.family != family:
            click.echo(f"{chr(10) if family else ''}{rule.family}")
            family = rule.family
        click.echo(f"  {rule.code}  {rule.severity.label:7}  {rule.text.title}")
    click.echo("\nPages")
    for name, path in pages().items():
        if not name.startswith("CW"):
            click.echo(f"  {name:18} {path.read_text(encoding='utf-8').partition(chr(10))[0].removeprefix('# ')}")
