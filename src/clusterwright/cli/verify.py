"""``clusterwright verify``: proofs about rendered text, each with its counterexample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clusterwright.finding import ClusterwrightError
from clusterwright.nearest_name import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterwright.proofs.check import ProofCheck, Verdict
    from clusterwright.proofs.tree import RenderedTree

_EXIT_REFUTED = 1
_EXIT_CANNOT_RUN = 2
_EXIT_UNJUDGED = 3
_SHOWN = 10  # counterexamples in text; JSON has all of them


@click.command()
@click.argument("subject", metavar="[SPEC|DIR]", type=click.Path(path_type=Path), required=False)
@click.option(
    "--spec", type=click.Path(path_type=Path), metavar="SPEC", help="Check the files in DIR against this spec."
)
@click.option("--check", "names", multiple=True, metavar="NAME", help="Only this check; may be repeated.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.option("--continuous", type=click.Path(path_type=Path), metavar="FILE", help="Leave a signed record in FILE.")
@click.option("--key", type=click.Path(path_type=Path), metavar="PEM", help="The Ed25519 key that signs it.")
@click.option("--records", type=click.Path(path_type=Path), metavar="FILE", help="Check a node's log of its isolation.")
@click.option("--public-key", type=click.Path(path_type=Path), metavar="PEM", help="The node's key, for --records.")
def verify(
    subject: Path | None,
    *,
    spec: Path | None,
    names: tuple[str, ...],
    form: str,
    continuous: Path | None,
    key: Path | None,
    records: Path | None,
    public_key: Path | None,
) -> int:
    """Proves the claims about the rendered files of SPEC, or about those in DIR; or shows counterexamples.

    SPEC is rendered in memory. DIR is a tree written by `render`, whose files must match its manifest, or files read
    back from devices, DIR/<device>/<path on the device>, without a manifest. With --spec, every check of SPEC runs on
    DIR, and missing and unexpected files are reported. Without it, parts that need a spec, such as the members of a
    partition, are not checked, and a note states this.

    With --continuous, for a timer, the answer is also appended to a log of signed, dated and chained records. A timer
    in the image of nodes keeps such a log of their own isolation. --records checks that no record of a log was
    changed, moved or deleted, and prints their content.

    A check without cases, such as bandwidth between units in a cluster of one unit, reports `nothing to prove`.

    Exit status: 0 proven or nothing to prove, 1 a check failed, 2 could not run, 3 no check failed, but one could not
    be completed.
    """
    from clusterwright.cli.proofs import prove
    from clusterwright.cli.records import leave_record, show_records
    from clusterwright.cli.trees import rendered_tree, tree_in_folder
    from clusterwright.proofs.files import FILES

    if (subject is None) is (records is None) or (records is None) is not (public_key is None):
        raise ClusterwrightError(
            "Name a spec, a rendered folder, or a log with `--records FILE --public-key PEM`; one of them."
        )
    if (continuous is None) is not (key is None):
        raise ClusterwrightError("A record is signed: name both, `--continuous FILE` and `--key PEM`.")
    if records is not None and public_key is not None:
        return show_records(records, public_key, form)
    if subject is None:
        return _EXIT_CANNOT_RUN
    if spec is not None and not subject.is_dir():
        raise ClusterwrightError(f"{subject}: is no folder. --spec is the spec to check the files in a folder against.")
    checks = _chosen(names)
    tree = tree_in_folder(subject, spec, checks) if subject.is_dir() else rendered_tree(subject, checks)
    if tree is None:
        return _EXIT_CANNOT_RUN
    verdicts = prove(tree, (FILES, *checks))
    if all(check is FILES and not verdict.is_refuted for check, verdict in verdicts):
        raise ClusterwrightError(
            f"{subject}: nothing here that {', '.join(check.name for check in checks)} could prove: no such files are "
            "rendered for it. Name another spec or other checks."
        )
    answer = _json(tree, verdicts) if form == "json" else "\n".join(_text(tree, verdicts))
    click.echo(answer)
    if continuous is not None and key is not None:
        leave_record(continuous, key, tree.cluster, verdicts)
    if any(verdict.is_refuted for _, verdict in verdicts):
        return _EXIT_REFUTED
    return 0 if all(verdict.is_settled for _, verdict in verdicts) else _EXIT_UNJUDGED


def _chosen(names: Sequence[str]) -> tuple[ProofCheck, ...]:
    """The checks of these names, all for no name. Raises ClusterwrightError for an unknown name."""
    from clusterwright.proofs.registry import CHECKS

    check_by_name = {check.name: check for check in CHECKS}
    for name in names:
        if name not in check_by_name:
            hint = did_you_mean(name, check_by_name, f"There are: {', '.join(check_by_name)}.")
            raise ClusterwrightError(f'There is no check "{name}". {hint}')
    return tuple(check_by_name[name] for name in dict.fromkeys(names)) if names else CHECKS


def _text(tree: RenderedTree, verdicts: Sequence[tuple[ProofCheck, Verdict]]) -> Iterator[str]:
    for check, verdict in verdicts:
        yield f"{check.name}: {verdict.word}. {check.claim}"
        if not verdict.is_refuted:
            for fact in verdict.facts:
                shown = f"{fact.value:,}" if isinstance(fact.value, int) else fact.value
                yield f"  {fact.name}: {shown}"
        for example in verdict.counterexamples[:_SHOWN]:
            yield f"  {example}"
        if len(verdict.counterexamples) > _SHOWN:
            yield f"  and {len(verdict.counterexamples) - _SHOWN:,} more; --format json has them all"
        for note in verdict.notes:
            yield f"  note: {note}"
    if tree.read_by_none:
        yield f"Rendered, and read by no claim: {', '.join(tree.read_by_none)}."
    if tree.untried:
        yield f"Rendered, and untried with the program that reads it: {', '.join(tree.untried)}."


def _json(tree: RenderedTree, verdicts: Sequence[tuple[ProofCheck, Verdict]]) -> str:
    document = {
        "cluster": tree.cluster,
        "read_by_no_claim": list(tree.read_by_none),
        "untried": list(tree.untried),
        "proven": all(verdict.is_settled for _, verdict in verdicts) and any(v.is_proven for _, v in verdicts),
        "checks": [
            {
                "name": check.name,
                "claim": check.claim,
                "proven": verdict.is_proven,
                "unjudged": verdict.unjudged,
                "answer": verdict.word,
                "cases": verdict.cases.count,
                "cases_are": verdict.cases.name,
                "facts": [{"name": fact.name, "value": fact.value} for fact in verdict.facts if not verdict.is_refuted],
                "counterexamples": [
                    {
                        "device": counterexample.device,
                        "file": f"/{counterexample.file}",
                        "line": counterexample.line,
                        "message": counterexample.message,
                    }
                    for counterexample in verdict.counterexamples
                ],
                "notes": list(verdict.notes),
                "unread": [
                    {
                        "device": place.device,
                        "file": f"/{place.unread.file}",
                        "line": place.unread.line,
                        "text": place.unread.text,
                        "because": place.because,
                    }
                    for place in verdict.unread
                ],
            }
            for check, verdict in verdicts
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)
