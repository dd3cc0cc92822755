"""``clusterwright explain``: a rule's page, or the list of all rules."""

from __future__ import annotations

from difflib import get_close_matches

import click

from clusterwright import data_files
from clusterwright.finding import ClusterwrightError

# Letters that are typed, or read from a screen, where a code has a digit.
_LOOKALIKES = str.maketrans("OIL", "011")


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> int:
    """Prints the page of the rule CODE (CW203): what is wrong, why it matters, how to mend it, with examples.

    Without CODE it lists all rules.

    Exit status: 0 printed, 2 there is no such rule.
    """
    from clusterwright.rules.registry import all_rules

    rules = all_rules()
    if code is None:
        family = ""
        for rule in rules.values():
            if rule.family != family:
                click.echo(f"{'' if not family else chr(10)}{rule.family}")
                family = rule.family
            click.echo(f"  {rule.code}  {rule.severity.label:7}  {rule.text.title}")
        return 0
    wanted = code.upper()
    if wanted not in rules:
        close = get_close_matches(wanted.translate(_LOOKALIKES), rules, n=1)
        hint = f'Did you mean "{close[0]}"?' if close else "`clusterwright explain` lists all rules."
        raise ClusterwrightError(f'There is no rule "{code}". {hint}')
    page = data_files.folder("docs") / "rules" / f"{wanted}.md"
    click.echo(page.read_text(encoding="utf-8"), nl=False)
    return 0
