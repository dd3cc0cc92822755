"""Thousands of generated specs: ``python -m tests.generated.campaign --count 5000 --seed 1 --out FOLDER``.

The first three failures of each kind leave their spec, as it was drawn, and their traceback in a folder of their own
under ``--out``; the summary on the standard output counts what was generated, what lints clean, and what failed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from tests import in_memory
from tests.generated.features import features
from tests.generated.growth import grown
from tests.generated.judge import Failed, judge
from tests.generated.mended import mended, troubled
from tests.generated.specs import RARE, Case, specs

from clusterwright.finding import Severity
from clusterwright.rules.engine import lint_path


class Tally:
    """What a campaign has seen so far."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.drawn = 0
        self.clean = 0
        self.refusals: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.features: Counter[str] = Counter()

    def draw(self, count: int, number: int) -> None:
        """Judges ``count`` specs, the same ones for the same ``number``; as many of them with each of RARE."""
        for index, rare in enumerate(RARE):
            self._draw(count * (index + 1) // len(RARE) - count * index // len(RARE), number + index, rare)

    def _draw(self, count: int, number: int, rare: str) -> None:
        @seed(number)
        @settings(
            max_examples=count,
            derandomize=False,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )
        @given(specs(rare))
        def run(case: Case) -> None:
            # A preview leaves thousands of files for a moment: making them on a disk was an eighth of the work.
            with tempfile.TemporaryDirectory(dir=in_memory.folder()) as folder:
                self.take(case, Path(folder))

        if count:
            run()

    def take(self, case: Case, folder: Path) -> None:
        """Judges one spec and notes how that ended."""
        self.drawn += 1
        case, errors, failures = judged(case, folder, thorough=self.drawn % 4 == 0)
        for failure in failures:
            self._note(case, failure)
        self.refusals.update(errors)
        if not errors:
            self.clean += 1
            self.features.update(features(case))
            self.features.update(f"grown by {name}" for name in case.grown)

    def _note(self, case: Case, failure: Failed) -> None:
        kind = kind_of(failure)
        self.failures[kind] += 1
        if self.failures[kind] <= 3:
            folder = self.out / f"{re.sub('[^a-z0-9]+', '-', kind.lower())[:80]}-{self.failures[kind]}"
            (folder).mkdir(parents=True, exist_ok=True)
            case.write(folder)
            (folder / "failure.txt").write_text("".join(traceback.format_exception(failure)))
        sys.stderr.write(f"{self.drawn}: {kind}\n")

    def text(self) -> str:
        """The summary."""
        lines = [f"{self.drawn} specs, {self.clean} clean, {sum(self.failures.values())} failed"]
        lines += [f"  failed {count}: {kind}" for kind, count in self.failures.most_common()]
        lines += [f"  refused {count}: {code}" for code, count in self.refusals.most_common()]
        lines += [f"  clean with {count}: {name}" for name, count in sorted(self.features.items())]
        return "\n".join(lines)


def judged(case: Case, folder: Path, *, thorough: bool) -> tuple[Case, set[str], list[Failed]]:
    """The case as mended, the codes of the errors that lint still finds, and what failed."""
    try:
        case, found = mended(case, folder)
        if case.trouble and not any(finding.severity is Severity.ERROR for finding in found):
            later = troubled(case, folder)
            findings = lint_path(later.write(folder)).findings
            if not any(finding.severity is Severity.ERROR for finding in findings):
                case, found = later, findings
            case.write(folder)
        if case.growth and not any(finding.severity is Severity.ERROR for finding in found):
            case, found = grown(case, folder, found)
    except Failed as broken:
        return case, set(), [broken]
    except Exception as error:
        failure = Failed("lint", f"{type(error).__name__}: {error}")
        failure.__cause__ = error
        return case, set(), [failure]
    errors = {finding.code for finding in found if finding.severity is Severity.ERROR}
    return case, errors, [] if errors else judge(folder / "cluster.yaml", found, thorough=thorough)


def kind_of(failure: Failed) -> str:
    """The failure without what differs from spec to spec: names, numbers, addresses."""
    what = re.sub(r"/tmp/\S+", "PATH", failure.what)
    what = re.sub(r"\b[a-z]+-[a-z]*\d[\w-]*|\b[0-9a-f:.]*\d[0-9a-f:./]*", "N", what)
    return f"{failure.stage}: {what[:160]}"


def main() -> int:
    """Runs it. Returns 0 when nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("campaign"))
    chosen = parser.parse_args()
    tally = Tally(chosen.out)
    tally.draw(chosen.count, chosen.seed)
    sys.stdout.write(f"{tally.text()}\n")
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "summary.json").write_text(
        json.dumps(
            {"drawn": tally.drawn, "clean": tally.clean, "failures": tally.failures, "features": tally.features},
            indent=1,
        )
    )
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
