"""The isolation watch's command line: look once, leave a signed record."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

from clusterwright.node_watch.record import RecordError, append
from clusterwright.node_watch.watch import look, words_of

FOLDER = "/etc/clusterwright"
CLOSED, OPEN, UNABLE = 0, 1, 2


def main(arguments: list[str] | None = None) -> int:
    """Look once. Exit status 0 when the node is closed as rendered, 1 when not, 2 when no record could be left."""
    asked = _parser().parse_args(arguments)
    try:
        expected = _read(asked.expected, "health-node.json")
        watch = _read(asked.expected, "isolation-watch.json")
        sight = look(expected, watch["egress"])
        entry = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "node": expected["node"],
            "ok": all(each.ok for each in sight.checks),
            "checks": [{**each._asdict(), "ok": each.ok} for each in sight.checks],
            "differences": list(sight.differences),
        }
        line = append(asked.record, asked.key, entry)
    except (OSError, ValueError, KeyError, RecordError) as error:
        print(f"isolation-watch: no record: {error}", file=sys.stderr)
        return UNABLE
    # The journal goes to the log servers, which so know how many records there must be.
    print(f"record {line['sequence']} {'ok' if line['ok'] else 'WRONG'} digest {line['digest']}")
    for text in (*words_of(sight.checks), *sight.differences):
        print(text)
    return CLOSED if line["ok"] else OPEN


def _read(folder: str, name: str) -> dict[str, Any]:
    with open(os.path.join(folder, name), encoding="utf-8") as stream:
        found: dict[str, Any] = json.load(stream)
    return found


def _parser() -> argparse.ArgumentParser:
    credentials = os.environ.get("CREDENTIALS_DIRECTORY", "/etc/credstore")
    parser = argparse.ArgumentParser(prog="isolation-watch", description="Says whether this node is closed, and signs.")
    parser.add_argument("--expected", default=FOLDER, help="the folder with health-node.json and isolation-watch.json")
    parser.add_argument("--record", default="/var/lib/clusterwright/isolation.jsonl", help="the log of records")
    parser.add_argument("--key", default=os.path.join(credentials, "isolation-watch"), help="private Ed25519 key, PEM")
    return parser
