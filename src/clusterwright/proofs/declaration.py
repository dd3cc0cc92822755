"""The part of a spec compared with rendered text.

Computed from the plan independently of the renderers, so that their mistakes show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from clusterwright.plan.bandwidth import promised_at_each_switch, promised_ratios
from clusterwright.plan.chips import chips_of
from clusterwright.plan.figures import promised_shares
from clusterwright.plan.model import Plan
from clusterwright.plan.node_parts import left_out_parts
from clusterwright.plan.own_addresses import ipoib_nodes
from clusterwright.proofs import declared_cables
from clusterwright.proofs.accepted_unread import accepted_unread_on
from clusterwright.proofs.declared_jobs import library_environments, nccl_profiles
from clusterwright.proofs.declared_logins import Accounts, declared_logins
from clusterwright.proofs.encryption.declared import (
    DeclaredFileServer,
    declared_file_servers,
    declared_protections,
    declared_tls_files,
    encrypted_link_ends,
    mounts_in_clear,
)
from clusterwright.proofs.infiniband.declared import (
    DeclaredNccl,
    DeclaredSubnet,
    Ends,
    declared_ib_cables,
    declared_nccl,
    declared_subnets,
)
from clusterwright.proofs.infiniband.declared_members import (
    DeclaredIpoib,
    DeclaredPartition,
    declared_ipoib,
    declared_managers,
    declared_partitions,
    guids_by_subnet,
    idle_parts,
)
from clusterwright.proofs.isolation.declaration import declared_of
from clusterwright.proofs.isolation.declared import DeclaredIsolation
from clusterwright.proofs.operation.declared_boot import DeclaredBoot, declared_boot
from clusterwright.proofs.operation.declared_contact import DeclaredContact, declared_contact
from clusterwright.proofs.operation.declared_kueue import DeclaredKueue, declared_kueues
from clusterwright.proofs.operation.declared_node_check import CheckedNode, declared_node_checks
from clusterwright.proofs.operation.declared_node_units import (
    DeclaredNames,
    Readers,
    declared_credentials,
    declared_names,
)
from clusterwright.proofs.operation.declared_nvlink import declared_nvlink_domains
from clusterwright.proofs.operation.declared_slurm import DeclaredSlurm, declared_slurms
from clusterwright.spec.fabric import Fabric
from clusterwright.spec.ipoib import lnet_networks


class Declaration:
    """Promises of the spec behind a plan: one property for each question, computed on first use."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    # Devices and cables

    @cached_property
    def roles(self) -> Mapping[str, str]:
        """Role of each switch."""
        return {device.name: device.role for device in self._plan.devices if device.kind == "switch"}

    @cached_property
    def drained(self) -> frozenset[str]:
        """Devices without traffic."""
        return frozenset(device.name for device in self._plan.devices if device.state == "drained")

    @cached_property
    def stopped(self) -> frozenset[str]:
        """Devices drained or out of service."""
        return frozenset(device.name for device in self._plan.devices if device.state != "active")

    @cached_property
    def unplugged(self) -> frozenset[tuple[str, str]]:
        """Device and port of every NIC and management port with a cable out of service."""
        stopped_cables = (cable for cable in self._plan.cables if not cable.in_service)
        return frozenset((cable.a.device, cable.a.port) for cable in stopped_cables if cable.a.side != "up")

    @cached_property
    def accepted_unread(self) -> Mapping[str, Mapping[tuple[str | None, str], str]]:
        """Reasons for accepted unread text, by device and place of ``extra_config`` (file or None, and path in it)."""
        accepted = {}
        for device in self._plan.devices:
            reasons = accepted_unread_on(self._plan, device)
            if reasons:
                accepted[device.name] = reasons
        return accepted

    @cached_property
    def accepted(self) -> Mapping[str, str]:
        """Reasons for accepting single points of failure, by fabric."""
        reasons = {}
        for fabric in self._plan.spec.fabrics:
            if fabric.accepts_single_failures is not None:
                reasons[fabric.name] = fabric.accepts_single_failures
        return reasons

    @cached_property
    def logins(self) -> Mapping[str, Accounts]:
        """Accounts of each node with an image."""
        return declared_logins(self._plan)

    @cached_property
    def boot(self) -> DeclaredBoot | None:
        """Machines booting over the network; None without any."""
        return declared_boot(self._plan)

    @cached_property
    def nvlink_domains(self) -> Mapping[str, frozenset[str]]:
        """Nodes of each NVLink domain."""
        return declared_nvlink_domains(self._plan)

    @cached_property
    def node_checks(self) -> Mapping[str, CheckedNode]:
        """Planned expectations of the node check, by node with an image."""
        return declared_node_checks(self._plan)

    @cached_property
    def adapter_names(self) -> Mapping[str, DeclaredNames]:
        """Names of adapters, by node with an image."""
        return declared_names(self._plan)

    @cached_property
    def credentials(self) -> Mapping[str, Readers]:
        """Private keys with the units reading them, by node with an image."""
        return declared_credentials(self._plan)

    @cached_property
    def own_prefixes(self) -> frozenset[str]:
        """Address prefixes of hosts on Ethernet fabrics."""
        fabrics = self._plan.spec.fabrics
        return frozenset(str(fabric.addressing.hosts) for fabric in fabrics if fabric.addressing is not None)

    @cached_property
    def kueues(self) -> tuple[DeclaredKueue, ...]:
        """Every Kueue view, with the places of its nodes."""
        return declared_kueues(self._plan)

    @cached_property
    def contact(self) -> DeclaredContact | None:
        """Server for the first contact of devices on the management network; None without one."""
        return declared_contact(self._plan)

    @cached_property
    def slurms(self) -> tuple[DeclaredSlurm, ...]:
        """Every Slurm cluster, with its nodes and partitions."""
        return declared_slurms(self._plan)

    @cached_property
    def installed_by_others(self) -> frozenset[str]:
        """Nodes with a system installed by another owner."""
        names = set()
        for device in self._plan.devices:
            image = self._plan.spec.image(device.image or "")
            if device.kind == "node" and image is not None and image.is_existing:
                names.add(device.name)
        return frozenset(names)

    @cached_property
    def left_out(self) -> Mapping[str, tuple[str, ...]]:
        """Nodes by part, for the parts of nodes left to another owner."""
        return left_out_parts(self._plan)

    # Bandwidth

    @cached_property
    def shares(self) -> Mapping[str, float]:
        """Promised share of the adapters' bandwidth (1 is all), by fabric with a configured oversubscription."""
        return promised_shares(self._plan.spec)

    @cached_property
    def ratios(self) -> Mapping[str, tuple[float, float]]:
        """Promised oversubscription with its tolerance, by ``fabric.tier``."""
        return promised_ratios(self._plan.spec)

    @cached_property
    def switch_ratios(self) -> Mapping[str, float]:
        """Promised oversubscription of each switch of a tier, by ``fabric.tier``."""
        promised = promised_at_each_switch(self._plan.spec)
        return {f"{fabric}.{role}": ratio for (fabric, role), ratio in promised.items()}

    # Switches configured by another owner

    @cached_property
    def other_systems(self) -> Mapping[str, str]:
        """Fabric of each switch with a configuration from another system."""
        return declared_cables.switches_configured_elsewhere(self._plan)

    @cached_property
    def provided(self) -> Mapping[str, Fabric]:
        """Fabrics with a provider's switches, by name."""
        return {fabric.name: fabric for fabric in self._plan.spec.fabrics if fabric.is_provided}

    @cached_property
    def unchecked_switches(self) -> frozenset[str]:
        """Switches of Ethernet fabrics with at least one switch of another system.

        Nothing is claimed about such a fabric: only a part of it is known.
        """
        fabrics = set(self.other_systems.values())
        return frozenset(switch for switch, fabric in self.ethernet.items() if fabric.name in fabrics)

    # Ethernet

    @cached_property
    def ethernet(self) -> Mapping[str, Fabric]:
        """Ethernet fabric of each switch."""
        return declared_cables.switch_fabrics(self._plan)

    @cached_property
    def tiers(self) -> declared_cables.DeclaredTiers:
        """Height of each tier, and the tiers below it."""
        return declared_cables.declared_tiers(self._plan)

    @cached_property
    def railed(self) -> frozenset[str]:
        """Fabrics with one leaf for each rail of nodes with GPUs."""
        return declared_cables.railed_fabrics(self._plan)

    @cached_property
    def joined(self) -> Mapping[str, Mapping[str, int]]:
        """Planes shared by switches with uplinks while all cables are in service, by Ethernet fabric."""
        return declared_cables.joined_planes(self._plan)

    @cached_property
    def bonds(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """Member ports of each link aggregation, by device and link."""
        return declared_cables.bonded_ports(self._plan)

    @cached_property
    def gpu_ports(self) -> Mapping[tuple[str, str, int], frozenset[str]]:
        """NICs in service of one GPU at several switches, by fabric, node and GPU."""
        return declared_cables.ports_of_gpus(self._plan)

    @cached_property
    def cable_m(self) -> Mapping[tuple[str, str], float]:
        """Cable length in metres for sizing buffers of a lossless fabric, by device and port."""
        return declared_cables.headroom_lengths(self._plan)

    @cached_property
    def single_mode(self) -> frozenset[tuple[str, str]]:
        """Device and port at the lower end of every single-mode cable between switches."""
        uplinks = (cable for cable in self._plan.cables if cable.a.side == "up")
        return frozenset((cable.a.device, cable.a.port) for cable in uplinks if cable.medium == "smf")

    @cached_property
    def nccl_nodes(self) -> Mapping[str, int]:
        """Nodes with an NCCL profile, each with the profile's number."""
        return nccl_profiles(self._plan)

    @cached_property
    def library_environments(self) -> Mapping[str, Mapping[str, str]]:
        """Variables leading the GPUs' collective library to nccl.conf, by node."""
        return library_environments(self._plan)

    # InfiniBand

    @cached_property
    def ib_cables(self) -> Mapping[str, frozenset[Ends]]:
        """Cables of each InfiniBand subnet, with ports named as in ibdm."""
        return declared_ib_cables(self._plan)

    @cached_property
    def _guids(self) -> Mapping[str, Mapping[int, str]]:
        return guids_by_subnet(self._plan)

    @cached_property
    def ports(self) -> Mapping[str, frozenset[int]]:
        """GUIDs of every planned adapter port, by subnet."""
        return {subnet: frozenset(guids) for subnet, guids in self._guids.items()}

    @cached_property
    def endpoints(self) -> Mapping[int, tuple[str, str]]:
        """Device and port of every planned GUID."""
        return {cable.a.guid: (cable.a.device, cable.a.port) for cable in self._plan.cables if cable.a.guid is not None}

    @cached_property
    def partitions(self) -> tuple[DeclaredPartition, ...]:
        """Every partition with its members."""
        return declared_partitions(self._plan, self._guids)

    @cached_property
    def open_default(self) -> frozenset[str]:
        """Subnets with full membership in the default partition for every port."""
        names = set()
        for name, subnet in self._plan.ib_subnets.items():
            manager = subnet.fabric.subnet_manager
            if manager is not None and manager.default_membership == "full":
                names.add(name)
        return frozenset(names)

    @cached_property
    def subnets(self) -> Mapping[str, DeclaredSubnet]:
        """Settings of the manager of each subnet."""
        return declared_subnets(self._plan)

    @cached_property
    def subnet_fabrics(self) -> Mapping[str, str]:
        """Fabric of each InfiniBand subnet."""
        return {name: subnet.fabric.name for name, subnet in self._plan.ib_subnets.items()}

    @cached_property
    def managers(self) -> Mapping[str, tuple[frozenset[str], int]]:
        """Possible hosts of each subnet's manager, with the number of managers."""
        return declared_managers(self._plan)

    @cached_property
    def drained_chips(self) -> frozenset[int]:
        """GUIDs of the switch chips of drained InfiniBand switches."""
        guids: set[int] = set()
        for device in self._plan.devices:
            if device.name in self.drained and device.guid is not None:
                guids.update(chip.guid for chip in chips_of(self._plan, device))
        return frozenset(guids)

    @cached_property
    def idle(self) -> Mapping[str, tuple[str, ...]]:
        """Switches and ports drained or out of service, by InfiniBand subnet."""
        return idle_parts(self._plan)

    @cached_property
    def ipoib(self) -> Mapping[str, tuple[DeclaredIpoib, ...]]:
        """Interfaces of IP over InfiniBand, by node."""
        return declared_ipoib(self._plan)

    @cached_property
    def lnet(self) -> Mapping[str, str]:
        """LNet networks over the IP interfaces, by node."""
        networks: dict[str, str] = {}
        for device, interfaces in ipoib_nodes(self._plan):
            networks[device.name] = lnet_networks(self._plan.spec, device.node_group, interfaces)
        return networks

    @cached_property
    def nccl_on_infiniband(self) -> Mapping[str, DeclaredNccl]:
        """NCCL settings of each node."""
        return declared_nccl(self._plan)

    # Isolation and encryption

    @cached_property
    def isolation(self) -> DeclaredIsolation | None:
        """The matrix of zones and flows; None for a spec without one."""
        return declared_of(self._plan)

    @cached_property
    def encrypted_links(self) -> frozenset[tuple[str, str]]:
        """Device and port at both ends of every link with MACsec."""
        return encrypted_link_ends(self._plan)

    @cached_property
    def protections(self) -> Mapping[str, Mapping[str, str]]:
        """Kind of protection of each node's mounts, by mount point."""
        return declared_protections(self._plan)

    @cached_property
    def in_clear(self) -> Mapping[str, str]:
        """Mounts without protection, by mount point, with the reason and the responsible owner."""
        return mounts_in_clear(self._plan)

    @cached_property
    def file_servers(self) -> Mapping[str, Mapping[str, DeclaredFileServer]]:
        """Servers outside the spec, by node and mount point."""
        return declared_file_servers(self._plan)

    @cached_property
    def tls_files(self) -> Mapping[str, str]:
        """Files of tlshd, by the option naming them."""
        return declared_tls_files(self._plan)

    def fabric_with(self, port_guids: Iterable[int]) -> str | None:
        """Fabric of the subnet planned for most of these adapter ports; None without one."""
        name = self.subnet_with(port_guids)
        return self.subnet_fabrics[name] if name is not None else None

    def subnet_with(self, port_guids: Iterable[int]) -> str | None:
        """Subnet planned for most of these adapter ports; None without one."""
        guids = set(port_guids)
        best = max(self.ports, key=lambda name: len(self.ports[name] & guids), default=None)
        return best if best is not None and self.ports[best] & guids else None
