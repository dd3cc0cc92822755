"""The files of the site's server of first contact: DHCP, the web server, and switches' first files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.artifact import Artifact
from clusterwright.hosts.boot.contact_dhcp import ServedSwitch, contact_kea
from clusterwright.hosts.boot.dhcp import url_host
from clusterwright.plan.boot import HTTP_PORT
from clusterwright.plan.model import Plan
from clusterwright.spec.site import FirstContact
from clusterwright.text.templates import template

KIND = "first-contact"
OWNER = "first-contact"
"""The folder of its files in a tree: the site's server, which is no device of the plan."""
ROOT = "srv/first-contact"
WEB_SERVER = "etc/nginx/conf.d/clusterwright-first-contact.conf"


def server_files(
    plan: Plan, section: FirstContact, served: Mapping[str, ServedSwitch], texts: Mapping[str, str]
) -> Iterator[Artifact]:
    """All files of the server; ``texts`` has the first files by name, ``served`` the switches with one."""
    version = section.server.version
    yield _file(f"etc/kea/kea-dhcp{version}.conf", contact_kea(plan, section, served))
    host = url_host(str(section.server))
    web = template("boot/first-contact.nginx.conf.j2").render(host=host, http_port=HTTP_PORT, root=ROOT)
    yield _file(WEB_SERVER, web.encode())
    for name, text in texts.items():
        yield _file(f"{ROOT}/{name}", text.encode())


def _file(path: str, content: bytes) -> Artifact:
    return Artifact(device=OWNER, path=path, source=content, kind=KIND)
