"""The user slurm has one number on all machines of a Slurm, whatever their packages gave it."""

from __future__ import annotations

import pwd
import re
import subprocess
from pathlib import Path

from tests.hosts.slurm.controller import acting
from tests.hosts.slurm.controller import files_of as slurm_files_of
from tests.images.definition_files import files_of, first_server
from tests.plans import plan_of

from clusterwright.hosts.slurm.writer import USERS
from clusterwright.spec.distribution import slurm_number


def test_every_machine_of_a_slurm_is_told_the_number_that_debian_s_packages_insist_on() -> None:
    assert slurm_number() == pwd.getpwnam("slurm").pw_uid
    plan = plan_of("lab-roce")
    for name in ("gpu-p00r00n0", acting(plan)):
        text = slurm_files_of(plan, name)[USERS].content.decode()
        assert re.findall(r"^u slurm (\d+) ", text, re.M) == [str(slurm_number())]


def test_an_image_of_packages_that_take_another_number_has_it_changed(tmp_path: Path) -> None:
    """On a copy of this machine's root: user, group and their files."""
    plan = plan_of("roce-24k")
    path = "srv/images/training/mkosi.postinst.chroot"
    script = files_of(plan, first_server(plan))[path].content.decode()
    (tmp_path / "script").write_text(script[script.index("# Slurm's daemons") :])
    for folder in ("upper", "work", "root"):
        (tmp_path / folder).mkdir()
    steps = f"""
mount -t tmpfs none {tmp_path}/upper
mkdir {tmp_path}/upper/upper {tmp_path}/upper/work
mount -t overlay -o lowerdir=/,upperdir={tmp_path}/upper/upper,workdir={tmp_path}/upper/work none {tmp_path}/root
cp {tmp_path}/script {tmp_path}/root/script
sed -i 's/^slurm:x:[0-9]*:[0-9]*/slurm:x:995:994/' {tmp_path}/root/etc/passwd
sed -i 's/^slurm:x:[0-9]*/slurm:x:994/' {tmp_path}/root/etc/group
mkdir -p {tmp_path}/root/var/log/slurm-of-a-package
chown 995:994 {tmp_path}/root/var/log/slurm-of-a-package
chroot {tmp_path}/root sh -eu /script
chroot {tmp_path}/root stat --format=%u:%g /var/log/slurm-of-a-package
chroot {tmp_path}/root id -u slurm
chroot {tmp_path}/root id -g slurm
"""
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-eu", "-c", steps], capture_output=True, text=True, timeout=120, check=False
    )
    number = str(slurm_number())
    assert done.stdout.split()[-3:] == [f"{number}:{number}", number, number], done.stderr
    # Debian's own packages give it that number.
    debian = plan_of("lab-roce")
    assert path not in files_of(debian, first_server(debian))
