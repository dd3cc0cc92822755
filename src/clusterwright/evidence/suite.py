"""Tests of NVIDIA's suite for AI clouds answered by a spec, with the suite's own names.

The suite: https://github.com/NVIDIA/ai-cloud-validation, release 0.11.0. Identifiers and requirements are those of its
``docs/test-plan.yaml``; checks and steps those of ``isvctl/configs/suites/``.
"""

from __future__ import annotations

from dataclasses import dataclass

RELEASE = "0.11.0"
SUITE = "NVIDIA ai-cloud-validation"


@dataclass(frozen=True, slots=True)
class SuiteTest:
    """A test of the suite."""

    id: str
    check: str
    """Class reading the answer."""
    step: str
    """Step of the suite's configuration that prints the answer."""
    platform: str
    requirement: str
    probe: str = ""
    """Measurement on running machines required by the suite; "" if data answers the test."""
    probed: tuple[str, ...] = ()
    """Results of the probe required by the suite's check."""

    @property
    def unprobed(self) -> dict[str, dict[str, object]]:
        """Results of the probe before its run: none has passed."""
        return {name: {"passed": False, "error": f"to be probed: {self.probe}"} for name in self.probed}


NET01 = SuiteTest(
    id="NET01-01",
    check="BackendSwitchFabricCheck",
    step="backend_switch_fabric",
    platform="network",
    requirement="A compute node has its leaf, spine and core switches of the backend.",
)
NET02 = SuiteTest(
    id="NET02-02",
    check="NvlinkDomainCheck",
    step="nvlink_domain",
    platform="network",
    requirement="A compute node has its NVLink domain.",
)
STG05 = SuiteTest(
    id="STG05-01",
    check="FailureDomainObservabilityCheck",
    step="query_topology",
    platform="bare_metal",
    requirement="Every host has its failure domain.",
)
SDN04_TENANTS = SuiteTest(
    id="SDN04-04",
    check="IbTenantIsolationCheck",
    step="query_ib_tenant_isolation",
    platform="bare_metal",
    requirement="Each tenant has InfiniBand partitions of its own.",
)
SDN04_KEYS = SuiteTest(
    id="SDN04-05",
    check="IbKeysConfiguredCheck",
    step="query_ib_keys",
    platform="bare_metal",
    requirement="The keys of InfiniBand subnets are configured.",
)
SEC12_NETWORK = SuiteTest(
    id="SEC12-01",
    check="BmcManagementNetworkCheck",
    step="bmc_management_network",
    platform="security",
    requirement="BMCs are on a network of their own, with restricted routes and enforced filters.",
)
SEC12_TENANTS = SuiteTest(
    id="SEC12-02",
    check="BmcTenantIsolationCheck",
    step="bmc_tenant_isolation",
    platform="security",
    requirement="No tenant reaches a BMC.",
    probe="connect from a node of each tenant to a BMC, at UDP 623 and at TCP 443, and back",
    probed=(
        "probe_bmc_from_tenant",
        "probe_ipmi_port",
        "probe_redfish_port",
        "reverse_path_check",
    ),
)
SEC12_BASTION = SuiteTest(
    id="SEC12-03",
    check="BmcBastionAccessCheck",
    step="bmc_bastion_access",
    platform="security",
    requirement="BMCs are reached through a hardened bastion alone.",
    probe="inspect the accounts and the open ports of the bastion, and connect to a BMC from beside it",
    probed=(
        "bastion_identifiable",
        "management_ingress_via_bastion_only",
        "no_direct_public_route",
        "bastion_hardened",
    ),
)
CNP10 = SuiteTest(
    id="CNP10-01",
    check="BmcProtocolSecurityCheck",
    step="bmc_protocol_security",
    platform="security",
    requirement="BMCs answer to Redfish over TLS with accounts, and not to IPMI.",
    probe="ask each BMC by IPMI, by HTTP, and by Redfish over TLS without and with an account",
    probed=(
        "ipmi_disabled",
        "redfish_tls_enabled",
        "redfish_plain_http_disabled",
        "redfish_authentication_required",
        "redfish_authorization_enforced",
        "redfish_accounting_enabled",
    ),
)
SEC11 = SuiteTest(
    id="SEC11-01",
    check="TenantIsolationCheck",
    step="tenant_isolation_test",
    platform="security",
    requirement="Tenants are apart in network, data, compute and storage.",
    probe="act with one tenant's account on the data, machines and volumes of another",
    probed=(
        "data_isolated",
        "compute_isolated",
        "storage_isolated",
    ),
)
SDN09_FAULTS = SuiteTest(
    id="SDN09-01",
    check="SdnHardwareFaultLoggingCheck",
    step="sdn_hardware_fault_logging",
    platform="network",
    requirement="Faults of network hardware are logged.",
    probe="query the log servers for the last events of each switch",
    probed=(
        "logging_endpoint_reachable",
        "fault_event_source_queryable",
        "log_destination_configured",
        "event_schema_valid",
    ),
)
SDN09_LATENCY = SuiteTest(
    id="SDN09-02",
    check="SdnLatencyPerfLoggingCheck",
    step="sdn_latency_perf_logging",
    platform="network",
    requirement="Changes of latency and throughput are recorded.",
    probe="query the collectors for recent samples of each switch",
    probed=(
        "metrics_endpoint_reachable",
        "performance_metric_present",
        "packet_metric_present",
        "samples_recent",
    ),
)
SDN09_FILTERS = SuiteTest(
    id="SDN09-03",
    check="SdnFilterAuditTrailCheck",
    step="sdn_filter_audit_trail",
    platform="network",
    requirement="Every change of a packet filter is recorded.",
    probe="roll out a flow, change it, remove it, and read the three records with `clusterwright audit show`",
    probed=(
        "audit_endpoint_reachable",
        "create_rule_logged",
        "modify_rule_logged",
        "delete_rule_logged",
        "audit_event_has_required_fields",
        "cleanup",
    ),
)

TESTS = (
    NET01,
    NET02,
    STG05,
    SDN04_TENANTS,
    SDN04_KEYS,
    SEC11,
    SEC12_NETWORK,
    SEC12_TENANTS,
    SEC12_BASTION,
    CNP10,
    SDN09_FAULTS,
    SDN09_LATENCY,
    SDN09_FILTERS,
)
