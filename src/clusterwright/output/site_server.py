"""Files for the site's own servers, beside those of the plan's devices."""

from __future__ import annotations

from operator import attrgetter

from clusterwright.artifact import Artifact
from clusterwright.facts.reader import Unsupported
from clusterwright.hosts.boot import contact_server
from clusterwright.hosts.boot.contact_dhcp import ServedSwitch
from clusterwright.intent.per_plan import per_plan
from clusterwright.plan.first_contact import contacts
from clusterwright.plan.model import Plan
from clusterwright.spec.hardware.systems import systems
from clusterwright.switches.registry import SYSTEMS


@per_plan
def site_files(plan: Plan) -> tuple[Artifact, ...]:
    """The files of the server of first contact, by path; empty without one."""
    section = plan.spec.first_contact
    if section is None:
        return ()
    served: dict[str, ServedSwitch] = {}
    texts: dict[str, str] = {}
    for contact in contacts(plan):
        if not contact.system:
            continue
        words = systems()[contact.system].first_contact.over(section.server.version)
        write = SYSTEMS[contact.system].first_contact
        if words is None or isinstance(write, Unsupported):
            continue
        file = write(plan, contact)
        served[contact.device] = ServedSwitch(file.name, words)
        texts[file.name] = file.text
    files = contact_server.server_files(plan, section, served, texts)
    return tuple(sorted(files, key=attrgetter("path")))
