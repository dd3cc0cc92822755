"""``clusterwright explain``: a page on a rule or another page of the docs, or the list of all pages."""

from __future__ import annotations

import click

from clusterwright.data_files import pages
from clusterwright.finding import ClusterwrightError
from clusterwright.nearest_name import LOOKALIKES, did_you_mean, did_you_mean_code


@click.command()
@click.argument("words", metavar="[PAGE|WORD...]", nargs=-1)
def explain(words: tuple[str, ...]) -> int:
    """Prints the page of a rule (CW203): the mistake, its consequences, the fix, and examples.

    PAGE is a rule's code, or the name of another page of the docs, such as isolation. Without it, all are listed. Other
    words are searched for: the pages that have all of them are listed, those with them in the title first.

    Exit status: 0 printed, 2 there is no such page.
    """
    if not words:
        _list()
        return 0
    page_by_name = pages()
    page = " ".join(words)
    page_path = page_by_name.get(page.upper()) or page_by_name.get(page.lower().removesuffix(".md"))
    if page_path is None and not _looks_like_code(page) and _search(page.lower().split()):
        return 0
    if page_path is None:
        advice = "`clusterwright explain` lists all."
        suggest = did_you_mean_code if _looks_like_code(page) else did_you_mean
        hint = suggest(page.lower(), page_by_name, advice)
        raise ClusterwrightError(f'There is no rule and no page "{page}". {hint}')
    click.echo(page_path.read_text(encoding="utf-8"), nl=False)
    return 0


def _looks_like_code(page: str) -> bool:
    """Whether the text resembles a rule's code, also with letters in place of digits or with digits missing."""
    return page.upper().startswith("CW") and any(character.isdigit() for character in page.translate(LOOKALIKES))


def _search(words: list[str]) -> bool:
    """List the pages with all words; whether there is any."""
    titled: list[str] = []
    others: list[str] = []
    for name, path in pages().items():
        text = path.read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        line = f"  {name:18} {title}"
        if all(word in f"{name} {title}".lower() for word in words):
            titled.append(line)
        elif all(word in text.lower() for word in words):
            others.append(line)
    for line in (*titled, *others):
        click.echo(line)
    return bool(titled or others)


def _list() -> None:
    from clusterwright.rules.registry import all_rules

    family = ""
    for rule in all_rules().values():
        if rule.family != family:
            if family:
                click.echo()
            click.echo(rule.family)
            family = rule.family
        click.echo(f"  {rule.code}  {rule.severity.label:7}  {rule.text.title}")
    click.echo("\nPages")
    for name, path in pages().items():
        if not name.startswith("CW"):
            click.echo(f"  {name:18} {path.read_text(encoding='utf-8').partition(chr(10))[0].removeprefix('# ')}")
