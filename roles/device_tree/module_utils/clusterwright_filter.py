"""The packet filter of a device: the ruleset that runs, against the one that its file stands for."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from ansible.module_utils.clusterwright_connections import (
    Connection,
    keep,
    not_allowed,
    open_connections,
    refuse_lost_disks,
    refuse_unnamed_interfaces,
)
from ansible.module_utils.clusterwright_files import Refused, Tree, WantedFiles
from ansible.module_utils.clusterwright_running import Changes, Exempt, RunningChange, run_program, text_of

NFTABLES_FILE = "etc/nftables.conf"
_LIST = ["nft", "--json", "--stateless", "list", "ruleset"]


class Nftables:
    """The packet filter of etc/nftables.conf.

    What a file means once loaded only the kernel can say, so the ruleset is listed right after loading and kept beside
    the manifest with the file's digest. A ruleset that reads differently later is loaded again. Of a file that was not
    loaded from here an empty network namespace says what it means: a machine that booted with it runs it already.
    """

    def __init__(self, wanted: WantedFiles, exempt: Exempt, tree: Tree) -> None:
        self.tree = tree
        self.marker = os.path.join(tree.state, "nftables.json")
        self.exempted = ["running"] if NFTABLES_FILE in wanted and exempt("nftables:running") else []
        self.file = None if self.exempted else wanted.get(NFTABLES_FILE)
        self.saved: str | None = None
        if self.file is not None:
            self.text = text_of(wanted, NFTABLES_FILE)
            self.owns_all = re.search(r"^\s*flush\s+ruleset\b", self.text, re.MULTILINE) is not None
            self.tables = set(re.findall(r"^\s*table\s+(?:(\w+)\s+)?([\w-]+)\s*\{", self.text, re.MULTILINE))
            self.tables = {(family or "ip", name) for family, name in self.tables}

    def check(self) -> None:
        """Have nft judge the file. Raises Refused with its message, and for a file that cannot be loaded twice."""
        if self.file is None:
            return
        for family, name in sorted(self.tables):
            emptied = rf"^\s*(?:delete|destroy|flush)\s+table\s+(?:{re.escape(family)}\s+)?{re.escape(name)}\b"
            if not self.owns_all and not re.search(emptied, self.text, re.MULTILINE):
                raise Refused(
                    f"/{NFTABLES_FILE} neither flushes the ruleset nor deletes table {family} {name} first; "
                    "loaded twice it would hold every rule twice"
                )
        ended = run_program(["nft", "--check", "--file", "-"], self.text)
        if ended.returncode != 0:
            raise Refused(f"nft refuses {ended.stderr.strip()}".replace("/dev/stdin", f"/{NFTABLES_FILE}"))

    def _listed(self) -> str:
        ended = run_program(_LIST, refused="nft cannot list the ruleset")
        return self._rules(ended.stdout)

    def _meant(self) -> str | None:
        """What the file gives in an empty network namespace, in JSON; None where it cannot be loaded there."""
        command = ["unshare", "--net", "sh", "-c", "nft --file - && " + " ".join(_LIST)]
        try:
            ended = run_program(command, self.text)
        except Refused:  # a device without unshare
            return None
        return ended.stdout if ended.returncode == 0 else None

    def without_flow(self) -> list[Connection]:
        """The open connections that the file's rules would not let open again."""
        meant = None if self.file is None else self._meant()
        if meant is None:
            return []
        lost: list[Connection] = not_allowed(meant, open_connections(), _addresses())
        return lost

    def load(self) -> None:
        """Load the file in one transaction, and keep the connections that are open."""
        keep(open_connections())
        run_program(["nft", "--file", "-"], self.text, refused="nft refuses what it had accepted")

    def _rules(self, listed: str) -> str:
        """The rules of a listing in JSON that the file speaks of, in one spelling."""
        lines = []
        for entry in json.loads(listed)["nftables"]:
            ((kind, body),) = entry.items()
            table = (body.get("family"), body.get("name" if kind == "table" else "table"))
            if kind == "metainfo" or (not self.owns_all and table not in self.tables):
                continue
            body.pop("handle", None)
            if kind in ("set", "map") and {"dynamic", "timeout"} & set(body.get("flags", [])):
                body.pop("elem", None)  # packets fill it
            lines.append(kind + " " + json.dumps(_in_order(body), sort_keys=True))
        return "\n".join(lines) + "\n"

    def _shown(self) -> str:
        what = [["ruleset"]] if self.owns_all else [["table", *table] for table in sorted(self.tables)]
        return "".join(run_program(["nft", "--stateless", "list", *part]).stdout for part in what)

    def compare(self) -> list[RunningChange]:
        """The running ruleset, when it is not what this file gives."""
        if self.file is None:
            return []
        loaded = self._marker()
        running = self._listed()
        if loaded.get("sha256") != self.file.sha256:
            meant = self._meant()
            if meant is not None and running == self._rules(meant):
                return []
            if meant is not None:
                refuse_unnamed_interfaces(meant, _addresses())
                refuse_lost_disks(not_allowed(meant, open_connections(), _addresses()))
            return [RunningChange("nftables:running", "ruleset of another file", "ruleset of /" + NFTABLES_FILE)]
        if loaded.get("ruleset") != running:
            # Compared is JSON, which has one spelling; shown are the rules as nft writes them for people.
            return [RunningChange("nftables:running", self._shown(), loaded.get("shown", loaded["ruleset"]))]
        return []

    def converge(self, changes: Changes) -> None:
        """Load the file, which nft does in one transaction, and keep what the kernel then lists."""
        if self.file is None or (not changes and self._marker().get("sha256") == self.file.sha256):
            return
        if changes:
            self.saved = self.saved or self.to_restore()
            self.load()
        marker = {"sha256": self.file.sha256, "ruleset": self._listed(), "shown": self._shown()}
        self.tree.write(self.marker, json.dumps(marker, indent=1, sort_keys=True).encode(), 0o600)

    def restore(self, changes: Changes) -> None:
        """Load the ruleset that ran before; its marker does not hold for it any more if it was written for the new."""
        if self.saved is not None:
            if self.file is not None and self._marker().get("sha256") == self.file.sha256:
                os.unlink(self.marker)
            run_program(["nft", "--file", "-"], self.saved, refused="nft refuses the previous ruleset")

    def _marker(self) -> dict[str, Any]:
        try:
            with open(self.marker) as stream:
                loaded: dict[str, Any] = json.load(stream)
                return loaded
        except (FileNotFoundError, ValueError):
            return {}

    def to_restore(self) -> str:
        """What brings back what runs now: all rules, or those of the file's tables where others have tables too."""
        if self.owns_all:
            listed: str = run_program(["nft", "--stateless", "list", "ruleset"]).stdout
            return "flush ruleset\n" + listed
        emptied = "".join(
            f"table {family} {name}\ndelete table {family} {name}\n" for family, name in sorted(self.tables)
        )
        return "".join([emptied, self._shown()])


def _addresses() -> str:
    listed: str = run_program(["ip", "-json", "address"], refused="ip does not list this device's addresses").stdout
    return listed


def _in_order(value: Any) -> Any:
    """Members of sets come in the kernel's hash order: sort them."""
    if isinstance(value, dict):
        return {
            key: sorted((_in_order(item) for item in inner), key=lambda item: json.dumps(item, sort_keys=True))
            if key in ("set", "elem") and isinstance(inner, list)
            else _in_order(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_in_order(item) for item in value]
    return value
