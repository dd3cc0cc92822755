#!/usr/bin/python
"""Ansible module: gives a device its whole tree of files, and the running state that they stand for, in one task."""

from __future__ import annotations

DOCUMENTATION = r"""
module: clusterwright_tree
short_description: Gives a device its whole tree of files, and the running state they stand for
description:
  - Replaces, adds and removes files so that the device holds exactly the given tree; files that were never put there by
    this module are left alone.
  - Compares running sysctls, kernel modules, the nftables ruleset and the host name with what the tree's files ask
    for, and sets what differs, whether or not a file changed.
  - Makes accounts of sysusers.d and folders of tmpfiles.d; nothing of these is ever removed or renumbered. Sets the
    hashes of passwords that C(/etc/clusterwright/passwords) has.
  - Has systemd and networkd read changed units, limits and networks where they run, starts timers that the tree wants
    at boot, stops those that it masks, and brings running programs onto their changed files as O(switch_overs) tells.
    Other services are neither started nor restarted.
  - A failure on the way puts files and running state back as they were.
  - Answers with the SHA-256 of every file of the tree, read from the device at the end.
options:
  state:
    description: C(applied) brings the device to the tree, C(read) only tells what an earlier run left.
    choices: [applied, read]
    default: applied
    type: str
  payload:
    description: Base64 of a gzipped tar of plain files with their modes. Needed for C(state=applied).
    type: str
  exempt:
    description:
      - Running state that this device cannot hold, as shell patterns over C(sysctl:net.core.rmem_max),
        C(module:mlx5_core), C(nftables:running), C(hostname:NAME), C(account:NAME), C(folder:/PATH), C(limit:NAME),
        C(timer:NAME). Neither compared nor set, and listed in the answer.
        For virtual devices.
    type: list
    elements: str
    default: []
  switch_overs:
    description:
      - How programs are brought onto changed files, one step a program. C(files) are patterns of paths; C(format) json
        is parsed; C(validate) lists commands that judge a new file (C({file})) before anything is touched, an output
        that matches C(rejects) counting as refusal; C(running) succeeds where the program runs; C(activate) lists
        commands that make it read its files; C(verify) lists commands that have to succeed within C(deadline_s), and
        C(log) is a file in which C(done) has to appear and C(failed) must not. When activation or verification fails,
        the previous files are put back and activated.
    type: list
    elements: dict
    default: []
  trial_s:
    description:
      - When the packet filter changes, it alone is loaded at first, the answer has a C(trial), and the device takes the
        filter back after so many seconds unless this module comes again, over a new connection, with that O(trial). 0
        does everything at once.
      - A program whose step has C(reach) is brought onto its files, and the device takes them back after three times as
        many seconds unless this module comes again in the same way.
    type: int
    default: 0
  trial:
    description: The C(trial) of the answer before.
    type: str
author: [clusterwright]
"""

EXAMPLES = r"""
- name: Apply a tree
  clusterwright_tree:
    payload: "{{ lookup('ansible.builtin.file', '/srv/bundles/n0001.tar.gz.b64') }}"
"""

RETURN = r"""
changes:
  description: Files and running state that were changed, or in check mode would be.
  type: list
  elements: str
  returned: state=applied
held:
  description: Path to SHA-256 of the managed files on the device, read at the end.
  type: dict
  returned: always
exempted:
  description: Running state that the tree asks for and that was neither compared nor set.
  type: list
  elements: str
  returned: state=applied
open_without_flow:
  description:
    - Open TCP connections that the packet filter would not let open again, the first ten. They go on until one end
      closes them or the device starts anew.
  type: list
  elements: str
  returned: when the packet filter was loaded, or in check mode would be
trial:
  description: The packet filter is on trial and nothing else was changed; to be given back as O(trial).
  type: str
  returned: when the packet filter changes and O(trial_s) is not 0
restored:
  description: Whether the device holds what it held before.
  type: bool
  returned: failure
"""

import os
from typing import Any, Dict

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.clusterwright_connections import named
from ansible.module_utils.clusterwright_files import (
    Digests,
    FileChange,
    Found,
    Refused,
    Tree,
    Wanted,
    WantedFiles,
    unpack,
)
from ansible.module_utils.clusterwright_reach import ReachTrial
from ansible.module_utils.clusterwright_running import RunningChange
from ansible.module_utils.clusterwright_state import RunningState
from ansible.module_utils.clusterwright_trial import Trial

Answer = Dict[str, Any]

_REACH_TIMES = 3  # as long as a packet filter is tried: links of a switch come up anew meanwhile


def main() -> None:
    """Read the arguments, do the work, answer in JSON."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["applied", "read"], "default": "applied"},
            # Not logged on the device: trees hold keys. Nothing of it is ever in the answer either.
            "payload": {"type": "str", "no_log": True},
            "exempt": {"type": "list", "elements": "str", "default": []},
            "switch_overs": {"type": "list", "elements": "dict", "default": []},
            "trial_s": {"type": "int", "default": 0},
            "trial": {"type": "str"},
        },
        required_if=[("state", "applied", ["payload"])],
        supports_check_mode=True,
    )
    os.umask(0o022)
    tree = Tree()
    try:
        if module.params["state"] == "read":
            module.exit_json(changed=False, held=tree.read_back(tree.managed()))
        wanted = unpack(module.params["payload"])
        running = RunningState(wanted, module.params["exempt"], module.params["switch_overs"], tree)
        running.check()
        if module.check_mode:
            answer = foresee(tree, wanted, running, module._diff)
        else:
            with tree.locked():
                answer = try_first(tree, wanted, running, module.params) or apply(
                    tree, wanted, running, module._diff, module.params
                )
    except (Refused, OSError) as error:
        # Whatever was changed has been put back by the time an error arrives here; apply() answers for itself when not.
        module.fail_json(msg=str(error), restored=True, held={})
    if answer.pop("failed", False):
        module.fail_json(**answer)
    module.exit_json(**answer)


def foresee(tree: Tree, wanted: WantedFiles, running: RunningState, with_diff: bool) -> Answer:
    """Check mode: what would change, and nothing changed."""
    files, states = tree.compare(wanted), running.compare()
    return _answer(files, states, running, with_diff, tree.read_back(tree.managed()))


def try_first(tree: Tree, wanted: WantedFiles, running: RunningState, asked: Answer) -> Answer:
    """Put a new packet filter on trial; an empty answer when there is none to try, or it was tried already.

    Whoever comes back to a switch that is on trial gets the answer of that run.
    """
    trial, reach = Trial(tree), ReachTrial(tree)
    if asked["trial"]:
        return reach.confirm(asked["trial"]) or {}
    trial.settle()
    reach.settle()
    if not asked["trial_s"] or not running.nftables.compare():
        return {}
    tree.compare(wanted)  # raises what would be found too late
    nftables = running.nftables
    return {"changed": True, "trial": trial.begin(nftables.to_restore(), nftables.load, asked["trial_s"])}


def apply(tree: Tree, wanted: WantedFiles, running: RunningState, with_diff: bool, asked: Answer) -> Answer:
    """Bring the device to the tree, or leave it as it was."""
    if asked["trial"]:
        running.came_from(Trial(tree).confirm(asked["trial"]))
    managed, files, reach, token = tree.managed(), [], ReachTrial(tree), ""
    try:
        tree.remove_scratch(set(managed) | set(wanted))
        files = tree.compare(wanted)
        if files:
            tree.keep_previous(files)
        steps = running.reached_anew() if asked["trial_s"] and not asked["trial"] else []
        if steps:
            commands = [command for step in steps for command in step.step["activate"]]
            token = reach.begin(files, [step.marker for step in steps], commands, _REACH_TIMES * asked["trial_s"])
        if set(managed) | set(wanted) != set(managed):
            # Before the first file, so that a run killed in the middle leaves no file that nobody knows to be ours.
            tree.record(dict(managed, **{path: want.sha256 for path, want in wanted.items()}))
        for change in files:
            tree.put(change)
        states = running.converge()
        held = verify(tree, wanted, running)
        if held != tree.managed():
            tree.record(held)
    except (Refused, OSError) as error:
        answer = put_back(tree, running, files, managed, error)
        if token:
            reach.cancel(token)
        return answer
    answer = _answer(files, states, running, with_diff, held)
    if token:
        reach.keep(token, answer)
        return {"changed": True, "trial": token}
    return answer


def verify(tree: Tree, wanted: WantedFiles, running: RunningState) -> Digests:
    """Read everything once more: success is what the device holds, not that nothing went wrong. Raises Refused."""
    held = tree.read_back(wanted)
    differing = sorted(path for path, want in wanted.items() if held.get(path) != want.sha256)
    differing += [change.name for change in running.compare()]
    if differing:
        raise Refused(
            "changed again right after being set, by somebody else on this device: {}".format(", ".join(differing))
        )
    return held


def put_back(tree: Tree, running: RunningState, files: list[FileChange], managed: Digests, cause: Exception) -> Answer:
    """After a failure: everything as it was. Says so when that fails too, which needs a person."""
    troubles = []
    for undo in [lambda change=change: tree.put_back(change) for change in reversed(files)] + [
        running.restore,
        lambda: tree.record(managed),
    ]:
        try:
            undo()
        except (Refused, OSError) as error:
            troubles.append(str(error))
    tree.remove_made_folders()
    if troubles:
        message = "{}; and the previous state could not be restored: {}".format(cause, "; ".join(troubles))
    else:
        message = f"{cause}; the previous configuration is in place"
    return {"failed": True, "msg": message, "restored": not troubles, "held": tree.read_back(managed)}


def _answer(
    files: list[FileChange], states: list[RunningChange], running: RunningState, with_diff: bool, held: Digests
) -> Answer:
    changes = [change.path for change in files] + [change.name for change in states]
    answer = {"changed": bool(changes), "changes": sorted(changes), "held": held, "exempted": running.exempted()}
    if any(change.name == "nftables:running" for change in states):
        answer["open_without_flow"] = list(named(running.nftables.without_flow()))
    if with_diff:
        answer["diff"] = [_file_diff(change) for change in files] + [_state_diff(change) for change in states]
    return answer


def _file_diff(change: FileChange) -> dict[str, str]:
    before_mode = change.before.mode if change.before else None
    after_mode = change.after.mode if change.after else None
    return {
        "before_header": "/{}{}".format(change.path, f" (mode {before_mode:04o})" if change.before else " (absent)"),
        "after_header": "/{}{}".format(change.path, f" (mode {after_mode:04o})" if change.after else " (absent)"),
        "before": _shown(change.before),
        "after": _shown(change.after),
    }


def _shown(version: Found | Wanted | None) -> str:
    if version is None:
        return ""
    if not version.mode & 0o004:
        return "(withheld: not everybody on the device may read this file)\n"
    if isinstance(version, Found) and version.kind == "link":
        return f"link to {os.fsdecode(version.content)}\n"
    content: bytes = version.content
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"(binary, {len(content)} bytes)\n"


def _state_diff(change: RunningChange) -> dict[str, str]:
    return {
        "before_header": change.name + " (running)",
        "after_header": change.name + " (wanted)",
        "before": "(absent)\n" if change.before is None else change.before.rstrip("\n") + "\n",
        "after": change.after.rstrip("\n") + "\n",
    }


if __name__ == "__main__":
    main()
