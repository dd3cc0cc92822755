"""A stand-in for a distribution's installer, which no registry has: it runs the rendered commands and writes a disk.

Its kernel is Debian's. What it writes is a disk that starts: a boot loader that says so on the first serial port.
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import yaml
from tests.debian_package import unpacked

INSTALLED, FROM_DISK = "## installed", "started from its disk"
_DISK_MB = 16
_GRUB = f"serial --unit=0\nterminal_output serial\necho {FROM_DISK}\nsleep 100000\n"
_PROGRAMS = ("dash", "curl", "sed", "cpio")  # none of them as busybox has it
_MODULES = ("virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "failover")
_DRIVERS = (*_MODULES, "net_failover", "virtio_net", "virtio_blk")
_INIT = """\
#!/bin/busybox sh
export PATH=/usr/bin:/bin
busybox mount -t proc none /proc
busybox --install -s /bin
mount -t sysfs none /sys; mount -t devtmpfs none /dev
exec > /dev/ttyS1 2>&1
for module in {modules}; do [ ! -e /modules/$module.ko ] || insmod /modules/$module.ko; done
for link in /sys/class/net/*; do
    [ "$(cat $link/address)" != {mac} ] || nic=${{link##*/}}
done
ip link set $nic up
ip addr add {address} dev $nic
sleep 3
ip {family} route add default via {gateway} dev $nic
mkdir -p /target/etc/ssh /tmp /root
set -e
dash /early.sh
zcat /disk.gz > /dev/vda
sync
dash /late.sh
[ -e /target/etc/hostname ]
echo "{installed} $(cat /target/etc/hostname)"
sync
reboot -f
"""


def _kernel() -> Path:
    """Debian's kernel for virtual machines."""
    asked = subprocess.run(
        ["apt-cache", "depends", "linux-image-cloud-amd64"], capture_output=True, text=True, check=True
    )
    (name,) = re.findall(r"Depends: (linux-image-\S+)", asked.stdout)
    return unpacked(name)


def _disk(folder: Path) -> bytes:
    """A disk with an EFI system partition alone, as firmware takes a whole disk for one."""
    (folder / "grub.cfg").write_text(_GRUB)
    loader, image = folder / "BOOTX64.EFI", folder / "disk"
    modules = "--install-modules=serial terminal echo sleep normal"
    subprocess.run(
        [
            *("grub-mkstandalone", "-O", "x86_64-efi", modules, "--locales=", "--fonts=", "--themes=", "-o", loader),
            f"boot/grub/grub.cfg={folder}/grub.cfg",
        ],
        check=True,
        capture_output=True,
    )
    with image.open("wb") as stream:
        stream.truncate(_DISK_MB << 20)
    subprocess.run(["mkfs.fat", "-F", "16", image], check=True, capture_output=True)
    subprocess.run(["mmd", "-i", image, "::/EFI", "::/EFI/BOOT"], check=True)
    subprocess.run(["mcopy", "-i", image, loader, "::/EFI/BOOT/BOOTX64.EFI"], check=True)
    return gzip.compress(image.read_bytes(), 1)


def offer(tree: Path, install_folder: str, mac: str, address: str, gateway: str, folder: Path) -> None:
    """Put kernel and initrd where a boot server's scripts name them, with the commands of its rendered answers."""
    folder.mkdir()
    (answers,) = (tree / "srv/http/images").rglob("user-data")
    autoinstall = yaml.safe_load(answers.read_text())["autoinstall"]
    root = folder / "root"
    for name in ("bin", "proc", "sys", "dev", "usr/bin", "modules"):
        (root / name).mkdir(parents=True)
    shutil.copy("/usr/bin/busybox", root / "bin")
    for program in _PROGRAMS:
        _copy_program(program, root)
    kernel = _kernel()
    for module in kernel.rglob("*.ko"):
        if module.stem in _DRIVERS:
            shutil.copy(module, root / "modules")
    words = {
        "mac": mac,
        "address": address,
        "gateway": gateway,
        "installed": INSTALLED,
        "family": "-6" if ":" in gateway else "-4",
    }
    (root / "init").write_text(_INIT.format(modules=" ".join(_DRIVERS), **words))
    (root / "init").chmod(0o755)
    (root / "early.sh").write_text("\n".join(autoinstall["early-commands"]))
    (root / "late.sh").write_text("\n".join(autoinstall["late-commands"]))
    (root / "usr/bin/curtin").write_text("#!/bin/sh\n")
    (root / "usr/bin/curtin").chmod(0o755)
    (root / "disk.gz").write_bytes(_disk(folder))
    place = tree / "srv/http/install" / install_folder
    place.mkdir(parents=True)
    (image,) = (kernel / "boot").glob("vmlinuz-*")
    shutil.copy(image, place / "vmlinuz")
    subprocess.run(f"find . | cpio --quiet -o -H newc | gzip -1 > {place}/initrd.img", shell=True, cwd=root, check=True)


def _copy_program(name: str, root: Path) -> None:
    program = shutil.which(name)
    assert program is not None, name
    shutil.copy(program, root / "usr/bin")
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"(/\S+\.so\S*)", linked):
        place = root / library.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, place)
