"""``clusterwright evidence``: answers to an acceptance suite, from the plan, rendered text and proofs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterwright.evidence.answer import Evidence
    from clusterwright.plan.model import Plan
    from clusterwright.proofs.tree import RenderedTree

_EXIT_FAILS = 1
_EXIT_CANNOT_RUN = 2


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--observed",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Read files here instead of rendering: DIR/<device>/<path on the device>, read back from devices.",
)
@click.option("--format", "form", type=click.Choice(("text", "ncp")), default="text", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="With ncp: a file for each test.")
@click.option("--test", "tests", multiple=True, metavar="ID", help="Only this test, as NET01-01; may be repeated.")
@click.option("--node", metavar="NODE", help="The node for tests of a single node. [default: the first]")
@click.option("--key", type=click.Path(path_type=Path), metavar="PEM", help="The Ed25519 key that signs DIR.")
def evidence(
    spec: Path,
    *,
    observed: Path | None,
    form: str,
    out: Path | None,
    tests: tuple[str, ...],
    node: str | None,
    key: Path | None,
) -> int:
    """Answers tests of NVIDIA's acceptance suite for AI clouds (ai-cloud-validation) from SPEC.

    An answer `holds` where the plan, the text or a proof decides the test. It is a `pre-check` where the suite asks for
    a probe of running machines: what can be proven before is proven, and the answer names the probe. The suite shows
    these as skipped or failed, never as passed.

    With ncp, DIR gets a file for each test, which the suite's check reads as the output of its step: NET01-01.json. The
    key `evidence` of each has claim, cases, proofs, digests and what was not checked. With --key, DIR/evidence.log gets
    a signed, chained record, which `verify --records` checks; it has the lines of DIR/SHA256SUMS.

    Exit status: 0 no answer fails, 1 an answer fails, 2 could not run.
    """
    from clusterwright.cli.planning import sound_plan
    from clusterwright.cli.spec_digest import digesting
    from clusterwright.evidence.document import refuses

    if out is not None and form != "ncp":
        raise ClusterwrightError("--out is for --format ncp, which writes a file for each test.")
    if key is not None and out is None:
        raise ClusterwrightError("--key signs a folder: name it with --out DIR.")
    test_ids = _wanted(tests)
    with digesting(spec) as digest:
        plan = sound_plan(spec)
    if plan is None:
        return _EXIT_CANNOT_RUN
    tree, answers = _answers(plan, spec, observed, node)
    answers = [answer for answer in answers if answer.test.id in test_ids]
    if not answers:
        raise ClusterwrightError(f"{spec} answers none of {', '.join(test_ids)}: it has nothing that they ask about.")
    if form == "text":
        click.echo(_text(plan.name, answers, test_ids), nl=False)
    else:
        _write(answers, digest.by_file, tree, out, key)
    return _EXIT_FAILS if refuses(answers) else 0


def _wanted(tests: Sequence[str]) -> tuple[str, ...]:
    """The tests of these names, all for no name. Raises ClusterwrightError for an unknown name."""
    from clusterwright.evidence.suite import TESTS

    test_ids = tuple(test.id for test in TESTS)
    for name in tests:
        if name not in test_ids:
            raise ClusterwrightError(f'No spec answers a test "{name}". There are: {", ".join(test_ids)}.')
    return tuple(tests) or test_ids


def _answers(plan: Plan, spec: Path, observed: Path | None, node: str | None) -> tuple[RenderedTree, list[Evidence]]:
    from clusterwright.cli.proofs import prove
    from clusterwright.cli.trees import tree_in_folder_of_plan, tree_of_plan
    from clusterwright.evidence.collect import NEEDED, collect_evidence
    from clusterwright.proofs.files import FILES

    if observed is None:
        tree = tree_of_plan(plan, NEEDED)
        proofs = prove(tree, NEEDED)
    else:
        tree = tree_in_folder_of_plan(observed, plan, str(spec), NEEDED)
        proofs = prove(tree, (FILES, *NEEDED))
    return tree, list(collect_evidence(plan, tree, proofs, node))


def _text(cluster: str, answers: Sequence[Evidence], test_ids: Sequence[str]) -> str:
    lines = [f"{cluster}:"]
    for answer in answers:
        count = f"{answer.cases.count:,} {answer.cases.name}"
        lines.append(f"  {answer.test.id} {answer.word}: {answer.claim} ({count}; from {answer.basis.value})")
        lines.extend(f"    {problem}" for problem in answer.problems)
        if answer.test.probe:
            lines.append(f"    to be probed: {answer.test.probe}")
    answered = {answer.test.id for answer in answers}
    unanswered = [name for name in test_ids if name not in answered]
    if unanswered:
        lines.append(f"  nothing of the spec answers {', '.join(unanswered)}")
    return "\n".join(lines) + "\n"


def _write(
    answers: Sequence[Evidence],
    spec_digests: Mapping[str, str],
    tree: RenderedTree,
    out: Path | None,
    key: Path | None,
) -> None:
    from clusterwright.evidence.document import SUMS, as_text, documents, sums
    from clusterwright.lists.writing import replace_files

    written: dict[str, dict[str, Any]] = dict(documents(answers, spec_digests, tree))
    if out is None:
        click.echo(as_text({name.removesuffix(".json"): document for name, document in written.items()}), nl=False)
        return
    texts = {name: as_text(document) for name, document in written.items()}
    listed = sums(texts)
    paths = replace_files(out, {**texts, SUMS: listed})
    for path in paths:
        click.echo(str(path))
    if key is not None:
        _sign(out, key, tree.cluster, answers, listed)


def _sign(out: Path, key: Path, cluster: str, answers: Sequence[Evidence], listed: str) -> None:
    """Append a signed record of the answers and the digests of their files. Raises ClusterwrightError."""
    from clusterwright.evidence.answer import AnswerKind
    from clusterwright.evidence.document import LOG
    from clusterwright.node_watch.record import RecordError, append

    entry = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "node": cluster,
        "ok": all(answer.answer is not AnswerKind.FAILS for answer in answers),
        "checks": [
            {
                "name": answer.test.id,
                "expected": AnswerKind.HOLDS.value,
                "observed": answer.word,
                "reason": "; ".join(answer.problems),
                "ok": answer.answer is not AnswerKind.FAILS,
            }
            for answer in answers
        ],
        "differences": [],
        "files": listed,
    }
    try:
        line = append(str(out / LOG), str(key), entry)
    except (OSError, RecordError) as error:
        raise ClusterwrightError(f"nothing was signed: {error}") from None
    click.echo(f"record {line['sequence']} of {out / LOG}, digest {line['digest']}", err=True)
