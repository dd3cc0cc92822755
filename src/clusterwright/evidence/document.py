"""Answers as files: the input of the suite's check, with one more key for the evidence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clusterwright import __version__
from clusterwright.evidence.answer import AnswerKind, Evidence, ProofResult
from clusterwright.evidence.suite import RELEASE, SUITE
from clusterwright.proofs.tree import RenderedFile, RenderedTree

SUMS = "SHA256SUMS"
LOG = "evidence.log"


def documents(
    answers: Iterable[Evidence], spec_digests: Mapping[str, str], tree: RenderedTree
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and content of the file of each answer."""
    digests = _Digests(tree)
    for answer in answers:
        yield f"{answer.test.id}.json", _document(answer, spec_digests, digests)


def as_text(document: Mapping[str, Any]) -> str:
    """A document as written to a file."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def sums(texts: Mapping[str, str]) -> str:
    """Digests of files in the format of `sha256sum -c`."""
    lines = []
    for name, text in sorted(texts.items()):
        digest = hashlib.sha256(text.encode()).hexdigest()
        lines.append(f"{digest}  {name}\n")
    return "".join(lines)


def spec_digests(files: Iterable[str]) -> dict[str, str]:
    """Digests of a spec's source files."""
    return {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in files}


def _document(answer: Evidence, spec_digests: Mapping[str, str], digests: _Digests) -> dict[str, Any]:
    document: dict[str, Any] = {"success": answer.answer is AnswerKind.HOLDS, "platform": answer.test.platform}
    if answer.answer is not AnswerKind.HOLDS:
        reason = _reason(answer)
        document["error"] = reason
        # The suite shows a skipped answer as neither passed nor failed, if its check knows `skipped`.
        if answer.answer is not AnswerKind.FAILS:
            document |= {"skipped": True, "skip_reason": reason}
    document |= answer.output
    document["evidence"] = {
        "suite": SUITE,
        "release": RELEASE,
        "test": answer.test.id,
        "check": answer.test.check,
        "requirement": answer.test.requirement,
        "answer": answer.word,
        "claim": answer.claim,
        "from": answer.basis.value,
        "cases": answer.cases.count,
        "cases_are": answer.cases.name,
        "problems": list(answer.problems),
        "not_checked": list(answer.not_checked),
        "probe": answer.test.probe,
        "proofs": [_proof(proof, digests) for proof in answer.proofs],
        "spec_sha256": dict(spec_digests),
        "made_by": f"clusterwright {__version__}",
    }
    return document


def _proof(proof: ProofResult, digests: _Digests) -> dict[str, Any]:
    check, verdict = proof
    return {
        "name": check.name,
        "claim": check.claim,
        "answer": verdict.word,
        "cases": verdict.cases.count,
        "cases_are": verdict.cases.name,
        "files": digests.count(check.kinds),
        "sha256_of_files": digests.of_kinds(check.kinds),
    }


def _reason(answer: Evidence) -> str:
    if answer.answer is AnswerKind.PRE_CHECK:
        return f"{answer.claim} That is proven before machines run; still to be probed: {answer.test.probe}."
    return "; ".join(answer.problems)


class _Digests:
    """Digests over all files of some kinds of a tree: of lines of digest, two blanks, device and path."""

    def __init__(self, tree: RenderedTree) -> None:
        self._files = [tree.files[place] for place in sorted(tree.files)]
        self._places = sorted(tree.files)
        self._digest_of_file: dict[RenderedFile, str] = {}
        self._digest_of_kinds: dict[frozenset[str], str] = {}

    def count(self, kinds: frozenset[str]) -> int:
        return sum(file.kind in kinds for file in self._files)

    def of_kinds(self, kinds: frozenset[str]) -> str:
        if kinds not in self._digest_of_kinds:
            total = hashlib.sha256()
            for (device, path), file in zip(self._places, self._files, strict=True):
                if file.kind in kinds:
                    total.update(f"{self._of_file(file)}  {device}/{path}\n".encode())
            self._digest_of_kinds[kinds] = total.hexdigest()
        return self._digest_of_kinds[kinds]

    def _of_file(self, file: RenderedFile) -> str:
        if file not in self._digest_of_file:
            self._digest_of_file[file] = hashlib.sha256(file.read().encode()).hexdigest()
        return self._digest_of_file[file]


def refuses(answers: Sequence[Evidence]) -> bool:
    """Whether an answer contradicts its test."""
    return any(answer.answer is AnswerKind.FAILS for answer in answers)
