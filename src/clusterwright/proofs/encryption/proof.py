"""The check ``encryption``: from storage to GPU memory nothing is in clear, and nothing falls back to it.

Read from units, configuration of tlshd, records of datasets and EOS text alone. Each counterexample begins with the
broken promise: P3 (the whole path is encrypted), P5 (reviewed before import), P6 (keys are deleted), P7 (decrypted in
memory only). Only the spec requires the encryption of links, so they are compared with the declaration.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from clusterwright.hosts.linux.reader.unit_files import is_mount_unit
from clusterwright.hosts.linux.reader.units import LOCAL_TYPES, Unit, unit_of
from clusterwright.proofs.check import Cases, Counterexample, Fact, ProofCheck, Verdict
from clusterwright.proofs.tree import RenderedFile, RenderedTree
from clusterwright.spec.encryption import CLEAR
from clusterwright.switches.eos.reader.macsec import macsec_of
from clusterwright.switches.eos.reader.sections import PATH as STARTUP
from clusterwright.switches.eos.reader.system import READER as EOS

UNITS = "etc/systemd/system/"
RECORDS = "etc/clusterwright/datasets/"
GATE_PROGRAM = "usr/local/libexec/clusterwright/dataset-gate"
TLSHD = "etc/tlshd/config"
TLSHD_UNIT = f"{UNITS}tlshd.service.d/90-clusterwright.conf"
WANTS = f"{UNITS}multi-user.target.d/91-encryption.conf"
COREDUMP = "etc/systemd/coredump.conf.d/90-clusterwright.conf"
MODPROBE = "etc/modprobe.d/90-encryption.conf"
NO_SWAP = f"{UNITS}no-swap.service"
KERBEROS = "etc/krb5.conf"
MODULES = "etc/modules-load.d/"
_READ = (UNITS, RECORDS, GATE_PROGRAM, TLSHD, KERBEROS, COREDUMP, MODPROBE, MODULES, STARTUP)
TLS_NEEDS = ("x509.truststore", "x509.certificate", "x509.private_key")
ENCRYPTED = ("rpc-with-mtls", "rpc-with-tls", "krb5p", "client-side-aead")
XPRTSEC = {"rpc-with-mtls": "mtls", "rpc-with-tls": "tls"}
_PROMISES = {"P3": "encrypted paths", "P5": "reviewed datasets", "P6": "keys that end", "P7": "nodes that keep no key"}


@dataclass
class _EncryptionCheck:
    """Counterexamples so far, and the number of things with each promise kept.

    ``clear`` are mounts without protection in the spec, with its reason. The ``tree`` has only the files of this check.
    """

    tree: RenderedTree
    counterexamples: list[Counterexample] = field(default_factory=list)
    clear: dict[str, str] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_PROMISES, 0))

    def add_breach(self, promise: str, device: str, path: str, pattern: str, message: str) -> None:
        """Add a breach of ``promise``, at the first line matching ``pattern``; line 0 for something missing."""
        lines = (self.tree.text(device, path) or "").split("\n")
        line = 0
        if pattern:
            line = next((number for number, text in enumerate(lines, 1) if re.search(pattern, text)), 0)
        self.counterexamples.append(
            Counterexample(device=device, file=path, line=line, message=f"{promise}: {message}")
        )

    def count(self, promise: str, before: int) -> None:
        """Count one more kept promise, unless counterexamples were added since ``before``."""
        self.kept[promise] += len(self.counterexamples) == before


def applies(tree: RenderedTree) -> bool:
    """True for trees with mounts on nodes, or with required link encryption."""
    wanted = tree.declaration is not None and bool(tree.declaration.encrypted_links)
    return wanted or any(map(is_mount_unit, tree.paths))


def run(tree: RenderedTree) -> Verdict:
    """Verdict over every node and every EOS switch of a tree."""
    read = frozenset(path for path in tree.paths if path.startswith(_READ))
    files = {place: file for place, file in tree.files.items() if place[1] in read}
    check = _EncryptionCheck(replace(tree, files=files))
    by_device: dict[str, dict[str, RenderedFile]] = {}
    for (device, path), file in files.items():
        by_device.setdefault(device, {})[path] = file
    # Nodes with the same image and own texts have the same verdict: a sound one is checked once.
    sound: dict[object, Mapping[str, int]] = {}
    protections = tree.declaration.protections if tree.declaration is not None else {}
    for device, files_by_path in sorted(by_device.items()):
        units = sorted(filter(is_mount_unit, files_by_path))
        if not units:
            continue
        texts: set[tuple[str, object]] = set()
        for path, file in files_by_path.items():
            texts.add((path, file.read() if file.device == device else file))
        key = frozenset(texts), frozenset(protections.get(device, {}).items())
        if key in sound:
            for promise, count in sound[key].items():
                check.kept[promise] += count
            continue
        breaches, kept = len(check.counterexamples), dict(check.kept)
        mounts = {path: unit_of(check.tree.text(device, path) or "") for path in units}
        _check_node(check, device, files_by_path, mounts)
        if len(check.counterexamples) == breaches:
            sound[key] = {promise: count - kept[promise] for promise, count in check.kept.items()}
    _check_links(check, frozenset(tree.devices_with(STARTUP)))
    facts = tuple(Fact(f"{name} ({promise})", check.kept[promise]) for promise, name in _PROMISES.items())
    in_clear = "{} crosses the network in clear. The spec accepts it: {}"
    notes = tuple(in_clear.format(mountpoint, reason) for mountpoint, reason in check.clear.items())
    cases = Cases("mounts or links to encrypt", sum(check.kept.values()))
    return Verdict(facts, tuple(check.counterexamples), cases, notes=notes)


def _check_node(check: _EncryptionCheck, device: str, paths: Iterable[str], mounts: Mapping[str, Unit]) -> None:
    known_paths = frozenset(paths)
    record_paths = [path for path in sorted(known_paths) if path.startswith(RECORDS)]
    records = {path: unit_of(check.tree.text(device, path) or "") for path in record_paths}
    remote = {path: unit for path, unit in mounts.items() if unit.get("Type", "") not in LOCAL_TYPES}
    decrypted: set[str] = set()
    for path, unit in mounts.items():
        before = len(check.counterexamples)
        if path not in remote:
            _check_local(check, device, path, unit)
            check.count("P7", before)
            continue
        mountpoint = unit.get("Where")
        mounted = {path: record for path, record in records.items() if record.get("mountpoint") == mountpoint}
        if not mounted and _is_accepted(check, device, mountpoint or ""):
            continue
        decrypted.add(path)
        _check_remote(check, device, path, unit, mounted)
        check.count("P3", before)
    for path in sorted(known_paths):
        if path.startswith(UNITS) and ".mount.d/" in path:
            check.add_breach("P3", device, path, "", "a drop-in changes a mount unit after it was checked")
    for path, record in records.items():
        _check_record(check, device, path, record, remote)
    if decrypted:
        _check_memory(check, device, known_paths)


def _is_accepted(check: _EncryptionCheck, device: str, where: str) -> bool:
    """Whether the spec leaves a node's mount without protection; records its reason."""
    declaration = check.tree.declaration
    if declaration is None or declaration.protections.get(device, {}).get(where) != CLEAR:
        return False
    check.clear[where] = declaration.in_clear[where]
    return True


def _check_remote(check: _EncryptionCheck, device: str, path: str, unit: Unit, records: Mapping[str, Unit]) -> None:
    """Check one mount over the network: the protection of its bytes on the way, by its options of mount(8)."""
    options = _options(unit.get("Options", ""))
    needs = unit.get("Requires", "").split()
    where = unit.get("Where", path)
    declaration = check.tree.declaration
    wanted = declaration.protections.get(device, {}).get(where, "") if declaration is not None else ""
    if unit.get("Type", "").startswith("nfs"):
        _check_nfs(check, device, path, unit)
    elif not records or any(record.get("protection") != "client-side-aead" for record in records.values()):
        check.add_breach("P3", device, path, "^Type=", f"{where} carries data without a record of its encryption")
    for record_path, record in records.items():
        name = record_path.removeprefix(RECORDS).removesuffix(".record")
        if f"dataset-gate@{name}.service" not in needs:
            check.add_breach(
                "P5", device, path, "^Where=", f"{where} is mounted without asking whether {name} was reviewed"
            )
        if XPRTSEC.get(record.get("protection", "")) == "mtls" and options.get("xprtsec") != "mtls":
            check.add_breach("P3", device, path, "^Options=", f"{name} was promised mutual TLS, and {where} has less")
    if wanted == "rpc-with-mtls" and options.get("xprtsec") == "tls":
        check.add_breach("P3", device, path, "^Options=", f"the spec requires mutual TLS, and {where} has less")


def _check_nfs(check: _EncryptionCheck, device: str, path: str, unit: Unit) -> None:
    """Check an NFS mount: RPC with TLS, or Kerberos with privacy."""
    options = _options(unit.get("Options", ""))
    needs = unit.get("Requires", "").split()
    where = unit.get("Where", path)
    if not options.get("vers", "").startswith("4."):
        check.add_breach("P3", device, path, "^Options=", f"{where} may fall back to NFSv3, which has no TLS")
    if options.get("xprtsec") in ("tls", "mtls"):
        _check_tls(check, device, path, options, needs)
    elif options.get("sec") == "krb5p":
        if "rpc-gssd.service" not in needs or check.tree.text(device, KERBEROS) is None:
            check.add_breach("P3", device, path, "^Options=", f"{where} uses krb5p without rpc.gssd and a realm")
    else:
        check.add_breach("P3", device, path, "^Options=", f"{where} crosses the network in clear")


def _options(text: str) -> Mapping[str, str]:
    """Options of mount(8) by name: the last of each counts, and NFS has several names for some."""
    options: dict[str, str] = {}
    for item in text.split(","):
        name, _, value = item.partition("=")
        if name == "nfsvers":
            options["vers"] = value
        elif re.fullmatch(r"v[34](\.\d)?", name):
            options["vers"] = name[1:]
        elif name in ("rdma", "tcp", "udp"):
            options["proto"] = name
        else:
            options[name] = value
    return options


def _check_tls(
    check: _EncryptionCheck, device: str, path: str, options: Mapping[str, str], needs: Iterable[str]
) -> None:
    """Check a mount over TLS, with its handshake daemon."""
    where = f"/{path}"
    if options.get("proto", "tcp") not in ("tcp", "tcp6"):
        check.add_breach("P3", device, path, "^Options=", f"TLS does not run over {options['proto']}")
    if "tlshd.service" not in needs:
        check.add_breach(
            "P3", device, path, "^Requires=", f"{where} does not wait for tlshd, which shakes hands for it"
        )
    text = check.tree.text(device, TLSHD)
    if text is None:
        check.add_breach("P3", device, TLSHD, "", "tlshd has no configuration and would exit")
        return
    section = _client(text)
    _check_handshakes(check, device, section, is_mutual=options["xprtsec"] == "mtls")
    _check_daemon(check, device, section)


def _check_handshakes(check: _EncryptionCheck, device: str, section: Mapping[str, str], *, is_mutual: bool) -> None:
    """Check the certificates configured for tlshd."""
    heading = r"^\[authenticate.client\]"
    needed = TLS_NEEDS if is_mutual else TLS_NEEDS[:1]
    for name in needed:
        if not section.get(name, "").startswith("/"):
            check.add_breach("P3", device, TLSHD, heading, f"the client has no {name}")
    if is_mutual and not section.get("x509.crl", "").startswith("/"):
        check.add_breach("P3", device, TLSHD, heading, "withdrawn certificates would be accepted")
    if check.tree.declaration is None:
        return
    for name, wanted in check.tree.declaration.tls_files.items():
        if section.get(name, wanted) != wanted:
            line = rf"^{re.escape(name)}={re.escape(section[name])}$"
            check.add_breach("P3", device, TLSHD, line, f"{name} is {section[name]}, and the spec sets {wanted}")


def _check_daemon(check: _EncryptionCheck, device: str, section: Mapping[str, str]) -> None:
    """Check the unit of tlshd: its configuration, the releases it refuses, and its start at boot."""
    unit = unit_of(check.tree.text(device, TLSHD_UNIT) or "")
    if unit.get("ExecStart") != f"/usr/sbin/tlshd -c /{TLSHD}":
        check.add_breach(
            "P3", device, TLSHD_UNIT, "", "tlshd is started without its file, and releases look in different places"
        )
    before = unit.get("ExecStartPre", "")
    if "x509.crl" in section and not re.search(r"^/bin/grep .* x509\.crl /usr/sbin/tlshd$", before, re.MULTILINE):
        check.add_breach(
            "P3", device, TLSHD_UNIT, "", "a tlshd without x509.crl would start and take what is withdrawn"
        )
    if "tlshd.service" not in _units_at_boot(check, device):
        check.add_breach("P3", device, WANTS, "", "nothing starts tlshd at boot")


def _client(text: str) -> Mapping[str, str]:
    """Section of tlshd's configuration for mounts, as GKeyFile reads it: parts join, the last value counts."""
    section_values: dict[str, str] = {}
    section = ""
    for line in text.split("\n"):
        if line.startswith("["):
            section = line
        elif section == "[authenticate.client]" and not line.startswith("#") and "=" in line:
            name, _, value = line.partition("=")
            section_values[name.strip()] = value.strip()
    return section_values


def _units_at_boot(check: _EncryptionCheck, device: str) -> list[str]:
    """Units started at boot for a node's encryption."""
    return unit_of(check.tree.text(device, WANTS) or "").get("Wants", "").split()


def _check_record(check: _EncryptionCheck, device: str, path: str, record: Unit, mounts: Mapping[str, Unit]) -> None:
    """Check a dataset's record: the questions of the gate, and the lifetime of its key."""
    before = len(check.counterexamples)
    for name in ("dataset", "owner", "reviewer", "reviewed", "reference"):
        if not record.get(name):
            check.add_breach("P5", device, path, "", f"the record has no {name}, and the gate would refuse the dataset")
    if record.get("protection") not in ENCRYPTED:
        check.add_breach("P5", device, path, "^protection=", "the dataset is not encrypted on its way")
    if record.get("mountpoint") not in {unit.get("Where") for unit in mounts.values()}:
        check.add_breach("P5", device, path, "^mountpoint=", "nothing mounts the dataset there")
    for name in (GATE_PROGRAM, f"{UNITS}dataset-gate@.service"):
        if check.tree.text(device, name) is None:
            check.add_breach("P5", device, name, "", "the gate is missing, so nothing asks for the record")
    check.count("P5", before)
    before = len(check.counterexamples)
    rotate, delete = record.get("rotate_days", ""), record.get("delete_days", "")
    if not record.get("key"):
        check.add_breach("P6", device, path, "", "the dataset has no key, so that none can be deleted")
    elif not delete.isdecimal() or not rotate.isdecimal():
        check.add_breach("P6", device, path, "^key=", "the key has no last day: old data stays readable")
    elif int(rotate) >= int(delete):
        check.add_breach("P6", device, path, "^delete_days=", "the key is deleted before another takes its place")
    check.count("P6", before)


def _check_local(check: _EncryptionCheck, device: str, path: str, unit: Unit) -> None:
    """Check a local disk: its key comes from the kernel's random numbers and is written nowhere."""
    if unit.get("Type") == "tmpfs":
        return
    where = unit.get("Where", path)
    service = next((name for name in unit.get("Requires", "").split() if name.startswith("scratch-")), "")
    text = check.tree.text(device, f"{UNITS}{service}") if service else None
    if text is None or not unit.get("What", "").startswith("/dev/mapper/"):
        check.add_breach("P7", device, path, "^What=", f"{where} is a disk in clear")
        return
    opened = unit_of(text).get("ExecStart", "")
    if "--key-file /dev/urandom" not in opened or "--type plain" not in opened:
        check.add_breach("P7", device, f"{UNITS}{service}", "^ExecStart=", f"the key of {where} outlives a boot")


def _check_memory(check: _EncryptionCheck, device: str, known_paths: frozenset[str]) -> None:
    """Check that nothing takes decrypted pages to a disk, or data past the decrypting host."""
    before = len(check.counterexamples)
    off = unit_of(check.tree.text(device, NO_SWAP) or "").get("ExecStart", "")
    if off != "/sbin/swapoff --all" or "no-swap.service" not in _units_at_boot(check, device):
        check.add_breach("P7", device, NO_SWAP, "", "memory may be swapped to a disk in clear")
    if unit_of(check.tree.text(device, COREDUMP) or "").get("Storage") != "none":
        check.add_breach("P7", device, COREDUMP, "^Storage=", "core dumps would hold decrypted data")
    if "install nvidia_fs /bin/false" not in (check.tree.text(device, MODPROBE) or "").split("\n"):
        check.add_breach(
            "P7", device, MODPROBE, "", "GPUDirect Storage could be loaded, which bypasses the decrypting host"
        )
    for path in sorted(known_paths):
        if path.startswith(MODULES) and re.search(r"^nvidia_fs$", check.tree.text(device, path) or "", re.MULTILINE):
            check.add_breach("P7", device, path, "^nvidia_fs$", "GPUDirect Storage bypasses the decrypting host")
    check.count("P7", before)


def _check_links(check: _EncryptionCheck, read: frozenset[str]) -> None:
    declaration = check.tree.declaration
    wanted = declaration.encrypted_links if declaration is not None else frozenset()
    ports: dict[str, list[str]] = {}
    for device, port in sorted(wanted):
        ports.setdefault(device, []).append(port)
        if device not in read:
            message = f"P3: {port} has no text here that encrypts it, and the spec requires MACsec there"
            check.counterexamples.append(Counterexample(device=device, file="", line=0, message=message))
    for device in sorted(read):
        text = check.tree.text(device, STARTUP) or ""
        macsec = macsec_of(text)
        for line, message in macsec.faults:
            check.counterexamples.append(
                Counterexample(device=device, file=STARTUP, line=line, message=f"P3: {message}")
            )
        for port in ports.get(device, ()):
            if port in macsec.ports:
                check.kept["P3"] += 1
            else:
                message = f"{port} carries unencrypted frames where the spec requires MACsec"
                check.add_breach("P3", device, STARTUP, rf"^interface {re.escape(port)}$", message)


def _claim() -> Iterator[str]:
    yield "Every mount is encrypted and cannot fall back (P3), unless the spec accepts it without protection; no"
    yield "dataset is mounted without its review (P5), every key expires (P6), data is decrypted in memory only (P7)."


ENCRYPTION = ProofCheck(
    name="encryption",
    claim=" ".join(_claim()),
    kinds=EOS.kinds | {"mounts", "encryption", "node-system"},
    intent=frozenset({"encrypted_links", "in_clear", "protections", "tls_files"}),
    applies=applies,
    check=run,
    spec_only="the links to encrypt, and the protection of each mount",
)
