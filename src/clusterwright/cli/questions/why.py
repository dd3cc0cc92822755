"""``clusterwright why``: the values of a spec behind lines of a device's rendered text, each with its file and line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clusterwright.finding import ClusterwrightError

if TYPE_CHECKING:
    from clusterwright.spec.text.document import Document
    from clusterwright.why.perturbation import Explanation, RenderedLine

MOST_LINES = 5
MOST_VALUE = 60
MOST_LINE = 200
CONTEXT = 20


@click.command("why")
@click.argument("spec", type=click.Path(path_type=Path))
@click.argument("device")
@click.argument("pattern", default="")
@click.option("--file", default="", help="Only files of the device whose path ends like this.")
@click.option("--line", "number", type=click.IntRange(min=1), help="Only this line of the file.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
def why(spec: Path, *, device: str, pattern: str, file: str, number: int | None, form: str) -> int:
    """Names the values of SPEC behind the lines of DEVICE that match PATTERN.

    Each value of the spec is changed in turn, and the device rendered again. A value is listed if the lines then
    differ. PATTERN is a regular expression; without one, all lines are compared.

    \b
    clusterwright why inventory/lab-roce.yaml gpu-p00r00n0 NCCL_IB_TC
    clusterwright why inventory/lab-roce.yaml gpu-p00r00n0 --file etc/nftables.conf --line 12

    Exit status: 0, or 2 when there is no such device or line, or the spec has errors.
    """  # noqa: D301  backspace for click
    from clusterwright.cli.planning import sound_spec
    from clusterwright.why.perturbation import Selection, explain

    loaded = sound_spec(spec)
    if loaded is None:
        return 2
    selection = Selection(device=device, pattern=_compiled(pattern), file=file.lstrip("/"), number=number)
    explanation = explain(loaded.document, selection)
    if not explanation.lines:
        hint = f"`clusterwright render {spec} --out DIR --only {device}` writes its files."
        raise ClusterwrightError(f"{loaded.name} has no device {device}, or it has no such line. {hint}")
    if form == "json":
        click.echo(json.dumps(_as_document(device, loaded.document, explanation), indent=1))
    else:
        click.echo("\n".join(_text(device, loaded.document, explanation)))
    return 0


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ClusterwrightError(f"{pattern!r} is no regular expression: {error}.") from None


def _text(device: str, document: Document, explanation: Explanation) -> list[str]:
    from clusterwright.spec.text.document import format_path

    rows = [_line(device, line) for line in explanation.lines[:MOST_LINES]]
    if len(explanation.lines) > MOST_LINES:
        rows.append(f"... and {len(explanation.lines) - MOST_LINES:,} lines more")
    for cause in explanation.causes:
        after = _around_difference(explanation.lines[0].text.strip(), cause.after[0]) if cause.after else "no such line"
        value = f"{format_path(cause.place, document.data)} = {_shortened(json.dumps(cause.value))}"
        rows.append(f"  {document.locate(cause.place)}: {value}")
        rows.append(f"      with {_shortened(json.dumps(cause.tried))}: {after}")
    if not explanation.causes:
        rows.append("  no value of the spec: the text is the same for every spec with this device")
    if explanation.unchangeable:
        example = format_path(explanation.unchangeable[0], document.data)
        count = len(explanation.unchangeable)
        rows.append(f"{count} values have no other that fits alone, such as {example}; --format json lists them")
    return rows


def _line(device: str, line: RenderedLine) -> str:
    return f"{device}:/{line.path}:{line.number}: {_shortened(line.text.strip(), MOST_LINE)}"


def _shortened(text: str, most: int = MOST_VALUE) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _around_difference(before: str, after: str) -> str:
    """The new line; of a long one the part around the first difference."""
    if len(after) <= MOST_VALUE:
        return after
    same = 0
    while same < len(before) and before[same] == after[same]:
        same += 1
    start = max(0, same - CONTEXT)
    return ("..." if start else "") + _shortened(after[start:])


def _as_document(device: str, document: Document, explanation: Explanation) -> dict[str, Any]:
    from clusterwright.spec.text.document import format_path

    lines = [{"path": line.path, "line": line.number, "text": line.text} for line in explanation.lines]
    causes = []
    for cause in explanation.causes:
        position = document.locate(cause.place)
        causes.append(
            {
                "from": format_path(cause.place, document.data),
                "file": position.file,
                "line": position.line,
                "column": position.column,
                "value": cause.value,
                "tried": cause.tried,
                "lines_then": list(cause.after),
            }
        )
    not_tried = [format_path(place, document.data) for place in explanation.unchangeable]
    return {"device": device, "lines": lines, "causes": causes, "not_tried": not_tried}
