"""The first startup configuration of an EOS switch: accounts, SSH and eAPI on a management port with DHCP."""

from __future__ import annotations

from clusterwright.plan.first_contact import PortContact
from clusterwright.plan.model import Plan
from clusterwright.switches.eos.writer.access import eos_access
from clusterwright.switches.eos.writer.view import MANAGEMENT_VRF
from clusterwright.switches.first_contact import ContactFile, administrators
from clusterwright.text.templates import template


def contact_file(plan: Plan, contact: PortContact) -> ContactFile:
    """The file of all switches with this management port."""
    names = {operator.name for operator in administrators(plan)}
    accounts = [account for account in eos_access(plan.spec.site).accounts if account.name in names]
    text = template("eos/first-contact.j2").render(accounts=accounts, port=contact.port, vrf=MANAGEMENT_VRF)
    port_name = contact.port.lower().replace("/", "-")
    return ContactFile(name=f"eos-{port_name}", text=text)
