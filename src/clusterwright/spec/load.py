"""From a checked document to the typed spec.

Expects a document that its JSON Schema accepts; what a schema cannot say (does this model exist, is this prefix a
network) is collected here, all of it, and raised together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from ipaddress import ip_address, ip_network
from pathlib import Path as FilePath
from typing import Any, TypeVar

from clusterwright.finding import Finding, Severity, SpecError
from clusterwright.spec import ethernet_load, infiniband_load
from clusterwright.spec.catalogue import load_catalogue
from clusterwright.spec.document import Document, Path, format_path
from clusterwright.spec.extends import read_spec_document
from clusterwright.spec.hardware import Catalogue, HardwareModel
from clusterwright.spec.infiniband import GuidFile
from clusterwright.spec.model import (
    CLUSTER,
    AsnPlan,
    Attach,
    ClusterSpec,
    Expectation,
    Fabric,
    FabricAddressing,
    Flow,
    Image,
    Level,
    Mount,
    NcclProfile,
    Network,
    NodeGroup,
    Scheduler,
    Side,
    SpecException,
    Tier,
    TrafficClass,
    Uplinks,
    Zone,
)
from clusterwright.spec.schema import check
from clusterwright.spec.site import Operator, Services, Site, SnmpAccess

UNKNOWN_MODEL = "CW140"
BAD_PREFIX = "CW141"
BAD_RANGE = "CW142"


def load_spec(path: str | FilePath) -> ClusterSpec:
    """Read, check and type the spec at ``path``.

    Raises SpecError with every finding of the stage that failed: reading, schema, or references to the catalogue.
    """
    document = read_spec_document(path)
    findings = check(document, "cluster")
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise SpecError(findings)
    return load_spec_document(document)


def load_spec_document(document: Document) -> ClusterSpec:
    """Type a document that the cluster schema accepts.

    Raises SpecError for unknown hardware models, prefixes that are no networks and ranges that run backwards.
    """
    extra = [FilePath(document.file).parent / name for name in document.data.get("hardware", ())]
    loader = _Loader(document, load_catalogue(extra=extra))
    spec = loader.cluster()
    if loader.findings:
        raise SpecError(loader.findings)
    return spec


T = TypeVar("T")


class _Loader:
    """Walks one document; ``findings`` fills up instead of stopping at the first mistake."""

    def __init__(self, document: Document, catalogue: Catalogue) -> None:
        self.document = document
        self.catalogue = catalogue
        self.findings: list[Finding] = []

    def cluster(self) -> ClusterSpec:
        data = self.document.data
        return ClusterSpec(
            name=data["name"],
            title=data.get("title", data["name"]),
            site=self.site(data["site"], ("site",)),
            node_groups=self.each(data, "nodes", self.node_group),
            fabrics=self.each(data, "fabrics", self.fabric),
            mounts=self.each(data, "mounts", self.mount),
            zones=self.each(data, "zones", self.zone),
            flows=self.each(data, "flows", self.flow),
            images=self.each(data, "images", self.image),
            nccl=self.nccl(data["nccl"], ("nccl",)) if "nccl" in data else None,
            scheduler=self.scheduler(data["scheduler"], ("scheduler",)) if "scheduler" in data else None,
            exceptions=self.each(data, "exceptions", self.exception),
            extra_config=self.each(data, "extra_config", ethernet_load.extra_config),
            expectations=self.each(data, "expect", self.expectation),
            catalogue=self.catalogue,
            document=self.document,
        )

    def each(self, data: Mapping[str, Any], key: str, make: Callable[[Any, Path], T], path: Path = ()) -> tuple[T, ...]:
        return tuple(make(item, (*path, key, index)) for index, item in enumerate(data.get(key, ())))

    def problem(self, code: str, path: Path, message: str, hint: str) -> None:
        self.findings.append(
            Finding(
                code,
                Severity.ERROR,
                message,
                hint,
                self.document.locate(path),
                format_path(path, self.document.data),
            )
        )

    def model(self, name: str, path: Path) -> HardwareModel:
        if name not in self.catalogue:
            close = get_close_matches(name, self.catalogue, n=1)
            hint = f'Did you mean "{close[0]}"?' if close else f"Known models: {', '.join(sorted(self.catalogue))}."
            self.problem(UNKNOWN_MODEL, path, f'"{name}" is not in the hardware catalogue.', hint)
            return next(iter(self.catalogue.values()))
        return self.catalogue[name]

    def network(self, text: str, path: Path) -> Network:
        try:
            return ip_network(text)
        except ValueError as error:
            hint = "Write the network address and its length."
            with suppress(ValueError):
                hint = f"Did you mean {ip_network(text, strict=False)}?"
            self.problem(BAD_PREFIX, path, f'"{text}" is not a network: {error}.', hint)
            return ip_network("0.0.0.0/32")

    def networks(self, data: Mapping[str, Any], key: str, path: Path) -> tuple[Network, ...]:
        return tuple(self.network(text, (*path, key, index)) for index, text in enumerate(data.get(key, ())))

    def addresses(self, data: Mapping[str, Any], key: str, path: Path) -> tuple[str, ...]:
        for index, text in enumerate(data.get(key, ())):
            try:
                ip_address(text)
            except ValueError:
                message = f'"{text}" is not an IPv4 or IPv6 address.'
                self.problem(
                    BAD_PREFIX, (*path, key, index), message, "Write an address such as 10.0.0.53 or fd00::53."
                )
        return tuple(data.get(key, ()))

    def ranges(self, items: Sequence[int | str], path: Path, highest: int) -> tuple[tuple[int, int], ...]:
        found: list[tuple[int, int]] = []
        for index, item in enumerate(items):
            first, _, last = str(item).partition("-")
            low, high = int(first), int(last or first)
            if low > high or high > highest:
                self.problem(
                    BAD_RANGE,
                    (*path, index),
                    f'"{item}" is not a range within 0 to {highest}.',
                    "Write the lower bound first, and both within the limits.",
                )
            found.append((low, high))
        return tuple(found)

    def site(self, data: Mapping[str, Any], path: Path) -> Site:
        snmp = data.get("snmp")
        everywhere = {key: self.addresses(data, key, path) for key in ("dns", "ntp", "syslog")}
        over_management = data.get("management", {})
        return Site(
            domain=data["domain"],
            rack_units=data.get("rack_units", 42),
            **everywhere,
            management=Services(
                **{
                    key: self.addresses(over_management, key, (*path, "management")) if key in over_management else own
                    for key, own in everywhere.items()
                }
            ),
            operators=self.each(
                data, "operators", lambda item, at: Operator(item["name"], item["role"], tuple(item["keys"]), at), path
            ),
            snmp=None
            if snmp is None
            else SnmpAccess(snmp["user"], snmp["authentication"], snmp["privacy"], (*path, "snmp")),
            path=path,
        )

    def node_group(self, data: Mapping[str, Any], path: Path) -> NodeGroup:
        steps = data["levels"]
        larger = [step["name"] for step in steps[1:]] + [CLUSTER]
        levels = tuple(
            Level(
                name=step["name"],
                of=step["of"],
                code=step.get("code", step["name"][0]),
                within=step.get("within", above),
                path=(*path, "levels", index),
            )
            for index, (step, above) in enumerate(zip(steps, larger, strict=True))
        )
        return NodeGroup(
            name=data["name"],
            role=data["role"],
            model=self.model(data["model"], (*path, "model")),
            count=data["count"],
            levels=levels,
            prefix=data.get("prefix", data["name"].replace("-", "")),
            zone=data.get("zone"),
            image=data.get("image"),
            path=path,
        )

    def side(self, data: Mapping[str, Any], path: Path) -> Side:
        return Side(
            blocks=tuple(data.get("blocks", ())),
            mode=data.get("mode"),
            medium=data.get("medium", "smf"),
            length_m=data.get("length_m", 30.0),
            spare=data.get("spare", 0),
            path=path,
        )

    def tier(self, data: Mapping[str, Any], path: Path) -> Tier:
        up = data.get("up")
        asn = data.get("asn")
        return Tier(
            role=data["role"],
            model=self.model(data["model"], (*path, "model")),
            per=data["per"],
            join=data.get("join", "all"),
            count=data.get("count", 1),
            down=self.side(data.get("down", {}), (*path, "down")),
            up=None
            if up is None
            else Uplinks(up["links"], up["speed_gbps"], self.side(up, (*path, "up")), (*path, "up")),
            asn=None if asn is None else AsnPlan(asn["base"], asn["per"], (*path, "asn")),
            path=path,
        )

    def addressing(self, data: Mapping[str, Any], path: Path) -> FabricAddressing:
        return FabricAddressing(
            loopbacks=self.network(data["loopbacks"], (*path, "loopbacks")),
            links=self.network(data["links"], (*path, "links")),
            hosts=self.network(data["hosts"], (*path, "hosts")),
            hosts_per_switch=data["hosts_per_switch"],
            host_links=data["host_links"],
            path=path,
        )

    def attach(self, data: Mapping[str, Any], path: Path) -> Attach:
        return Attach(data.get("nodes"), data.get("nics"), data.get("to"), path)

    def guids(self, name: str, path: Path) -> GuidFile | None:
        try:
            return infiniband_load.guid_file(name, self.document, path)
        except SpecError as error:
            self.findings += error.findings
            return None

    def fabric(self, data: Mapping[str, Any], path: Path) -> Fabric:
        manager = data.get("subnet_manager")
        addressing = data.get("addressing")
        return Fabric(
            name=data["name"],
            technology=data["technology"],
            attach=self.each(data, "attach", self.attach, path),
            tiers=self.each(data, "tiers", self.tier, path),
            mtu=data["mtu"],
            addressing=None if addressing is None else self.addressing(addressing, (*path, "addressing")),
            subnet_manager=None
            if manager is None
            else infiniband_load.subnet_manager(
                manager, (*path, "subnet_manager"), partitioned=bool(data.get("partitions"))
            ),
            partitions=self.each(data, "partitions", infiniband_load.partition, path),
            guids=self.guids(data["guids"], (*path, "guids")) if "guids" in data else None,
            classes=self.each(data, "classes", self.traffic_class, path),
            pfc_watchdog=ethernet_load.pfc_watchdog(data.get("pfc_watchdog", {})),
            path=path,
        )

    def traffic_class(self, data: Mapping[str, Any], path: Path) -> TrafficClass:
        spans = self.ranges(data.get("dscp", ()), (*path, "dscp"), 63)
        return TrafficClass(
            name=data["name"],
            dscp=tuple(sorted({code for low, high in spans for code in range(low, min(high, 63) + 1)})),
            service_level=data.get("service_level"),
            queue=data["queue"],
            priority=data.get("priority"),
            weight=0 if data.get("strict") else data["weight"],
            strict=data.get("strict", False),
            ecn=data.get("ecn", "none" if "priority" not in data else "count"),
            marking=ethernet_load.marking(data.get("marking")),
            arbitration=data.get("arbitration", "low"),
            path=path,
        )

    def mount(self, data: Mapping[str, Any], path: Path) -> Mount:
        return Mount(
            name=data["name"],
            mountpoint=data["mountpoint"],
            nodes=tuple(data["nodes"]),
            system=data["system"],
            export=data["export"],
            type=data["type"],
            options=tuple(data["options"]),
            path=path,
        )

    def zone(self, data: Mapping[str, Any], path: Path) -> Zone:
        return Zone(
            name=data["name"],
            nodes=tuple(data.get("nodes", ())),
            fabrics=tuple(data.get("fabrics", ())),
            prefixes=self.networks(data, "prefixes", path),
            path=path,
        )

    def flow(self, data: Mapping[str, Any], path: Path) -> Flow:
        return Flow(
            name=data["name"],
            source=data["from"],
            target=data["to"],
            protocol=data["protocol"],
            ports=self.ranges(data.get("ports", ()), (*path, "ports"), 65535),
            reason=data["reason"],
            path=path,
        )

    def image(self, data: Mapping[str, Any], path: Path) -> Image:
        return Image(
            name=data["name"],
            distribution=data["distribution"],
            modules=tuple(data.get("modules", ())),
            sysctl={key: str(value) for key, value in data.get("sysctl", {}).items()},
            kernel_parameters=tuple(data.get("kernel_parameters", ())),
            limits={key: str(value) for key, value in data.get("limits", {}).items()},
            path=path,
        )

    def nccl(self, data: Mapping[str, Any], path: Path) -> NcclProfile:
        return NcclProfile(
            version=data["version"],
            fabric=data["fabric"],
            nodes=data["nodes"],
            sockets=data["sockets"],
            qps_per_connection=data.get("qps_per_connection", 1),
            split_data_on_qps=data.get("split_data_on_qps", False),
            data_class=data.get("data_class"),
            control_dscp=data.get("control_dscp"),
            service_level=data.get("service_level"),
            timeout=data.get("timeout", 20),  # NCCL's own default since 2.23
            retry_count=data.get("retry_count", 7),
            cross_nic=data.get("cross_nic"),
            variables={key: str(value) for key, value in data.get("variables", {}).items()},
            path=path,
        )

    def scheduler(self, data: Mapping[str, Any], path: Path) -> Scheduler:
        return Scheduler(
            kind=data["kind"],
            nodes=data["nodes"],
            plugin=data["plugin"],
            leaf=data["leaf"],
            block_sizes=tuple(data.get("block_sizes", ())),
            path=path,
        )

    def exception(self, data: Mapping[str, Any], path: Path) -> SpecException:
        return SpecException(
            device=data.get("device"),
            group=data.get("group"),
            port=data.get("port"),
            state=data.get("state"),
            image=data.get("image"),
            reason=data["reason"],
            path=path,
        )

    def expectation(self, data: Mapping[str, Any], path: Path) -> Expectation:
        return Expectation(
            figure=data["figure"],
            value=data["value"],
            tolerance=data.get("tolerance", 0.0),
            source=data.get("source"),
            assumed=data.get("assumed"),
            path=path,
        )
