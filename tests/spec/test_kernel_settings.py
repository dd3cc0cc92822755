"""One setting has many spellings, and what the plan decides is decided in all of them."""

from __future__ import annotations

import pytest

from clusterwright import data_files
from clusterwright.hosts.linux.writer.system import required_sysctl, shape_of
from clusterwright.intent.device_kind import kind_of
from clusterwright.intent.node_nics import is_managed
from clusterwright.plan.build import build_plan
from clusterwright.spec.kernel_settings import decided, dotted, path_of
from clusterwright.spec.load import load_spec


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("net.ipv4.ip_forward", "net/ipv4/ip_forward"),
        ("net/ipv4/ip_forward", "net/ipv4/ip_forward"),
        ("net.ipv4.conf.eth0/100.rp_filter", "net/ipv4/conf/eth0.100/rp_filter"),
        ("net/ipv4/conf/eth0.100/rp_filter", "net/ipv4/conf/eth0.100/rp_filter"),
    ],
)
def test_a_name_is_read_as_sysctl_reads_it(name: str, path: str) -> None:
    assert "/".join(path_of(name)) == path
    assert path_of(dotted(name)) == path_of(name)


@pytest.mark.parametrize(
    "name",
    [
        "net.ipv4.ip_forward",
        "net/ipv6/conf/all/forwarding",
        "net.ipv6.conf.eth0.accept_ra",
        "net/ipv4/conf/eth0.100/proxy_arp",
        "net.ipv4.conf.default.accept_source_route",
        "net.ipv4.neigh.default.gc_thresh1",
        "net/netfilter/nf_conntrack_helper",
    ],
)
def test_what_isolation_relies_on_is_decided(name: str) -> None:
    assert decided(name) is not None


@pytest.mark.parametrize("name", ["net.ipv4.tcp_rmem", "vm.max_map_count", "net.core.rmem_max", "net.ipv4.conf"])
def test_the_rest_is_the_image_s_own(name: str) -> None:
    assert decided(name) is None


@pytest.mark.parametrize("spec", ["lab-roce", "lab-ib", "lab-border"])
def test_every_setting_that_nodes_get_from_the_plan_is_decided(spec: str) -> None:
    plan = build_plan(load_spec(data_files.folder("inventory") / f"{spec}.yaml"))
    node = next(device for device in plan.devices if is_managed(device))
    for name, value in required_sysctl(plan, shape_of(kind_of(plan, node))).items():
        found = decided(name)
        assert found is not None, name
        assert found.value in (None, value)
