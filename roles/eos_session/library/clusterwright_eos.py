#!/usr/bin/python
"""Ansible module: replaces the configuration of an Arista switch so that a bad one undoes itself."""

from __future__ import annotations

DOCUMENTATION = r"""
module: clusterwright_eos
short_description: Replaces the configuration of an Arista switch so that a bad one undoes itself
description:
  - Runs on the control node and speaks eAPI, JSON-RPC over HTTPS. The certificate has to be that of the device.
  - Stages the whole configuration in a session, takes the switch's own diff, commits with a timer, and confirms over
    new connections only when the same switch answers under its name and its BGP neighbours are back. Otherwise, and
    when this module dies, the switch takes its previous configuration back by itself.
  - Neighbours that were down before, that the new configuration no longer has, or that it shuts, are not waited for.
  - Answers with the digest of the configuration only after a second session showed no difference to what runs.
options:
  state:
    description: C(applied) brings the switch to the configuration, C(read) only tells what it runs.
    choices: [applied, read]
    default: applied
    type: str
  device:
    description: The name that the switch and its certificate have to have.
    required: true
    type: str
  address:
    description: Where it is reached.
    required: true
    type: str
  port:
    description: The port of eAPI.
    default: 443
    type: int
  domain:
    description: What follows the device's name in its certificate.
    default: ""
    type: str
  credentials:
    description:
      - Names of files, never their contents. C(ca) holds the authority that signs the switches' certificates;
        C(certificate) and C(key) a client certificate, or C(user) and C(password_file) a login.
    required: true
    type: dict
  configuration:
    description: The file with the whole configuration. Needed for C(state=applied).
    type: path
  commit_timer_s:
    description: After how many seconds the switch takes an unconfirmed configuration back.
    default: 300
    type: int
  settle_s:
    description: How many seconds the switch may take to be well again; shorter than O(commit_timer_s).
    default: 120
    type: int
  answer_s:
    description: How many seconds the switch may take to answer one request.
    default: 60
    type: int
author: [clusterwright]
"""

EXAMPLES = r"""
- name: Replace a configuration
  clusterwright_eos:
    device: ctsw-p00-00
    address: 10.0.0.1
    credentials: {ca: /etc/pki/switches.pem, certificate: /etc/pki/deploy.pem, key: /etc/pki/deploy.key}
    configuration: /srv/bundles/ctsw-p00-00
"""

RETURN = r"""
changes:
  description: The configuration's path when it was changed, or in check mode would be.
  type: list
  elements: str
  returned: state=applied
held:
  description: The configuration's path to the SHA-256 of what was sent, or of what runs where that differs.
  type: dict
  returned: always
restored:
  description: Whether the switch runs what it ran before.
  type: bool
  returned: failure
"""

import hashlib
from typing import Any, Dict

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.clusterwright_eapi import Eapi, Rejected, Unanswered
from ansible.module_utils.clusterwright_eos_change import Commit, InDoubt, Limits, NotChanged, open_session
from ansible.module_utils.clusterwright_eos_switch import Switch
from ansible.module_utils.clusterwright_eos_text import without_secrets

PATH = "mnt/flash/startup-config"
Answer = Dict[str, Any]


def main() -> None:
    """Read the arguments, do the work, answer in JSON."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["applied", "read"], "default": "applied"},
            "device": {"type": "str", "required": True},
            "address": {"type": "str", "required": True},
            "port": {"type": "int", "default": 443},
            "domain": {"type": "str", "default": ""},
            "credentials": {"type": "dict", "required": True},
            "configuration": {"type": "path"},
            "commit_timer_s": {"type": "int", "default": 300},
            "settle_s": {"type": "int", "default": 120},
            "answer_s": {"type": "int", "default": 60},
        },
        required_if=[("state", "applied", ["configuration"])],
        supports_check_mode=True,
    )
    asked = module.params
    try:
        name = asked["device"] + ("." + asked["domain"] if asked["domain"] else "")
        switch = Switch(Eapi(asked["address"], asked["port"], name, asked["credentials"], asked["answer_s"]))
        answer = _running(switch) if asked["state"] == "read" else _apply(switch, asked, check=module.check_mode)
    except (NotChanged, Rejected, Unanswered, OSError) as error:
        module.fail_json(msg=str(error), restored=True, held={})
    except InDoubt as error:
        module.fail_json(msg=str(error), restored=False, held={})
    module.exit_json(**answer)


def _running(switch: Switch) -> Answer:
    return {"changed": False, "held": {PATH: hashlib.sha256(switch.running().encode()).hexdigest()}}


def _apply(switch: Switch, asked: Answer, *, check: bool) -> Answer:
    with open(asked["configuration"], "rb") as stream:
        content = stream.read()
    text = content.decode()
    limits = Limits(asked["commit_timer_s"], asked["settle_s"])
    if limits.settle_s >= limits.timer_s:
        raise NotChanged(f"settle_s ({limits.settle_s}) has to be shorter than commit_timer_s ({limits.timer_s})")
    session, diff, found = open_session(switch, asked["device"], text, limits)
    held = {PATH: hashlib.sha256(content).hexdigest()}
    if not diff or check:
        switch.drop(session)
        return _answer(diff, _running(switch)["held"] if diff else held)
    Commit(switch, session, found._replace(hostname=asked["device"]), limits).carry_out()
    _require_equal(switch, asked["device"], text, limits)
    return _answer(diff, held)


def _require_equal(switch: Switch, device: str, text: str, limits: Limits) -> None:
    """Success is what the switch says now: a new session with the same text must differ in nothing."""
    try:
        session, diff, _ = open_session(switch, device, text, limits)
        switch.drop(session)
    except (NotChanged, Rejected, Unanswered) as error:
        raise InDoubt(f"confirmed, but then {error}") from error
    if diff:
        raise InDoubt("confirmed, but what runs differs from what was sent: " + without_secrets(diff)[:2000])


def _answer(diff: str, held: dict[str, str]) -> Answer:
    answer: Answer = {"changed": bool(diff), "changes": [PATH] if diff else [], "held": held, "exempted": []}
    if diff:
        answer["diff"] = [{"prepared": without_secrets(diff)}]
    return answer


if __name__ == "__main__":
    main()
