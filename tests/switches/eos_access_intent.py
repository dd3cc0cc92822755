"""Central AAA and telemetry as pyavd's structured configuration, taken from the spec, not from our renderer."""

from __future__ import annotations

from typing import Any

from clusterwright.plan.model import Interface
from clusterwright.spec.site import Site

# The interface of the hosts; requests to servers leave from it on a switch without a management port.
GATEWAY = "Vlan100"


def add_central_access(config: dict[str, Any], site: Site, management: tuple[Interface, Interface] | None) -> None:
    """What a network engineer would hand to pyavd for logins and collectors."""
    assert site.aaa is not None
    assert site.telemetry is not None
    vrf = {} if management is None else {"vrf": "MGMT"}
    methods = "group CENTRAL local"
    by_group = {"type": "start-stop", "methods": [{"method": "group", "group": "CENTRAL"}]}
    config["aaa_authentication"] = {"login": {"default": methods}}
    config["aaa_authorization"] = {"exec": {"default": methods}}
    config["aaa_accounting"] = {"exec": {"default": by_group}}
    servers = [{"server": server} | vrf for server in site.aaa.servers]
    keys: list[dict[str, Any]] = [
        {"host": server, "key": f"<secret {site.aaa.secret}>", "key_type": "0"} for server in site.aaa.servers
    ]
    if site.aaa.protocol == "tacacs":
        config["aaa_server_groups"] = [{"name": "CENTRAL", "type": "tacacs+", "servers": servers}]
        config["tacacs_servers"] = {"hosts": [key | vrf for key in keys]}
        config["aaa_authorization"]["commands"] = {"all_default": methods}
        config["aaa_accounting"]["commands"] = {"default": [{"commands": "all"} | by_group]}
    else:
        config["aaa_server_groups"] = [{"name": "CENTRAL", "type": "radius", "servers": servers}]
        config["aaa_authorization"]["commands"] = {"all_default": "local"}
        config["radius_server"] = {"vrfs": [{"name": "MGMT", "servers": keys}]} if vrf else {"servers": keys}
    word = "tacacs" if site.aaa.protocol == "tacacs" else "radius"
    source = GATEWAY if management is None else management[0].port
    config[f"ip_{word}_source_interfaces"] = [{"name": source} | vrf]
    transport = {
        "name": "MGMT" if vrf else "default",
        "ssl_profile": site.telemetry.certificate,
        "port": site.telemetry.port,
        "authorization_requests": True,
    }
    config["management_api_gnmi"] = {"provider": "eos-native", "transport": {"grpc": [transport | vrf]}}
    certificate = site.telemetry.certificate
    config["management_security"] = {
        "ssl_profiles": [
            {
                "name": certificate,
                "tls_versions": "1.2 1.3",
                "certificate": {"file": f"{certificate}.crt", "key": f"{certificate}.key"},
                "trust_certificate": {"certificates": [f"{site.telemetry.authority}.crt"]},
            }
        ]
    }
