"""Secrets reach devices and nothing else: a marker for every source, and a search through everything there is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from datetime import date
from pathlib import Path

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret

from clusterwright.data_files import folder
from clusterwright.deploy.pulumi.project import pulumi_environment
from clusterwright.deploy.secrets.forms import in_form
from clusterwright.keys.file_store import FileKms
from clusterwright.keys.rotation import Keeper, newest
from clusterwright.spec.encryption import KeySchedule

BIN = Path(sys.executable).parent
STACK = "lab-roce-upper"
MARKERS = {
    "snmp-auth": "MarkerFromTheEnvironment",
    "snmp-privacy": "MarkerFromAFile",
    "tacacs-key": "MarkerFromPulumi",
    "cak-buildings": "fade0c0ffee" + "7" * 53,  # from ansible-vault
    "bgp-backend": "MarkerOfTheFabric",
    "bgp-site": "MarkerOfTheBorder",
    "netops-hash": "$6$MarkerOfAHash$" + "Marker" + "x" * 80,
}
# How EOS keeps some of them: whoever reads these reads the secret.
FORMS = {
    "cak-buildings": (("eos-cak", ""),),
    "cak-fallback": (("eos-cak", ""),),
    "bgp-backend": (("eos-bgp", "CTSW"),),
    "bgp-site": (("eos-type-7", ""),),
}
OVERLAY = """
keys:
  - {name: building-cak, kind: macsec, owner: network, rotate_days: 30, delete_days: 60, wrapped_by: storage-kek}
encryption:
  macsec:
    - name: buildings
      key: building-cak
      primary: {ckn: "0a01", secret: cak-buildings}
      fallback: {ckn: "0a02", secret: cak-fallback}
fabrics:
  - name: backend
    tiers:
      - {role: ctsw, model: dcs-7804r3-macsec, up: {leaves_building: true, macsec: buildings}}
      - {role: atsw, model: dcs-7804r3-macsec}
secrets:
  - {name: snmp-auth, source: environment, key: LAB_SNMP_AUTH}
  - {name: snmp-privacy, source: file, file: privacy.txt}
  - {name: tacacs-key, source: pulumi, key: "clusterwright:tacacs"}
  - {name: cak-buildings, source: ansible-vault, file: lab.vault, key: cak}
  - {name: cak-fallback, source: keys, key: building-cak, file: keys}
  - {name: bgp-backend, source: environment, key: LAB_BGP_BACKEND}
  - {name: bgp-site, source: file, file: bgp.txt}
  - {name: netops-hash, source: environment, key: LAB_NETOPS_HASH}
borders:
  - {name: site, device: ssw-00, port: Ethernet6/36/1, speed_gbps: 400, address: "fd00:1ab:f:fffd::/127",
     neighbour: "fd00:1ab:f:fffd::1", asn: 64601, zones: [site-services],
     authentication: {method: tcp-ao, secret: bgp-site}}
"""


class Site:
    """The lab's spec with five secrets from five sources, deployed below ``folder``."""

    def __init__(self, folder_of_test: Path) -> None:
        self.folder = folder_of_test
        (folder_of_test / "tmp").mkdir()
        self.root = folder_of_test / "up"
        self.spec = folder_of_test / "lab.yaml"
        base = folder("inventory") / "lab-roce.yaml"
        self.spec.write_text(f"extends: {base}\n{OVERLAY}")
        self._private("privacy.txt", MARKERS["snmp-privacy"] + "\n")
        self._private("bgp.txt", MARKERS["bgp-site"] + "\n")
        self._private("vault-password", "opens the vault\n")
        vault = VaultLib([("default", VaultSecret(b"opens the vault"))])
        sealed: bytes = vault.encrypt(f"cak: {MARKERS['cak-buildings']}\n", secret=VaultSecret(b"opens the vault"))
        self._private("lab.vault", sealed.decode())
        keys = (
            KeySchedule("storage-kek", "wrapping", "security", 90, 97, None, None, ()),
            KeySchedule("building-cak", "macsec", "network", 30, 60, "storage-kek", None, ()),
        )
        store = folder_of_test / "keys"
        store.mkdir()
        kms = FileKms(store / "kms.json", store / "root.key")
        keeper = Keeper(store, kms, keys)

        keeper.rotate(date(2026, 1, 1), lambda step: None)
        wrapped = newest(keeper.ledger(), "building-cak").wrapped or ""
        self.markers = {**MARKERS, "cak-fallback": kms.unwrap("storage-kek", wrapped).hex()}
        self.environment = {
            **os.environ,
            "TMPDIR": str(folder_of_test / "tmp"),  # searched with the rest: nothing may stay there either
            "LAB_SNMP_AUTH": MARKERS["snmp-auth"],
            "LAB_BGP_BACKEND": MARKERS["bgp-backend"],
            "LAB_NETOPS_HASH": MARKERS["netops-hash"],
            "ANSIBLE_VAULT_PASSWORD_FILE": str(folder_of_test / "vault-password"),
        }

    def _private(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o600)

    def keep_in_pulumi(self) -> None:
        """What an operator does once: put the secret into the stack's encrypted configuration, by standard input."""
        project = self.root / "project"
        project.mkdir(parents=True)
        (project / "Pulumi.yaml").write_text("name: clusterwright\nruntime: python\n")
        where = ("--stack", STACK, "--cwd", str(project), "--non-interactive")
        environment = pulumi_environment(self.root)
        for command in (
            ("pulumi", "stack", "select", "--create", *where),
            ("pulumi", "config", "set", "--secret", "clusterwright:tacacs", *where),
        ):
            subprocess.run(
                command, env=environment, input=MARKERS["tacacs-key"], capture_output=True, text=True, check=True
            )

    def run(self, action: str, **changed: str) -> subprocess.CompletedProcess[str]:
        command = (str(BIN / "clusterwright"), action, str(self.spec), "--upper", "--root", str(self.root))
        environment = {**self.environment, **changed}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def found_in(self, content: bytes) -> list[str]:
        return [
            name
            for name, marker in self.markers.items()
            if any(each.encode() in content for each in (marker, *self.written(name)))
        ]

    def written(self, name: str) -> list[str]:
        """A marker as EOS has it: what a switch's own words, and whatever repeats them, would show."""
        return [in_form(self.markers[name], form, argument) for form, argument in FORMS.get(name, ())]


class CommandLines:
    """Looks at every process's command line while the block runs."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._over = threading.Event()
        self.leaks: set[str] = set()
        self.seen: set[str] = set()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> CommandLines:
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.02):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    content = path.read_bytes()
                except OSError:
                    continue
                self.seen.add(Path(content.split(b"\0")[0].decode(errors="replace")).name)
                self.leaks.update(self._site.found_in(content))


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory, pulumi_on_the_path: None) -> tuple[Site, list[str]]:
    """A preview, an update, a refresh and a preview of the upper layer; and all that they printed."""
    site = Site(tmp_path_factory.mktemp("secrets"))
    site.keep_in_pulumi()
    printed = []
    with CommandLines(site) as watched:
        for action in ("preview", "up", "refresh", "preview"):
            done = site.run(action)
            assert done.returncode == 0, done.stdout + done.stderr
            printed += [done.stdout, done.stderr]
    assert {"pulumi", "pulumi-resource-clusterwright"} & watched.seen
    assert not watched.leaks
    return site, printed


def test_devices_get_every_secret_and_nobody_else_reads_it_there(deployed: tuple[Site, list[str]]) -> None:
    site, _ = deployed
    configs = [site.root / f"flash/{name}/mnt/flash/startup-config" for name in ("atsw-00", "ssw-00")]
    contents = b"".join(config.read_bytes() for config in configs)
    assert b"<secret" not in contents
    assert set(site.found_in(contents)) == site.markers.keys()
    for name in FORMS:
        assert site.markers[name].encode() not in contents, "what EOS keeps in a form of its own is written in it"
    login = f"username netops privilege 15 role network-admin secret sha512 {MARKERS['netops-hash']}\n"
    assert contents.count(login.encode()) == len(configs)
    for config in configs:
        assert config.stat().st_mode & 0o077 == 0


def test_nothing_else_holds_a_secret(deployed: tuple[Site, list[str]]) -> None:
    site, printed = deployed
    sources = {site.folder / "privacy.txt", site.folder / "bgp.txt"}
    leaks = {
        str(path.relative_to(site.folder)): found
        for path in site.folder.rglob("*")
        if path.is_file() and path not in sources and (found := site.found_in(path.read_bytes()))
    }
    outside = {path: found for path, found in leaks.items() if not re.match(r"up/flash/[^/]+/mnt/flash/", path)}
    assert not outside
    assert leaks, "the search sees what is there"
    for text in printed:
        assert not site.found_in(text.encode())
    assert any((site.root / "state").rglob("*.json"))  # Pulumi's state was among what was searched


def test_rendered_trees_reports_and_differences_hold_placeholders(deployed: tuple[Site, list[str]]) -> None:
    site, _ = deployed
    out = site.folder / "out"
    for arguments in (
        ("render", str(site.spec), "--out", str(out)),
        ("report", str(site.spec), "--out", str(site.folder / "report")),
        ("diff", str(folder("inventory") / "lab-roce.yaml"), str(site.spec)),
        ("inventory", str(site.spec), "--format", "json"),
    ):
        done = subprocess.run(
            (str(BIN / "clusterwright"), *arguments), env=site.environment, capture_output=True, check=False
        )
        assert done.returncode in (0, 1), done.stderr
        assert not site.found_in(done.stdout + done.stderr)
    for place in (out, site.folder / "report"):
        files = [path for path in place.rglob("*") if path.is_file()]
        assert files
        for path in files:
            assert not site.found_in(path.read_bytes()), path
    assert "<secret cak-buildings as eos-cak>" in (out / "atsw-00/mnt/flash/startup-config").read_text()


def test_what_was_deployed_is_found_unchanged(deployed: tuple[Site, list[str]]) -> None:
    site, printed = deployed
    assert "differ from those deployed" not in printed[-2]
    again = site.run("up")
    assert "nothing changed" in again.stderr, again.stdout + again.stderr


@pytest.mark.parametrize("lacking", ["LAB_SNMP_AUTH", "ANSIBLE_VAULT_PASSWORD_FILE"])
def test_a_source_that_gives_nothing_is_one_error_before_anything_is_touched(
    tmp_path: Path, pulumi_on_the_path: None, lacking: str
) -> None:
    site = Site(tmp_path)
    site.keep_in_pulumi()
    done = site.run("up", **{lacking: ""})
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert lacking in done.stderr
    assert not (site.root / "flash").exists()
    assert not site.found_in(done.stdout.encode() + done.stderr.encode())
