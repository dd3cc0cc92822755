"""Command line of the isolation watch: one check, one signed record."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

from clusterwright.node_watch.record import RecordError, append
from clusterwright.node_watch.watch import failures, look

FOLDER = "/etc/clusterwright"
CLOSED, OPEN, UNABLE = 0, 1, 2


def main(arguments: list[str] | None = None) -> int:
    """Check the isolation once. Exit status 0 for an isolated node, 1 for an open one, 2 without a record."""
    options = _parser().parse_args(arguments)
    try:
        expected = _read(options.expected, "health-node.json")
        watch = _read(options.expected, "isolation-watch.json")
        isolation = look(expected, watch["egress"])
        entry = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "node": expected["node"],
            "ok": all(result.ok for result in isolation.checks),
            "checks": [result.to_json() for result in isolation.checks],
            "differences": list(isolation.differences),
        }
        record = append(options.record, options.key, entry)
    except (OSError, ValueError, KeyError, RecordError) as error:
        print(f"isolation-watch: no record: {error}", file=sys.stderr)
        return UNABLE
    # The journal goes to the log servers, so a removed record leaves a gap in its sequence numbers there.
    print(f"record {record['sequence']} {'ok' if record['ok'] else 'WRONG'} digest {record['digest']}")
    for message in (*failures(isolation.checks), *isolation.differences):
        print(message)
    return CLOSED if record["ok"] else OPEN


def _read(folder: str, name: str) -> dict[str, Any]:
    with open(os.path.join(folder, name), encoding="utf-8") as stream:
        content: dict[str, Any] = json.load(stream)
    return content


def _parser() -> argparse.ArgumentParser:
    credentials = os.environ.get("CREDENTIALS_DIRECTORY", "/etc/credstore")
    parser = argparse.ArgumentParser(
        prog="isolation-watch", description="Check this node's isolation and write a signed record."
    )
    parser.add_argument("--expected", default=FOLDER, help="folder of health-node.json and isolation-watch.json")
    parser.add_argument("--record", default="/var/lib/clusterwright/isolation.jsonl", help="log of the records")
    parser.add_argument("--key", default=os.path.join(credentials, "isolation-watch"), help="private Ed25519 key, PEM")
    return parser
